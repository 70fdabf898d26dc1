"""Row-mask assignment (LiSAScore): one token after another takes its best partner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalign.matching.arrays import Array
from evalign.matching.assignment.base import Assignment, Prepared
from evalign.matching.assignment.largest_gap import by_gaps
from evalign.matching.assignment.recording import watched_steps
from evalign.matching.base import Step, Weights


@dataclass(frozen=True)
class RowMask(Assignment):
    """Whoever has most to lose chooses first."""

    kind: ClassVar[str] = "row-mask"
    about: ClassVar[str] = "whoever would lose most by waiting chooses first"

    def select(self, batch: Prepared) -> Array:
        """As many cells as the short side has tokens."""
        return by_gaps(batch.values, self.positions(batch), batch.masks)

    def steps(self, similarity: Array, weights: Weights) -> list[Step]:
        """Who took whom, by which lead."""
        return watched_steps(self, similarity, weights, by_gaps, "lead", rows_take_if_square=False)
