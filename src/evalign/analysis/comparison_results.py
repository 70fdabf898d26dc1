"""Values of a comparison of systems: its `ComparisonPlan`, the `PairedScores` of the rows, the `SystemComparison`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalign.analysis.scoring import Emit, score_source
from evalign.core import Bools, Floats, Row, Segment
from evalign.core.metric import Metric
from evalign.core.totals import Result
from evalign.errors import SpecError, nearest
from evalign.io.rows import Pairing, RowSource
from evalign.stats.bootstrap import Resampling
from evalign.stats.significance import CORRECTIONS
from evalign.stats.system_tests import Score, mean_score
from evalign.version import __version__

TESTS = ("bootstrap", "randomisation")


@dataclass(frozen=True)
class ComparisonPlan:
    """Options of a comparison.

    Args:
        baseline: Name of the baseline; by default the first system.
        pair_by: Field that rows of several systems are paired by; by default chosen by `pair_rows`.
        tests: Significance tests to run.
        resampling: Number of resamples, seed and confidence of the intervals.
        alpha: Significance level.
        correction: Correction of the p-values for multiple tests.
        examples: Rows to show per system: those that differ most from the baseline.
    """

    baseline: str | None = None
    pair_by: str | None = None
    tests: tuple[str, ...] = TESTS
    resampling: Resampling = field(default_factory=Resampling)
    alpha: float = 0.05
    correction: str = "holm"
    examples: int = 3

    def __post_init__(self) -> None:
        for option, names, allowed in (("test", self.tests, TESTS), ("correction", (self.correction,), CORRECTIONS)):
            if unknown := [name for name in names if name not in allowed]:
                raise SpecError(f"{option}={unknown[0]}: {nearest(unknown[0], allowed)}")
        if not self.tests or not 0 < self.alpha < 1 or self.examples < 0:
            raise SpecError(
                "a comparison needs a test, 0 < alpha < 1 and examples >= 0, but got "
                f"tests={self.tests}, alpha={self.alpha}, examples={self.examples}"
            )


@dataclass(frozen=True)
class SystemDifference:
    """A system against the baseline. Differences are system minus baseline, also where lower is better.

    `p_values` are two-sided, by test. A row counts as won if it is better by more than rounding.
    """

    difference: float
    low: float | None
    high: float | None
    p_values: Mapping[str, float]
    wins: int
    losses: int
    ties: int
    examples: Sequence[Example] = ()

    corrected: float | None = None  # for three and more systems: the largest p-value, corrected for all pairs

    @property
    def p_value(self) -> float:
        """Return the largest p-value: a difference is significant only if all tests agree."""
        return max(self.p_values.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "difference": self.difference,
            "difference_low": self.low,
            "difference_high": self.high,
            "p": dict(self.p_values),
            **({} if self.corrected is None else {"p_corrected": self.corrected}),
            "wins": self.wins,
            "losses": self.losses,
            "ties": self.ties,
            "examples": [example.to_dict() for example in self.examples],
        }


@dataclass(frozen=True)
class SystemScore:
    """A system under one metric. Three and more systems have a rank; equal ranks do not differ significantly."""

    system: str
    score: float
    low: float | None
    high: float | None
    rank: int | None
    flags: Mapping[str, int]
    versus: SystemDifference | None  # None for the baseline itself

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        plain: dict[str, Any] = {"system": self.system, "score": self.score, "low": self.low, "high": self.high}
        if self.rank is not None:
            plain["rank"] = self.rank
        plain["flags"] = dict(self.flags)
        return plain if self.versus is None else plain | self.versus.to_dict()


@dataclass(frozen=True)
class MetricComparison:
    """All systems under one metric, the baseline first; rows that failed in any system are left out for all.

    For three and more systems, `pairs` has the comparisons without the baseline: (first, second) -> second minus first.
    """

    metric: str
    name: str
    field: str
    signatures: Sequence[str]
    higher_is_better: bool
    n: int
    failed: int
    first_error: str | None
    systems: Sequence[SystemScore]
    pairs: Mapping[tuple[str, str], SystemDifference]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        plain = {
            "metric": self.metric,
            "field": self.field,
            "signature": self.signatures[0],
            "higher_is_better": self.higher_is_better,
            "n": self.n,
            "failed": self.failed,
        }
        if len(self.signatures) > 1:
            plain["signatures"] = list(self.signatures)
        if self.first_error is not None:
            plain["first_error"] = self.first_error
        plain |= {"systems": [system.to_dict() for system in self.systems]}
        pairs = [
            {"baseline": first, "system": second} | versus.to_dict() for (first, second), versus in self.pairs.items()
        ]
        return plain | ({"pairs": pairs} if pairs else {})


@dataclass(frozen=True)
class SystemComparison:
    """Result of `compare` and `compare_sources`: all systems under all metrics."""

    plan: ComparisonPlan
    baseline: str
    paired_by: str
    rows: int
    metrics: Sequence[MetricComparison]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values: the JSON output of `evalign compare`."""
        return {
            "evalign": __version__,
            "baseline": self.baseline,
            "paired_by": self.paired_by,
            "rows": self.rows,
            "samples": self.plan.resampling.samples,
            "seed": self.plan.resampling.seed,
            "confidence": self.plan.resampling.confidence,
            "alpha": self.plan.alpha,
            "results": [metric.to_dict() for metric in self.metrics],
        }


