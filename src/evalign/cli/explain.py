"""`evalign explain`: the arithmetic behind a score, for people who learn or doubt."""

from __future__ import annotations

import click

from evalign.cli.options import aligned, matching_metric, stdout_console, threads_option
from evalign.render.explain import explain_matching


@click.command()
@click.argument("candidate")
@click.argument("reference")
@click.option("-m", "--metric", "spec", default="bertscore", show_default=True, metavar="SPEC")
@threads_option
def explain(candidate: str, reference: str, spec: str, threads: int) -> None:
    """Show a metric's arithmetic, step by step.

    \b
    evalign explain "the cat sat" "a cat was sitting"
    evalign explain "the cat sat" "a cat was sitting" -m "lisascore(method=row-mask)"
    evalign explain "the cat sat" "a cat was sitting" -m moverscore
    """
    console = stdout_console()
    metric = matching_metric(spec, threads)
    console.print(explain_matching(metric, aligned(metric, candidate, reference), console.width))
