"""Explain a `learned` score: a table of features times weights, and their sum."""

from __future__ import annotations

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table

from evalign.core import Floats, Row
from evalign.render.explain.parts import Explanation, heading, line, no_tokens, terms_table
from evalign.render.tables import signature_line
from evalign.render.terminal import visible
from evalign.research.learned.metric import Learned, LearnedFile


def explain_learned(
    metric: Learned, candidate: str, reference: str | None = None, source: str | None = None
) -> RenderableType:
    """Show the terms, largest first, their sum and the score."""
    scorer = metric.scorer()
    row = Row("1", candidate, () if reference is None else (reference,), source)
    (segment,) = scorer.score([row])
    if "empty" in segment.counts:
        return Group(no_tokens(metric), signature_line(scorer.signature))
    content, values = scorer.content, scorer.features(row)
    added = content.added(values)
    change, sign = float(added.sum()), "-" if added.sum() < 0 else "+"
    total = content.intercept + change
    low, high = content.low, content.high
    parts: list[RenderableType] = [
        heading("1. Every feature: deviation from its mean, in standard deviations, times its weight"),
        _features_table(content, values, added),
        heading("2. Added to the score of a pair with the means of all features"),
        line(f"{content.intercept:.4f} {sign} {abs(change):.4f} = {total:.4f}"),
    ]
    clipped = min(max(total, low), high)
    if clipped != total:
        parts.append(line(f"clipped to the scale, {low:g} to {high:g}: {clipped:.4f}"))
    return Group(*parts, signature_line(scorer.signature))


EXPLANATION = Explanation(explain_learned)


def _features_table(content: LearnedFile, values: Floats, added: Floats) -> Table:
    lines = []
    for index in np.argsort(-np.abs(added), kind="stable").tolist():
        term, value = content.terms[index], float(values[index])
        deviation = f"{(value - term.mean) / term.scale:+.3f}"
        numbers = (f"{value:.4f}", f"{term.mean:.4f}", deviation, f"{term.weight:+.4f}", f"{added[index]:+.4f}")
        lines.append([visible(term.feature), *numbers])
    columns = ("feature", "value", "mean", "deviation", "weight", "contribution")
    return terms_table(columns, lines, f"{added.sum():+.4f}")
