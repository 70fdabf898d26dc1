"""`evalign explain`: the arithmetic behind a score, for people who learn or doubt."""

from __future__ import annotations

import click

from evalign.cli.options import aligned_pair, stdout_console, threads_option
from evalign.render.explain import explain_greedy


@click.command()
@click.argument("candidate")
@click.argument("reference")
@click.option("-m", "--metric", "spec", default="bertscore", show_default=True, metavar="SPEC")
@threads_option
def explain(candidate: str, reference: str, spec: str, threads: int) -> None:
    """Show a metric's arithmetic, step by step.

    \b
    evalign explain "the cat sat" "a cat was sitting"
    """
    console = stdout_console()
    console.print(explain_greedy(aligned_pair(spec, candidate, reference, threads), console.width))
