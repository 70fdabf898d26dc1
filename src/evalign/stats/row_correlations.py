"""Correlations of many short rows at once: two matrices (r, m) in, r values out, NaN where a row is constant.

Used where few values are correlated thousands of times: systems under resampling, documents of summary-level scores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.stats import rankdata

from evalign.stats.estimate import lookup
from evalign.stats.ties import merged
from evalign.stats.weighted import TAU_DENOMINATORS, ratio
from evalign.types import Floats

PAIR_BLOCK = 500_000  # pairs held at once


def correlate_rows(name: str, scores: Floats, human: Floats) -> Floats:
    """The named correlation of each row of `scores` with the row of `human`, or with the one row that it has."""
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
    """Centred rows of length 1; NaN for constant ones."""
    spread = values.max(axis=1, keepdims=True) - values.min(axis=1, keepdims=True)
    centred: Floats = ratio(values - values.mean(axis=1, keepdims=True), spread)
    length: Floats = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    return centred / length


def _tau(scores: Floats, human: Floats, denominator: Callable[[Floats, Floats], Floats]) -> Floats:
    first, second = np.triu_indices(scores.shape[1], 1)
    per_block = max(1, PAIR_BLOCK // len(first))
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
    """(r, m): how many values have each lowest rank, 0 for ranks that ties skip."""
    ranks = rankdata(values, method="min", axis=1).astype(np.int64) - 1
    rows, places = values.shape
    flat = (ranks + places * np.arange(rows)[:, None]).ravel()
    return np.bincount(flat, minlength=rows * places).reshape(rows, places).astype(np.float64)
