"""`evalign align`: the matches of one pair as a picture, JSON or an interactive page; all matchings on request."""

from __future__ import annotations

import json
from pathlib import Path

import click

from evalign.cli.options import format_option, html_option, metric_option, parse_metric, threads_option
from evalign.errors import SpecError
from evalign.matching.registry import all_matchings
from evalign.metrics.all_matchings import align_all, check_not_empty, with_matching
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.token_metric import aligning_metric
from evalign.render.console import stdout_console
from evalign.render.documents import alignment_document
from evalign.render.export import write_html
from evalign.render.progress import progress
from evalign.render.terminal import alignment_picture, side_by_side


@click.command()
@click.argument("candidate")
@click.argument("reference")
@metric_option
@click.option(
    "--matching", type=click.Choice([*all_matchings(), "all"]), help="Matching that aligns the tokens, or all of them."
)
@format_option(("table", "json"))
@html_option("interactive, with all matchings.")
@threads_option
def align(
    candidate: str, reference: str, spec: str, matching: str | None, output_format: str, html: Path | None, threads: int
) -> None:
    """Show which tokens of two texts match.

    \b
    evalign align "the cat sat" "a cat was sitting"
    evalign align "the cat sat" "a cat was sitting" --matching all
    evalign align "the cat sat" "a cat was sitting" --html cats.html
    evalign align "the cat sat" "a cat was sitting" -m "lisascore(layer=6)" --format json
    """
    metric = aligning_metric(parse_metric(spec, threads))
    if matching is not None and not isinstance(metric, BERTScore):
        raise SpecError("`matching` goes with -m bertscore; other metrics have a matching of their own")
    if isinstance(metric, BERTScore) and matching not in (None, "all", metric.matching) and metric.matching != "greedy":
        raise SpecError(f"`matching={matching}`, but {metric} names another one: leave one of them out")
    if matching not in (None, "all"):
        metric = with_matching(metric, matching)
    with progress("aligning"):
        aligned = align_all(metric, candidate, reference, only_first=html is None and matching != "all")
    check_not_empty(aligned.first)
    if html is not None:
        write_html(alignment_document(aligned.alignments, aligned.skipped, str(metric), packed=True), html)
        click.echo(f"{html}: written", err=True)
    if output_format == "json" and matching == "all":
        click.echo(json.dumps(alignment_document(aligned.alignments, aligned.skipped, str(metric))))
    elif output_format == "json":
        click.echo(json.dumps(aligned.first.to_dict()))
    elif matching == "all":
        stdout_console().print(side_by_side(aligned.alignments))
    elif html is None:
        stdout_console().print(alignment_picture(aligned.first))
