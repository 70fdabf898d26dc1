"""Tie rule: the same cells are selected on every processor.

Equal token vectors get similarities that differ in their last bits, and differently on every processor. So every
selection (a maximum, the k largest cells, an assignment, a transport plan, the best reference) compares values rounded
to a grid of 2^-20. Of equal cells the nearest relative position |i/n - j/m| wins, then the lowest index: a text is
matched with itself along the diagonal even where words repeat. The averaged values are not rounded.
"""

from __future__ import annotations

import math

from evalign.matching.arrays import Array, along, double, indices, namespace, ranked, where_true

GRID_STEPS = 2.0**20  # per unit


def on_grid(values: Array) -> Array:
    """Round to multiples of 2^-20; infinite values stay infinite."""
    return namespace(values).round(values * GRID_STEPS) * (1 / GRID_STEPS)


def displacement(masks: tuple[Array, Array]) -> Array:
    """Return |i m - j n| (batch, n, m), the relative distance of two positions times n m: whole numbers, so exact."""
    xp = namespace(masks[0])
    rows, columns = (xp.cumsum(mask, axis=1) - 1.0 for mask in masks)  # positions among the real tokens
    row_count, column_count = (mask.sum(-1)[:, None, None] for mask in masks)
    return xp.abs(rows[:, :, None] * column_count - columns[:, None, :] * row_count)


def best(values: Array, distance: Array) -> Array:
    """Return the index of the largest value along the last axis; the nearest of equal values, then the first."""
    xp = namespace(values)
    first = values.argmax(-1)
    tied = values == along(values, first)[..., None]
    if int(xp.count_nonzero(tied)) == math.prod(first.shape):  # the usual case: no ties
        return first
    return xp.argmin(xp.where(tied, distance, xp.inf), axis=-1)


def partners(similarity: Array, cells: Array) -> Array:
    """Return the index of the best selected cell in each row of one matrix (n, m), chosen as by `best`; -1 without."""
    xp = namespace(similarity)
    rows, columns = similarity.shape
    if columns == 0:
        return indices(similarity, rows) * 0 - 1
    values = xp.where(cells, on_grid(double(similarity)), -xp.inf)
    distance = xp.abs(indices(similarity, rows)[:, None] * columns - indices(similarity, columns) * rows) * 1.0
    return xp.where(cells.any(-1), best(values, distance), -1)


def best_two(values: Array, distance: Array, rows: Array) -> tuple[Array, Array, Array, Array]:
    """Return best value and index, second best value and index in each row of (k, m); the best chosen as by `best`.

    The values belong to `distance[rows]`, which is looked up only where there are ties. `values` are overwritten.
    """
    xp = namespace(values)
    row = indices(values, len(values))
    first = values.argmax(-1)
    value = values[row, first]
    values[row, first] = -xp.inf
    rival = values.argmax(-1)
    second = values[row, rival]
    tied = value == second
    if xp.count_nonzero(tied):  # faster than any() for short arrays
        (tied,) = where_true(tied)
        equal_best = values[tied] == value[tied][:, None]
        equal_best[row[: len(tied)], first[tied]] = True
        nearest = xp.where(equal_best, distance[rows[tied]], xp.inf).argmin(-1)
        rival[tied] = xp.where(nearest == first[tied], rival[tied], first[tied])  # any of the equally good ones
        first[tied] = nearest
    return value, first, second, rival


def largest(values: Array, distance: Array, count: Array) -> Array:
    """Mark the `count` (batch,) largest of (batch, cells); of equal values the nearest, then the first."""
    limit = -ranked(-values, count - 1)
    above, tied = values > limit, values == limit
    missing = count - above.sum(-1)
    if bool((tied.sum(-1) > missing).any()):
        tied = _nearest(tied, distance, missing)
    return above | tied


def _nearest(tied: Array, distance: Array, count: Array) -> Array:
    xp = namespace(tied)
    candidates = xp.where(tied, distance, xp.inf)
    limit = ranked(candidates, count - 1)
    nearer, edge = candidates < limit, candidates == limit
    missing = (count - nearer.sum(-1))[:, None]
    return nearer | (edge & (xp.cumsum(edge, axis=1) <= missing))
