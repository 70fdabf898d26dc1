"""A matching metric's arithmetic on one screen, as a teacher would write it on the board."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.matching.aggregate import f1
from evalign.metrics.matching_metric import MatchingMetric
from evalign.metrics.moverscore import MoverScore
from evalign.render.explain.matching_steps import explain_plan, explain_selection
from evalign.render.terminal import quality, visible
from evalign.types import Alignment, Floats, Tokens

CELL = 7  # columns a matrix cell takes


def explain_matching(metric: MatchingMetric, alignment: Alignment, width: int) -> RenderableType:
    """The matrix, how cells were selected, and the sums that give the score."""
    parts: list[RenderableType] = [_heading("1. Cosine similarity of each candidate token (rows) and reference token")]
    if CELL * (len(alignment.reference) + 2) <= width:
        parts.append(_matrix(alignment))
        parts.append(Text("   > best of its row (precision)   ^ best of its column (recall)   * both", style="dim"))
    else:
        parts.append(Text("   (too wide for this terminal; what follows is complete)", style="dim"))
    if isinstance(metric, MoverScore):
        parts += explain_plan(metric, alignment)
    else:
        if alignment.matching != "greedy":
            parts += explain_selection(metric.matcher, alignment)
        parts += _arithmetic(alignment)
    if alignment.candidate.special.any():
        parts.append(Text("\nSpecial tokens may be matched but weigh 0.", style="dim"))
    parts.append(Text(alignment.signature, style="dim", overflow="fold"))
    return Group(*parts)


def _arithmetic(alignment: Alignment) -> list[RenderableType]:
    precision = _sum(alignment.candidate, alignment.candidate_weights, alignment.candidate_values)
    recall = _sum(alignment.reference, alignment.reference_weights, alignment.reference_values)
    p, r = alignment.precision_shares.sum(), alignment.recall_shares.sum()
    parts: list[RenderableType] = [
        _heading("Precision: each candidate token with its partner, weighted"),
        Text(f"   P = {precision} = {p:.4f}"),
        _heading("Recall: each reference token with its partner, weighted"),
        Text(f"   R = {recall} = {r:.4f}"),
        _heading("F1, their harmonic mean"),
        Text(f"   F1 = 2 · {p:.4f} · {r:.4f} / ({p:.4f} + {r:.4f}) = {float(f1(p, r)):.4f}"),
    ]
    final = alignment.scores
    if abs(final["precision"] - p) > 1e-6 or abs(final["recall"] - r) > 1e-6:
        said = "   ".join(f"{name} {value:.4f}" for name, value in final.items())
        how = "over the chosen denominator" if "denominator" in alignment.matching else "with the baseline"
        parts += [_heading(f"Rescaled {how}"), Text(f"   {said}")]
    return parts


def _heading(text: str) -> Text:
    return Text(f"\n{text}" if not text.startswith("1") else text, style="bold")


def _matrix(alignment: Alignment) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, 1), header_style="bold")
    table.add_column("")
    for index in range(len(alignment.reference)):
        heading = Text(visible(alignment.reference.surface(index))[: CELL - 1])
        table.add_column(heading, justify="right", no_wrap=True)
    for i in range(len(alignment.candidate)):
        cells = []
        for j, value in enumerate(alignment.similarity[i]):
            row_best, column_best = alignment.candidate_partners[i] == j, alignment.reference_partners[j] == i
            mark = "*" if row_best and column_best else ">" if row_best else "^" if column_best else " "
            cells.append(Text(f"{value:.2f}{mark}", style=quality(float(value)) if mark != " " else "dim"))
        table.add_row(Text(visible(alignment.candidate.surface(i)), style="bold"), *cells)
    return table


def _sum(tokens: Tokens, weights: Floats, values: Floats) -> str:
    """(.98 + .71 + ...) / 7, or with weights (1.2·.98 + ...) / 6.3."""
    counted = [index for index in range(len(tokens)) if weights[index] > 0]
    equal = len({round(float(weights[index]), 9) for index in counted}) == 1
    terms = [f"{values[i]:.3f}" if equal else f"{weights[i]:.2f}·{values[i]:.3f}" for i in counted]
    return f"({' + '.join(terms)}) / {len(counted) if equal else f'{weights.sum():.2f}'}"
