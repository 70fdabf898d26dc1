"""Scores of several systems on the same rows, as arrays in one common order, and the rows where they differ most.

In: row sources, their `Pairing` and metrics. Out: one `PairedScores` per metric, without texts; those of the examples
are read from the sources again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalign.analysis.scoring import Emit, Result, score_source
from evalign.data.row_pairing import Pairing
from evalign.data.rows import RowSource
from evalign.metrics.base import Metric
from evalign.stats.system_tests import Score, mean_score
from evalign.types import Bools, Floats, Row, Segment


@dataclass(eq=False)
class PairedScores:
    """One metric's main field on every row of every system; NaN where a row failed.

    `statistics` has (rows, k) numbers per system where the corpus score is pooled, as BLEU's, and is empty elsewhere.
    """

    metric: Metric
    rows: int
    values: dict[str, Floats] = field(default_factory=dict)
    statistics: dict[str, Floats] = field(default_factory=dict)
    signatures: list[str] = field(default_factory=list)  # several only if systems were scored differently
    flags: dict[str, Mapping[str, int]] = field(default_factory=dict)
    first_error: str | None = None

    def add(self, system: str, place: int, segment: Segment) -> None:
        """Takes in one row."""
        values = self.values.setdefault(system, np.full(self.rows, np.nan))
        if segment.error is not None:
            self.first_error = self.first_error or segment.error
            return
        values[place] = segment.scores[self.metric.main]
        if self.metric.pools:
            if system not in self.statistics:
                self.statistics[system] = np.zeros((self.rows, len(segment.statistics)))
            self.statistics[system][place] = segment.statistics

    @property
    def scored(self) -> Bools:
        """Rows that no system failed on."""
        scored: Bools = np.isfinite(np.stack(list(self.values.values()))).all(axis=0)
        return scored

    def additive(self, system: str) -> Floats:
        """What adds up over the scored rows: (rows, k)."""
        table = self.statistics[system] if self.metric.pools else self.values[system][:, None]
        return np.asarray(table[self.scored])

    def most_different(self, baseline: str, system: str, most: int, tie: float) -> list[int]:
        """Places of up to `most` rows, the largest differences first; ties are none."""
        size = np.where(self.scored, np.abs(self.values[system] - self.values[baseline]), 0)
        return [int(place) for place in np.argsort(-size, kind="stable")[:most] if size[place] > tie]

    @property
    def score(self) -> Score:
        """The corpus score of such sums."""
        metric = self.metric
        if not metric.pools:
            return mean_score
        return lambda totals, rows: float(metric.from_totals(totals.tolist(), int(rows))[metric.main])


def score_pairs(
    sources: Iterable[RowSource],
    pairing: Pairing,
    metrics: list[Metric],
    emit: Emit = lambda _result, _segment: None,
    score: Callable[[RowSource, list[Metric], Emit], list[Result]] = score_source,
) -> list[PairedScores]:
    """Scores every source with every metric, by `score`; `emit` gets every segment as it is made."""
    tables = {str(metric): PairedScores(metric, pairing.rows) for metric in metrics}
    done: Counter[tuple[str, str]] = Counter()

    def take(result: Result, segment: Segment) -> None:
        key = result.system, result.metric
        tables[result.metric].add(result.system, int(pairing.places[result.system][done[key]]), segment)
        done[key] += 1
        emit(result, segment)

    for source in sources:
        for result in score(source, metrics, take):
            scores = tables[result.metric]
            scores.flags[result.system] = dict(result.flags)
            if result.signature not in scores.signatures:
                scores.signatures.append(result.signature)
    return list(tables.values())


@dataclass(frozen=True)
class Example:
    """One row under one metric: what the baseline and the system wrote, and their scores."""

    id: str
    baseline_candidate: str
    candidate: str
    references: tuple[str, ...]
    source: str | None
    baseline_score: float
    score: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        plain = {
            "id": self.id,
            "baseline_candidate": self.baseline_candidate,
            "candidate": self.candidate,
            "references": list(self.references),
            "baseline_score": self.baseline_score,
            "score": self.score,
        }
        return plain if self.source is None else plain | {"source": self.source}


def read_rows(
    wanted: Collection[tuple[str, int]], sources: Iterable[RowSource], pairing: Pairing
) -> dict[tuple[str, int], Row]:
    """The rows with these systems and places in the common order, read from the sources again."""
    rows, seen = {}, Counter[str]()
    for source in sources if wanted else ():
        for row in source:
            key = row.system, int(pairing.places[row.system][seen[row.system]])
            seen[row.system] += 1
            if key in wanted:
                rows[key] = row
    return rows
