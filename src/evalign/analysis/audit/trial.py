"""One metric on trial: its scorer, and scores of rows as numbers that are higher for better texts.

Rows that cannot be scored are NaN, and counted by those who ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalign.metrics.base import Metric, Scorer, score_blocks
from evalign.types import Floats, Row, Segment

BLOCK = 128  # rows: so that a progress bar moves


@dataclass(frozen=True, eq=False)
class Trial:
    """A metric, its scorer, and what is told how many rows are done."""

    metric: Metric
    scorer: Scorer
    advance: Callable[[int], Any] = lambda _: None

    def segments(self, rows: Sequence[Row]) -> list[Segment]:
        """One segment per row; a row that cannot be scored has an error."""
        segments: list[Segment] = []
        for _, _, block in score_blocks([(self.metric, self.scorer)], rows, BLOCK):
            segments += block
            self.advance(len(block))
        return segments

    def scores(self, rows: Sequence[Row]) -> Floats:
        """The main field of every row."""
        return self.values(self.segments(rows))

    def values(self, segments: Sequence[Segment]) -> Floats:
        """The main field, turned round if lower is better, NaN where a row failed."""
        sign = 1.0 if self.metric.higher_is_better else -1.0
        return np.array([
            float("nan") if segment.error is not None else sign * segment.scores[self.metric.main]
            for segment in segments
        ])  # fmt: skip
