"""A matching metric's arithmetic on one screen: the similarity matrix, the selected cells, the sums to the score.

How an assignment or a transport plan came about is told by its steps: gaps, rounds, prices, masses. A rescaled score
ends with the formula of its baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from evalign.encoders.adapter import LOW
from evalign.matching.base import Matching, Step
from evalign.matching.transport import cost_matrix
from evalign.metrics.baseline import Baseline, Rescaling
from evalign.metrics.evalign_metric import Evalign, shares
from evalign.metrics.every_matching import check_not_empty
from evalign.metrics.lisascore import LiSAScore
from evalign.metrics.matching_metric import MatchingMetric, MatchingScorer, prf
from evalign.metrics.moverscore import MoverScore
from evalign.metrics.repetition import said_once
from evalign.metrics.token_side import Side
from evalign.render.alignment_reading import MatchedText, levels_of, matched_texts
from evalign.render.explain.parts import heading, line, matrix, more_line, pairs_table, terms_table
from evalign.render.explain.token_weights import (
    equal_weights_line,
    masses_table,
    products_table,
    token_weights,
    weighs,
    weights_heading,
)
from evalign.render.tables import signature_line
from evalign.render.terminal import quality, visible
from evalign.types import Alignment, Floats, Row

CELL = 7  # columns a matrix cell takes
SHOWN_STEPS = 40


def explain_matching(
    metric: MatchingMetric, candidate: str, reference: str, source: str | None = None
) -> RenderableType:
    """The matrix, how cells were selected, the weights of tokens, and the sums that give the score."""
    scorer = metric.scorer([Row("1", candidate, (reference,), source)])
    encoded = scorer.sides([candidate, reference])
    sides = encoded[candidate], encoded[reference]
    alignment = check_not_empty(scorer.align_sides(*sides))
    parts: list[RenderableType] = [
        heading("1. Cosine similarity of each candidate token (rows) and reference token"),
        _Matrix(alignment),
    ]
    if isinstance(metric, MoverScore):
        parts += explain_masses(scorer, alignment, sides)
        parts += explain_plan(metric, alignment)
    else:
        if alignment.matching != "greedy":
            parts += explain_selection(metric.matcher, alignment)
        parts += _arithmetic(scorer, alignment, sides)
    special = alignment.candidate.special
    if special.any() and not alignment.candidate_weights[special].any():
        parts.append(Text("\nSpecial tokens may be matched but weigh 0.", style="dim"))
    return Group(*parts, signature_line(alignment.signature))


def _arithmetic(scorer: MatchingScorer, alignment: Alignment, sides: tuple[Side, Side]) -> list[RenderableType]:
    p, r, score = (float(value) for value in _prf(scorer, alignment, sides))
    texts = matched_texts(alignment)
    parts = weights_heading(scorer)
    for letter, name, value, text, side, other in zip(
        "PR", ("Precision", "Recall"), (p, r), texts, sides, sides[::-1], strict=True
    ):
        parts.append(heading(f"{name}: each {text.name} token with its partner, weighted"))
        if weighs(scorer):
            parts.append(products_table(token_weights(scorer, side.embedded), text.weights, text.values))
            parts += equal_weights_line(side)
        parts.append(line(f"{letter} = {_sum(scorer, text, other)} = {value:.4f}"))
    parts += [
        heading("F1, their harmonic mean"),
        line(f"F1 = 2 · {p:.4f} · {r:.4f} / ({p:.4f} + {r:.4f}) = {score:.4f}")
        if p > 0 and r > 0
        else line("F1 = 0.0000, since precision and recall are not both positive"),
    ]
    if scorer.rescaling is not None:
        parts += explain_rescaling(scorer.rescaling, scorer.metric.fields, (p, r, score))
    if isinstance(scorer.metric, Evalign):
        parts += explain_output(scorer.metric, alignment, (p, r, score))
    return parts


def _prf(scorer: MatchingScorer, alignment: Alignment, sides: tuple[Side, Side]) -> Floats:
    """Precision, recall and F1, also of a metric that makes one number of them."""
    if not isinstance(scorer.metric, Evalign):
        return scorer.pair(*sides)[0]
    return prf(alignment.precision_shares.sum(), alignment.recall_shares.sum())


def explain_output(metric: Evalign, alignment: Alignment, found: Sequence[float]) -> list[RenderableType]:
    """How precision, recall and F1 become a score from 0 to 100, and what each token gives to it."""
    weights, unrelated = metric.output.mean
    mean = float(np.asarray(found) @ weights)
    straight, score = 100 * (mean - unrelated) / (1 - unrelated), float(metric.output.percent(np.asarray(found)))
    terms = " + ".join(f"{weight:.4f} · {value:.4f}" for weight, value in zip(weights, found, strict=True))
    parts: list[RenderableType] = [
        heading("Their weighted mean, with the weights of P, R and F1 that were learned"),
        line(f"m = {terms} = {mean:.4f}"),
        heading("From 0, what unrelated text was held to in training, to 100, the reference itself"),
        line(f"x = 100 · (m - {_signed(unrelated)}) / (1 - {_signed(unrelated)}) = {straight:.4f}"),
    ]
    if straight < LOW:
        parts.append(line(f"below {LOW:g}: {LOW:g} · exp(x / {LOW:g} - 1) = {score:.4f}"))
    once = said_once(alignment.candidate.text, alignment.reference.text)
    if once < 1:
        parts.append(line(f"words repeated beyond the reference's count: {once:.4f} of it is kept: {score * once:.4f}"))
    note = f" (before {once:.4g} of it is kept)" if once < 1 else " (to x)" if straight < LOW else ""
    both = (alignment.candidate, alignment.reference)
    for name, tokens, given in zip(("candidate", "reference"), both, shares(alignment, metric.output), strict=True):
        parts.append(heading(f"What each token of the {name} gives to the score{note}"))
        rows = [[visible(tokens.surface(place)), f"{share:+.2f}"] for place, share in enumerate(given.tolist())
                if not tokens.special[place]]  # fmt: skip
        parts.append(terms_table(("token", "gives"), rows, f"{given.sum():+.2f}"))
    return parts


def _sum(scorer: MatchingScorer, text: MatchedText, other: Side) -> str:
    """(.98 + .71 + ...) / 7; with a table of weights above, its sum over theirs; over the chosen denominator."""
    metric, divisor, chosen = scorer.metric, float(text.weights.sum()), ""
    if isinstance(metric, LiSAScore) and metric.denominator != "own":
        divisor, chosen = metric.divisor(text.weights, other.weights), f" (denominator={metric.denominator})"
    if weighs(scorer):
        return f"{float(text.weights @ text.values):.4f} / {divisor:.4f}{chosen}"
    terms = " + ".join(f"{value:.3f}" for value, weight in zip(text.values, text.weights, strict=True) if weight > 0)
    return f"({terms}) / {divisor:g}{chosen}"


@dataclass(frozen=True)
class _Matrix:
    """The similarity matrix as a table, where the terminal is wide enough for it."""

    alignment: Alignment

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if CELL * (len(self.alignment.reference) + 2) <= options.max_width:
            yield _matrix(self.alignment)
            yield line("> best of its row (precision)   ^ best of its column (recall)   * both", "dim")
        else:
            yield line("(too wide for this terminal; what follows is complete)", "dim")


def _matrix(alignment: Alignment) -> Table:
    names = [visible(alignment.reference.surface(j))[: CELL - 1] for j in range(len(alignment.reference))]
    bounds = levels_of(alignment).bounds
    lines = []
    for i in range(len(alignment.candidate)):
        cells = []
        for j, value in enumerate(alignment.similarity[i]):
            row_best, column_best = alignment.candidate_partners[i] == j, alignment.reference_partners[j] == i
            mark = "*" if row_best and column_best else ">" if row_best else "^" if column_best else " "
            cells.append(Text(f"{value:.2f}{mark}", style=quality(float(value), bounds) if mark != " " else "dim"))
        lines.append((Text(visible(alignment.candidate.surface(i)), style="bold"), cells))
    return matrix(names, lines)


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
    for name, text, side, mass in zip(("candidate", "reference"), texts, sides, masses, strict=True):
        weights = token_weights(scorer, encoded[text] if metric.ngram > 1 else side.embedded)
        parts.append(heading(f"Mass of each token of the {name}: its weight as a share of all"))
        parts.append(masses_table(weights, mass if metric.ngram == 1 else None))
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


def explain_rescaling(rescaling: Rescaling, names: Sequence[str], raw: Sequence[float]) -> list[RenderableType]:
    """Each field by the linear formula, or between the two neighbours in the distribution of unrelated pairs."""
    assert rescaling.baseline is not None
    baseline, (layer, *_) = rescaling.baseline, rescaling.layers
    return [*SCALES[rescaling.scale](baseline, layer, names, raw), *_origin(baseline, layer)]


def _linear(baseline: Baseline, layer: str, names: Sequence[str], raw: Sequence[float]) -> list[RenderableType]:
    parts: list[RenderableType] = [heading("Rescaled: (raw - b) / (1 - b), b = what unrelated text scores on average")]
    for name, value, base in zip(names, raw, baseline.row(layer).tolist(), strict=True):
        scaled = (value - base) / (1 - base)
        parts.append(line(f"{name} = ({value:.4f} - {_signed(base)}) / (1 - {_signed(base)}) = {scaled:.4f}"))
    parts.append(line("So unrelated text scores around 0, also below it, and equal text 1.", "dim"))
    return parts


def _percentile(baseline: Baseline, layer: str, names: Sequence[str], raw: Sequence[float]) -> list[RenderableType]:
    parts: list[RenderableType] = [heading("Rescaled: the share of unrelated pairs that score less")]
    for name, value, quantiles in zip(names, raw, baseline.quantiles[layer], strict=True):
        parts.append(line(f"{name} = {_share(value, np.array(quantiles))}"))
    return parts


def _share(value: float, points: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    """The share at a value: 0 below all points, 1 from the last on, otherwise on the line between its neighbours."""
    above = int(np.searchsorted(points, value, side="right"))
    if above == 0:
        return f"0.0000: {value:.4f} is below all of them (the lowest scores {points[0]:.4f})"
    if above == len(points):
        return f"1.0000: {value:.4f} is above all of them (the highest scores {points[-1]:.4f})"
    low, high = (place / (len(points) - 1) for place in (above - 1, above))
    left, right = float(points[above - 1]), float(points[above])
    share = low + (high - low) * (value - left) / (right - left)
    part = f"({value:.4f} - {_signed(left)}) / ({right:.4f} - {_signed(left)})"
    return f"{low:.4f} + {high - low:.4f} · {part} = {share:.4f}"


SCALES = {"linear": _linear, "percentile": _percentile}


def _origin(baseline: Baseline, layer: str) -> list[RenderableType]:
    """Which baseline it is, and what it was fitted on where it says so."""
    about = baseline.provenance.get("about")
    pairs = baseline.provenance.get("pairs")
    fitted = f", from {pairs:,} random pairs" if isinstance(pairs, int) else ""
    texts = f" of: {visible(str(about))}" if about else ""
    return [line(f"Baseline {baseline.digest}, layer {layer}{fitted}{texts}", "dim")]


def _signed(number: float) -> str:
    """With brackets around a negative number, which follows a minus."""
    return f"{number:.4f}" if number >= 0 else f"({number:.4f})"
