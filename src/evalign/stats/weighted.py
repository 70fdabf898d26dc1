"""Correlations of the same rows under many sets of row weights, for the bootstrap and permutation tests.

The weights of a resample of n rows are n small integers: how often each row was drawn. Order and ties of the rows are
computed once. Each function takes the two columns and returns a function from weights (r, n) to r values: the
correlation of the rows repeated that often, NaN where it is undefined (callers leave those out and count them).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from evalign.stats.concordance import Concordance, Ordering
from evalign.stats.estimate import lookup
from evalign.types import Floats

Weighted = Callable[[Floats], Floats]

SAME = 1e-13  # variance below this part of the second moment is rounding: the drawn rows are constant


def weighted_mean(values: Floats, sizes: Floats | None = None) -> Weighted:
    """The mean of the drawn rows; with sizes, each row counts as many times as its size says."""

    def mean(weights: Floats) -> Floats:
        if sizes is not None:
            return ratio(weights @ (sizes * values), weights @ sizes)
        return ratio(weights @ values, weights.sum(axis=1, dtype=np.float64))

    return mean


def weighted_pearson(scores: Floats, human: Floats) -> Weighted:
    """From sums of x, y, xx, yy, xy, each centred first so that little cancels."""
    x, y = standardised(scores), standardised(human)
    moments = np.stack([x, y, x * x, y * y, x * y], axis=1)

    def value(weights: Floats) -> Floats:
        total = weights.sum(axis=1, dtype=np.float64)
        mean = ratio(weights.astype(np.float64) @ moments, total[:, None])
        xx, yy = mean[:, 2] - mean[:, 0] ** 2, mean[:, 3] - mean[:, 1] ** 2
        xx, yy = (np.where(part > SAME * whole, part, 0) for part, whole in ((xx, mean[:, 2]), (yy, mean[:, 3])))
        return np.clip(ratio(mean[:, 4] - mean[:, 0] * mean[:, 1], np.sqrt(xx * yy)), -1, 1)

    return value


def weighted_spearman(scores: Floats, human: Floats) -> Weighted:
    """Ranks are those within the resample: the weight of all smaller rows plus half of the equal ones."""
    score_order, human_order = Ordering.of(scores), Ordering.of(human)

    def value(weights: Floats) -> Floats:
        ranks, squares = [], []
        for order in (score_order, human_order):
            sums = order.sums(weights)
            centred = centred_ranks(sums)
            squares.append(np.einsum("rg,rg,rg->r", sums, centred, centred))
            ranks.append(np.take(centred, order.level, axis=1))
        ranks[0] *= weights
        return np.clip(ratio(np.einsum("rn,rn->r", *ranks), np.sqrt(squares[0] * squares[1])), -1, 1)

    return value


def weighted_tau(scores: Floats, human: Floats, denominator: Callable[[Floats, Floats], Floats]) -> Weighted:
    """Kendall's tau: S = 2 (C - D), divided by one of `TAU_DENOMINATORS`."""
    score_order, human_order = Ordering.of(scores), Ordering.of(human)
    concordance = Concordance(score_order, human_order)

    def value(weights: Floats) -> Floats:
        return ratio(concordance(weights), denominator(score_order.sums(weights), human_order.sums(weights)))

    return value


def untied_pairs(score_sums: Floats, human_sums: Floats) -> Floats:
    """tau-b's denominator from the weight t of each distinct value: sqrt((n^2 - sum tx^2)(n^2 - sum ty^2))."""
    pairs = [sums.sum(axis=-1) ** 2 - np.einsum("...g,...g->...", sums, sums) for sums in (score_sums, human_sums)]
    root: Floats = np.sqrt(pairs[0] * pairs[1])
    return root


def square_table(score_sums: Floats, human_sums: Floats) -> Floats:
    """tau-c's denominator: n^2 (m - 1) / m, m the smaller number of distinct values that were drawn."""
    distinct = [np.count_nonzero(sums, axis=-1) for sums in (score_sums, human_sums)]
    levels = np.maximum(np.minimum(*distinct), 1)
    cells: Floats = score_sums.sum(axis=-1) ** 2 * (levels - 1) / levels
    return cells


TAU_DENOMINATORS = {"kendall": untied_pairs, "kendall-c": square_table}
WEIGHTED: dict[str, Callable[[Floats, Floats], Weighted]] = {
    "pearson": weighted_pearson,
    "spearman": weighted_spearman,
    **{name: partial(weighted_tau, denominator=formula) for name, formula in TAU_DENOMINATORS.items()},
}


def weighted(name: str) -> Callable[[Floats, Floats], Weighted]:
    """The correlation of that name, for many sets of weights."""
    return lookup(WEIGHTED, name)


def centred_ranks(sums: Floats) -> Floats:
    """Twice each distinct value's rank minus the mean rank within the resample, from the weight of each."""
    upto = np.cumsum(sums, axis=-1)
    centred: Floats = 2 * upto - sums - upto[..., -1:]
    return centred


def standardised(values: Floats) -> Floats:
    """Centred, and of a size whose squares neither overflow nor vanish."""
    centred: Floats = values - values.mean()
    return centred / float(np.abs(centred).max() or 1)


def ratio(top: Floats, bottom: Floats) -> Floats:
    """top / bottom, and NaN, without a warning, where bottom is not positive."""
    quotient: Floats = np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0)
    return quotient


def mean_of_defined(values: Floats, sizes: Floats | None = None) -> Floats:
    """The mean along the first axis, weighed by sizes if there are any, NaN left out; NaN where nothing is left."""
    defined = np.isfinite(values)
    shares = defined if sizes is None else defined * sizes[:, None]
    return ratio((np.where(defined, values, 0) * shares).sum(axis=0), shares.sum(axis=0))
