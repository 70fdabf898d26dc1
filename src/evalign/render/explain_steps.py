"""How an assignment or a transport plan came about: gaps, rounds, prices, masses."""

from __future__ import annotations

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalign.matching import greedy
from evalign.matching.transport import cost_matrix
from evalign.metrics.lisascore import assigner_of, objective_of
from evalign.metrics.moverscore import MoverScore
from evalign.metrics.prf import PRFMetric
from evalign.render.terminal import visible
from evalign.types import Alignment

SHOWN_STEPS = 40


def explain_assignment(metric: PRFMetric, alignment: Alignment) -> list[RenderableType]:
    """What the chosen method did with the matrix."""
    from evalign.matching.trace import rounds, steps

    assigner = assigner_of(metric)
    matrix = objective_of(metric, alignment.similarity, alignment.candidate_weights, alignment.reference_weights)
    total = float(alignment.similarity[tuple(alignment.cells.T)].sum())
    parts: list[RenderableType] = [Text(f"\n2. {assigner.method}: {ABOUT[assigner.method]}", style="bold")]
    if assigner.method in ("row-mask", "auction"):
        word = "lead" if assigner.method == "row-mask" else "price"
        found = steps(assigner, matrix)
        for number, step in enumerate(found[:SHOWN_STEPS], 1):
            taken = "; ".join(f"{_pair(alignment, i, j)} ({word} {value:.3f})" for i, j, value in step.taken)
            parts.append(Text(f"   {number:>3}. {taken}"))
        if len(found) > SHOWN_STEPS:
            parts.append(Text(f"   ... and {len(found) - SHOWN_STEPS} more", style="dim"))
    elif assigner.method != "exact" and assigner.preset != "authors-as-published":
        history = rounds(assigner, matrix)
        for number, (before, now) in enumerate(zip([history[0], *history], history, strict=False)):
            moved = [_pair(alignment, int(i), int(j)) for i, j in np.argwhere(now.cells & ~before.cells)]
            news = f"new: {', '.join(moved)}" if moved else "the plain choice" if number == 0 else "nothing new"
            parts.append(Text(f"   after {number} rounds: {int(now.violations)} used twice; {news}"))
    else:
        best = greedy.values(matrix)[0].sum()
        parts.append(
            Text(f"   Row maxima alone would add up to {best:.3f}, using some reference tokens more than once.")
        )
    parts.append(Text(f"   {len(alignment.cells)} cells selected, sum {total:.3f}: {_pairs(alignment)}"))
    if assigner.strict:
        parts.append(Text("   (repaired: the best claimant of each row, then of each column, the rest by row-mask)"))
    if alignment.counts.get("violations"):
        parts.append(
            Text(f"   The rules are broken {alignment.counts['violations']} times: a token counts its best cell.")
        )
    return parts


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


ABOUT = {
    "exact": "the set of cells with the largest sum in which no token is used twice",
    "row-mask": "whoever would lose most by waiting chooses first",
    "recursive-argmax": "the best rivals are subtracted, then every token of the short side takes its best",
    "recursive-topk": "the best rivals are subtracted, then the largest cells are taken",
    "auction-topk": "the best rivals are subtracted whole, then every token of the short side takes its best",
    "auction": "tokens of the short side bid until everybody has a partner",
}


def _pair(alignment: Alignment, i: int, j: int) -> str:
    return f"{visible(alignment.candidate.surface(i))}–{visible(alignment.reference.surface(j))}"


def _pairs(alignment: Alignment) -> str:
    return ", ".join(_pair(alignment, int(i), int(j)) for i, j in alignment.cells)
