"""Scores of several systems on the same rows, as arrays in one common order; no texts and no segments are kept.

In: row sources, their `Pairing` and metrics. Out: one `PairedScores` per metric.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from evalign.analysis.scoring import Emit, Result, score_source
from evalign.data.row_pairing import Pairing
from evalign.data.rows import RowSource
from evalign.metrics.base import Metric
from evalign.stats.system_tests import Score, mean_score
from evalign.types import Bools, Floats, Segment


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
    found = {str(metric): PairedScores(metric, pairing.rows) for metric in metrics}
    done: Counter[tuple[str, str]] = Counter()

    def take(result: Result, segment: Segment) -> None:
        key = result.system, result.metric
        found[result.metric].add(result.system, int(pairing.places[result.system][done[key]]), segment)
        done[key] += 1
        emit(result, segment)

    for source in sources:
        for result in score(source, metrics, take):
            scores = found[result.metric]
            scores.flags[result.system] = dict(result.flags)
            if result.signature not in scores.signatures:
                scores.signatures.append(result.signature)
    return list(found.values())
