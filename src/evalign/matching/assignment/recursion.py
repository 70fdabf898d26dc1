"""The recursive assignments of LiSAScore: subtract what the best rivals offer, again and again.

S <- S - (best other value of the row + best other value of the column) / factor, `rounds` times; then every
short-side token takes its best cell, or the k largest cells are taken. Both may break the rules of an
assignment: a row or a column can be used twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from operator import getitem
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evalign.errors import SpecError, nearest
from evalign.matching.arrays import Array, indices, leaders, namespace, shorter, valid_cells
from evalign.matching.assignment.base import Assignment, Prepared, violations
from evalign.matching.assignment.one_sided import best_of_columns, best_of_short_side, largest_cells
from evalign.matching.base import Masks, Matched, Step, Weights, cell_values
from evalign.matching.registry import PRESETS

SHORTER = -1  # as many rounds as the short side has tokens
AS_PUBLISHED = "authors-as-published"
MOST_ROUNDS = 1000  # that a metric takes: no more is needed, and every round costs time
FACTORS = (0.001, 1000.0)  # smallest and largest


@dataclass(frozen=True)
class Recursion(Assignment):
    """A recursion with the constants of a preset, which `rounds` and `factor` override."""

    constants: ClassVar[dict[str, tuple[float, int]]]  # preset -> factor, rounds

    preset: str = "paper"
    rounds: int | None = None
    factor: float | None = None

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise SpecError(f"unknown preset {self.preset!r}; {nearest(self.preset, PRESETS)}")
        if self.preset not in self.constants:
            raise SpecError(f"preset={self.preset} says nothing about method={self.kind}")
        if self.rounds is not None and self.rounds < 0:
            raise SpecError(f"rounds={self.rounds}: expected 0 or more")
        if self.factor is not None and not FACTORS[0] <= self.factor <= FACTORS[1]:
            raise SpecError(f"factor={self.factor}: expected {FACTORS[0]:g} to {FACTORS[1]:,g}")
        if self.preset == AS_PUBLISHED and (self.rounds is not None or self.factor is not None):
            raise SpecError(f"preset={AS_PUBLISHED} has no rounds: its rounds and factor cannot be set")

    @property
    def own_constants(self) -> tuple[float, int]:
        """The factor and the rounds that are used."""
        factor, rounds = self.constants[self.preset]
        return factor if self.factor is None else self.factor, rounds if self.rounds is None else self.rounds

    @property
    def variant(self) -> list[str]:
        """The preset, and what overrides it."""
        overrides = {"rounds": self.rounds, "factor": self.factor}
        return [self.preset, *(f"{key}={value!r}" for key, value in overrides.items() if value is not None)]

    @classmethod
    def own_option(cls, setting: str) -> dict[str, Any]:
        """A preset, `rounds=8` or `factor=2.0`."""
        key, equals, value = setting.partition("=")
        kinds: dict[str, type[int | float]] = {"rounds": int, "factor": float}
        return {key: kinds[key](value)} if equals and key in kinds else {"preset": setting}

    def positions(self, batch: Prepared) -> Array:
        """The authors' programs take the lowest index, whatever its distance."""
        return batch.distance * 0.0 if self.preset.startswith("authors") else batch.distance

    def select(self, batch: Prepared) -> Array:
        """The recursion, then the method's own choice."""
        factor, rounds = self.own_constants
        steps = shorter(batch.masks) if rounds == SHORTER else shorter(batch.masks) * 0 + rounds
        sharp = batch.once(("sharpened", factor, rounds), lambda: sharpened(batch.values, batch.masks, factor, steps))
        return self.choose(sharp, self.positions(batch), batch.masks)

    def choose(self, values: Array, distance: Array, masks: Masks) -> Array:
        """Every token of the short side takes its best cell."""
        return best_of_short_side(values, distance, masks)

    def by_rounds(self, similarity: Array, most: int, weights: Weights | None = None) -> Iterator[Matched]:
        """One matrix (n, m) after 0, 1, 2, ... `most` rounds, as this method would choose then; nothing is repaired."""
        sides = None if weights is None else (weights[0][None], weights[1][None])
        batch = self.prepared(similarity[None], sides, None)
        steps = shorter(batch.masks) * 0 + most
        for sharp in sharpening(batch.values, batch.masks, self.own_constants[0], steps):
            cells = self.choose(sharp, self.positions(batch), batch.masks)
            notes = {"violations": violations(cells)[0]}
            yield Matched(*cell_values(similarity, cells[0]), partial(getitem, cells, 0), notes=notes)

    def steps(self, similarity: Array, weights: Weights) -> list[Step]:
        """What would be selected after 0, 1, 2, ... rounds."""
        _, rounds = self.own_constants
        rounds = min(similarity.shape) if rounds == SHORTER else rounds
        told, before = [], None
        for number, matched in enumerate(self.by_rounds(similarity, rounds, weights)):
            new = matched.cells if before is None else matched.cells & ~before
            before = matched.cells
            title = f"after {number} rounds: {int(matched.notes['violations'])} used twice"
            told.append(Step(tuple((int(i), int(j)) for i, j in np.argwhere(new)) if number else (), title=title))
        return told


