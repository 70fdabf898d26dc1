"""Precision, recall and F of a pair as they are computed: in a ROUGE metric and the readings, out fractions as text."""

from __future__ import annotations

from dataclasses import dataclass

from evalign.metrics.lexical.rouge import lcs
from evalign.metrics.lexical.rouge.formula import Line
from evalign.metrics.lexical.rouge.metrics import RougeW
from evalign.metrics.lexical.rouge.options import OWN_RATIO
from evalign.metrics.lexical.rouge.scoring import Rouge
from evalign.render.explain.rouge.steps import Pair


@dataclass(frozen=True)
class Share:
    """Precision or recall: its value, and the fraction behind it."""

    value: float
    fraction: str


def precision_and_recall(metric: Rouge, pair: Pair) -> tuple[Share, Share]:
    """Both shares of a pair with words on both sides; in mode=rouge155 rounded to five places."""
    if metric.mode == "rouge155":
        counts = metric.counts(pair.candidate, pair.reference)
        totals = counts.peer, counts.model
        values = [round(metric.ratio(counts.hit, total), 5) if total else 0.0 for total in totals]
        fractions = [f"{counts.hit:.5g} / {total:.5g}" for total in totals]
        if isinstance(metric, RougeW):
            fractions = [f"({fraction}) ^ (1 / {metric.weight:g})" for fraction in fractions]
    else:
        values = [float(side[0]) for side in metric.pairs([pair.candidate], [pair.reference])]
        fractions = _runs(metric, pair) if isinstance(metric, RougeW) else _units(metric, pair, values)
    precision, recall = map(Share, values, fractions)
    return precision, recall


def f_fraction(metric: Rouge, p: float, r: float) -> str:
    """F's formula with its numbers."""
    if p == 0 and r == 0:
        return "nothing of nothing"
    if metric.beta == OWN_RATIO:
        return f"RP (R² + P²) / (R³ + P³), with beta = P/R = {p / r:.4f}"
    alpha = metric.precision_weight
    if alpha == 0.5:
        return f"2 · {p:.5f} · {r:.5f} / ({p:.5f} + {r:.5f})"
    return f"{p:.5f} · {r:.5f} / ({1 - (alpha or 0):.4g} · {p:.5f} + {alpha:.4g} · {r:.5f})"


def _units(metric: Rouge, pair: Pair, values: list[float]) -> list[str]:
    totals = metric.units(pair.candidate), metric.units(pair.reference)
    return [f"{value * total:.0f} / {total}" for value, total in zip(values, totals, strict=True)]


def _runs(metric: RougeW, pair: Pair) -> list[str]:
    weight = metric.run_weight
    value = lcs.weighted_length(pair.candidate.letters, pair.reference.letters, weight)
    lengths = len(pair.candidate.letters), len(pair.reference.letters)
    if isinstance(weight, Line):
        words = f"(({value:.4f} + {weight.gap:g}) / {weight.slope:g})" if value else "0"
        return [f"{words} / {length}" for length in lengths]
    return [f"({value:.4f} / {length}^{weight:g}) ^ (1 / {weight:g})" for length in lengths]
