"""What all assignments share: checks, the grid of ties, weighted objectives, repair of rule-breaking results.

A method gives the cells of a `Prepared` batch in `select`; single matrices are batches of one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

from evalign.errors import InputError, SpecError
from evalign.matching.arrays import Array, double, full_masks, namespace, shorter, valid_cells
from evalign.matching.assignment.largest_gap import by_gaps
from evalign.matching.assignment.one_sided import best_of_columns, best_of_rows
from evalign.matching.base import Masks, Matched, Matching, Weights, cell_values
from evalign.matching.ties import displacement, on_grid

MATRIX_CELLS = 16_000_000  # an assignment needs its whole matrix


@dataclass(frozen=True, eq=False)
class Prepared:
    """A padded batch to choose from: 64-bit values on the grid of ties, 0 at padding, and masks of the tokens.

    Several assignments of the same values can share it, and with it whatever two of them would compute alike.
    """

    values: Array
    masks: Masks
    tables: dict[Hashable, Array] = field(default_factory=dict)

    @cached_property
    def distance(self) -> Array:
        """(batch, n, m): the relative distance of positions."""
        return displacement(self.masks)

    def once(self, name: Hashable, compute: Callable[[], Array]) -> Array:
        """The table of that name, computed for the first assignment that asks for it."""
        if name not in self.tables:
            self.tables[name] = compute()
        return self.tables[name]


def prepare(similarity: Array, weights: Weights | None = None, masks: Masks | None = None) -> Prepared:
    """What is maximised: similarity, times the tokens' shares if there are weights; or an error that says why not."""
    if similarity.ndim != 3:
        raise InputError(f"expected a matrix (n, m) or a batch (batch, n, m), got {similarity.ndim} dimensions")
    values = double(similarity)
    padded = masks is not None
    masks = full_masks(values) if masks is None else (masks[0] != 0, masks[1] != 0)
    _check(values, masks, padded)
    values = on_grid(values if weights is None else values * _shares(weights))
    return Prepared(namespace(values).where(valid_cells(masks), values, 0.0) if padded else values, masks)


@dataclass(frozen=True)
class Assignment(Matching):
    """A method with the settings that all methods have.

    `strict` repairs results that use a token twice; `weighted` maximises similarity times the tokens' mean share of
    their sides' weights instead of similarity.
    """

    padded: ClassVar[bool] = True
    max_cells: ClassVar[int | None] = MATRIX_CELLS
    verb: ClassVar[str] = "assign"

    strict: bool = False
    weighted: bool = False

    @property
    def variant(self) -> list[str]:
        """What a method's name says before the settings of all methods, such as a preset."""
        return []

    @property
    def tuning(self) -> list[str]:
        """What it says after `strict`, such as a bound."""
        return []

    @property
    def name(self) -> str:
        """The kind and its settings, as in recursive-argmax,authors,strict."""
        return ",".join(
            [self.kind, *self.variant, *["strict"] * self.strict, *self.tuning, *["weighted"] * self.weighted]
        )

    @classmethod
    def from_settings(cls, settings: list[str]) -> Self:
        """From what follows the kind in a name."""
        options: dict[str, Any] = {}
        for setting in settings:
            options |= {setting: True} if setting in ("strict", "weighted") else cls.own_option(setting)
        return cls(**options)

    @classmethod
    def own_option(cls, setting: str) -> dict[str, Any]:
        """The option behind a word of `variant` or `tuning`."""
        raise SpecError(f"{cls.kind} has no setting {setting!r}")

    @abstractmethod
    def select(self, batch: Prepared) -> Array:
        """The cells of a batch; among equal values the smallest of `positions`, then the lowest index."""

    def positions(self, batch: Prepared) -> Array:
        """The distances that decide between equal cells."""
        return batch.distance

    def unfinished(self, cells: Array, masks: Masks) -> Array | None:
        """(batch,): which matrices the method gave up on; None if it never does."""
        return None

    def solve(self, similarity: Array, weights: Weights | None = None, masks: Masks | None = None) -> Matched:
        """The selected cells, what they are worth, and how often the rules were broken."""
        if similarity.ndim == 2:
            single = None if weights is None else (weights[0][None], weights[1][None])
            return self.solve(similarity[None], single, None).pair(0, *similarity.shape)
        return self.solve_prepared(similarity, self.prepared(similarity, weights, masks))

    def solve_prepared(self, similarity: Array, batch: Prepared) -> Matched:
        """The same for a batch (batch, n, m) that has been prepared already."""
        cells = self.select(batch)
        notes: dict[str, Array] = {}
        unfinished = self.unfinished(cells, batch.masks)
        if self.strict or (unfinished is not None and bool(unfinished.any())):
            cells = repaired(batch.values, self.positions(batch), cells, batch.masks)
        notes["violations"] = violations(cells)
        if unfinished is not None:
            notes["auction-unfinished"] = unfinished
        return Matched(*cell_values(similarity, cells), lambda: cells, notes=notes)

    def prepared(self, similarity: Array, weights: Weights | None, masks: Masks | None) -> Prepared:
        """What this assignment chooses from."""
        return prepare(similarity, weights if self.weighted else None, masks)


def repaired(values: Array, distance: Array, cells: Array, masks: Masks) -> Array:
    """The best claimant of each row, then of each column; whoever is left over by row-mask."""
    xp = namespace(values)
    cells = cells & best_of_rows(xp.where(cells, values, -xp.inf), distance, masks)
    cells = cells & best_of_columns(xp.where(cells, values, -xp.inf), distance, masks)
    rest = masks[0] & ~cells.any(2), masks[1] & ~cells.any(1)
    return cells | by_gaps(values, distance, rest)


def violations(cells: Array) -> Array:
    """(batch,): how often a row or a column is used beyond the first time."""
    used_rows, used_columns = cells.any(2).sum(-1), cells.any(1).sum(-1)
    return 2 * cells.sum((1, 2)) - used_rows - used_columns


def _shares(weights: Weights) -> Array:
    """(batch, n, m): the mean share of both tokens, scaled so that the largest is 1, for the grid of ties."""
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
