"""The assignment with the largest sum of similarities, by scipy's solver (the LiSAScore paper's "stock")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from evalign.matching.arrays import Array, block, like, to_numpy
from evalign.matching.assignment import Assignment, PreparedBatch
from evalign.matching.ties import GRID_STEPS


@dataclass(frozen=True)
class Exact(Assignment):
    """Exactly min(n, m) cells with distinct rows and columns, of the largest sum."""

    key: ClassVar[str] = "exact"
    about: ClassVar[str] = "the set of cells with the largest sum in which no token is used twice"
    padded: ClassVar[bool] = False  # the compiled solver takes one matrix at a time

    def select(self, batch: PreparedBatch) -> Array:
        """Select, of all assignments with the largest sum, the one with the smallest total distance of positions.

        The distances of k cells, scaled by a power of two, add up to less than one step of the grid.
        """
        tables = batch.values * GRID_STEPS, self.positions(batch), *batch.masks
        steps, far, rows, columns = (to_numpy(array) for array in tables)
        table = steps - far * _less_than_a_step(far)[:, None, None]
        cells = np.zeros(table.shape, dtype=bool)
        for item in range(len(table)):
            token_rows, token_columns = np.flatnonzero(rows[item]), np.flatnonzero(columns[item])
            i, j = linear_sum_assignment(table[item][block(token_rows, token_columns)], maximize=True)
            cells[item, token_rows[i], token_columns[j]] = True
        return like(cells, batch.values)


def _less_than_a_step(distance: Array) -> Array:
    """Return powers of two (batch,): times these, the distances of any min(n, m) cells add up to at most 1/2."""
    _, exponent = np.frexp(distance.max(axis=(1, 2)) * 2 * min(distance.shape[1:]))
    return np.ldexp(1.0, -exponent)
