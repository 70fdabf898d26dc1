"""Scores a stream of rows with several metrics at once, holding one block of rows at a time.

Segments leave as they are made; what stays is one exact sum per system, metric and field, and for intervals
(`RowBootstrap`) the numbers of every row, not its texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from evalign.data.rows import RowSource
from evalign.errors import InputError
from evalign.metrics.base import BLOCK_ROWS, Metric, Ready, score_blocks
from evalign.metrics.corpus import Corpus
from evalign.stats.bootstrap import Resampling, drawn
from evalign.stats.exact_sums import ExactSum
from evalign.types import Floats, Row, Segment, corpus_entries

Ends = dict[str, tuple[float, float]]


@dataclass
class Result:
    """The running totals of one system under one metric."""

    system: str
    metric: str
    signature: str
    fields: tuple[str, ...]
    corpus: Corpus | None = None
    note: str = ""
    sums: dict[str, ExactSum] = field(default_factory=dict)
    flags: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    first_error: str = ""  # why the first failed row has no score
    mean_intervals: dict[str, tuple[float, float]] = field(default_factory=dict)  # of `RowBootstrap`, if asked for
    pooled_intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, segment: Segment) -> None:
        """Takes in one row; a failed one is counted and leaves the means alone."""
        if segment.error is not None:
            place = "" if segment.error.startswith("row ") else f"row {segment.id}: "
            self.first_error = self.first_error or f"{place}{segment.error}"
            self.failed += 1
            return
        self.flags.update(segment.flags)
        for name, value in segment.scores.items():
            self.sums.setdefault(name, ExactSum()).add(value)
        if self.corpus is not None:
            self.corpus.add(segment)

    @property
    def n(self) -> int:
        """Rows scored."""
        return next((total.count for total in self.sums.values()), 0)

    @property
    def scores(self) -> dict[str, float]:
        """Mean of each field."""
        return {name: total.mean for name, total in self.sums.items()}

    @cached_property
    def pooled(self) -> dict[str, float]:
        """Corpus scores that are not means; to be asked for when all rows are in."""
        return {} if self.corpus is None else self.corpus.scores()

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Confidence intervals of the corpus scores: those that the original program prints, else resampled ones."""
        return (self.corpus.intervals() if self.corpus is not None else {}) or self.pooled_intervals

    def to_dict(self) -> dict[str, Any]:
        """One entry of the command line's `results`."""
        plain = {
            "system": self.system,
            "metric": self.metric,
            "signature": self.signature,
            "n": self.n,
            "scores": self.scores,
            **({"mean_intervals": self.mean_intervals} if self.mean_intervals else {}),
            **corpus_entries(self.pooled, self.intervals),
            "flags": dict(self.flags),
        }
        return plain | {"failed": self.failed} if self.failed else plain


Emit = Callable[[Result, Segment], object]


@runtime_checkable
class ScoredSource(RowSource, Protocol):
    """Rows whose scores are there already, as those of a finished batch job."""

    def score(self, metrics: Sequence[Metric], emit: Emit) -> list[Result]:
        """What `score_source` gives."""
        ...


def score_source(source: RowSource, metrics: Sequence[Metric], emit: Emit = lambda _r, _s: None) -> list[Result]:
    """Totals per system and metric, in order of appearance; `emit` gets every segment as it is made."""
    if isinstance(source, ScoredSource):
        return source.score(metrics, emit)
    return run_scorers([(metric, metric.scorer(source)) for metric in metrics], source, emit)


def run_scorers(
    ready: Sequence[Ready], rows: Iterable[Row], emit: Emit = lambda _r, _s: None, size: int = BLOCK_ROWS
) -> list[Result]:
    """The same with scorers that are loaded already."""
    names = {id(scorer): str(metric) for metric, scorer in ready}
    results: dict[tuple[str, str], Result] = {}
    for (metric, scorer), block, segments in score_blocks(ready, rows, size):
        for row, segment in zip(block, segments, strict=True):
            key = row.system, names[id(scorer)]
            if key not in results:
                results[key] = Result(*key, str(scorer.signature), metric.fields, metric.corpus(), scorer.note)
            results[key].add(segment)
            emit(results[key], segment)
    signatures = {names[id(scorer)]: str(scorer.signature) for _, scorer in ready}
    for (_, spec), result in results.items():
        result.signature = signatures[spec]  # some say how many references the rows had, known only now
    if not results:
        raise InputError("no rows to score: the input is empty")
    return list(results.values())


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
