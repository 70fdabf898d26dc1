"""How an assignment or a transport plan came about: gaps, rounds, prices, masses."""

from __future__ import annotations

import numpy as np
from rich.console import RenderableType

from evalign.matching.base import Matching, Step
from evalign.matching.transport import cost_matrix
from evalign.metrics.matching_metric import MatchingScorer
from evalign.metrics.moverscore import MoverScore
from evalign.metrics.token_metric import Side
from evalign.render.explain.parts import heading, line, more_line, pairs_table
from evalign.render.explain.token_weights import (
    equal_weights_line,
    masses_table,
    token_weights,
    weighs,
    weights_heading,
)
from evalign.render.terminal import visible
from evalign.types import Alignment

SHOWN_STEPS = 40


def explain_selection(matching: Matching, alignment: Alignment) -> list[RenderableType]:
    """What a matching that selects cells did with the matrix, step by step where it has something to tell."""
    weights = alignment.candidate_weights, alignment.reference_weights
    steps = matching.steps(alignment.similarity, weights)
    parts: list[RenderableType] = [heading(f"2. {matching.kind}: {matching.about}")]
    parts += [line(_step(step, number, alignment)) for number, step in enumerate(steps[:SHOWN_STEPS])]
    parts += more_line(len(steps), SHOWN_STEPS)
    if not steps:
        best = alignment.similarity.max(axis=1).sum()
        parts.append(line(f"Row maxima alone would add up to {best:.3f}, using some reference tokens more than once."))
    total = float(alignment.similarity[tuple(alignment.cells.T)].sum())
    pairs = ", ".join(_pair(alignment, int(i), int(j)) for i, j in alignment.cells)
    parts.append(line(f"{len(alignment.cells)} cells selected, sum {total:.3f}: {pairs}"))
    if "strict" in matching.name.split(","):
        parts.append(line("(repaired: the best claimant of each row, then of each column, the rest by row-mask)"))
    if broken := alignment.counts.get("violations"):
        parts.append(line(f"The rules are broken {broken} times: a token counts its best cell."))
    return parts


def _step(step: Step, number: int, alignment: Alignment) -> str:
    pairs = [_pair(alignment, i, j) for i, j in step.cells]
    if step.title:
        news = f"new: {', '.join(pairs)}" if pairs else "the plain choice" if number == 0 else "nothing new"
        return f"{step.title}; {news}"
    choices = "; ".join(f"{pair} ({reason})" for pair, reason in zip(pairs, step.said, strict=True))
    return f"{number + 1:>3}. {choices}"


def explain_masses(scorer: MatchingScorer, alignment: Alignment, sides: tuple[Side, Side]) -> list[RenderableType]:
    """Which tokens have how much mass, where they do not all have the same."""
    metric = scorer.metric
    assert isinstance(metric, MoverScore)
    if not weighs(scorer) and {metric.stopwords, metric.subwords, metric.punctuation} == {"keep"}:
        return []
    parts = weights_heading(scorer)
    texts = [tokens.text for tokens in (alignment.candidate, alignment.reference)]
    encoded = scorer.memory.encode(texts)  # n-grams stand in the place of tokens in the alignment
    masses = alignment.candidate_weights, alignment.reference_weights
    for name, text, side, shares in zip(("candidate", "reference"), texts, sides, masses, strict=True):
        weights = token_weights(scorer, encoded[text] if metric.ngram > 1 else side.embedded)
        parts.append(heading(f"Mass of each token of the {name}: its weight as a share of all"))
        parts.append(masses_table(weights, shares if metric.ngram == 1 else None))
        parts += equal_weights_line(side)
        if metric.ngram > 1:
            parts.append(line(f"{metric.ngram} neighbours with weight travel together, with the sum of their weights."))
        if not any(own.weight for own in weights) and "idf-zero" not in side.counts:
            parts.append(line("The options leave no token, so that all but special ones take part."))
    return parts


def explain_plan(metric: MoverScore, alignment: Alignment) -> list[RenderableType]:
    """Who sends how much to whom, and what that costs."""
    cost = cost_matrix(np.clip(alignment.similarity, -1, 1), metric.cost)
    masses = alignment.masses if alignment.masses is not None else np.zeros(0)
    lines = []
    for (i, j), mass in zip(alignment.cells, masses, strict=True):
        texts = visible(alignment.candidate.surface(i)), visible(alignment.reference.surface(j))
        lines.append([*texts, f"{mass:.3f}", f"{cost[i, j]:.3f}", f"{mass * cost[i, j]:.4f}"])
    total = float((masses * cost[tuple(alignment.cells.T)]).sum())
    unmatched = 1 - float(masses.sum())
    parts: list[RenderableType] = [
        heading(f"2. The cheapest way to carry the mass ({metric.match})"),
        pairs_table(("from", "to", "mass", "distance", "mass · distance"), "llrrr", lines),
    ]
    if unmatched > 1e-9:
        parts.append(line(f"unmatched mass: {unmatched:.3f} on each side"))
    if metric.transport == "unbalanced":
        parts.append(line(f"carrying {total:.4f} + penalties 2 · {metric.penalty:g} · {unmatched:.3f}"))
        total += 2 * metric.penalty * unmatched
    form = "1 / (1 + cost)" if metric.form == "inverse" else "1 - cost"
    parts.append(line(f"cost of the plan {total:.4f}; score = {form} = {alignment.scores['score']:.4f}"))
    return parts


def _pair(alignment: Alignment, i: int, j: int) -> str:
    return f"{visible(alignment.candidate.surface(i))}–{visible(alignment.reference.surface(j))}"
