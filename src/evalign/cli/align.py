"""`evalign align`: the matches of one pair as a picture, JSON or an interactive page; all matchings on request."""

from __future__ import annotations

import json
from pathlib import Path

import click

from evalign.cli.options import metric_option, page_option, parse_metric, stdout_console, threads_option
from evalign.errors import SpecError
from evalign.matching.registry import every_name
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.every_matching import align_every, check_not_empty, matching_metric, with_matching
from evalign.render.documents import alignment_document
from evalign.render.export import write_html
from evalign.render.progress import progress
from evalign.render.terminal import alignment_picture, side_by_side


@click.command()
@click.argument("candidate")
@click.argument("reference")
@metric_option
@click.option("--matching", type=click.Choice([*every_name(), "all"]), help="Another matching, or all of them.")
@click.option("--json", "as_json", is_flag=True, help="Tokens, matrix, cells and scores as a JSON document.")
@page_option("Write an interactive page with all matchings: one file, which opens offline.")
@threads_option
def align(
    candidate: str, reference: str, spec: str, matching: str | None, as_json: bool, page: Path | None, threads: int
) -> None:
    """Show which tokens of two texts match.

    \b
    evalign align "the cat sat" "a cat was sitting"
    evalign align "the cat sat" "a cat was sitting" --matching all
    evalign align "the cat sat" "a cat was sitting" --html cats.html
    evalign align "the cat sat" "a cat was sitting" -m "lisascore(layer=6)" --json
    """
    metric = matching_metric(parse_metric(spec, threads))
    if matching is not None and not isinstance(metric, BERTScore):
        raise SpecError("--matching goes with -m bertscore; other metrics have a matching of their own")
    if matching not in (None, "all"):
        metric = with_matching(metric, matching)
    with progress("aligning"):
        every = align_every(metric, candidate, reference, others=page is not None or matching == "all")
    check_not_empty(every.own)
    if page is not None:
        write_html(alignment_document(every.alignments, every.skipped, str(metric), packed=True), page)
        click.echo(f"{page}: written", err=True)
    if as_json and matching == "all":
        click.echo(json.dumps(alignment_document(every.alignments, every.skipped, str(metric))))
    elif as_json:
        click.echo(json.dumps(every.own.to_dict()))
    elif matching == "all":
        stdout_console().print(side_by_side(every.alignments))
    elif page is None:
        stdout_console().print(alignment_picture(every.own))
