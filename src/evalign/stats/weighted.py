"""Correlations of the same rows under many sets of row weights, for the bootstrap and permutation tests.

The weights of a resample of n rows are n small integers: the number of times each row was drawn. Order and ties of the
rows are computed once. Each function takes the two columns and returns a function from weights (r, n) to r values: the
correlation of the rows repeated that often, NaN where it is undefined (callers leave those out and count them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from evalign.core import Floats, Ints
from evalign.stats.estimate import lookup

MIN_BUCKETED_ROWS = 128  # up to this number, all pairs at once are faster than buckets
MAX_FLOAT32_ROWS = 2**20
Weighted = Callable[[Floats], Floats]

MIN_VARIANCE_SHARE = 1e-13  # of the second moment: less is rounding, the drawn rows are constant


@dataclass(frozen=True, eq=False)
class Ordering:
    """Order of a column: `level` numbers its distinct values, `starts` is where each begins in `order`."""

    order: Ints
    level: Ints
    starts: Ints

    @classmethod
    def of(cls, values: Floats) -> Ordering:
        """Sort the values."""
        order = np.argsort(values, kind="stable")
        new = np.append(True, np.diff(values[order]) != 0)
        level = np.empty(len(values), dtype=np.int64)
        level[order] = np.cumsum(new) - 1
        return cls(order, level, np.flatnonzero(new))

    def sums(self, weights: Floats) -> Floats:
        """Return the weight of each distinct value (r, distinct values)."""
        sorted_weights = np.take(weights, self.order, axis=1)
        return (
            sorted_weights.astype(np.float64)
            if self.distinct
            else np.add.reduceat(sorted_weights, self.starts, 1, np.float64)
        )

    @property
    def distinct(self) -> bool:
        """True if no two values are equal."""
        return len(self.starts) == len(self.order)


class Concordance:
    """2 (C - D): concordant minus discordant pairs, each counted from both sides, under many weights.

    S = sum_ij w_i w_j sign(x_i - x_j) sign(y_i - y_j). Each column is cut into about sqrt(n) buckets of neighbouring
    values, equal values together. Pairs in different buckets of both columns follow from the weight in each cell of
    the grid of buckets (two small matrix products); pairs that share a bucket are summed one by one, n sqrt(n) of
    them.
    """

    def __init__(self, scores: Ordering, human: Ordering) -> None:
        self.scores, self.human = scores, human
        # Sums of integers, exact in float32 below 2^24.
        self._exact: type[np.floating[Any]] = np.float32 if len(scores.level) < MAX_FLOAT32_ROWS else np.float64
        size = (
            MIN_BUCKETED_ROWS
            if len(scores.level) <= MIN_BUCKETED_ROWS
            else max(MIN_BUCKETED_ROWS // 2, int(len(scores.level) ** 0.5))
        )
        x, y = _buckets(scores, size), _buckets(human, size)
        self._grid = (int(x.max()) + 1, int(y.max()) + 1)
        self._cell = x * self._grid[1] + y
        self._within = [*self._blocks(x, scores.level, None), *self._blocks(y, human.level, x)]

    def __call__(self, weights: Floats) -> Floats:
        """Return r sums from weights (r, n)."""
        weights = np.ascontiguousarray(weights, dtype=self._exact)
        total = np.zeros(len(weights))
        for rows, signs in self._within:
            part = np.take(weights, rows, axis=1)
            total += np.einsum("rn,rn->r", part @ signs, part, dtype=np.float64)
        return total + self._between(weights) if min(self._grid) > 1 else total

    def row_sums(self) -> Floats:
        """Return sum_j sign(x_i - x_j) sign(y_i - y_j) of each row i, with all weights 1."""
        sums = np.zeros(len(self._cell))
        for rows, signs in self._within:
            sums[rows] += signs.sum(axis=1, dtype=np.float64)
        if min(self._grid) > 1:
            sums += self._opposed(self._weight_by_cell(np.ones(len(sums)))).ravel()[self._cell]
        return sums

    def _between(self, weights: Floats) -> Floats:
        grid = np.stack([self._weight_by_cell(row) for row in weights])
        sums: Floats = np.einsum("rxy,rxy->r", self._opposed(grid), grid, dtype=np.float64)
        return sums

    def _weight_by_cell(self, weights: Floats) -> Floats:
        counted = np.bincount(self._cell, weights, self._grid[0] * self._grid[1])
        return counted.reshape(self._grid).astype(self._exact)

    def _opposed(self, grid: Floats) -> Floats:
        """Return, for each cell, the weight of cells above or below in both columns minus that of opposite cells."""
        left: Floats = _signs(np.arange(self._grid[0])).astype(self._exact)
        right: Floats = _signs(np.arange(self._grid[1])).astype(self._exact)
        opposed: Floats = left @ grid @ right.T
        return opposed

    def _blocks(self, bucket: Ints, level: Ints, excluded: Ints | None) -> Iterator[tuple[Ints, Floats]]:
        """Yield (rows, their sign matrix) of buckets with several values, without pairs that share `excluded` too."""
        order = np.argsort(bucket, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(bucket[order])) + 1):
            if level[rows].min() == level[rows].max():
                continue
            signs = (_signs(self.scores.level[rows]) * _signs(self.human.level[rows])).astype(self._exact)
            if excluded is not None:
                signs[np.equal.outer(excluded[rows], excluded[rows])] = 0
            yield rows, signs


def _buckets(ordering: Ordering, size: int) -> Ints:
    """Assign a bucket to each row: neighbouring values up to `size` rows, or a single value with more rows."""
    counts = np.diff(ordering.starts, append=len(ordering.order))
    bucket_of_level, bucket, filled = np.empty(len(counts), dtype=np.int64), 0, 0
    for level, count in enumerate(counts):
        if filled and filled + count > size:
            bucket, filled = bucket + 1, 0
        bucket_of_level[level] = bucket
        filled += count
    return bucket_of_level[ordering.level]


def _signs(values: Ints) -> Floats:
    """Return the sign of each difference (n, n)."""
    signs: Floats = np.sign(np.subtract.outer(values, values))
    return signs


def weighted_mean(values: Floats, sizes: Floats | None = None) -> Weighted:
    """Return the mean of the drawn rows as a function of weights; `sizes` weigh the rows."""

    def mean(weights: Floats) -> Floats:
        if sizes is not None:
            return ratio(weights @ (sizes * values), weights @ sizes)
        return ratio(weights @ values, weights.sum(axis=1, dtype=np.float64))

    return mean


def weighted_pearson(scores: Floats, human: Floats) -> Weighted:
    """Pearson's r from sums of x, y, xx, yy, xy, centred first to avoid cancellation."""
    x, y = standardised(scores), standardised(human)
    moments = np.stack([x, y, x * x, y * y, x * y], axis=1)

    def value(weights: Floats) -> Floats:
        total = weights.sum(axis=1, dtype=np.float64)
        mean = ratio(weights.astype(np.float64) @ moments, total[:, None])
        xx, yy = mean[:, 2] - mean[:, 0] ** 2, mean[:, 3] - mean[:, 1] ** 2
        xx, yy = (
            np.where(variance > MIN_VARIANCE_SHARE * moment, variance, 0)
            for variance, moment in ((xx, mean[:, 2]), (yy, mean[:, 3]))
        )
        return np.clip(ratio(mean[:, 4] - mean[:, 0] * mean[:, 1], np.sqrt(xx * yy)), -1, 1)

    return value


