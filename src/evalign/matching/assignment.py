"""Linear sum assignment (LiSAScore): no token may be matched twice — exactly, or in the paper's cheaper forms.

`assign` takes one matrix (n, m) or a padded batch (batch, n, m) with masks, as numpy arrays or torch tensors, and
gives the selected cells as booleans of the same shape. All methods are one implementation for both. They compare
similarities on the grid of `ties.py`, which also says who wins among equals.

    exact             maximises the sum of the selected cells (scipy)
    row-mask          the token with most to lose chooses first
    recursive-argmax  rivals subtracted, then one-sided argmax       may break the rules
    recursive-topk    rivals subtracted, then the k largest cells    may break the rules
    auction-topk      recursive-argmax with factor 1                 may break the rules
    auction           Bertsekas, within k * eps of exact
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from evalign.errors import InputError, SpecError, nearest
from evalign.matching.arrays import Array, double, indices, like, namespace, to_numpy
from evalign.matching.auction import auction
from evalign.matching.methods import METHODS, PRESETS
from evalign.matching.recursion import best_of_columns, best_of_rows, best_of_short_side, largest_cells, sharpened
from evalign.matching.row_mask import row_mask
from evalign.matching.ties import STEPS, displacement, on_grid

SHORTER = -1  # as many rounds as the short side has tokens
# (factor, rounds) of the recursion
RECURSIONS = {
    ("recursive-argmax", "paper"): (3.0, 7),
    ("recursive-argmax", "mean"): (2.0, 7),
    ("recursive-argmax", "authors"): (0.8, 10),
    ("recursive-topk", "paper"): (3.0, 7),
    ("recursive-topk", "mean"): (2.0, 7),
    ("recursive-topk", "authors"): (10.0, 10),
    ("auction-topk", "paper"): (1.0, 8),
    ("auction-topk", "authors"): (1.0, SHORTER),
}


@dataclass(frozen=True, slots=True)
class Assigner:
    """A method of assignment with its settings; call it on a matrix or a padded batch."""

    method: str = "exact"
    preset: str = "paper"
    strict: bool = False
    eps: float = 1e-2
    max_rounds: int = 20_000
    rounds: int | None = None  # overrides the preset's number of rounds

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise SpecError(f"unknown assignment method {self.method!r}; {nearest(self.method, METHODS)}")
        if self.preset not in PRESETS:
            raise SpecError(f"unknown preset {self.preset!r}; {nearest(self.preset, PRESETS)}")
        if self.preset != "paper" and not self._as_published and (self.method, self.preset) not in RECURSIONS:
            raise SpecError(f"preset={self.preset} says nothing about method={self.method}")
        if not 0 < self.eps < math.inf:
            raise SpecError(f"eps={self.eps}: expected a positive number")
        if self.max_rounds < 1 or (self.rounds is not None and self.rounds < 0):
            raise SpecError("max_rounds must be at least 1 and rounds not negative")

    @property
    def _as_published(self) -> bool:
        """The authors' program for recursive-argmax comes down to this on square input."""
        return (self.method, self.preset) == ("recursive-argmax", "authors-as-published")

    def __call__(self, similarity: Array, masks: tuple[Array, Array] | None = None) -> Assignment:
        """The selected cells; `masks` (batch, n), (batch, m) say which tokens of a padded batch are real."""
        single = similarity.ndim == 2
        values = double(similarity[None] if single else similarity)
        if values.ndim != 3:
            raise InputError(f"expected a matrix (n, m) or a batch (batch, n, m), got {similarity.ndim} dimensions")
        masks = _full(values) if masks is None else (masks[0] != 0, masks[1] != 0)
        _check(values, masks)
        values = namespace(values).where(_valid(masks), on_grid(values), 0.0)  # whatever padding holds
        distance = displacement(masks) * (0.0 if self.preset.startswith("authors") else 1.0)
        cells = self._select(values, distance, masks)
        unfinished = _selected(cells) < _shorter(masks) if self.method == "auction" else _selected(cells) < 0
        if self.strict or bool(unfinished.any()):
            cells = _repaired(values, distance, cells, masks)
        result = Assignment(cells, _violations(cells), unfinished)
        return Assignment(cells[0], result.violations[0], unfinished[0]) if single else result

    def _select(self, values: Array, distance: Array, masks: tuple[Array, Array]) -> Array:
        if self._as_published:
            return best_of_columns(namespace(values).where(_valid(masks), values, -math.inf), distance, masks)
        if self.method == "exact":
            return _exact(values, distance, masks)
        if self.method == "row-mask":
            return row_mask(values, distance, masks)
        if self.method == "auction":
            return auction((values, distance), masks, self.eps, self.max_rounds)
        factor, rounds = RECURSIONS[self.method, self.preset]
        rounds = rounds if self.rounds is None else self.rounds
        steps = _shorter(masks) if rounds == SHORTER else _shorter(masks) * 0 + rounds
        sharp = sharpened(values, masks, factor, steps)
        return (largest_cells if self.method == "recursive-topk" else best_of_short_side)(sharp, distance, masks)


