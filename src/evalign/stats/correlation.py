"""Correlation of a metric with people: two columns in, one number out; or two matrices (r, m) in, r values out.

scipy computes the first; columns without a correlation are errors that say why. `correlate_rows` is for few values
that are correlated thousands of times (systems under resampling, documents of summary-level scores), with NaN where a
row is constant. `weighted.py` computes the same for thousands of resamples of long columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.stats import rankdata

from evalign.core import Floats
from evalign.errors import UndefinedStatisticError
from evalign.stats.estimate import lookup, merged, paired, varied
from evalign.stats.weighted import TAU_DENOMINATORS, ratio

BLOCK_PAIRS = 500_000  # in memory at once


def pearson(scores: npt.ArrayLike, human: npt.ArrayLike) -> float:
    """Return r = cov(x, y) / (sd(x) sd(y)), the strength of a linear relation."""
    return _clipped(stats.pearsonr, scores, human)


def spearman(scores: npt.ArrayLike, human: npt.ArrayLike) -> float:
    """Return Pearson's r of the ranks (ties share their mean rank), the strength of a monotone relation."""
    return _clipped(stats.spearmanr, scores, human)


def kendall(scores: npt.ArrayLike, human: npt.ArrayLike) -> float:
    """Return tau-b = (C - D) / sqrt((C + D + Tx)(C + D + Ty)) over all pairs of rows, T: ties in one column only."""
    return _clipped(lambda x, y: stats.kendalltau(x, y, variant="b"), scores, human)


def kendall_c(scores: npt.ArrayLike, human: npt.ArrayLike) -> float:
    """Return tau-c = 2 (C - D) / (n^2 (m - 1) / m), m the smaller number of distinct values: for unequal scales."""
    return _clipped(lambda x, y: stats.kendalltau(x, y, variant="c"), scores, human)


CORRELATIONS: dict[str, Callable[[npt.ArrayLike, npt.ArrayLike], float]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
    "kendall-c": kendall_c,
}


def correlation(name: str) -> Callable[[npt.ArrayLike, npt.ArrayLike], float]:
    """Return the correlation of that name."""
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


def correlate_rows(name: str, scores: Floats, human: Floats) -> Floats:
    """Correlate each row of `scores` with the row of `human`, or with its only row."""
    correlate = lookup(ROWWISE, name)
    human = np.broadcast_to(human, scores.shape)
    defined = np.isfinite(scores).all(axis=1) & np.isfinite(human).all(axis=1)
    values = np.full(len(scores), np.nan)
    if scores.shape[1] > 1 and defined.any():
        values[defined] = correlate(merged(scores[defined]), merged(human[defined]))
    return values


def _pearson(scores: Floats, human: Floats) -> Floats:
    x, y = _unit(scores), _unit(human)
    values: Floats = np.clip((x * y).sum(axis=1), -1, 1)
    return values


def _spearman(scores: Floats, human: Floats) -> Floats:
    return _pearson(rankdata(scores, axis=1), rankdata(human, axis=1))


def _unit(values: Floats) -> Floats:
    """Return centred rows of length 1; NaN for constant ones."""
    value_range = values.max(axis=1, keepdims=True) - values.min(axis=1, keepdims=True)
    centred: Floats = ratio(values - values.mean(axis=1, keepdims=True), value_range)
    length: Floats = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    return centred / length


def _tau(scores: Floats, human: Floats, denominator: Callable[[Floats, Floats], Floats]) -> Floats:
    first, second = np.triu_indices(scores.shape[1], 1)
    per_block = max(1, BLOCK_PAIRS // len(first))
    values = np.empty(len(scores))
    for start in range(0, len(scores), per_block):
        x, y = scores[start : start + per_block], human[start : start + per_block]
        agreeing = (np.sign(x[:, first] - x[:, second]) * np.sign(y[:, first] - y[:, second])).sum(axis=1)
        values[start : start + per_block] = ratio(2 * agreeing, denominator(_tie_sizes(x), _tie_sizes(y)))
    return values


ROWWISE: dict[str, Callable[[Floats, Floats], Floats]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    **{name: partial(_tau, denominator=formula) for name, formula in TAU_DENOMINATORS.items()},
}


def _tie_sizes(values: Floats) -> Floats:
    """Count the values of each lowest rank (r, m), 0 for ranks that ties skip."""
    ranks = rankdata(values, method="min", axis=1).astype(np.int64) - 1
    rows, columns = values.shape
    flat = (ranks + columns * np.arange(rows)[:, None]).ravel()
    return np.bincount(flat, minlength=rows * columns).reshape(rows, columns).astype(np.float64)