def weighted_spearman(scores: Floats, human: Floats) -> Weighted:
    """Spearman's rho; ranks are those within the resample: the weight of all smaller rows plus half of equal ones."""
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
    """Return tau-b's denominator from the weights t of distinct values: sqrt((n^2 - sum tx^2)(n^2 - sum ty^2))."""
    pairs = [sums.sum(axis=-1) ** 2 - np.einsum("...g,...g->...", sums, sums) for sums in (score_sums, human_sums)]
    root: Floats = np.sqrt(pairs[0] * pairs[1])
    return root


def square_table(score_sums: Floats, human_sums: Floats) -> Floats:
    """Return tau-c's denominator: n^2 (m - 1) / m, m the smaller number of distinct values drawn."""
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
    """Return the correlation of that name, for many sets of weights."""
    return lookup(WEIGHTED, name)


def centred_ranks(sums: Floats) -> Floats:
    """Return twice each distinct value's rank minus the mean rank within the resample, from the weight of each."""
    cumulative = np.cumsum(sums, axis=-1)
    centred: Floats = 2 * cumulative - sums - cumulative[..., -1:]
    return centred


def standardised(values: Floats) -> Floats:
    """Centre, and scale so that squares neither overflow nor vanish."""
    centred: Floats = values - values.mean()
    return centred / float(np.abs(centred).max() or 1)


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Return top / bottom, and NaN, without a warning, where bottom is not positive."""
    quotient: Floats = np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0)
    return quotient


def mean_of_defined(values: Floats, sizes: Floats | None = None) -> Floats:
    """Return the mean along the first axis without NaN, weighted by sizes if given; NaN where nothing is defined."""
    defined = np.isfinite(values)
    shares = defined if sizes is None else defined * sizes[:, None]
    return ratio((np.where(defined, values, 0) * shares).sum(axis=0), shares.sum(axis=0))
