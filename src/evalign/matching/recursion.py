"""The recursive assignments of LiSAScore: subtract what the best rivals offer, again and again.

S <- S - (best other value of the row + best other value of the column) / factor, `rounds` times; then every
short-side token takes its best cell, or the k largest cells are taken. Both may break the rules of an
assignment: a row or a column can be used twice.
"""

from __future__ import annotations

from evalign.matching.arrays import Array, namespace, one_hot, top_two
from evalign.matching.ties import best, largest


def sharpened(similarity: Array, masks: tuple[Array, Array], factor: float, rounds: Array) -> Array:
    """The matrix after `rounds` (batch,) steps; -inf where there is no token."""
    xp = namespace(similarity)
    valid = masks[0][:, :, None] & masks[1][:, None, :]
    values = xp.where(valid, similarity, -xp.inf)
    rivalry = valid & ((masks[0].sum(-1) > 1) & (masks[1].sum(-1) > 1))[:, None, None]  # one token has no rival
    for step in range(int(rounds.max()) if len(rounds) else 0):
        by_row, by_column = _others(values), xp.swapaxes(_others(xp.swapaxes(values, 1, 2)), 1, 2)
        rivals = xp.where(rivalry, by_row, 0.0) + xp.where(rivalry, by_column, 0.0)
        stepped = xp.where(valid, values, 0.0) - rivals / factor
        # The selection does not change when all values are scaled; unscaled they overflow after some 90 steps.
        peak = xp.amax(xp.abs(stepped), axis=(1, 2), keepdims=True)
        stepped = stepped / xp.where(peak > 0, peak, 1.0)
        values = xp.where(rivalry & (step < rounds)[:, None, None], stepped, values)
    return values


def best_of_short_side(values: Array, distance: Array, masks: tuple[Array, Array]) -> Array:
    """Every token of the short side takes its best cell; rows do in a square matrix."""
    by_row = best_of_rows(values, distance, masks)
    by_column = best_of_columns(values, distance, masks)
    rows_choose = masks[0].sum(-1) <= masks[1].sum(-1)
    return namespace(values).where(rows_choose[:, None, None], by_row, by_column)


def best_of_rows(values: Array, distance: Array, masks: tuple[Array, Array]) -> Array:
    """Every row takes its best column."""
    return one_hot(best(values, distance), values.shape[2]) & masks[0][:, :, None]


def best_of_columns(values: Array, distance: Array, masks: tuple[Array, Array]) -> Array:
    """Every column takes its best row."""
    xp = namespace(values)
    turned = best_of_rows(xp.swapaxes(values, 1, 2), xp.swapaxes(distance, 1, 2), masks[::-1])
    return xp.swapaxes(turned, 1, 2)


def largest_cells(values: Array, distance: Array, masks: tuple[Array, Array]) -> Array:
    """The k = min(n, m) largest cells; among equals the nearest positions, then the first in reading order."""
    count = namespace(values).minimum(masks[0].sum(-1), masks[1].sum(-1))
    flat = len(values), values.shape[1] * values.shape[2]
    return largest(values.reshape(flat), distance.reshape(flat), count).reshape(values.shape)


def _others(values: Array) -> Array:
    """For every cell the best other value of its row."""
    xp = namespace(values)
    value, first, second, _ = top_two(values)
    return xp.where(one_hot(first, values.shape[-1]), second[..., None], value[..., None])
