"""Intervals of a scoring run: each row's scores and statistics in, percentile intervals of means and corpus scores out.

Rows of a system are drawn with replacement, the same ones for all its metrics. Their numbers are kept, not their texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from evalign.analysis.scoring import Result
from evalign.metrics.base import Metric
from evalign.stats.bootstrap import Resampling, drawn
from evalign.types import Floats, Segment

Ends = dict[str, tuple[float, float]]


@dataclass(eq=False)
class RowBootstrap:
    """Collects segments as they are made; `finish` gives every result its intervals."""

    resampling: Resampling
    rows: dict[int, tuple[list[Sequence[float]], list[Sequence[float]]]] = field(default_factory=dict)

    def __call__(self, result: Result, segment: Segment) -> None:
        """Takes in one row; failed ones count for nothing, as in the means."""
        if segment.error is None:
            scores, statistics = self.rows.setdefault(id(result), ([], []))
            scores.append([segment.scores[name] for name in result.fields])
            statistics.append(segment.statistics)

    def finish(self, results: Iterable[Result], metrics: Sequence[Metric]) -> None:
        """The intervals of each result's means, and of its corpus scores if these come from sums."""
        by_name = {str(metric): metric for metric in metrics}
        for result in results:
            scores, statistics = self.rows.get(id(result), ([], []))
            if scores:
                result.mean_intervals = self._means(result.fields, np.array(scores, dtype=np.float64))
                if by_name[result.metric].pools:
                    result.pooled_intervals = self._pooled(by_name[result.metric], np.array(statistics))

    def _means(self, fields: Sequence[str], scores: Floats) -> Ends:
        draws = np.concatenate([weights @ scores for weights in drawn(len(scores), self.resampling)]) / len(scores)
        return {name: self._ends(values) for name, values in zip(fields, draws.T, strict=True)}

    def _pooled(self, metric: Metric, statistics: Floats) -> Ends:
        values = [
            metric.from_totals(totals.tolist(), len(statistics))
            for weights in drawn(len(statistics), self.resampling)
            for totals in weights @ statistics
        ]
        return {name: self._ends(np.array([draw[name] for draw in values])) for name in values[0]}

    def _ends(self, values: Floats) -> tuple[float, float]:
        tail = (1 - self.resampling.confidence) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(low), float(high)
