"""The arithmetic of `evalign` and `learned` on one screen: every feature, what it adds, and their sum."""

from __future__ import annotations

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table

from evalign.metrics.evalign_metric import Evalign
from evalign.metrics.learned import Learned
from evalign.metrics.learned_file import LearnedFile
from evalign.render.explain.parts import heading, line, no_tokens, terms_table
from evalign.render.tables import signature_line
from evalign.render.terminal import visible
from evalign.types import Floats, Row


def explain_weighed(
    metric: Learned | Evalign, candidate: str, reference: str | None = None, source: str | None = None
) -> RenderableType:
    """The terms, largest first, and what becomes of their sum."""
    scorer = metric.scorer()
    row = Row("1", candidate, () if reference is None else (reference,), source)
    (segment,) = scorer.score([row])
    if "empty" in segment.counts:
        return Group(no_tokens(metric), signature_line(scorer.signature))
    content, values = scorer.content, scorer.features(row)
    added = content.added(values)
    change, sign = float(added.sum()), "-" if added.sum() < 0 else "+"
    total = content.intercept + change
    low, high, final = content.low, content.high, segment.scores["score"]
    parts: list[RenderableType] = [
        heading("1. Every feature: how far from its mean, in standard deviations, times its weight"),
        _table(content, values, added),
        heading("2. Added to what a pair with the means of all features gets"),
        line(f"{content.intercept:.4f} {sign} {abs(change):.4f} = {total:.4f}"),
    ]
    held = min(max(total, low), high)
    if held != total:
        parts.append(line(f"held within the scale, {low:g} to {high:g}: {held:.4f}"))
    most = metric.limit(content, values)
    if most < held:
        parts.append(line(f"no more than {high:g} times the F1 of one layer: {most:.4f}"))
        held = most
    if abs(final - held) > 1e-6:
        share = f"{final / held:.4f} of it is kept"
        parts.append(line(f"words repeated beyond the reference's count: {share}: {final:.4f}"))
    return Group(*parts, signature_line(scorer.signature))


def _table(content: LearnedFile, values: Floats, added: Floats) -> Table:
    lines = []
    for place in np.argsort(-np.abs(added), kind="stable").tolist():
        term, value = content.terms[place], float(values[place])
        deviation = f"{(value - term.mean) / term.scale:+.3f}"
        numbers = (f"{value:.4f}", f"{term.mean:.4f}", deviation, f"{term.weight:+.4f}", f"{added[place]:+.4f}")
        lines.append([visible(term.feature), *numbers])
    columns = ("feature", "value", "mean", "deviation", "weight", "adds")
    return terms_table(columns, lines, f"{added.sum():+.4f}")
