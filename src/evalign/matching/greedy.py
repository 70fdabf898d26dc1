"""Greedy matching (BERTScore): every token takes its best partner, whoever else took it too.

Pure functions of a similarity matrix (candidate tokens, reference tokens). A token's value is the maximum itself, as in
bert_score; which of several equal partners is shown follows the rule of `ties.py`.
"""

from __future__ import annotations

import numpy as np

from evalign.matching.ties import best, displacement, on_grid
from evalign.types import Bools, Floats, Ints


def values(similarity: Floats) -> tuple[Floats, Floats]:
    """Best similarity of each candidate token and of each reference token; works on stacks of matrices."""
    return similarity.max(axis=-1), similarity.max(axis=-2)


def cells(similarity: Floats) -> Ints:
    """The chosen cells in reading order: each row's best one and each column's."""
    return np.argwhere(selection(similarity))


def selection(similarity: Floats) -> Bools:
    """The chosen cells as booleans."""
    chosen = np.zeros(similarity.shape, dtype=bool)
    if not similarity.size:
        return chosen
    rows, columns = (np.arange(count) for count in similarity.shape)
    values = on_grid(similarity.astype(np.float64))
    distance = displacement((rows[None] >= 0, columns[None] >= 0))[0]
    chosen[rows, best(values, distance)] = True
    chosen[best(values.T, distance.T), columns] = True
    return chosen
