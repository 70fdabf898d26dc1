"""The arithmetic of `evalign` and `learned` on one screen: every feature, what it adds, and their sum."""

from __future__ import annotations

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.metrics.evalign_metric import Recipe, limit
from evalign.metrics.learned import Learned
from evalign.metrics.learned_file import LearnedFile
from evalign.render.terminal import visible
from evalign.types import Floats, Row


def explain_weighed(
    metric: Learned | Recipe, candidate: str, reference: str | None = None, source: str | None = None
) -> RenderableType:
    """The terms, largest first, and what becomes of their sum."""
    scorer = metric.scorer()
    row = Row("1", candidate, () if reference is None else (reference,), source)
    signature = Text(str(scorer.signature), style="dim", overflow="fold")
    (segment,) = scorer.score([row])
    if "empty" in segment.counts:
        return Group(Text(f"A text has no tokens: the score is the worst, {metric.worst:g}, flagged empty."), signature)
    content, values = scorer.content, scorer.features(row)
    added = content.added(values)
    change, sign = float(added.sum()), "-" if added.sum() < 0 else "+"
    total = content.intercept + change
    low, high, final = content.low, content.high, segment.scores["score"]
    parts: list[RenderableType] = [
        Text("1. Every feature: how far from its mean, in standard deviations, times its weight", style="bold"),
        _table(content, values, added),
        Text("\n2. Added to what a pair with the means of all features gets", style="bold"),
        Text(f"   {content.intercept:.4f} {sign} {abs(change):.4f} = {total:.4f}"),
    ]
    held = min(max(total, low), high)
    if held != total:
        parts.append(Text(f"   held within the scale, {low:g} to {high:g}: {held:.4f}"))
    most = float(limit(content, values[None])[0]) if isinstance(metric, Recipe) else high
    if most < held:
        parts.append(Text(f"   no more than {high:g} times the F1 of one layer: {most:.4f}"))
        held = most
    if abs(final - held) > 1e-6:
        parts.append(
            Text(f"   words repeated beyond the reference's count: {final / held:.4f} of it is kept: {final:.4f}")
        )
    return Group(*parts, signature)


def _table(content: LearnedFile, values: Floats, added: Floats) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 3), header_style="bold", show_footer=True)
    table.add_column("feature", footer="sum")
    for name, footer in (
        ("value", ""),
        ("mean", ""),
        ("deviation", ""),
        ("weight", ""),
        ("adds", f"{added.sum():+.4f}"),
    ):
        table.add_column(name, footer=footer, justify="right")
    for place in np.argsort(-np.abs(added), kind="stable").tolist():
        term, value = content.terms[place], float(values[place])
        numbers = (
            f"{value:.4f}",
            f"{term.mean:.4f}",
            f"{(value - term.mean) / term.scale:+.3f}",
            f"{term.weight:+.4f}",
        )
        table.add_row(Text(visible(term.feature)), *numbers, f"{added[place]:+.4f}")
    return table