@dataclass(frozen=True)
class RecursiveArgmax(Recursion):
    """The recursion, then one-sided argmax. As published, it comes down to every column's best row."""

    kind: ClassVar[str] = "recursive-argmax"
    about: ClassVar[str] = "the best rivals are subtracted, then every token of the short side takes its best"
    constants: ClassVar[dict[str, tuple[float, int]]] = {
        "paper": (3.0, 7),
        "mean": (2.0, 7),
        "authors": (0.8, 10),
        AS_PUBLISHED: (1.0, 0),
    }

    def choose(self, values: Array, distance: Array, masks: Masks) -> Array:
        """On square input the authors' program for this method takes every column's best row."""
        choose = best_of_columns if self.preset == AS_PUBLISHED else best_of_short_side
        return choose(values, distance, masks)

    def steps(self, similarity: Array, weights: Weights) -> list[Step]:
        """As published there are no rounds."""
        return [] if self.preset == AS_PUBLISHED else super().steps(similarity, weights)


@dataclass(frozen=True)
class RecursiveTopk(Recursion):
    """The recursion, then the k largest cells."""

    kind: ClassVar[str] = "recursive-topk"
    about: ClassVar[str] = "the best rivals are subtracted, then the largest cells are taken"
    constants: ClassVar[dict[str, tuple[float, int]]] = {"paper": (3.0, 7), "mean": (2.0, 7), "authors": (10.0, 10)}

    def choose(self, values: Array, distance: Array, masks: Masks) -> Array:
        """k = min(n, m) cells."""
        return largest_cells(values, distance, masks)


@dataclass(frozen=True)
class AuctionTopk(Recursion):
    """The recursion with factor 1 (the paper's "aggressive auction")."""

    kind: ClassVar[str] = "auction-topk"
    about: ClassVar[str] = "the best rivals are subtracted whole, then every token of the short side takes its best"
    constants: ClassVar[dict[str, tuple[float, int]]] = {"paper": (1.0, 8), "authors": (1.0, SHORTER)}


def sharpened(similarity: Array, masks: Masks, factor: float, rounds: Array) -> Array:
    """The matrix after `rounds` (batch,) steps; -inf where there is no token."""
    for values in sharpening(similarity, masks, factor, rounds):
        last = values
    return last


def sharpening(similarity: Array, masks: Masks, factor: float, rounds: Array) -> Iterator[Array]:
    """The matrix before the first step, and after each."""
    xp = namespace(similarity)
    valid = valid_cells(masks)
    padded = not bool(valid.all())
    values = xp.where(valid, similarity, -xp.inf) if padded else similarity
    rivalry = (masks[0].sum(-1) > 1) & (masks[1].sum(-1) > 1)  # one token has no rival
    yield values
    whole_matrix: dict[str, Any] = {"axis": (1, 2), "keepdims": True}
    for step in range(int(rounds.max()) if len(rounds) else 0):
        stepped = _rivals(values, masks)
        stepped /= -factor  # in place: new memory for large matrices costs more than the arithmetic
        stepped += values
        stepped = xp.where(valid, stepped, 0.0) if padded else stepped  # -inf has no gradient
        # The selection does not change when all values are scaled; unscaled they overflow after some 90 steps.
        peak = xp.maximum(xp.amax(stepped, **whole_matrix), -xp.amin(stepped, **whole_matrix))
        stepped = stepped / xp.where(peak > 0, peak, 1.0)
        going = rivalry & (step < rounds)
        whole = not padded and bool(going.all())
        values = stepped if whole else xp.where(valid & going[:, None, None], stepped, values)
        yield values


def _rivals(values: Array, masks: Masks) -> Array:
    """For every cell the best other value of its row plus that of its column; what has no token counts as 0.

    That is the best value of the row plus that of the column, but for the cells that are the best themselves.
    """
    xp = namespace(values)
    batch, rows, columns = values.shape
    by_row, by_column = _leaders(values, -1, masks[0]), _leaders(values, -2, masks[1])
    rivals = by_row.value[:, :, None] + by_column.value[:, None, :]
    items, row = indices(values, batch)[:, None], indices(values, rows)[None]
    leads = by_column.place[items, by_row.place] == row  # whether a row's best cell is its column's best too
    own = xp.where(leads, by_column.second[items, by_row.place], by_column.value[items, by_row.place])
    rivals[items, row, by_row.place] = by_row.second + own
    column = indices(values, columns)[None]
    leads = by_row.place[items, by_column.place] == column
    own = xp.where(leads, by_row.second[items, by_column.place], by_row.value[items, by_column.place])
    rivals[items, by_column.place, column] = own + by_column.second
    return rivals


class _Leaders(NamedTuple):
    """Of every row (batch, n): the best value, where it stands, and the second best."""

    value: Array
    place: Array
    second: Array


def _leaders(values: Array, axis: int, mask: Array) -> _Leaders:
    xp = namespace(values)
    value, place, second = leaders(values, axis)
    second = xp.where(second > -xp.inf, second, 0.0)
    return _Leaders(xp.where(mask, value, 0.0), place, second)
