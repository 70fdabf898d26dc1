"""Effect sizes of true pairs against false ones, and the errors of scores that are read as ratings.

In: scores of positives and negatives, or scores and ratings of the same rows. Out: a `Separation`; errors per row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats.estimate import column, paired
from evalign.types import Floats, Ints

FOLDS = 10


@dataclass(frozen=True)
class Separation:
    """Positives against negatives; None, with a flag that says why, where a number does not exist.

    difference: of the means. ratio: of the means, positives over negatives. cohens_d: the difference in pooled
    standard deviations. auc: the chance that a random positive scores above a random negative, ties half.
    overlap: the least, over all thresholds, of the part of positives at or below plus the part of negatives above it;
    that is 1 - Youden's J, and the common area of the two densities where they cross once.
    """

    difference: float
    ratio: float | None
    cohens_d: float | None
    auc: float
    overlap: float
    flags: tuple[str, ...] = ()


def derangement(n: int, seed: int = 12345) -> Ints:
    """A random permutation that moves every index, each such permutation equally likely: in-batch negatives.

    A plain random permutation leaves one true pair among the negatives on average.
    """
    if n < 2:
        raise InputError(f"negatives need at least 2 rows to exchange, but there are {n}")
    rng = np.random.default_rng(seed)
    while True:  # e attempts on average
        order = rng.permutation(n)
        if (order != np.arange(n)).all():
            return order


def separation(positives: npt.ArrayLike, negatives: npt.ArrayLike) -> Separation:
    """How well scores tell positives from negatives."""
    good, bad = column(positives, "scores of positives"), column(negatives, "scores of negatives")
    for values, name in ((good, "positives"), (bad, "negatives")):
        if len(values) < 2:
            raise UndefinedStatisticError(f"separation needs at least 2 {name}, but there are {len(values)}")
    flags = []
    squares = (len(good) - 1) * good.var(ddof=1) + (len(bad) - 1) * bad.var(ddof=1)
    pooled = np.sqrt(squares / (len(good) + len(bad) - 2))
    difference = float(good.mean() - bad.mean())
    constant = good.min() == good.max() and bad.min() == bad.max()
    if constant:
        flags.append("no Cohen's d: positives and negatives are constant")
    if bad.mean() <= 0:
        flags.append("no ratio: the mean of the negatives is not positive")
    return Separation(
        difference,
        None if bad.mean() <= 0 else float(good.mean() / bad.mean()),
        None if constant else float(difference / pooled),
        _auc(good, bad),
        _overlap(good, bad),
        tuple(flags),
    )


def rating_residuals(scores: npt.ArrayLike, shares: npt.ArrayLike, seed: int = 12345) -> tuple[Floats, Floats]:
    """Per row, the prediction within 0 and 1 minus the rating between 0 and 1: of raw scores, and of calibrated ones.

    Calibrated: a straight line fitted on the other nine tenths of the rows predicts each tenth.
    """
    x, target = paired(scores, shares)
    return np.clip(x, 0, 1) - target, np.clip(_calibrated(x, target, seed), 0, 1) - target


def _calibrated(scores: Floats, target: Floats, seed: int) -> Floats:
    """Predictions by lines fitted without the row that is predicted; a constant score predicts the mean."""
    n = len(scores)
    fold = np.random.default_rng(seed).permutation(n) % min(FOLDS, n)
    predicted = np.empty(n)
    for held_out in range(min(FOLDS, n)):
        test, train = fold == held_out, fold != held_out
        centred = scores[train] - scores[train].mean()
        spread = float(centred @ centred)
        slope = float(centred @ target[train]) / spread if spread > 0 else 0.0
        predicted[test] = target[train].mean() + slope * (scores[test] - scores[train].mean())
    return predicted


def _auc(good: Floats, bad: Floats) -> float:
    ranks = rankdata(np.concatenate([good, bad]))[: len(good)].sum()
    return float((ranks - len(good) * (len(good) + 1) / 2) / (len(good) * len(bad)))


def _overlap(good: Floats, bad: Floats) -> float:
    thresholds = np.unique(np.concatenate([good, bad]))
    below = np.searchsorted(np.sort(good), thresholds, side="right") / len(good)
    above = 1 - np.searchsorted(np.sort(bad), thresholds, side="right") / len(bad)
    return float(min(1.0, (below + above).min()))
