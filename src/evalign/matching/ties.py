"""Ties are broken by rule: the same cells are chosen on every processor.

Equal token vectors get similarities that differ in their last bits, and differently on every processor. So whatever
chooses (a maximum, the k largest cells, an assignment, a transport plan, the best reference) compares values rounded to
a grid of 2^-20. Among equal cells the nearest relative position |i/n - j/m| wins, then the lowest index: a text is
matched with itself along the diagonal even where words repeat. What is averaged afterwards is not rounded.
"""

from __future__ import annotations

import math

from evalign.matching.arrays import Array, along, indices, namespace, ranked, where_true

STEPS = 2.0**20  # grid steps per unit


def on_grid(values: Array) -> Array:
    """The values rounded to multiples of 2^-20; what is infinite stays so."""
    return namespace(values).round(values * STEPS) * (1 / STEPS)


def displacement(masks: tuple[Array, Array]) -> Array:
    """(batch, n, m): |i m - j n|, the relative distance of two positions times n m; whole numbers, so exact."""
    xp = namespace(masks[0])
    rows, columns = (xp.cumsum(mask, axis=1) - 1.0 for mask in masks)  # positions among the real tokens
    row_count, column_count = (mask.sum(-1)[:, None, None] for mask in masks)
    return xp.abs(rows[:, :, None] * column_count - columns[:, None, :] * row_count)


def best(values: Array, distance: Array) -> Array:
    """Index of the largest value along the last axis; among equals the nearest one, then the first."""
    xp = namespace(values)
    first = values.argmax(-1)
    level = values == along(values, first)[..., None]
    if int(xp.count_nonzero(level)) == math.prod(first.shape):  # no ties, as mostly
        return first
    return xp.argmin(xp.where(level, distance, xp.inf), axis=-1)


def best_two(values: Array, distance: Array, rows: Array) -> tuple[Array, Array, Array, Array]:
    """Best value and index, second best value and index, in each row of (k, m); the best is chosen as by `best`.

    The values belong to `distance[rows]`, which is looked up only where there are ties. `values` are overwritten.
    """
    xp = namespace(values)
    place = indices(values, len(values))
    first = values.argmax(-1)
    value = values[place, first]
    values[place, first] = -xp.inf
    rival = values.argmax(-1)
    second = values[place, rival]
    tied = value == second
    if xp.count_nonzero(tied):  # of a short array quicker than any()
        (tied,) = where_true(tied)
        level = values[tied] == value[tied][:, None]
        level[place[: len(tied)], first[tied]] = True
        nearest = xp.where(level, distance[rows[tied]], xp.inf).argmin(-1)
        rival[tied] = xp.where(nearest == first[tied], rival[tied], first[tied])  # any of the others that are as good
        first[tied] = nearest
    return value, first, second, rival


def largest(values: Array, distance: Array, count: Array) -> Array:
    """Marks the `count` (batch,) largest of (batch, cells); among equals the nearest ones, then the first ones."""
    limit = -ranked(-values, count - 1)
    above, level = values > limit, values == limit
    missing = count - above.sum(-1)
    if bool((level.sum(-1) > missing).any()):
        level = _nearest(level, distance, missing)
    return above | level


def _nearest(level: Array, distance: Array, count: Array) -> Array:
    xp = namespace(level)
    offered = xp.where(level, distance, xp.inf)
    limit = ranked(offered, count - 1)
    nearer, edge = offered < limit, offered == limit
    missing = (count - nearer.sum(-1))[:, None]
    return nearer | (edge & (xp.cumsum(edge, axis=1) <= missing))
