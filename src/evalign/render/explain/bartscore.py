"""BARTScore's arithmetic on one screen: every predicted token with its log-probability, and their mean."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.encoders.likelihood.base import Likelihood
from evalign.metrics.bartscore import BARTScore
from evalign.render.terminal import quality, visible


def explain_bartscore(
    metric: BARTScore, candidate: str, reference: str | None = None, source: str | None = None
) -> RenderableType:
    """One table per direction, its mean, and how the means become the score."""
    found = metric.tokens(candidate, reference, source)
    parts: list[RenderableType] = []
    for number, (direction, one) in enumerate(found.items(), start=1):
        parts += [Text(f"{number}. {direction}: how likely each token is, given what was read before", style="bold")]
        parts += [_table(one), Text(f"   mean of {len(one.log_probs)} tokens = {one.score:.4f}{_flags(one)}\n")]
    if len(found) > 1:
        means = [one.score for one in found.values()]
        terms = " + ".join(f"({mean:.4f})" for mean in means)
        parts.append(
            Text(f"{len(found) + 1}. F, the mean of both = ({terms}) / 2 = {sum(means) / 2:.4f}", style="bold")
        )
    parts.append(Text(str(metric.scorer().signature), style="dim", overflow="fold"))
    return Group(*parts)


def _table(one: Likelihood) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 3), header_style="bold")
    table.add_column("token")
    table.add_column("log p", justify="right")
    table.add_column("p", justify="right")
    for place, value in enumerate(one.log_probs.tolist()):
        token = Text(visible(one.target.surface(place)), style="dim" if one.target.special[place] else "")
        probability = math.exp(value)
        table.add_row(token, f"{value:.4f}", Text(f"{probability:.4f}", style=quality(probability)))
    return table


def _flags(one: Likelihood) -> str:
    return "".join(f"   {flag}: {count}" for flag, count in one.counts.items())
