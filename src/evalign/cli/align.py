"""`evalign align`: the matches of one pair, as a picture or as JSON; all matchings beside each other on request."""

from __future__ import annotations

import dataclasses
import json

import click

from evalign.cli.options import aligned, matching_metric, stdout_console, threads_option
from evalign.errors import SpecError
from evalign.matching.methods import MATCHINGS
from evalign.metrics.bertscore import BERTScore
from evalign.render.side_by_side import side_by_side
from evalign.render.terminal import alignment_picture
from evalign.types import Alignment


@click.command()
@click.argument("candidate")
@click.argument("reference")
@click.option("-m", "--metric", "spec", default="bertscore", show_default=True, metavar="SPEC")
@click.option(
    "--matching", type=click.Choice([*MATCHINGS, "transport", "all"]), help="Another matching, or all of them."
)
@click.option("--json", "as_json", is_flag=True, help="Tokens, matrix, cells and scores as JSON.")
@threads_option
def align(candidate: str, reference: str, spec: str, matching: str | None, as_json: bool, threads: int) -> None:
    """Show which tokens of two texts match.

    \b
    evalign align "the cat sat" "a cat was sitting"
    evalign align "the cat sat" "a cat was sitting" --matching all
    evalign align "the cat sat" "a cat was sitting" -m "lisascore(layer=6)" --json
    """
    names = [*MATCHINGS, "transport"] if matching == "all" else [matching] if matching else []
    found = {name: _aligned(spec, name, candidate, reference, threads) for name in names}
    if not names:
        found = {"": aligned(matching_metric(spec, threads), candidate, reference)}
    if as_json:
        documents = {name: alignment.to_dict() for name, alignment in found.items()}
        click.echo(json.dumps(documents if matching == "all" else next(iter(documents.values()))))
    elif matching == "all":
        stdout_console().print(side_by_side(found))
    else:
        stdout_console().print(alignment_picture(next(iter(found.values()))))


def _aligned(spec: str, matching: str, candidate: str, reference: str, threads: int) -> Alignment:
    """The pair under one matching, with the encoder options of the given metric."""
    metric = matching_metric(spec, threads)
    if not isinstance(metric, BERTScore):
        raise SpecError("--matching goes with -m bertscore; other metrics have a matching of their own")
    if matching != "transport":
        return aligned(dataclasses.replace(metric, matching=matching), candidate, reference)
    from evalign.metrics.moverscore import MoverScore
    from evalign.metrics.tokens import TokenMetric

    shared = {item.name: getattr(metric, item.name) for item in dataclasses.fields(TokenMetric)}
    return MoverScore(**shared).align(candidate, reference)
