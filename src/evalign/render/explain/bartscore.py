"""BARTScore's arithmetic on one screen: every predicted token with its log-probability, and their mean."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.encoders.likelihood.base import Likelihood
from evalign.metrics.bartscore import BARTScore
from evalign.render.explain.parts import line, terms_table
from evalign.render.quality import PROBABILITY_BOUNDS
from evalign.render.tables import signature_line
from evalign.render.terminal import quality, visible


def explain_bartscore(
    metric: BARTScore, candidate: str, reference: str | None = None, source: str | None = None
) -> RenderableType:
    """One table per direction, its mean, and how the means become the score."""
    likelihoods = metric.tokens(candidate, reference, source)
    parts: list[RenderableType] = []
    for number, (direction, likelihood) in enumerate(likelihoods.items(), start=1):
        flags = "".join(f"   {flag}: {count}" for flag, count in likelihood.counts.items())
        mean = f"mean of {len(likelihood.log_probs)} tokens = {likelihood.score:.4f}{flags}\n"
        parts += [
            Text(f"{number}. {direction}: how likely each token is, given what was read before", style="bold"),
            _table(likelihood),
            line(mean),
        ]
    if len(likelihoods) > 1:
        means = [likelihood.score for likelihood in likelihoods.values()]
        terms = " + ".join(f"({mean:.4f})" for mean in means)
        step = f"{len(means) + 1}. F, the mean of both = ({terms}) / 2 = {sum(means) / 2:.4f}"
        parts.append(Text(step, style="bold"))
    return Group(*parts, signature_line(metric.scorer().signature))


def _table(likelihood: Likelihood) -> Table:
    lines: list[list[str | Text]] = []
    for place, value in enumerate(likelihood.log_probs.tolist()):
        style = "dim" if likelihood.target.special[place] else ""
        token = Text(visible(likelihood.target.surface(place)), style=style)
        probability = math.exp(value)
        style = quality(probability, PROBABILITY_BOUNDS[:3])
        lines.append([token, f"{value:.4f}", Text(f"{probability:.4f}", style=style)])
    return terms_table(("token", "log p", "p"), lines)
