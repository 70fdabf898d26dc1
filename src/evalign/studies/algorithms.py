"""Every matching and preset under one name each, applied to many similarity matrices at once.

In: matrices (candidate tokens, reference tokens) of any sizes. Out: what each token is worth, and the selected cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evalign.errors import SpecError
from evalign.matching import greedy
from evalign.matching.assignment import Assigner, cell_values
from evalign.matching.methods import METHODS, PRESETS
from evalign.types import Bools, Floats

BATCH_CELLS = 250_000  # of matrices padded together
GREEDY = "greedy"


@dataclass(frozen=True)
class Algorithm:
    """A matching under its name here; no assigner means greedy."""

    name: str
    assigner: Assigner | None = None


@dataclass(frozen=True, eq=False)
class Matched:
    """One matrix after matching: what rows and columns are worth, and the selected cells."""

    rows: Floats
    columns: Floats
    cells: Bools


def _presets(method: str) -> list[Algorithm]:
    found = {}
    for preset in PRESETS:
        try:
            found[preset] = Assigner(method, preset)
        except SpecError:  # this preset says nothing about this method
            continue
    alone = len(found) == 1
    return [Algorithm(method if alone else f"{method}, {preset}", one) for preset, one in found.items()]


ALGORITHMS = (Algorithm(GREEDY), *(one for method in METHODS for one in _presets(method)))
NAMES = tuple(one.name for one in ALGORITHMS)
RECURSIVE = "recursive-argmax, paper"
PUBLISHED = "recursive-argmax, authors-as-published"
EXACT = "exact"


def match_all(algorithm: Algorithm, matrices: Sequence[Floats]) -> Iterator[Matched]:
    """Matches every matrix, in the order given."""
    assigner = algorithm.assigner
    if assigner is None:
        yield from map(_greedy, matrices)
        return
    for group in _groups(matrices):
        rows, columns = (np.array([matrix.shape[axis] for matrix in group]) for axis in (0, 1))
        batch = np.zeros((len(group), rows.max(), columns.max()))
        for place, matrix in enumerate(group):
            batch[place, : rows[place], : columns[place]] = matrix
        masks = np.arange(rows.max()) < rows[:, None], np.arange(columns.max()) < columns[:, None]
        found = assigner(batch, masks).cells
        for place, matrix in enumerate(group):
            cells = found[place, : rows[place], : columns[place]]
            yield Matched(*cell_values(matrix, cells), cells)


def _greedy(matrix: Floats) -> Matched:
    return Matched(*greedy.values(matrix), greedy.selection(matrix))


def _groups(matrices: Sequence[Floats]) -> Iterator[list[Floats]]:
    """Neighbours that fit into a batch together, none cut and none moved."""
    group: list[Floats] = []
    height = width = 0
    for matrix in matrices:
        height, width = max(height, matrix.shape[0]), max(width, matrix.shape[1])
        if group and (len(group) + 1) * height * width > BATCH_CELLS:
            yield group
            group, (height, width) = [], matrix.shape
        group.append(matrix)
    if group:
        yield group
