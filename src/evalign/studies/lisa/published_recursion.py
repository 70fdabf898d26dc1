"""The recursion as the LiSAScore authors' program computes it on square input, beside what it is meant to compute.

The program makes n copies of the matrix, strikes out row i of copy i and takes the maximum over the copies: that is
the cell itself, not its best rival in the row or column. Each round then only scales the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from evalign.matching.assignment.one_sided import best_of_columns
from evalign.matching.base import Matching
from evalign.studies.lisa.matchings import ALGORITHMS, EXACT
from evalign.types import Bools, Floats

FACTOR, ROUNDS = 0.8, 10  # the authors' constants


def published_cells(matrix: Floats) -> Bools:
    """The cells that the program selects: after its rounds, every column's best row."""
    values = np.asarray(matrix, dtype=np.float64)
    struck = np.eye(len(values), dtype=bool)[:, :, None]
    for _ in range(ROUNDS):
        by_row = np.where(struck, -np.inf, values).max(axis=0)
        by_column = np.where(struck, -np.inf, values.T).max(axis=0).T
        values = values - (by_row + by_column) / FACTOR
    return _by_column(values)


def shares(matrices: Sequence[Floats]) -> dict[str, float]:
    """Of the cells that the program selects, how many others select too: plain column argmax, and real recursions."""
    found = [published_cells(matrix) for matrix in matrices]
    others: dict[str, Callable[[Floats], Bools]] = {"every column's best row": _by_column}
    for name in ("recursive-argmax, authors", "recursive-argmax, paper", EXACT):
        others[name] = partial(_cells, ALGORITHMS[name])
    total = sum(int(cells.sum()) for cells in found)
    return {
        name: sum(int((cells & select(matrix)).sum()) for cells, matrix in zip(found, matrices, strict=True)) / total
        for name, select in others.items()
    }


def _cells(matching: Matching, matrix: Floats) -> Bools:
    return np.asarray(matching.solve(matrix).cells)


def _by_column(matrix: Floats) -> Bools:
    whole = np.ones((1, len(matrix)), dtype=bool)
    return np.asarray(best_of_columns(matrix[None], np.zeros_like(matrix)[None], (whole, whole))[0])
