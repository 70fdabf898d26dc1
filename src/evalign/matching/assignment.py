"""Assignments of LiSAScore: checks, the tie grid, weighted objectives, repair of invalid results; the row-mask method.

A method subclasses `Assignment` and selects the cells of a prepared batch. `RowMask`, which also repairs the results of
other methods, is here; the others have their own files.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar, Self

from evalign.errors import InputError, SpecError
from evalign.matching.arrays import (
    Array,
    StepRecorder,
    double,
    from_short_side,
    full_masks,
    ignore_step,
    indices,
    namespace,
    one_hot,
    shorter,
    valid_cells,
    where_true,
)
from evalign.matching.base import Masks, Matching, MatchingStep, MatchResult, SharedMatrix, Weights, cell_values
from evalign.matching.ties import best, best_two, displacement, largest, on_grid

MATRIX_CELLS = 16_000_000  # an assignment needs its whole matrix


@dataclass(frozen=True, eq=False)
class PreparedBatch:
    """A padded batch to choose from: 64-bit values on the grid of ties, 0 at padding, and masks of the tokens.

    Several assignments of the same values can share it, and with it whatever two of them would compute alike.
    """

    values: Array
    masks: Masks
    tables: dict[Hashable, Array] = field(default_factory=dict)

    @cached_property
    def distance(self) -> Array:
        """Relative distances of positions (batch, n, m)."""
        return displacement(self.masks)

    def once(self, name: Hashable, compute: Callable[[], Array]) -> Array:
        """Return the table of that name, computed by the first assignment that needs it."""
        if name not in self.tables:
            self.tables[name] = compute()
        return self.tables[name]


def prepare(similarity: Array, weights: Weights | None = None, masks: Masks | None = None) -> PreparedBatch:
    """Return the values to maximise: similarity, times the tokens' shares if there are weights; raise if invalid."""
    if similarity.ndim != 3:
        raise InputError(f"expected a matrix (n, m) or a batch (batch, n, m), got {similarity.ndim} dimensions")
    values = double(similarity)
    padded = masks is not None
    masks = full_masks(values) if masks is None else (masks[0] != 0, masks[1] != 0)
    _check(values, masks, padded)
    values = on_grid(values if weights is None else values * _shares(weights))
    return PreparedBatch(namespace(values).where(valid_cells(masks), values, 0.0) if padded else values, masks)


def prepare_one(similarity: Array) -> PreparedBatch:
    """Prepare one matrix (n, m) as a batch of one."""
    return prepare(similarity[None])


@dataclass(frozen=True)
class Assignment(Matching):
    """Base of assignment methods, with the settings that all of them have.

    `strict` repairs results that use a token twice; `weighted` maximises similarity times the mean of both tokens'
    shares of their side's weight instead of similarity.
    """

    padded: ClassVar[bool] = True
    max_cells: ClassVar[int | None] = MATRIX_CELLS
    verb: ClassVar[str] = "assign"

    strict: bool = False
    weighted: bool = False

    @property
    def variant(self) -> list[str]:
        """Settings that a name prints first, such as a preset."""
        return []

    @property
    def tuning(self) -> list[str]:
        """Settings that a name prints after `strict`, such as a bound."""
        return []

    @property
    def name(self) -> str:
        """Key and settings, as in recursive-argmax,authors,strict."""
        return ",".join(
            [self.key, *self.variant, *["strict"] * self.strict, *self.tuning, *["weighted"] * self.weighted]
        )

    @classmethod
    def from_settings(cls, settings: list[str]) -> Self:
        """Create an assignment from the settings that follow the key in a name."""
        options: dict[str, Any] = {}
        for setting in settings:
            options |= {setting: True} if setting in ("strict", "weighted") else cls.option_of(setting)
        return cls(**options)

    @classmethod
    def option_of(cls, setting: str) -> dict[str, Any]:
        """Return the option for a word of `variant` or `tuning`."""
        raise SpecError(f"{cls.key} has no setting {setting!r}")

    @abstractmethod
    def select(self, batch: PreparedBatch) -> Array:
        """Return the selected cells of a batch; of equal values the smallest of `positions`, then the lowest index."""

    def positions(self, batch: PreparedBatch) -> Array:
        """Return the distances that decide between equal cells."""
        return batch.distance

    def unfinished(self, cells: Array, masks: Masks) -> Array | None:
        """Return which matrices the method gave up on (batch,), or None if it never does."""
        return None

    def solve(self, similarity: Array, weights: Weights | None = None, masks: Masks | None = None) -> MatchResult:
        """Return the selected cells, their values, and how often the assignment rules were broken."""
        if similarity.ndim == 2:
            single = None if weights is None else (weights[0][None], weights[1][None])
            return self.solve(similarity[None], single, None).pair(0, *similarity.shape)
        return self.solve_prepared(similarity, self.prepared(similarity, weights, masks))

    def solve_shared(self, shared: SharedMatrix, weights: Weights) -> MatchResult:
        """Match one matrix; assignments that maximise similarity itself share the rounded values and distances."""
        if self.weighted:
            return super().solve_shared(shared, weights)
        return self.solve_prepared(shared.similarity[None], shared.table(prepare_one)).pair(0, *shared.similarity.shape)

    def solve_prepared(self, similarity: Array, batch: PreparedBatch) -> MatchResult:
        """Solve a batch (batch, n, m) that has been prepared already."""
        cells = self.select(batch)
        notes: dict[str, Array] = {}
        unfinished = self.unfinished(cells, batch.masks)
        if self.strict or (unfinished is not None and bool(unfinished.any())):
            cells = repaired(batch.values, self.positions(batch), cells, batch.masks)
        notes["violations"] = violations(cells)
        if unfinished is not None:
            notes["auction-unfinished"] = unfinished
        return MatchResult(similarity, *cell_values(similarity, cells), lambda: cells, notes=notes)

    def prepared(self, similarity: Array, weights: Weights | None, masks: Masks | None) -> PreparedBatch:
        """Prepare a batch for this assignment's objective."""
        return prepare(similarity, weights if self.weighted else None, masks)


