"""Matchings: values that turn a similarity matrix into matched cells and a value for each token.

    similarity (n, m), weights (n,), (m,)  --Matching.solve-->  MatchResult

The same call takes a padded batch (batch, n, m) with masks; arrays are numpy's or torch's, and so is the result. A
matching does not depend on text. A new one is a file with a class like `Greedy` and a line in `registry.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from evalign.core import Floats
from evalign.errors import SpecError, TextTooLongError
from evalign.matching.arrays import Array, namespace
from evalign.matching.ties import partners

BATCH_CELLS = 250_000  # of padded matrices solved at once
T = TypeVar("T")
Weights = tuple[Array, Array]  # of candidate and reference tokens: (n,), (m,) or (batch, n), (batch, m)
Masks = tuple[Array, Array]  # true where a padded batch has a token: (batch, n), (batch, m)


@dataclass(frozen=True, eq=False)
class MatchResult:
    """Result of matching one matrix, or a padded batch of them, for which every array has one more axis in front.

    `masses` is the mass that each cell carries and `cost` the total cost; only transport has them. `notes` are counts
    that users should see if they are not 0. Partners and cells are computed on first access.
    """

    similarity: Array  # (n, m)
    candidate_values: Array  # (n,): similarity of each candidate token's partner, 0 without one
    reference_values: Array  # (m,)
    select: Callable[[], Array]  # returns the cells; greedy's values do not need them
    masses: Array | None = None
    cost: Array | None = None
    notes: Mapping[str, Array] = field(default_factory=dict)

    @cached_property
    def cells(self) -> Array:
        """(n, m) booleans: the matched pairs of tokens."""
        return self.select()

    @cached_property
    def candidate_partners(self) -> Array:
        """(n,): index of the reference token that gives each candidate token its value, -1 if it has none."""
        return partners(self.similarity, self.cells)

    @cached_property
    def reference_partners(self) -> Array:
        """(m,): index of the candidate token that gives each reference token its value, -1 if it has none."""
        return partners(self.similarity.T, self.cells.T)

    def pair(self, index: int, rows: int, columns: int) -> MatchResult:
        """Return one matrix of a padded batch, without its padding."""
        return MatchResult(
            self.similarity[index, :rows, :columns],
            self.candidate_values[index, :rows],
            self.reference_values[index, :columns],
            lambda: self.cells[index, :rows, :columns],
            None if self.masses is None else self.masses[index, :rows, :columns],
            None if self.cost is None else self.cost[index],
            {name: counts[index] for name, counts in self.notes.items()},
        )

    @property
    def counts(self) -> dict[str, int]:
        """Notes of one matrix that are not 0."""
        return {name: int(count) for name, count in self.notes.items() if count}


@dataclass(frozen=True, slots=True)
class MatchingStep:
    """One step of a matching, for explanations: the cells it selected, and a reason for each, or a title for all."""

    cells: tuple[tuple[int, int], ...]
    reasons: tuple[str, ...] = ()
    title: str = ""


class Matching(ABC):
    """Base of all matchings. Subclasses are frozen dataclasses, equal if their settings are."""

    key: ClassVar[str]  # name in the registry
    about: ClassVar[str]  # one line, for explanations
    separable: ClassVar[bool] = False  # values are maxima of rows and columns: bands of a matrix can be merged
    padded: ClassVar[bool] = False  # many matrices are solved faster as a padded batch than one by one
    max_cells: ClassVar[int | None] = None  # of one matrix; None: any number
    verb: ClassVar[str] = "match"

    @property
    def name(self) -> str:
        """Name with settings as signatures print it; `registry.parse` reads it back."""
        return self.key

    @classmethod
    def from_settings(cls, settings: list[str]) -> Self:
        """Create a matching from the settings that follow the key in a name."""
        if settings:
            raise SpecError(f"{cls.key} has no setting {settings[0]!r}")
        return cls()

    @abstractmethod
    def solve(self, similarity: Array, weights: Weights | None = None, masks: Masks | None = None) -> MatchResult:
        """Match one matrix (n, m) or a padded batch (batch, n, m); without weights all tokens weigh the same."""

    def solve_shared(self, shared: SharedMatrix, weights: Weights) -> MatchResult:
        """Match one matrix that several matchings solve; a subclass may keep tables in `shared` for the next one."""
        return self.solve(shared.similarity, weights)

    def check_size(self, rows: int, columns: int) -> None:
        """Raise TextTooLongError if a matrix of this size is too large."""
        if self.max_cells is not None and rows * columns > self.max_cells:
            raise TextTooLongError(f"{rows} x {columns} tokens are too many to {self.verb}; use bertscore")

    def steps(self, similarity: Array, weights: Weights) -> list[MatchingStep]:
        """Return the steps that selected the cells of one matrix; empty if there is nothing to explain."""
        return []

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class SharedMatrix:
    """A similarity matrix, and the tables that one matching computed and the next one can use."""

    similarity: Floats
    tables: dict[Callable[..., Any], Any] = field(default_factory=dict)

    def table(self, compute: Callable[[Floats], T]) -> T:
        """Return `compute(similarity)`, computed once."""
        if compute not in self.tables:
            self.tables[compute] = compute(self.similarity)
        return self.tables[compute]  # type: ignore[no-any-return]


def groups(shapes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Group matrices to be padded together: indices of matrices of similar shapes, within BATCH_CELLS."""
    group: list[int] = []
    rows = columns = 0
    for index in sorted(range(len(shapes)), key=lambda i: shapes[i]):
        wider = max(rows, shapes[index][0]), max(columns, shapes[index][1])
        if group and (len(group) + 1) * wider[0] * wider[1] > BATCH_CELLS:
            yield group
            group, wider = [], shapes[index]
        group.append(index)
        rows, columns = wider
    if group:
        yield group


