"""The order of a column, and how far two columns agree about the order of all pairs of rows, under row weights.

Flows in: columns, then blocks of integer weights (r, n). Flows out: r sums that are exact whatever the weights.
`weighted.py` makes Kendall's tau and Spearman's rho of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalign.types import Floats, Ints

ONE_BUCKET = 128  # up to this many rows, all pairs at once are faster than any division into buckets
FLOAT32_ROWS = 2**20


@dataclass(frozen=True, eq=False)
class Ordering:
    """The order of one column: `level` numbers its distinct values, `starts` is where they begin in `order`."""

    order: Ints
    level: Ints
    starts: Ints

    @classmethod
    def of(cls, values: Floats) -> Ordering:
        """The order of these values."""
        order = np.argsort(values, kind="stable")
        new = np.append(True, np.diff(values[order]) != 0)
        level = np.empty(len(values), dtype=np.int64)
        level[order] = np.cumsum(new) - 1
        return cls(order, level, np.flatnonzero(new))

    def sums(self, weights: Floats) -> Floats:
        """(r, distinct values): the weight of each."""
        taken = np.take(weights, self.order, axis=1)
        return taken.astype(np.float64) if self.distinct else np.add.reduceat(taken, self.starts, 1, np.float64)

    @property
    def distinct(self) -> bool:
        """No two values are equal."""
        return len(self.starts) == len(self.order)


class Concordance:
    """2 (C - D): concordant minus discordant pairs, each counted from both sides, under many weights.

    S = sum_ij w_i w_j sign(x_i - x_j) sign(y_i - y_j). Each column is cut into about sqrt(n) buckets of neighbouring
    values, equal values together. Pairs in different buckets of both columns follow from the weight in each cell of
    the grid of buckets (two small matrix products); pairs that share a bucket are summed one by one, n sqrt(n) of them.
    """

    def __init__(self, scores: Ordering, human: Ordering) -> None:
        self.scores, self.human = scores, human
        # Sums of integers, exact as long as the type holds them: float32 does so below 2^24.
        self._exact: type[np.floating[Any]] = np.float32 if len(scores.level) < FLOAT32_ROWS else np.float64
        size = ONE_BUCKET if len(scores.level) <= ONE_BUCKET else max(ONE_BUCKET // 2, int(len(scores.level) ** 0.5))
        x, y = _buckets(scores, size), _buckets(human, size)
        self._grid = (int(x.max()) + 1, int(y.max()) + 1)
        self._cell = x * self._grid[1] + y
        self._within = [*self._blocks(x, scores.level, None), *self._blocks(y, human.level, x)]

    def __call__(self, weights: Floats) -> Floats:
        """(r, n) weights -> r sums."""
        weights = np.ascontiguousarray(weights, dtype=self._exact)
        total = np.zeros(len(weights))
        for rows, signs in self._within:
            part = np.take(weights, rows, axis=1)
            total += np.einsum("rn,rn->r", part @ signs, part, dtype=np.float64)
        return total + self._between(weights) if min(self._grid) > 1 else total

    def row_sums(self) -> Floats:
        """For each row i: sum_j sign(x_i - x_j) sign(y_i - y_j), every weight being 1."""
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
        """For each cell: the weight in cells above and below in both columns, minus that above in one only."""
        left: Floats = _signs(np.arange(self._grid[0])).astype(self._exact)
        right: Floats = _signs(np.arange(self._grid[1])).astype(self._exact)
        opposed: Floats = left @ grid @ right.T
        return opposed

    def _blocks(self, bucket: Ints, level: Ints, already: Ints | None) -> Iterator[tuple[Ints, Floats]]:
        """(rows, their sign matrix) for each bucket of several values; pairs that share `already` too are left out."""
        order = np.argsort(bucket, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(bucket[order])) + 1):
            if level[rows].min() == level[rows].max():
                continue
            signs = (_signs(self.scores.level[rows]) * _signs(self.human.level[rows])).astype(self._exact)
            if already is not None:
                signs[np.equal.outer(already[rows], already[rows])] = 0
            yield rows, signs


def _buckets(ordering: Ordering, size: int) -> Ints:
    """A bucket for each row: neighbouring values up to `size` rows, or one value alone if it has more rows."""
    counts = np.diff(ordering.starts, append=len(ordering.order))
    bucket_of_level, bucket, filled = np.empty(len(counts), dtype=np.int64), 0, 0
    for level, count in enumerate(counts):
        if filled and filled + count > size:
            bucket, filled = bucket + 1, 0
        bucket_of_level[level] = bucket
        filled += count
    return bucket_of_level[ordering.level]


def _signs(values: Ints) -> Floats:
    """(n, n): the sign of each difference."""
    signs: Floats = np.sign(np.subtract.outer(values, values))
    return signs
