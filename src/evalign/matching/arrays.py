"""One implementation for numpy arrays and torch tensors: the few operations whose names differ.

torch is never imported here: a tensor can only come from a program that has loaded it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any  # a numpy array or a torch tensor
StepRecorder = Callable[
    [Array, Array, Array], None
]  # gets the takers, partners and numbers of one step, for explanations


def ignore_step(_takers: Array, _partners: Array, _numbers: Array) -> None:
    """Do nothing: the default `StepRecorder`."""


def namespace(array: Array) -> Any:
    """Return the module whose functions work on `array`; `axis` and `keepdims` are understood by both."""
    return np if isinstance(array, np.ndarray | np.generic) else sys.modules["torch"]


def indices(like: Array, count: int) -> Array:
    """Return 0, 1, ..., count - 1 on the device of `like`."""
    xp = namespace(like)
    return xp.arange(count) if xp is np else xp.arange(count, device=like.device)


def one_hot(chosen: Array, count: int) -> Array:
    """Add a last axis that is true at the chosen index."""
    return chosen[..., None] == indices(chosen, count)


def along(array: Array, chosen: Array) -> Array:
    """Return the value at the chosen index of the last axis."""
    rows = array.reshape(-1, array.shape[-1])  # plain indexing: numpy's take_along_axis takes eight times as long
    return rows[indices(rows, len(rows)), chosen.reshape(-1)].reshape(chosen.shape)


def where_true(mask: Array) -> tuple[Array, ...]:
    """Return the indices of the true cells, one array per axis."""
    xp = namespace(mask)
    return tuple(mask.nonzero()) if xp is np else tuple(xp.nonzero(mask, as_tuple=True))


def block(rows: np.ndarray[Any, Any], columns: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Return the index of all cells of these rows and columns; slices if both are contiguous, which avoids a copy."""
    slices = tuple(slice(positions[0], positions[-1] + 1) for positions in (rows, columns) if _contiguous(positions))
    return slices if len(slices) == 2 else np.ix_(rows, columns)


def index_pairs(cells: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return (row, column) of every true cell in reading order; faster than numpy's argwhere where few are true."""
    return np.stack(np.divmod(np.flatnonzero(cells), cells.shape[1]), axis=1)


def ranked(array: Array, rank: Array) -> Array:
    """Return the value of rank (batch,) in each row of (batch, cells), 0 for the smallest, as (batch, 1)."""
    xp = namespace(array)
    if not len(rank):
        return array[:, :1]
    ascending = np.partition(array, np.unique(rank), axis=-1) if xp is np else xp.sort(array)[0]
    return ascending[indices(array, len(array)), rank][:, None]


def order(array: Array) -> Array:
    """Return the indices that sort a vector in ascending order; the sort is stable."""
    xp = namespace(array)
    return array.argsort(kind="stable") if xp is np else xp.argsort(array, stable=True)


def double(array: Array) -> Array:
    """Convert to 64-bit floats without gradients: a selection must not depend on the library's rounding."""
    return array.astype(np.float64) if namespace(array) is np else array.detach().double()


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """Convert to a numpy array, from any device."""
    return array if namespace(array) is np else np.asarray(array.detach().cpu().numpy())


def like(array: np.ndarray[Any, Any], example: Array) -> Array:
    """Convert a numpy array to the type and device of `example`."""
    xp = namespace(example)
    return array if xp is np else xp.from_numpy(array).to(example.device)


def top_two(array: Array) -> tuple[Array, Array, Array, Array]:
    """Return best value and index, second best value and index along the last axis; the lowest index where equal."""
    xp = namespace(array)
    rows = array.reshape(-1, array.shape[-1])
    row = indices(rows, len(rows))
    first = xp.argmax(rows, axis=-1)
    rest = rows.copy() if xp is np else rows.clone()
    rest[row, first] = -np.inf
    second = xp.argmax(rest, axis=-1)
    results = (rows[row, first], first, rest[row, second], second)
    value, first, second_value, second = (result.reshape(array.shape[:-1]) for result in results)
    return value, first, second_value, second


def leaders(table: Array, axis: int) -> tuple[Array, Array, Array]:
    """Return the best value, its index and the second best value along one of the last two axes of (batch, n, m)."""
    xp = namespace(table)
    if xp is not np:  # gradients flow: nothing may be overwritten
        value, index, second, _ = top_two(table if axis == -1 else xp.swapaxes(table, 1, 2))
        return value, index, second
    index = table.argmax(axis)
    items, lines = np.ogrid[: len(table), : index.shape[1]]
    cells = (items, lines, index) if axis == -1 else (items, index, lines)
    value = table[cells]
    table[cells] = -np.inf  # for a moment: a copy takes longer than both searches
    second = table.max(axis)
    table[cells] = value
    return value, index, second


def from_short_side(
    solve: Callable[..., Array], tables: tuple[Array, Array], masks: tuple[Array, Array], square: str
) -> Array:
    """Run `solve(similarity, distance, takers, partners)` with the short side of every matrix as its takers.

    `square` names the side, "rows" or "columns", that takes in a square matrix. The result is (batch, n, m) again.
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
        return xp.swapaxes(solve(*(_transposed(table) for table in tables), columns, rows), 1, 2)
    cells = xp.zeros_like(tables[0]) > 0
    (group,) = where_true(by_rows)
    cells[group] = solve(*(table[group] for table in tables), rows[group], columns[group])
    (group,) = where_true(~by_rows)
    transposed = (_transposed(table[group]) for table in tables)
    cells[group] = xp.swapaxes(solve(*transposed, columns[group], rows[group]), 1, 2)
    return cells


def _contiguous(positions: np.ndarray[Any, Any]) -> bool:
    """Return whether ascending positions have no gap."""
    return len(positions) > 0 and bool(positions[-1] - positions[0] == len(positions) - 1)


def _transposed(table: Array) -> Array:
    """Exchange rows and columns, each row contiguous in memory: methods read rows."""
    xp = namespace(table)
    transposed = xp.swapaxes(table, 1, 2)
    return np.ascontiguousarray(transposed) if xp is np else transposed.contiguous()


def valid_cells(masks: tuple[Array, Array]) -> Array:
    """Return (batch, n, m): true where both sides have a token."""
    return masks[0][:, :, None] & masks[1][:, None, :]


def full_masks(batch: Array) -> tuple[Array, Array]:
    """Return the masks of a batch without padding."""
    count, rows, columns = batch.shape
    all_rows = indices(batch, count)[:, None] >= 0
    return all_rows & (indices(batch, rows) >= 0), all_rows & (indices(batch, columns) >= 0)


def shorter(masks: tuple[Array, Array]) -> Array:
    """Return min(n, m) of each matrix (batch,)."""
    return namespace(masks[0]).minimum(masks[0].sum(-1), masks[1].sum(-1))
