"""Correlation of a metric with people over rows: two columns in, one number out.

scipy computes them; columns that have no correlation are errors which say why. `weighted.py` computes the same for
thousands of resamples, `row_correlations.py` for many short columns at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy.typing as npt
from scipy import stats

from evalign.errors import UndefinedStatisticError
from evalign.stats.estimate import lookup, paired, varied


def pearson(scores: npt.ArrayLike, human: npt.ArrayLike) -> float:
    """r = cov(x, y) / (sd(x) sd(y)): how close the relation is to a straight line."""
    return _clipped(stats.pearsonr, scores, human)


def spearman(scores: npt.ArrayLike, human: npt.ArrayLike) -> float:
    """Pearson of the ranks, ties sharing their mean rank: how close the relation is to any rising curve."""
    return _clipped(stats.spearmanr, scores, human)


def kendall(scores: npt.ArrayLike, human: npt.ArrayLike) -> float:
    """tau-b = (C - D) / sqrt((C + D + Tx)(C + D + Ty)) over all pairs of rows, T being ties in only one column."""
    return _clipped(lambda x, y: stats.kendalltau(x, y, variant="b"), scores, human)


def kendall_c(scores: npt.ArrayLike, human: npt.ArrayLike) -> float:
    """tau-c = 2 (C - D) / (n^2 (m - 1) / m), m the smaller number of distinct values: for unequal scales."""
    return _clipped(lambda x, y: stats.kendalltau(x, y, variant="c"), scores, human)


CORRELATIONS: dict[str, Callable[[npt.ArrayLike, npt.ArrayLike], float]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
    "kendall-c": kendall_c,
}


def correlation(name: str) -> Callable[[npt.ArrayLike, npt.ArrayLike], float]:
    """The correlation of that name."""
    return lookup(CORRELATIONS, name)


def _clipped(compute: Callable[..., tuple[float, float]], scores: npt.ArrayLike, human: npt.ArrayLike) -> float:
    x, y = paired(scores, human)
    varied(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", stats.NearConstantInputWarning)
        try:
            value = float(compute(x, y)[0])
        except stats.NearConstantInputWarning as warning:
            raise UndefinedStatisticError(
                "scores or human scores differ by no more than rounding, so nothing can agree"
            ) from warning
    return min(1.0, max(-1.0, value))
