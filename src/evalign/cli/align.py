"""`evalign align`: the matches of one pair, as a picture or as JSON."""

from __future__ import annotations

import json

import click

from evalign.cli.options import aligned_pair, stdout_console, threads_option
from evalign.render.terminal import alignment_picture


@click.command()
@click.argument("candidate")
@click.argument("reference")
@click.option("-m", "--metric", "spec", default="bertscore", show_default=True, metavar="SPEC")
@click.option("--json", "as_json", is_flag=True, help="Tokens, matrix, cells and scores as JSON.")
@threads_option
def align(candidate: str, reference: str, spec: str, as_json: bool, threads: int) -> None:
    """Show which tokens of two texts match.

    \b
    evalign align "the cat sat" "a cat was sitting"
    evalign align "the cat sat" "a cat was sitting" -m "bertscore(layer=6)" --json
    """
    alignment = aligned_pair(spec, candidate, reference, threads)
    if as_json:
        click.echo(json.dumps(alignment.to_dict()))
    else:
        stdout_console().print(alignment_picture(alignment))
