"""Choices that may use a token twice: every row's best cell, every column's, or the largest cells of all."""

from __future__ import annotations

from evalign.matching.arrays import Array, namespace, one_hot, shorter
from evalign.matching.base import Masks
from evalign.matching.ties import best, largest


def best_of_short_side(values: Array, distance: Array, masks: Masks) -> Array:
    """Every token of the short side takes its best cell; rows do in a square matrix."""
    rows_choose = masks[0].sum(-1) <= masks[1].sum(-1)
    if bool(rows_choose.all()):
        return best_of_rows(values, distance, masks)
    by_row, by_column = best_of_rows(values, distance, masks), best_of_columns(values, distance, masks)
    return namespace(values).where(rows_choose[:, None, None], by_row, by_column)


def best_of_rows(values: Array, distance: Array, masks: Masks) -> Array:
    """Every row takes its best column."""
    return one_hot(best(values, distance), values.shape[2]) & masks[0][:, :, None]


def best_of_columns(values: Array, distance: Array, masks: Masks) -> Array:
    """Every column takes its best row."""
    xp = namespace(values)
    turned = best_of_rows(xp.swapaxes(values, 1, 2), xp.swapaxes(distance, 1, 2), masks[::-1])
    return xp.swapaxes(turned, 1, 2)


def largest_cells(values: Array, distance: Array, masks: Masks) -> Array:
    """The k = min(n, m) largest cells; among equals the nearest positions, then the first in reading order."""
    flat = len(values), values.shape[1] * values.shape[2]
    return largest(values.reshape(flat), distance.reshape(flat), shorter(masks)).reshape(values.shape)
