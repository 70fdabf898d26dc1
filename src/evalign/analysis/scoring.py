"""Score a source of rows with several metrics: a `Result` per system and metric, and intervals over rows.

Segments are emitted as they are scored. Only the totals of each result stay in memory, and for intervals
(`RowBootstrap`) the numbers of every row, not its texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from evalign.core import Floats, Row, Segment
from evalign.core.metric import Metric
from evalign.core.scoring import Ready, StreamOptions, score_stream
from evalign.core.totals import Intervals, Result
from evalign.errors import InputError
from evalign.io.rows import RowSource
from evalign.stats.bootstrap import Resampling, resample_weights

Emit = Callable[[Result, Segment], object]


@runtime_checkable
class ScoredSource(RowSource, Protocol):
    """Rows with stored scores, such as a finished batch job."""

    def score(self, metrics: Sequence[Metric], emit: Emit) -> list[Result]:
        """Return the results that `score_source` would return."""
        ...


def score_source(source: RowSource, metrics: Sequence[Metric], emit: Emit = lambda _r, _s: None) -> list[Result]:
    """Return a result per system and metric, in order of appearance; `emit` gets every segment as it is made."""
    if isinstance(source, ScoredSource):
        return source.score(metrics, emit)
    return run_scorers([(metric, metric.scorer(source)) for metric in metrics], source, emit)


def run_scorers(
    ready: Sequence[Ready],
    rows: Iterable[Row],
    emit: Emit = lambda _r, _s: None,
    options: StreamOptions | None = None,
) -> list[Result]:
    """Return the results of scorers that are already loaded, as `score_source` does."""
    results: dict[tuple[str, int], Result] = {}  # (system, index of the metric)
    for block in score_stream(ready, rows, options):
        for index, ((metric, scorer), segments) in enumerate(zip(ready, block.segments, strict=True)):
            for row, segment in zip(block.rows, segments, strict=True):
                key = row.system, index
                if key not in results:
                    results[key] = metric.result(str(scorer.signature), row.system, note=scorer.note)
                results[key].add(segment)
                emit(results[key], segment)
    for (_, index), result in results.items():
        result.signature = str(ready[index][1].signature)  # some include the number of references, final only now
    if not results:
        raise InputError("no rows to score: the input is empty")
    return list(results.values())


@dataclass(eq=False)
class RowBootstrap:
    """Collect the numbers of segments as they are made; `finish` sets the intervals of every result."""

    resampling: Resampling
    rows: dict[int, tuple[list[Sequence[float]], list[Sequence[float]]]] = field(default_factory=dict)

    def __call__(self, result: Result, segment: Segment) -> None:
        """Add one row; failed rows are ignored, as in the means."""
        if segment.error is None:
            scores, statistics = self.rows.setdefault(id(result), ([], []))
            scores.append([segment.scores[name] for name in result.fields])
            statistics.append(segment.statistics)

    def finish(self, results: Iterable[Result], metrics: Sequence[Metric]) -> None:
        """Set the intervals of each result's means, and of its corpus scores if these come from sums."""
        by_name = {str(metric): metric for metric in metrics}
        for result in results:
            scores, statistics = self.rows.get(id(result), ([], []))
            if scores:
                result.mean_intervals = self._means(result.fields, np.array(scores, dtype=np.float64))
                if by_name[result.metric].pools:
                    result.pooled_intervals = self._pooled(by_name[result.metric], np.array(statistics))

    def _means(self, fields: Sequence[str], scores: Floats) -> Intervals:
        draws = np.concatenate([weights @ scores for weights in resample_weights(len(scores), self.resampling)]) / len(
            scores
        )
        return {name: self._ends(values) for name, values in zip(fields, draws.T, strict=True)}

    def _pooled(self, metric: Metric, statistics: Floats) -> Intervals:
        values = [
            metric.from_totals(totals.tolist(), len(statistics))
            for weights in resample_weights(len(statistics), self.resampling)
            for totals in weights @ statistics
        ]
        return {name: self._ends(np.array([draw[name] for draw in values])) for name in values[0]}

    def _ends(self, values: Floats) -> tuple[float, float]:
        tail = (1 - self.resampling.confidence) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(low), float(high)
