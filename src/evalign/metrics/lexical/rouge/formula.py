"""ROUGE's arithmetic: counts of a pair, the rounding of ROUGE-1.5.5, shares of hits, F, and what a run is worth.

In ROUGE-W a run of k words is worth k^weight, or a line ak - b. Both obey f(x + y) > f(x) + f(y) (Lin 2004, section
3.3), a power of 1 aside, which is ROUGE-L: one long run is worth more than its parts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from evalign.errors import SpecError
from evalign.metrics.options import written
from evalign.types import Floats, Ints

LARGEST_POWER = 5.0  # a power of 100,000 words must stay a number
LARGEST_SLOPE = 1e6
NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
LINE = re.compile(rf"(?P<slope>{NUMBER})?k-(?P<gap>{NUMBER})")


class Counts(NamedTuple):
    """Units in a reference (the script's model), in the candidate (its peer), and in both.

    `score` decides which of several references is the best.
    """

    model: float
    peer: float
    hit: float
    score: float


def rounded_counts(model: float, peer: float, hit: float) -> Counts:
    """Counts whose score is the recall to five places."""
    return Counts(model, peer, hit, rounded(hit / model) if model else 0.0)


def rounded(value: float) -> float:
    """A number to five places, which is what the script goes on with."""
    return float(f"{value:.5f}")


def shares(hits: Ints, candidates: Sequence[str], references: Sequence[str], fewer: int = 0) -> tuple[Floats, Floats]:
    """Precision and recall of many pairs: hits by units, which are the words of a text minus `fewer`; 0 of no units."""
    precision, recall = (
        hits / np.maximum(1, np.fromiter(map(len, texts), dtype=np.int64, count=len(hits)) - fewer)
        for texts in (candidates, references)
    )
    return precision, recall


def f_measure(precision: Floats, recall: Floats, alpha: float | None) -> Floats:
    """PR / ((1 - alpha) P + alpha R), or without alpha, by beta = P/R: RP (R² + P²) / (R³ + P³); 0 where undefined."""
    if alpha is None:
        above, below = recall * precision * (recall**2 + precision**2), recall**3 + precision**3
    else:
        above, below = precision * recall, (1 - alpha) * precision + alpha * recall
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 0))


@dataclass(frozen=True)
class Line:
    """f(k) = ak - b of a run of k words, and f(0) = 0: every run but the first costs b/a words."""

    slope: float
    gap: float

    def __str__(self) -> str:
        return f"{'' if self.slope == 1 else _decimal(self.slope)}k-{_decimal(self.gap)}"


RunWeight = float | Line  # the power, or the line


def run_weight(value: Any) -> RunWeight:
    """A weight from a spec or from Python: a number is a power, `2k-1` a line."""
    text = written(value)
    if line := LINE.fullmatch(text):
        return Line(float(line["slope"] or 1), float(line["gap"]))
    try:
        return float(text)
    except ValueError:
        raise SpecError(f"weight={text}: expected a number (a run is worth k^weight), or ak-b such as 2k-1") from None


def option_value(value: Any) -> float | str:
    """A weight in its one form as a metric's option: the power, or the text of the line."""
    weight = run_weight(value)
    return str(weight) if isinstance(weight, Line) else weight


def weight_problems(weight: RunWeight) -> list[tuple[bool, str]]:
    """Weights under which runs would be worth no more than scattered words, or scores would leave their range."""
    if not isinstance(weight, Line):
        return [(not 1 <= weight <= LARGEST_POWER, f"weight={weight:g}: expected 1 to {LARGEST_POWER:g}")]
    return [
        (weight.gap <= 0, f"weight={weight} breaks f(x+y) > f(x) + f(y), which asks for ak-b with b above 0"),
        (weight.gap >= weight.slope, f"weight={weight} makes one word worth nothing; expected ak-b with a above b"),
        (weight.slope > LARGEST_SLOPE, f"weight={weight}: expected ak-b with a up to {LARGEST_SLOPE:,.0f}"),
    ]


def worth(weight: RunWeight, run: int) -> float:
    """f(k)."""
    if isinstance(weight, Line):
        return weight.slope * run - weight.gap if run else 0.0
    return math.pow(run, weight)


def share(weight: RunWeight, value: float, words: int) -> float:
    """How much of a text a value is, by the inverse of f: f^-1(value) / words.

    For powers that is Lin's f^-1(value / f(words)). For lines it is not: Lin's quotient would give (1 + b)/a to equal
    texts and b/a to unlike ones.
    """
    if isinstance(weight, Line):
        return (value + weight.gap) / weight.slope / words if value > 0 else 0.0
    return float((value / float(words) ** weight) ** (1 / weight))


def _decimal(number: float) -> str:
    return f"{Decimal(repr(number)):f}".removesuffix(".0")