def repaired(values: Array, distance: Array, cells: Array, masks: Masks) -> Array:
    """Keep the best selected cell of each row, then of each column, and assign the remaining tokens by row-mask."""
    xp = namespace(values)
    cells = cells & best_of_rows(xp.where(cells, values, -xp.inf), distance, masks)
    cells = cells & best_of_columns(xp.where(cells, values, -xp.inf), distance, masks)
    rest = masks[0] & ~cells.any(2), masks[1] & ~cells.any(1)
    return cells | by_gaps(values, distance, rest)


def violations(cells: Array) -> Array:
    """Count how often rows or columns are used beyond the first time (batch,)."""
    used_rows, used_columns = cells.any(2).sum(-1), cells.any(1).sum(-1)
    return 2 * cells.sum((1, 2)) - used_rows - used_columns


def _shares(weights: Weights) -> Array:
    """Return the mean share of both tokens (batch, n, m), scaled so that the largest is 1, for the tie grid."""
    rows, columns = (side / side.sum(-1)[:, None] for side in weights)
    shares = rows[:, :, None] + columns[:, None, :]
    return shares / namespace(shares).amax(shares, axis=(1, 2), keepdims=True)


def _check(values: Array, masks: Masks, padded: bool) -> None:
    if masks[0].shape != values.shape[:2] or masks[1].shape != (values.shape[0], values.shape[2]):
        raise InputError("masks: expected (batch, n) and (batch, m) for a batch (batch, n, m)")
    if not bool(namespace(values).isfinite(values[valid_cells(masks)] if padded else values).all()):
        raise InputError("the similarity matrix holds NaN or infinite values")
    if bool((shorter(masks) == 0).any()):
        raise InputError("a side of the similarity matrix has no tokens")


def best_of_short_side(values: Array, distance: Array, masks: Masks) -> Array:
    """Select the best cell of every token of the short side; of the rows in a square matrix."""
    rows_choose = masks[0].sum(-1) <= masks[1].sum(-1)
    if bool(rows_choose.all()):
        return best_of_rows(values, distance, masks)
    by_row, by_column = best_of_rows(values, distance, masks), best_of_columns(values, distance, masks)
    return namespace(values).where(rows_choose[:, None, None], by_row, by_column)


def best_of_rows(values: Array, distance: Array, masks: Masks) -> Array:
    """Select every row's best column."""
    return one_hot(best(values, distance), values.shape[2]) & masks[0][:, :, None]


def best_of_columns(values: Array, distance: Array, masks: Masks) -> Array:
    """Select every column's best row."""
    xp = namespace(values)
    transposed = best_of_rows(xp.swapaxes(values, 1, 2), xp.swapaxes(distance, 1, 2), masks[::-1])
    return xp.swapaxes(transposed, 1, 2)


def largest_cells(values: Array, distance: Array, masks: Masks) -> Array:
    """Select the k = min(n, m) largest cells; of equal ones the nearest positions, then the first in reading order."""
    flat = len(values), values.shape[1] * values.shape[2]
    return largest(values.reshape(flat), distance.reshape(flat), shorter(masks)).reshape(values.shape)


