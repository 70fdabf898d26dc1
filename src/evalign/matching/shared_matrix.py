"""One similarity matrix under several matchings: what assignments would each compute from it is computed once.

In: a matrix (n, m), then one matching after another. Out: for each what `matching.solve` gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from evalign.matching.assignment.base import Assignment, Prepared, prepare
from evalign.matching.base import Matched, Matching, Weights
from evalign.types import Floats


@dataclass(frozen=True, eq=False)
class SharedMatrix:
    """A matrix, and what the matchings that solved it have left for the next."""

    similarity: Floats

    @cached_property
    def prepared(self) -> Prepared:
        """For assignments that maximise similarity itself."""
        return prepare(self.similarity[None])

    def solve(self, matching: Matching, weights: Weights) -> Matched:
        """Matches it; only an assignment that maximises similarity itself finds something to share."""
        if isinstance(matching, Assignment) and not matching.weighted:
            matched = matching.solve_prepared(self.similarity[None], self.prepared)
            return matched.pair(0, *self.similarity.shape)
        return matching.solve(self.similarity, weights)
