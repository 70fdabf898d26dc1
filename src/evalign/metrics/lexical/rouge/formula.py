"""ROUGE's arithmetic: counts of a pair, the rounding of ROUGE-1.5.5, shares of hits, and F."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evalign.types import Floats, Ints


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
