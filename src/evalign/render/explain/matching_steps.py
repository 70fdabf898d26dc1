"""How an assignment or a transport plan came about: gaps, rounds, prices, masses."""

from __future__ import annotations

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalign.matching.base import Matching, Step
from evalign.matching.transport import cost_matrix
from evalign.metrics.moverscore import MoverScore
from evalign.render.terminal import visible
from evalign.types import Alignment

SHOWN_STEPS = 40


def explain_selection(matching: Matching, alignment: Alignment) -> list[RenderableType]:
    """What a matching that selects cells did with the matrix, step by step where it has something to tell."""
    weights = alignment.candidate_weights, alignment.reference_weights
    parts: list[RenderableType] = [Text(f"\n2. {matching.kind}: {matching.about}", style="bold")]
    steps = matching.steps(alignment.similarity, weights)
    for number, step in enumerate(steps[:SHOWN_STEPS]):
        parts.append(Text(f"   {_told(step, number, alignment)}"))
    if len(steps) > SHOWN_STEPS:
        parts.append(Text(f"   ... and {len(steps) - SHOWN_STEPS} more", style="dim"))
    if not steps:
        best = alignment.similarity.max(axis=1).sum()
        parts.append(
            Text(f"   Row maxima alone would add up to {best:.3f}, using some reference tokens more than once.")
        )
    total = float(alignment.similarity[tuple(alignment.cells.T)].sum())
    parts.append(Text(f"   {len(alignment.cells)} cells selected, sum {total:.3f}: {_pairs(alignment)}"))
    if "strict" in matching.name.split(","):
        parts.append(Text("   (repaired: the best claimant of each row, then of each column, the rest by row-mask)"))
    if alignment.counts.get("violations"):
        parts.append(
            Text(f"   The rules are broken {alignment.counts['violations']} times: a token counts its best cell.")
        )
    return parts


def _told(step: Step, number: int, alignment: Alignment) -> str:
    pairs = [_pair(alignment, i, j) for i, j in step.cells]
    if step.title:
        news = f"new: {', '.join(pairs)}" if pairs else "the plain choice" if number == 0 else "nothing new"
        return f"{step.title}; {news}"
    told = "; ".join(f"{pair} ({word})" for pair, word in zip(pairs, step.said, strict=True))
    return f"{number + 1:>3}. {told}"


def explain_plan(metric: MoverScore, alignment: Alignment) -> list[RenderableType]:
    """Who sends how much to whom, and what that costs."""
    cost = cost_matrix(np.clip(alignment.similarity, -1, 1), metric.cost)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("   from", "to", "mass", "distance", "mass · distance"):
        table.add_column(name, justify="left" if name in ("   from", "to") else "right")
    masses = alignment.masses if alignment.masses is not None else np.zeros(0)
    for (i, j), mass in zip(alignment.cells, masses, strict=True):
        left, right = visible(alignment.candidate.surface(i)), visible(alignment.reference.surface(j))
        table.add_row(Text(f"   {left}"), Text(right), f"{mass:.3f}", f"{cost[i, j]:.3f}", f"{mass * cost[i, j]:.4f}")
    total = float((masses * cost[tuple(alignment.cells.T)]).sum())
    unmatched = 1 - float(masses.sum())
    parts: list[RenderableType] = [
        Text(f"\n2. The cheapest way to carry the mass ({metric.match})", style="bold"),
        table,
    ]
    if unmatched > 1e-9:
        parts.append(Text(f"   unmatched mass: {unmatched:.3f} on each side"))
    if metric.transport == "unbalanced":
        parts.append(Text(f"   carrying {total:.4f} + penalties 2 · {metric.penalty:g} · {unmatched:.3f}"))
        total += 2 * metric.penalty * unmatched
    form = "1 / (1 + cost)" if metric.form == "inverse" else "1 - cost"
    parts.append(Text(f"   cost of the plan {total:.4f}; score = {form} = {alignment.scores['score']:.4f}"))
    return parts


def _pair(alignment: Alignment, i: int, j: int) -> str:
    return f"{visible(alignment.candidate.surface(i))}–{visible(alignment.reference.surface(j))}"


def _pairs(alignment: Alignment) -> str:
    return ", ".join(_pair(alignment, int(i), int(j)) for i, j in alignment.cells)