@dataclass(frozen=True)
class RowMask(Assignment):
    """Row-mask assignment: the token with the largest gap between its best and second-best partner chooses first."""

    key: ClassVar[str] = "row-mask"
    about: ClassVar[str] = "whoever would lose most by waiting chooses first"

    def select(self, batch: PreparedBatch) -> Array:
        """Select one cell for each token of the short side."""
        return by_gaps(batch.values, self.positions(batch), batch.masks)

    def steps(self, similarity: Array, weights: Weights) -> list[MatchingStep]:
        """Return each choice with its lead over the second-best partner."""
        return recorded_steps(self, similarity, weights, by_gaps, "lead", rows_take_if_square=False)


def recorded_steps(
    matching: Assignment,
    similarity: Array,
    weights: Weights,
    run: Callable[..., Array],
    label: str,
    rows_take_if_square: bool,
) -> list[MatchingStep]:
    """Run a method and return its steps: the cells that `run(values, distance, masks, record)` selected."""
    rows, columns = similarity.shape
    by_rows = rows < columns or (rows == columns and rows_take_if_square)
    steps: list[MatchingStep] = []

    def record(takers: Array, partners: Array, numbers: Array) -> None:
        pairs = list(zip(takers.tolist(), partners.tolist(), strict=True))
        cells = tuple(cell if by_rows else cell[::-1] for cell in pairs)
        steps.append(MatchingStep(cells, tuple(f"{label} {number:.3f}" for number in numbers.tolist())))

    batch = matching.prepared(similarity[None], (weights[0][None], weights[1][None]), None)
    run(batch.values, matching.positions(batch), batch.masks, record)
    return steps


def by_gaps(
    similarity: Array, distance: Array, masks: tuple[Array, Array], record: StepRecorder = ignore_step
) -> Array:
    """Assign by gaps: repeatedly, the column with the largest gap takes its best row, and both are masked.

    A column's gap is its best minus its second-best value over the remaining rows. Columns are the short side, and
    choose in a square matrix. Equal rows, and equal gaps, are decided by the nearest relative position.

    Args:
        similarity: Values (batch, n, m).
        distance: Relative distances of positions, which break ties.
        masks: (batch, n) and (batch, m), true where there is a token.
        record: Called after every step with the takers of the short side, numbered through the batch, the partners they
            took and their leads.

    Returns:
        Selected cells (batch, n, m).
    """
    return from_short_side(partial(_choose, record=record), (similarity, distance), masks, square="columns")


def _choose(values: Array, distance: Array, takers: Array, free: Array, record: StepRecorder) -> Array:
    """Assign a different partner to each taker (batch, takers, free); there are at least as many partners as takers."""
    xp = namespace(values)
    batch, rows, columns = values.shape
    item, first_row = indices(values, batch), indices(values, batch) * rows
    table, far = xp.where(free[:, None, :], values, -xp.inf), distance.reshape(-1, columns)
    live = table.reshape(-1, columns)
    rows_of_batch = indices(values, len(far))
    value, partner, second, rival = best_two(live + 0.0, far, rows_of_batch)
    near = far[rows_of_batch, partner]
    # One live partner left: second is -inf, the gap +inf. Rows that are no takers, or are done, never win.
    takes = takers.reshape(-1)
    lead = xp.where(takes, xp.where(takes, value, 0.0) - xp.where(takes, second, 0.0), -xp.inf)
    leads, nears, partners, rivals = (array.reshape(batch, rows) for array in (lead, near, partner, rival))  # views
    transposed = xp.swapaxes(table, 1, 2)
    left = takers.sum(-1)
    steps = []
    for _ in range(int(left.max()) if batch else 0):  # finished matrices take part without effect
        taker = first_row + best(leads, nears)
        chosen_partner = partner[taker]
        record(taker, chosen_partner, lead[taker])
        steps.append((taker, chosen_partner))
        lead[taker] = -xp.inf
        transposed[item, chosen_partner] = -xp.inf
        # Only rows whose best or second-best partner was just taken are searched again.
        removed = chosen_partner[:, None]
        (affected,) = where_true((((partners == removed) | (rivals == removed)) & (leads > -xp.inf)).reshape(-1))
        if len(affected):
            value, partner[affected], second, rival[affected] = best_two(live[affected], far, affected)
            lead[affected], near[affected] = value - second, far[affected, partner[affected]]
    return _marked(steps, left, values)


def _marked(steps: list[tuple[Array, Array]], left: Array, like: Array) -> Array:
    """Mark the cells of the steps that each matrix needed."""
    xp = namespace(like)
    cells = xp.zeros_like(like) > 0
    if steps:
        taker, partner = (xp.stack(part) for part in zip(*steps, strict=True))
        real = indices(like, len(steps))[:, None] < left
        cells.reshape(-1, like.shape[-1])[taker[real], partner[real]] = True
    return cells
