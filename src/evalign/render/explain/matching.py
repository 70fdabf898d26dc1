"""A matching metric's arithmetic on one screen: the similarity matrix, the selected cells, the sums to the score."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from evalign.metrics.every_matching import check_not_empty
from evalign.metrics.lisascore import LiSAScore
from evalign.metrics.matching_metric import MatchingMetric, MatchingScorer
from evalign.metrics.moverscore import MoverScore
from evalign.metrics.token_metric import Side
from evalign.render.explain.matching_steps import explain_masses, explain_plan, explain_selection
from evalign.render.explain.parts import heading, line, matrix
from evalign.render.explain.rescaling import explain_rescaling
from evalign.render.explain.token_weights import (
    equal_weights_line,
    products_table,
    token_weights,
    weighs,
    weights_heading,
)
from evalign.render.matched_text import MatchedText, matched_texts
from evalign.render.quality import levels_of
from evalign.render.tables import signature_line
from evalign.render.terminal import quality, visible
from evalign.types import Alignment, Row

CELL = 7  # columns a matrix cell takes


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
    raw, _ = scorer.pair(*sides)
    p, r, score = (float(value) for value in raw)
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
