"""Many matrices at once: those of similar size are padded together, as `Matching.padded` asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from evalign.errors import TextTooLongError
from evalign.matching.base import Matched, Matching
from evalign.types import Floats

BATCH_CELLS = 250_000  # of padded matrices solved at once
Sides = tuple[Floats, Floats]  # weights of both sides of one pair


def groups(shapes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Indices of matrices that are padded together: neighbours in size, within BATCH_CELLS."""
    group: list[int] = []
    rows = columns = 0
    for index in sorted(range(len(shapes)), key=lambda place: shapes[place]):
        wider = max(rows, shapes[index][0]), max(columns, shapes[index][1])
        if group and (len(group) + 1) * wider[0] * wider[1] > BATCH_CELLS:
            yield group
            group, wider = [], shapes[index]
        group.append(index)
        rows, columns = wider
    if group:
        yield group


def solve_together(matching: Matching, matrices: Sequence[Floats], weights: Sequence[Sides]) -> Iterator[Matched]:
    """The matrices of one group, padded to one batch and solved; one result each, in order, without padding."""
    rows, columns = (np.array([matrix.shape[axis] for matrix in matrices]) for axis in (0, 1))
    batch = np.zeros((len(matrices), rows.max(), columns.max()))
    sides = np.zeros(batch.shape[:2]), np.zeros((len(batch), batch.shape[2]))
    for place, (matrix, own) in enumerate(zip(matrices, weights, strict=True)):
        batch[place, : rows[place], : columns[place]] = matrix
        for side, weight in zip(sides, own, strict=True):
            side[place, : len(weight)] = weight
    masks = np.arange(rows.max()) < rows[:, None], np.arange(columns.max()) < columns[:, None]
    matched = matching.solve(batch, sides, masks)
    for place, shape in enumerate(zip(rows, columns, strict=True)):
        yield matched.pair(place, *shape)


def solve_all(matching: Matching, matrices: Sequence[Floats]) -> list[Matched]:
    """Every matrix, all tokens weighing the same, in the order given."""
    ones = [(np.ones(matrix.shape[0]), np.ones(matrix.shape[1])) for matrix in matrices]
    if not matching.padded:
        return [matching.solve(matrix, weights) for matrix, weights in zip(matrices, ones, strict=True)]
    solved: dict[int, Matched] = {}
    for group in groups([(matrix.shape[0], matrix.shape[1]) for matrix in matrices]):
        together = solve_together(matching, [matrices[i] for i in group], [ones[i] for i in group])
        solved.update(zip(group, together, strict=True))
    return [solved[place] for place in range(len(matrices))]


def check_size(matching: Matching, rows: int, columns: int) -> None:
    """An error if the matching cannot take a matrix of that size."""
    if matching.max_cells is not None and rows * columns > matching.max_cells:
        raise TextTooLongError(f"{rows} x {columns} tokens are too many to {matching.verb}; use bertscore")
