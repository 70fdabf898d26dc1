"""A matching that compares tokens by position: the first with the first, the second with the second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evalign import Matching, MatchResult


@dataclass(frozen=True)
class InOrder(Matching):
    """The diagonal of the similarity matrix; tokens of the longer text that are left over have no partner."""

    key: ClassVar[str] = "in-order"
    about: ClassVar[str] = "tokens at the same position"
    padded: ClassVar[bool] = False

    def solve(self, similarity: Any, weights: Any = None, masks: Any = None) -> MatchResult:
        """Return the matched cells of one similarity matrix, and the value of each token."""
        cells = np.eye(*similarity.shape, dtype=bool)
        matched = np.where(cells, similarity, 0.0)
        return MatchResult(similarity, matched.sum(axis=1), matched.sum(axis=0), lambda: cells)
