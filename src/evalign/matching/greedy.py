"""Greedy matching (BERTScore): every token takes its best partner, whoever else took it too.

Pure functions of a similarity matrix (candidate tokens, reference tokens).
"""

from __future__ import annotations

import numpy as np

from evalign.types import Floats, Ints


def values(similarity: Floats) -> tuple[Floats, Floats]:
    """Best similarity of each candidate token and of each reference token; works on stacks of matrices."""
    return similarity.max(axis=-1), similarity.max(axis=-2)


def cells(similarity: Floats) -> Ints:
    """The chosen cells in reading order: each row's first maximum and each column's."""
    if not similarity.size:
        return np.zeros((0, 2), dtype=np.int64)
    chosen = {(row, int(column)) for row, column in enumerate(similarity.argmax(axis=1))}
    chosen |= {(int(row), column) for column, row in enumerate(similarity.argmax(axis=0))}
    return np.array(sorted(chosen), dtype=np.int64)