def solve_together(matching: Matching, matrices: Sequence[Floats], weights: Sequence[Weights]) -> Iterator[MatchResult]:
    """Solve the matrices of one group as a padded batch; yield one result each, in order, without padding."""
    rows, columns = (np.array([matrix.shape[axis] for matrix in matrices]) for axis in (0, 1))
    batch = np.zeros((len(matrices), rows.max(), columns.max()))
    sides = np.zeros(batch.shape[:2]), np.zeros((len(batch), batch.shape[2]))
    for index, (matrix, pair_weights) in enumerate(zip(matrices, weights, strict=True)):
        batch[index, : rows[index], : columns[index]] = matrix
        for side, weight in zip(sides, pair_weights, strict=True):
            side[index, : len(weight)] = weight
    masks = np.arange(rows.max()) < rows[:, None], np.arange(columns.max()) < columns[:, None]
    matched = matching.solve(batch, sides, masks)
    for index, shape in enumerate(zip(rows, columns, strict=True)):
        yield matched.pair(index, *shape)


def solve_all(matching: Matching, matrices: Sequence[Floats]) -> list[MatchResult]:
    """Solve all matrices with equal token weights; results are in the order of the matrices."""
    ones = [(np.ones(matrix.shape[0]), np.ones(matrix.shape[1])) for matrix in matrices]
    if not matching.padded:
        return [matching.solve(matrix, weights) for matrix, weights in zip(matrices, ones, strict=True)]
    solved: dict[int, MatchResult] = {}
    for group in groups([(matrix.shape[0], matrix.shape[1]) for matrix in matrices]):
        results = solve_together(matching, [matrices[i] for i in group], [ones[i] for i in group])
        solved.update(zip(group, results, strict=True))
    return [solved[index] for index in range(len(matrices))]


def cell_values(similarity: Array, cells: Array) -> tuple[Array, Array]:
    """Return the value of each row and each column: its best selected cell, never the sum; 0 without one."""
    xp = namespace(similarity)
    selected = xp.where(cells, similarity, -xp.inf)
    rows, columns = xp.amax(selected, axis=-1), xp.amax(selected, axis=-2)
    return xp.where(cells.any(-1), rows, 0.0), xp.where(cells.any(-2), columns, 0.0)


def weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Return sum(w x) / sum(w) over the last axis; weights that are all zero count as equal."""
    total = weights.sum()
    if total <= 0:
        return np.asarray(values.mean(axis=-1, dtype=np.float64))
    return np.asarray(values.astype(np.float64) @ (weights / total))


def f1(precision: Floats, recall: Floats) -> Floats:
    """Return 2PR / (P + R), and 0 unless both are positive: with mixed signs the fraction is unbounded."""
    both = (np.asarray(precision) > 0) & (np.asarray(recall) > 0)
    return np.where(both, 2 * recall * (precision / np.where(both, precision + recall, 1)), 0.0)