@dataclass(frozen=True)
class RegressionLimits:
    """Allowed loss against the baseline in units of the metric; metrics without a limit pass."""

    default: float | None = None
    by_metric: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, texts: Iterable[str], metrics: Iterable[Metric]) -> RegressionLimits:
        """Parse `0.01` (all metrics) and `bleu=0.5` (one metric, by name or spec)."""
        names = {name for metric in metrics for name in (metric.name, str(metric))}
        default, by_metric = None, {}
        for text in texts:
            name, _, amount = text.rpartition("=")
            if name and name.strip() not in names:
                raise SpecError(f"`fail_if_worse={text}`: no metric {name.strip()!r}; {nearest(name, names)}")
            if name:
                by_metric[name.strip()] = _limit(amount, text)
            else:
                default = _limit(amount, text)
        return cls(default, by_metric)

    def of(self, metric: MetricComparison) -> float | None:
        """Return the limit of a metric: by spec, else by name, else the default."""
        return self.by_metric.get(metric.metric, self.by_metric.get(metric.name, self.default))


@dataclass(frozen=True)
class Regression:
    """A system that is worse than the baseline by more than its limit; a failure only if that is significant."""

    system: str
    baseline: str
    metric: str
    worse_by: float
    limit: float
    p_value: float
    significant: bool

    def __str__(self) -> str:
        loss = f"{self.system or '-'} is worse than {self.baseline or '-'} by {self.worse_by:.4g} under {self.metric}"
        verdict = "significant" if self.significant else "not significant, so no failure"
        return f"{loss} (limit {self.limit:g}, p = {self.p_value:.4f}: {verdict})"


def regressions(comparison: SystemComparison, limits: RegressionLimits) -> list[Regression]:
    """Return all losses beyond their limits, in the order of metrics and systems."""
    worse = []
    for metric in comparison.metrics:
        limit = limits.of(metric)
        if limit is None:
            continue
        for system in metric.systems:
            if system.versus is None:
                continue
            loss = -system.versus.difference if metric.higher_is_better else system.versus.difference
            if loss > limit:
                p_value = system.versus.p_value
                significant = p_value < comparison.plan.alpha
                worse.append(
                    Regression(system.system, comparison.baseline, metric.metric, loss, limit, p_value, significant)
                )
    return worse


def _limit(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise SpecError(f"`fail_if_worse={option}`: expected a number >= 0, or METRIC=NUMBER")
    return value


@dataclass(eq=False)
class PairedScores:
    """One metric's main field on every row of every system; NaN where a row failed.

    `statistics` has (rows, k) numbers per system where the corpus score is pooled, as BLEU's, and is empty elsewhere.
    """

    metric: Metric
    rows: int
    values: dict[str, Floats] = field(default_factory=dict)
    statistics: dict[str, Floats] = field(default_factory=dict)
    signatures: list[str] = field(default_factory=list)  # more than one only if systems have different signatures
    flags: dict[str, Mapping[str, int]] = field(default_factory=dict)
    first_error: str | None = None

    def add(self, system: str, position: int, segment: Segment) -> None:
        """Add one row."""
        values = self.values.setdefault(system, np.full(self.rows, np.nan))
        if segment.error is not None:
            self.first_error = self.first_error or segment.error
            return
        values[position] = segment.scores[self.metric.main]
        if self.metric.pools:
            if system not in self.statistics:
                self.statistics[system] = np.zeros((self.rows, len(segment.statistics)))
            self.statistics[system][position] = segment.statistics

    @property
    def scored(self) -> Bools:
        """Rows that no system failed on."""
        scored: Bools = np.isfinite(np.stack(list(self.values.values()))).all(axis=0)
        return scored

    def additive(self, system: str) -> Floats:
        """Return the numbers that add up over the scored rows: (rows, k)."""
        table = self.statistics[system] if self.metric.pools else self.values[system][:, None]
        return np.asarray(table[self.scored])

    def most_different(self, baseline: str, system: str, limit: int, tie: float) -> list[int]:
        """Return the positions of up to `limit` rows, the largest differences first, without ties."""
        size = np.where(self.scored, np.abs(self.values[system] - self.values[baseline]), 0)
        return [int(row) for row in np.argsort(-size, kind="stable")[:limit] if size[row] > tie]

    @property
    def score(self) -> Score:
        """Function (column sums, rows) -> corpus score."""
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
    """Score every source with every metric.

    Args:
        sources: Rows of the systems.
        pairing: Positions of the rows in the common order.
        metrics: Metrics to score with.
        emit: Receives every segment as it is scored.
        score: Scores one source.
    """
    tables = {str(metric): PairedScores(metric, pairing.rows) for metric in metrics}
    done: Counter[tuple[str, str]] = Counter()

    def take(result: Result, segment: Segment) -> None:
        key = result.system, result.metric
        tables[result.metric].add(result.system, int(pairing.positions[result.system][done[key]]), segment)
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
    """One row under one metric: the texts of the baseline and of the system, and their scores."""

    id: str
    baseline_candidate: str
    candidate: str
    references: tuple[str, ...]
    source: str | None
    baseline_score: float
    score: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
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
    keys: Collection[tuple[str, int]], sources: Iterable[RowSource], pairing: Pairing
) -> dict[tuple[str, int], Row]:
    """Read the rows with the given systems and positions in the common order from the sources."""
    rows, seen = {}, Counter[str]()
    for source in sources if keys else ():
        for row in source:
            key = row.system, int(pairing.positions[row.system][seen[row.system]])
            seen[row.system] += 1
            if key in keys:
                rows[key] = row
    return rows
