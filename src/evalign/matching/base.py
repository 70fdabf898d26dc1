"""What a matching is: a value that turns one similarity matrix into cells, and cells into what each token is worth.

    similarity (n, m), weights (n,), (m,)  --Matching.solve-->  Matched

The same call takes a padded batch (batch, n, m) with masks; arrays are numpy's or torch's, and so is the result. A
matching knows nothing of text. A new one is a file with a class like `Greedy` and a line in `registry.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Self

from evalign.errors import SpecError
from evalign.matching.arrays import Array, namespace

Weights = tuple[Array, Array]  # of candidate and reference tokens: (n,), (m,) or (batch, n), (batch, m)
Masks = tuple[Array, Array]  # true where a padded batch has a token: (batch, n), (batch, m)


@dataclass(frozen=True, eq=False)
class Matched:
    """One matrix after matching, or a padded batch of them, for which every array has one more axis in front.

    `masses` are how much each cell carries and `cost` what that costs; only transport has them. `notes` are counts
    that a user should see where they are not 0.
    """

    candidate_values: Array  # (n,) what each candidate token is worth
    reference_values: Array  # (m,) what each reference token is worth
    select: Callable[[], Array]  # finds the cells when they are asked for: greedy's values do not need them
    masses: Array | None = None
    cost: Array | None = None
    notes: Mapping[str, Array] = field(default_factory=dict)

    @cached_property
    def cells(self) -> Array:
        """(n, m) booleans: who met whom."""
        return self.select()

    def pair(self, place: int, rows: int, columns: int) -> Matched:
        """One matrix of a padded batch, without its padding."""
        return Matched(
            self.candidate_values[place, :rows],
            self.reference_values[place, :columns],
            lambda: self.cells[place, :rows, :columns],
            None if self.masses is None else self.masses[place, :rows, :columns],
            None if self.cost is None else self.cost[place],
            {name: counts[place] for name, counts in self.notes.items()},
        )

    @property
    def counts(self) -> dict[str, int]:
        """The notes of one matrix that are not 0."""
        return {name: int(count) for name, count in self.notes.items() if count}


@dataclass(frozen=True, slots=True)
class Step:
    """One step on the way to a matching, for explanations: the cells it took and a word about each, or about all."""

    cells: tuple[tuple[int, int], ...]
    said: tuple[str, ...] = ()
    title: str = ""


class Matching(ABC):
    """Base of all matchings. Subclasses are frozen dataclasses, equal if their settings are."""

    kind: ClassVar[str]  # as the registry calls it
    about: ClassVar[str]  # one line, for explanations
    separable: ClassVar[bool] = False  # values are maxima of rows and columns: bands of a matrix can be merged
    padded: ClassVar[bool] = False  # many matrices are solved faster as a padded batch than one by one
    max_cells: ClassVar[int | None] = None  # of one matrix; None: any number
    verb: ClassVar[str] = "match"

    @property
    def name(self) -> str:
        """As signatures print it; `registry.parse` reads it back."""
        return self.kind

    @classmethod
    def from_settings(cls, settings: list[str]) -> Self:
        """From what follows the kind in a name."""
        if settings:
            raise SpecError(f"{cls.kind} has no setting {settings[0]!r}")
        return cls()

    @abstractmethod
    def solve(self, similarity: Array, weights: Weights | None = None, masks: Masks | None = None) -> Matched:
        """Matches one matrix (n, m) or a padded batch (batch, n, m); no weights: all tokens weigh the same."""

    def steps(self, similarity: Array, weights: Weights) -> list[Step]:
        """How the cells of one matrix were found, where there is something to tell."""
        return []

    def __str__(self) -> str:
        return self.name


def cell_values(similarity: Array, cells: Array) -> tuple[Array, Array]:
    """What each row and each column is worth: the best of its selected cells, 0 if it has none. Never the sum."""
    xp = namespace(similarity)
    chosen = xp.where(cells, similarity, -xp.inf)
    rows, columns = xp.amax(chosen, axis=-1), xp.amax(chosen, axis=-2)
    return xp.where(cells.any(-1), rows, 0.0), xp.where(cells.any(-2), columns, 0.0)