@dataclass(frozen=True, slots=True)
class Assignment:
    """Selected cells; per matrix, how often a row or column is used again, and whether rounds ran out."""

    cells: Array
    violations: Array
    unfinished: Array


def cell_values(similarity: Array, cells: Array) -> tuple[Array, Array]:
    """What each row and each column is worth: the best of its selected cells, 0 if it has none. Never the sum."""
    xp = namespace(similarity)
    chosen = xp.where(cells, similarity, -xp.inf)
    rows, columns = xp.amax(chosen, axis=-1), xp.amax(chosen, axis=-2)
    return xp.where(cells.any(-1), rows, 0.0), xp.where(cells.any(-2), columns, 0.0)


def _exact(values: Array, distance: Array, masks: tuple[Array, Array]) -> Array:
    """scipy's solver on the real tokens of each matrix; it is compiled, so the loop costs nothing.

    Of all assignments with the largest sum it finds the one whose positions are nearest in all: the distances of k
    cells, scaled by a power of two, add up to less than one step of the grid.
    """
    steps, far, rows, columns = (to_numpy(array) for array in (values * STEPS, distance, *masks))
    table = steps - far * _less_than_a_step(far)[:, None, None]
    cells = np.zeros(table.shape, dtype=bool)
    for item in range(len(table)):
        own_rows, own_columns = np.flatnonzero(rows[item]), np.flatnonzero(columns[item])
        i, j = linear_sum_assignment(table[item][np.ix_(own_rows, own_columns)], maximize=True)
        cells[item, own_rows[i], own_columns[j]] = True
    return like(cells, values)


def _less_than_a_step(distance: Array) -> Array:
    """(batch,) powers of two by which the distances of any min(n, m) cells, times it, add up to at most 1/2."""
    _, exponent = np.frexp(distance.max(axis=(1, 2)) * 2 * min(distance.shape[1:]))
    return np.ldexp(1.0, -exponent)


def _repaired(values: Array, distance: Array, cells: Array, masks: tuple[Array, Array]) -> Array:
    """The best claimant of each row, then of each column; whoever is left over by row-mask."""
    xp = namespace(values)
    cells = cells & best_of_rows(xp.where(cells, values, -xp.inf), distance, masks)
    cells = cells & best_of_columns(xp.where(cells, values, -xp.inf), distance, masks)
    rest = masks[0] & ~cells.any(2), masks[1] & ~cells.any(1)
    return cells | row_mask(values, distance, rest)


def _violations(cells: Array) -> Array:
    """How often a row or a column is used beyond the first time."""
    used_rows, used_columns = cells.any(2).sum(-1), cells.any(1).sum(-1)
    return 2 * _selected(cells) - used_rows - used_columns


def _selected(cells: Array) -> Array:
    return cells.sum((1, 2))


def _shorter(masks: tuple[Array, Array]) -> Array:
    return namespace(masks[0]).minimum(masks[0].sum(-1), masks[1].sum(-1))


def _valid(masks: tuple[Array, Array]) -> Array:
    return masks[0][:, :, None] & masks[1][:, None, :]


def _full(values: Array) -> tuple[Array, Array]:
    batch, rows, columns = values.shape
    everything = indices(values, batch)[:, None] >= 0
    return everything & (indices(values, rows) >= 0), everything & (indices(values, columns) >= 0)


def _check(values: Array, masks: tuple[Array, Array]) -> None:
    if masks[0].shape != values.shape[:2] or masks[1].shape != (values.shape[0], values.shape[2]):
        raise InputError("masks: expected (batch, n) and (batch, m) for a batch (batch, n, m)")
    if not bool(namespace(values).isfinite(values[_valid(masks)]).all()):
        raise InputError("the similarity matrix holds NaN or infinite values")
    if bool((_shorter(masks) == 0).any()):
        raise InputError("a side of the similarity matrix has no tokens")
