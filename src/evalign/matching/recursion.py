"""Recursive assignments of LiSAScore: subtract the best competing values, again and again.

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
from evalign.matching.assignment import (
    Assignment,
    PreparedBatch,
    best_of_columns,
    best_of_short_side,
    largest_cells,
    violations,
)
from evalign.matching.base import Masks, MatchingStep, MatchResult, Weights, cell_values
from evalign.matching.registry import PRESETS

SHORTER = -1  # as many rounds as the short side has tokens
AS_PUBLISHED = "authors-as-published"
MAX_ROUNDS = 1000  # that a metric accepts: more are never needed, and every round costs time
FACTORS = (0.001, 1000.0)  # smallest and largest


@dataclass(frozen=True)
class Recursion(Assignment):
    """Base of recursions: the constants of a preset, which `rounds` and `factor` override."""

    constants: ClassVar[dict[str, tuple[float, int]]]  # preset -> factor, rounds

    preset: str = "paper"
    rounds: int | None = None
    factor: float | None = None

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise SpecError(f"unknown preset {self.preset!r}; {nearest(self.preset, PRESETS)}")
        if self.preset not in self.constants:
            raise SpecError(f"preset={self.preset} does not exist for method={self.key}")
        if self.rounds is not None and self.rounds < 0:
            raise SpecError(f"rounds={self.rounds}: expected 0 or more")
        if self.factor is not None and not FACTORS[0] <= self.factor <= FACTORS[1]:
            raise SpecError(f"factor={self.factor}: expected {FACTORS[0]:g} to {FACTORS[1]:,g}")
        if self.preset == AS_PUBLISHED and (self.rounds is not None or self.factor is not None):
            raise SpecError(f"preset={AS_PUBLISHED} has no rounds: its rounds and factor cannot be set")

    @property
    def effective_constants(self) -> tuple[float, int]:
        """Factor and rounds in effect."""
        factor, rounds = self.constants[self.preset]
        return factor if self.factor is None else self.factor, rounds if self.rounds is None else self.rounds

    @property
    def variant(self) -> list[str]:
        """Preset, and the settings that override it."""
        overrides = {"rounds": self.rounds, "factor": self.factor}
        return [self.preset, *(f"{key}={value!r}" for key, value in overrides.items() if value is not None)]

    @classmethod
    def option_of(cls, setting: str) -> dict[str, Any]:
        """Parse a preset, `rounds=8` or `factor=2.0`."""
        key, equals, value = setting.partition("=")
        types: dict[str, type[int | float]] = {"rounds": int, "factor": float}
        return {key: types[key](value)} if equals and key in types else {"preset": setting}

    def positions(self, batch: PreparedBatch) -> Array:
        """Return distances; the authors' programs take the lowest index, whatever its distance."""
        return batch.distance * 0.0 if self.preset.startswith("authors") else batch.distance

    def select(self, batch: PreparedBatch) -> Array:
        """Run the recursion, then select by the method's own rule."""
        factor, rounds = self.effective_constants
        steps = shorter(batch.masks) if rounds == SHORTER else shorter(batch.masks) * 0 + rounds
        sharp = batch.once(("sharpened", factor, rounds), lambda: sharpened(batch.values, batch.masks, factor, steps))
        return self.choose(sharp, self.positions(batch), batch.masks)

    def choose(self, values: Array, distance: Array, masks: Masks) -> Array:
        """Select the best cell of every token of the short side."""
        return best_of_short_side(values, distance, masks)

    def by_rounds(self, similarity: Array, max_rounds: int, weights: Weights | None = None) -> Iterator[MatchResult]:
        """Yield the result for one matrix (n, m) after 0, 1, 2, ... `max_rounds` rounds, without repair."""
        sides = None if weights is None else (weights[0][None], weights[1][None])
        batch = self.prepared(similarity[None], sides, None)
        steps = shorter(batch.masks) * 0 + max_rounds
        for sharp in sharpening(batch.values, batch.masks, self.effective_constants[0], steps):
            cells = self.choose(sharp, self.positions(batch), batch.masks)
            notes = {"violations": violations(cells)[0]}
            yield MatchResult(similarity, *cell_values(similarity, cells[0]), partial(getitem, cells, 0), notes=notes)

    def steps(self, similarity: Array, weights: Weights) -> list[MatchingStep]:
        """Return the cells that would be selected after 0, 1, 2, ... rounds."""
        _, rounds = self.effective_constants
        rounds = min(similarity.shape) if rounds == SHORTER else rounds
        steps, before = [], None
        for number, matched in enumerate(self.by_rounds(similarity, rounds, weights)):
            new = matched.cells if before is None else matched.cells & ~before
            before = matched.cells
            title = f"after {number} rounds: {int(matched.notes['violations'])} used twice"
            steps.append(
                MatchingStep(tuple((int(i), int(j)) for i, j in np.argwhere(new)) if number else (), title=title)
            )
        return steps


