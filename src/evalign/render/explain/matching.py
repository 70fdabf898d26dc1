"""A matching metric's arithmetic on one screen: the similarity matrix, the selected cells, the sums to the score."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from evalign.matching.aggregate import f1
from evalign.metrics.every_matching import check_not_empty
from evalign.metrics.matching_metric import MatchingMetric
from evalign.metrics.moverscore import MoverScore
from evalign.render.explain.matching_steps import explain_plan, explain_selection
from evalign.render.explain.parts import heading, line, matrix
from evalign.render.matched_text import MatchedText, matched_texts
from evalign.render.tables import signature_line
from evalign.render.terminal import quality, visible
from evalign.types import Alignment

CELL = 7  # columns a matrix cell takes


def explain_matching(metric: MatchingMetric, candidate: str, reference: str) -> RenderableType:
    """The matrix, how cells were selected, and the sums that give the score."""
    alignment = check_not_empty(metric.align(candidate, reference))
    parts: list[RenderableType] = [
        heading("1. Cosine similarity of each candidate token (rows) and reference token"),
        _Matrix(alignment),
    ]
    if isinstance(metric, MoverScore):
        parts += explain_plan(metric, alignment)
    else:
        if alignment.matching != "greedy":
            parts += explain_selection(metric.matcher, alignment)
        parts += _arithmetic(alignment)
    if alignment.candidate.special.any():
        parts.append(Text("\nSpecial tokens may be matched but weigh 0.", style="dim"))
    return Group(*parts, signature_line(alignment.signature))


def _arithmetic(alignment: Alignment) -> list[RenderableType]:
    precision, recall = map(_sum, matched_texts(alignment))
    p, r = alignment.precision_shares.sum(), alignment.recall_shares.sum()
    parts: list[RenderableType] = [
        heading("Precision: each candidate token with its partner, weighted"),
        line(f"P = {precision} = {p:.4f}"),
        heading("Recall: each reference token with its partner, weighted"),
        line(f"R = {recall} = {r:.4f}"),
        heading("F1, their harmonic mean"),
        line(f"F1 = 2 · {p:.4f} · {r:.4f} / ({p:.4f} + {r:.4f}) = {float(f1(p, r)):.4f}"),
    ]
    final = alignment.scores
    if abs(final["precision"] - p) > 1e-6 or abs(final["recall"] - r) > 1e-6:
        how = "over the chosen denominator" if "denominator" in alignment.matching else "with the baseline"
        scores = "   ".join(f"{name} {value:.4f}" for name, value in final.items())
        parts += [heading(f"Rescaled {how}"), line(scores)]
    return parts


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
    lines = []
    for i in range(len(alignment.candidate)):
        cells = []
        for j, value in enumerate(alignment.similarity[i]):
            row_best, column_best = alignment.candidate_partners[i] == j, alignment.reference_partners[j] == i
            mark = "*" if row_best and column_best else ">" if row_best else "^" if column_best else " "
            cells.append(Text(f"{value:.2f}{mark}", style=quality(float(value)) if mark != " " else "dim"))
        lines.append((Text(visible(alignment.candidate.surface(i)), style="bold"), cells))
    return matrix(names, lines)


def _sum(side: MatchedText) -> str:
    """(.98 + .71 + ...) / 7, or with weights (1.2·.98 + ...) / 6.3."""
    weights, values = side.weights, side.values
    counted = [place for place in range(len(side.tokens)) if weights[place] > 0]
    equal = len({round(float(weights[place]), 9) for place in counted}) == 1
    terms = [f"{values[i]:.3f}" if equal else f"{weights[i]:.2f}·{values[i]:.3f}" for i in counted]
    return f"({' + '.join(terms)}) / {len(counted) if equal else f'{weights.sum():.2f}'}"
