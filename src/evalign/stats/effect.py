"""Effect sizes of true pairs against false ones, the shape of a sample, and errors of scores that predict ratings.

In: scores of positives and negatives, scores by group, or scores and ratings of the same rows. Out: a `Separation`;
densities, peaks and eta squared; errors per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from evalign.core import Floats, Ints
from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats.estimate import column, paired

CALIBRATION_FOLDS = 10
DENSITY_POINTS = 400
MARGIN_BANDWIDTHS = 3.0  # drawn beyond the smallest and the largest value
MIN_BANDWIDTH = 1e-4  # of a constant sample
MIN_PEAK_SHARE = 0.05  # of the highest peak: a single outlier is no peak


@dataclass(frozen=True)
class Separation:
    """Separation of positives from negatives; None, with a flag that says why, where a number does not exist.

    difference: of the means. ratio: of the means, positives over negatives. cohens_d: the difference in pooled
    standard deviations. auc: the chance that a random positive scores above a random negative, ties half. overlap: the
    minimum over all thresholds of the share of positives at or below it plus the share of negatives above it; that is
    1 - Youden's J, and the common area of the two densities where they cross once.
    """

    difference: float
    ratio: float | None
    cohens_d: float | None
    auc: float
    overlap: float
    flags: tuple[str, ...] = ()


def derangement(n: int, seed: int = 12345) -> Ints:
    """Return a random permutation that moves every index, all equally likely: for in-batch negatives.

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
    """Measure how well scores separate positives from negatives."""
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
    """Return the errors of predicted ratings (0 to 1) per row, of raw scores (clipped) and of calibrated ones.

    Calibrated: a straight line fitted on the other nine tenths of the rows predicts each tenth.
    """
    x, target = paired(scores, shares)
    return np.clip(x, 0, 1) - target, np.clip(_calibrated(x, target, seed), 0, 1) - target


def _calibrated(scores: Floats, target: Floats, seed: int) -> Floats:
    """Predict each fold by a line fitted on the other folds; a constant score predicts the mean."""
    n = len(scores)
    fold = np.random.default_rng(seed).permutation(n) % min(CALIBRATION_FOLDS, n)
    predicted = np.empty(n)
    for held_out in range(min(CALIBRATION_FOLDS, n)):
        test, train = fold == held_out, fold != held_out
        centred = scores[train] - scores[train].mean()
        squares = float(centred @ centred)
        slope = float(centred @ target[train]) / squares if squares > 0 else 0.0
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


def silverman(values: npt.ArrayLike) -> float:
    """Return Silverman's bandwidth, 0.9 min(sd, IQR / 1.34) n^(-1/5); the sd alone if the middle half is constant."""
    sample = column(values, "values")
    deviation = float(sample.std(ddof=1)) if len(sample) > 1 else 0.0
    quarter, three_quarters = np.quantile(sample, [0.25, 0.75])
    middle = float(three_quarters - quarter) / 1.34
    return max(MIN_BANDWIDTH, 0.9 * (min(deviation, middle) if middle > 0 else deviation) * float(len(sample) ** -0.2))


def density(values: npt.ArrayLike, bandwidth: float, points: int = DENSITY_POINTS) -> tuple[Floats, Floats]:
    """Return positions and heights of the sample's density with normal kernels of that standard deviation."""
    sample = column(values, "values")
    positions = np.linspace(
        sample.min() - MARGIN_BANDWIDTHS * bandwidth, sample.max() + MARGIN_BANDWIDTHS * bandwidth, points
    )
    kernels = np.exp(-0.5 * ((positions[:, None] - sample) / bandwidth) ** 2)
    return positions, kernels.mean(axis=1) / (bandwidth * np.sqrt(2 * np.pi))


def peaks(values: npt.ArrayLike, bandwidth: float) -> int:
    """Count the maxima of the density at this bandwidth, except those below a twentieth of the highest."""
    sample = column(values, "values")
    _, heights = density(sample, bandwidth, points_for_peaks(sample, bandwidth))
    rising = np.diff(heights) > 0
    tops = heights[1:-1][rising[:-1] & ~rising[1:]]
    return int((tops >= MIN_PEAK_SHARE * heights.max()).sum())


def points_for_peaks(sample: Floats, bandwidth: float) -> int:
    """Return the number of points of a density that shows every peak: eight to a bandwidth."""
    width = float(np.ptp(sample)) + 2 * MARGIN_BANDWIDTHS * bandwidth
    return max(DENSITY_POINTS, int(8 * width / bandwidth))


def eta_squared(groups: Sequence[npt.ArrayLike]) -> float | None:
    """Return the share of the variance between groups, 0 to 1; None for one group or no variance."""
    samples = [column(values, "values") for values in groups]
    pooled = np.concatenate(samples)
    total = float(((pooled - pooled.mean()) ** 2).sum())
    if len(samples) < 2 or pooled.min() == pooled.max():
        return None
    between = sum(len(sample) * float(sample.mean() - pooled.mean()) ** 2 for sample in samples)
    return between / total