@dataclass(frozen=True)
class RecursiveArgmax(Recursion):
    """Recursion, then one-sided argmax. The published code reduces to every column's best row."""

    key: ClassVar[str] = "recursive-argmax"
    about: ClassVar[str] = "the best rivals are subtracted, then every token of the short side takes its best"
    constants: ClassVar[dict[str, tuple[float, int]]] = {
        "paper": (3.0, 7),
        "mean": (2.0, 7),
        "authors": (0.8, 10),
        AS_PUBLISHED: (1.0, 0),
    }

    def choose(self, values: Array, distance: Array, masks: Masks) -> Array:
        """Select as the base; the authors' program for this method takes every column's best row."""
        choose = best_of_columns if self.preset == AS_PUBLISHED else best_of_short_side
        return choose(values, distance, masks)

    def steps(self, similarity: Array, weights: Weights) -> list[MatchingStep]:
        """Return the steps; as published there are no rounds."""
        return [] if self.preset == AS_PUBLISHED else super().steps(similarity, weights)


@dataclass(frozen=True)
class RecursiveTopk(Recursion):
    """Recursion, then the k largest cells."""

    key: ClassVar[str] = "recursive-topk"
    about: ClassVar[str] = "the best rivals are subtracted, then the largest cells are taken"
    constants: ClassVar[dict[str, tuple[float, int]]] = {"paper": (3.0, 7), "mean": (2.0, 7), "authors": (10.0, 10)}

    def choose(self, values: Array, distance: Array, masks: Masks) -> Array:
        """Select k = min(n, m) cells."""
        return largest_cells(values, distance, masks)


@dataclass(frozen=True)
class AuctionTopk(Recursion):
    """Recursion with factor 1 (the paper's "aggressive auction")."""

    key: ClassVar[str] = "auction-topk"
    about: ClassVar[str] = "the best rivals are subtracted whole, then every token of the short side takes its best"
    constants: ClassVar[dict[str, tuple[float, int]]] = {"paper": (1.0, 8), "authors": (1.0, SHORTER)}


def sharpened(similarity: Array, masks: Masks, factor: float, rounds: Array) -> Array:
    """Return the matrix after `rounds` (batch,) steps; -inf where there is no token."""
    for values in sharpening(similarity, masks, factor, rounds):
        last = values
    return last


def sharpening(similarity: Array, masks: Masks, factor: float, rounds: Array) -> Iterator[Array]:
    """Yield the matrix before the first step, and after each."""
    xp = namespace(similarity)
    valid = valid_cells(masks)
    padded = not bool(valid.all())
    values = xp.where(valid, similarity, -xp.inf) if padded else similarity
    rivalry = (masks[0].sum(-1) > 1) & (masks[1].sum(-1) > 1)  # a single token has no competitor
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
    """Return for every cell the best other value of its row plus that of its column; missing tokens count as 0.

    That is the best value of the row plus that of the column, but for the cells that are the best themselves.
    """
    xp = namespace(values)
    batch, rows, columns = values.shape
    by_row, by_column = _leaders(values, -1, masks[0]), _leaders(values, -2, masks[1])
    rivals = by_row.value[:, :, None] + by_column.value[:, None, :]
    items, row = indices(values, batch)[:, None], indices(values, rows)[None]
    leads = by_column.index[items, by_row.index] == row  # whether a row's best cell is its column's best too
    competing = xp.where(leads, by_column.second[items, by_row.index], by_column.value[items, by_row.index])
    rivals[items, row, by_row.index] = by_row.second + competing
    column = indices(values, columns)[None]
    leads = by_row.index[items, by_column.index] == column
    competing = xp.where(leads, by_row.second[items, by_column.index], by_row.value[items, by_column.index])
    rivals[items, by_column.index, column] = competing + by_column.second
    return rivals


class _Leaders(NamedTuple):
    """Best value of every row (batch, n), its index, and the second best value."""

    value: Array
    index: Array
    second: Array


def _leaders(values: Array, axis: int, mask: Array) -> _Leaders:
    xp = namespace(values)
    value, index, second = leaders(values, axis)
    second = xp.where(second > -xp.inf, second, 0.0)
    return _Leaders(xp.where(mask, value, 0.0), index, second)
