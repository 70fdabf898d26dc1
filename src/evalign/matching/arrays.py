"""One implementation for numpy arrays and torch tensors: the few operations whose names differ.

torch is never imported here: a tensor can only come from a program that has loaded it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any  # a numpy array or a torch tensor
Watch = Callable[[Array, Array, Array], None]  # who, whom, by how much: one step of a method, for explanations


def unwatched(_who: Array, _whom: Array, _how_much: Array) -> None:
    """Nobody looks on."""


def namespace(array: Array) -> Any:
    """The module whose functions work on `array`; `axis` and `keepdims` are understood by both."""
    return np if isinstance(array, np.ndarray | np.generic) else sys.modules["torch"]


def indices(like: Array, count: int) -> Array:
    """0, 1, ..., count - 1 where `like` lives."""
    xp = namespace(like)
    return xp.arange(count) if xp is np else xp.arange(count, device=like.device)


def one_hot(chosen: Array, count: int) -> Array:
    """A new last axis that is true at the chosen index."""
    return chosen[..., None] == indices(chosen, count)


def along(array: Array, chosen: Array) -> Array:
    """The value at the chosen index of the last axis."""
    rows = array.reshape(-1, array.shape[-1])  # plain indexing: numpy's take_along_axis takes eight times as long
    return rows[indices(rows, len(rows)), chosen.reshape(-1)].reshape(chosen.shape)


def where_true(mask: Array) -> tuple[Array, ...]:
    """Indices of the true cells, one array per axis."""
    xp = namespace(mask)
    return tuple(mask.nonzero()) if xp is np else tuple(xp.nonzero(mask, as_tuple=True))


def block(rows: np.ndarray[Any, Any], columns: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """The index of all cells of these rows and columns; slices where they are neighbours, which are not copied."""
    slices = tuple(slice(places[0], places[-1] + 1) for places in (rows, columns) if _neighbours(places))
    return slices if len(slices) == 2 else np.ix_(rows, columns)


def index_pairs(cells: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(row, column) of every true cell in reading order; where few are true, much faster than numpy's argwhere."""
    return np.stack(np.divmod(np.flatnonzero(cells), cells.shape[1]), axis=1)


def ranked(array: Array, rank: Array) -> Array:
    """(batch, 1): the value of that rank (batch,) in each row of (batch, cells), 0 for the smallest."""
    xp = namespace(array)
    if not len(rank):
        return array[:, :1]
    upwards = np.partition(array, np.unique(rank), axis=-1) if xp is np else xp.sort(array)[0]
    return upwards[indices(array, len(array)), rank][:, None]


def order(array: Array) -> Array:
    """Indices that sort a vector upwards; equal values stay in place."""
    xp = namespace(array)
    return array.argsort(kind="stable") if xp is np else xp.argsort(array, stable=True)


def double(array: Array) -> Array:
    """As 64-bit floats, without gradients: what is selected must not depend on the library's rounding."""
    return array.astype(np.float64) if namespace(array) is np else array.detach().double()


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """A numpy array, from any device."""
    return array if namespace(array) is np else np.asarray(array.detach().cpu().numpy())


def like(array: np.ndarray[Any, Any], example: Array) -> Array:
    """A numpy array as what `example` is, where it lives."""
    xp = namespace(example)
    return array if xp is np else xp.from_numpy(array).to(example.device)


def top_two(array: Array) -> tuple[Array, Array, Array, Array]:
    """Best value and index, second best value and index, along the last axis; of equal ones the lowest index."""
    xp = namespace(array)
    rows = array.reshape(-1, array.shape[-1])
    place = indices(rows, len(rows))
    first = xp.argmax(rows, axis=-1)
    rest = rows.copy() if xp is np else rows.clone()
    rest[place, first] = -np.inf
    second = xp.argmax(rest, axis=-1)
    found = (rows[place, first], first, rest[place, second], second)
    value, first, second_value, second = (part.reshape(array.shape[:-1]) for part in found)
    return value, first, second_value, second


def leaders(table: Array, axis: int) -> tuple[Array, Array, Array]:
    """Best value, its index and the second best value along one of the last two axes of (batch, n, m)."""
    xp = namespace(table)
    if xp is not np:  # gradients flow: nothing may be overwritten
        value, place, second, _ = top_two(table if axis == -1 else xp.swapaxes(table, 1, 2))
        return value, place, second
    place = table.argmax(axis)
    items, line = np.ogrid[: len(table), : place.shape[1]]
    cells = (items, line, place) if axis == -1 else (items, place, line)
    value = table[cells]
    table[cells] = -np.inf  # for a moment: a copy takes longer than both searches
    second = table.max(axis)
    table[cells] = value
    return value, place, second


def from_short_side(
    solve: Callable[..., Array], tables: tuple[Array, Array], masks: tuple[Array, Array], square: str
) -> Array:
    """Runs `solve(similarity, distance, takers, others)` with the short side of every matrix as its takers.

    `square` says which side, "rows" or "columns", takes in a square matrix. The result is (batch, n, m) again.
    """
    xp = namespace(tables[0])
    rows, columns = masks
    if not len(rows):
        return tables[0] > 0
    longer = columns.sum(-1) - rows.sum(-1)
    by_rows = longer >= 0 if square == "rows" else longer > 0
    if bool(by_rows.all()):
        return solve(*tables, rows, columns)
    if not bool(by_rows.any()):
        return xp.swapaxes(solve(*(_turned(table) for table in tables), columns, rows), 1, 2)
    cells = xp.zeros_like(tables[0]) > 0
    (group,) = where_true(by_rows)
    cells[group] = solve(*(table[group] for table in tables), rows[group], columns[group])
    (group,) = where_true(~by_rows)
    turned = (_turned(table[group]) for table in tables)
    cells[group] = xp.swapaxes(solve(*turned, columns[group], rows[group]), 1, 2)
    return cells


def _neighbours(places: np.ndarray[Any, Any]) -> bool:
    """Whether ascending places leave none out."""
    return len(places) > 0 and bool(places[-1] - places[0] == len(places) - 1)


def _turned(table: Array) -> Array:
    """Rows and columns exchanged, each row in one piece of memory: rows are what methods read."""
    xp = namespace(table)
    turned = xp.swapaxes(table, 1, 2)
    return np.ascontiguousarray(turned) if xp is np else turned.contiguous()


def valid_cells(masks: tuple[Array, Array]) -> Array:
    """(batch, n, m): where both sides have a token."""
    return masks[0][:, :, None] & masks[1][:, None, :]


def full_masks(batch: Array) -> tuple[Array, Array]:
    """The masks of a batch without padding."""
    count, rows, columns = batch.shape
    everything = indices(batch, count)[:, None] >= 0
    return everything & (indices(batch, rows) >= 0), everything & (indices(batch, columns) >= 0)


def shorter(masks: tuple[Array, Array]) -> Array:
    """(batch,): min(n, m)."""
    return namespace(masks[0]).minimum(masks[0].sum(-1), masks[1].sum(-1))
