"""`evalign explain`: the arithmetic behind a score, for people who learn or doubt."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from evalign.cli.options import aligned, matching_metric, parse_metric, stdout_console, threads_option
from evalign.errors import SpecError
from evalign.metrics.base import Metric
from evalign.metrics.registry import METRICS
from evalign.render.explain import explain_matching

EXPLAINERS = {
    "bleu": "explain_bleu:explain_bleu",
    "chrf": "explain_bleu:explain_chrf",
    "ter": "explain_bleu:explain_ter",
    "sari": "explain_simplification:explain_sari",
    "fkgl": "explain_simplification:explain_readability",
    "smog": "explain_simplification:explain_readability",
    "meteor": "explain_meteor:explain_meteor",
    "bartscore": "explain_bartscore:explain_bartscore",
} | {name: "explain_rouge:explain_rouge" for name in METRICS if name.startswith("rouge")}


@click.command()
@click.argument("candidate")
@click.argument("reference", required=False)
@click.option("-m", "--metric", "spec", default="bertscore", show_default=True, metavar="SPEC")
@click.option("-s", "--source", help="The source text, which sari compares with.")
@threads_option
def explain(candidate: str, reference: str | None, spec: str, source: str | None, threads: int) -> None:
    """Show a metric's arithmetic, step by step.

    \b
    evalign explain "the cat sat" "a cat was sitting"
    evalign explain "the cat sat" "a cat was sitting" -m "lisascore(method=row-mask)"
    evalign explain "the cat sat" "a cat was sitting" -m moverscore
    evalign explain "police kill the gunman" "police killed the gunman" -m rougeL
    evalign explain "the cat sat on the mat" "on the mat sat the cat" -m meteor
    """
    console = stdout_console()
    metric = parse_metric(spec, threads)
    texts = _texts(metric, candidate, reference, source)
    if metric.name in EXPLAINERS:
        module, _, name = EXPLAINERS[metric.name].partition(":")
        draw: Any = getattr(import_module(f"evalign.render.{module}"), name)
        console.print(draw(metric, **texts))
        return
    matching = matching_metric(spec, threads)
    console.print(explain_matching(matching, aligned(matching, **texts), console.width))


def _texts(metric: Metric, candidate: str, reference: str | None, source: str | None) -> dict[str, str]:
    """The texts that the metric reads; an error for one that is missing or not read."""
    texts = {"candidate": candidate}
    given = (("references", "reference", reference, "a second text"), ("sources", "source", source, "--source"))
    for need, name, text, how in given:
        if need in metric.needs:
            if text is None:
                raise SpecError(f"{metric.name} compares with {need}: give {how}")
            texts[name] = text
        elif text is not None:
            raise SpecError(f"{metric.name} does not look at {need}; leave out {how}")
    return texts
