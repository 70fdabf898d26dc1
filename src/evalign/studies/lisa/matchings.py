"""The matchings of the LiSAScore study under one name each: greedy, and every assignment with every preset it has.

Beside them the recursion as the authors' program computes it on square input: it makes n copies of the matrix, masks
row i of copy i and takes the maximum over the copies. That is the cell itself, not its best rival in the row or column,
so each round only scales the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalign.matching.assignment.one_sided import best_of_columns
from evalign.matching.assignment.recursion import Recursion
from evalign.matching.base import Matching
from evalign.matching.registry import METHODS, matching_class
from evalign.types import Bools, Floats

GREEDY = "greedy"
RECURSIVE = "recursive-argmax, paper"
PUBLISHED = "recursive-argmax, authors-as-published"
EXACT = "exact"
ROW_MASK = "row-mask"
FEW = (GREEDY, EXACT, RECURSIVE, PUBLISHED)  # for what is asked of some matchings only
SLOW = ("auction-topk, authors", "auction")  # 0.5 to 2 seconds for 384 x 384 tokens, where others take 0.1 at most
FACTOR, ROUNDS = 0.8, 10  # the authors' constants


def _presets(method: str) -> dict[str, Matching]:
    kind = matching_class(method)
    if not issubclass(kind, Recursion):
        return {method: kind()}
    return {f"{method}, {preset}": kind(preset=preset) for preset in kind.constants}


ALGORITHMS: dict[str, Matching] = {GREEDY: matching_class(GREEDY)()}
ALGORITHMS |= {name: matching for method in METHODS for name, matching in _presets(method).items()}
NAMES = tuple(ALGORITHMS)
RECURSIONS: dict[str, Recursion] = {
    name: matching
    for name, matching in ALGORITHMS.items()
    if isinstance(matching, Recursion) and name not in (*SLOW, PUBLISHED, "recursive-topk, mean")
}  # whose number of rounds is varied


def published_cells(matrix: Floats) -> Bools:
    """The cells that the program selects: after its rounds, every column's best row."""
    values = np.asarray(matrix, dtype=np.float64)
    masked = np.eye(len(values), dtype=bool)[:, :, None]
    for _ in range(ROUNDS):
        by_row = np.where(masked, -np.inf, values).max(axis=0)
        by_column = np.where(masked, -np.inf, values.T).max(axis=0).T
        values = values - (by_row + by_column) / FACTOR
    return _by_column(values)


def shares(matrices: Sequence[Floats]) -> dict[str, float]:
    """Of the cells that the program selects, the share that others select too: column argmax, and real matchings."""
    published = [published_cells(matrix) for matrix in matrices]
    selections = {"every column's best row": [_by_column(matrix) for matrix in matrices]}
    for name in ("recursive-argmax, authors", "recursive-argmax, paper", EXACT):
        selections[name] = [np.asarray(ALGORITHMS[name].solve(matrix).cells) for matrix in matrices]
    total = sum(int(cells.sum()) for cells in published)
    return {
        name: sum(int((cells & own).sum()) for cells, own in zip(published, selected, strict=True)) / total
        for name, selected in selections.items()
    }


def _by_column(matrix: Floats) -> Bools:
    whole = np.ones((1, len(matrix)), dtype=bool)
    return np.asarray(best_of_columns(matrix[None], np.zeros_like(matrix)[None], (whole, whole))[0])
