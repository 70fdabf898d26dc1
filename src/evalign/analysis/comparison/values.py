"""What comparing systems asks for and gives: a `ComparisonPlan` in, a `SystemComparison` of frozen values out.

`regressions` says which differences lie beyond the `Limits` that continuous integration sets, significant or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalign.analysis.comparison.system_scores import Example
from evalign.errors import SpecError, nearest
from evalign.metrics.base import Metric
from evalign.stats.bootstrap import Resampling
from evalign.stats.clusters import CORRECTIONS
from evalign.version import __version__

TESTS = ("bootstrap", "randomisation")


@dataclass(frozen=True)
class ComparisonPlan:
    """What is asked for. Unless told, the first system is the baseline and `pair_rows` finds out the pairs."""

    baseline: str | None = None
    pair_by: str | None = None
    tests: tuple[str, ...] = TESTS
    resampling: Resampling = field(default_factory=Resampling)
    alpha: float = 0.05
    correction: str = "holm"
    examples: int = 3

    def __post_init__(self) -> None:
        for what, given, known in (("test", self.tests, TESTS), ("correction", (self.correction,), CORRECTIONS)):
            if unknown := [name for name in given if name not in known]:
                raise SpecError(f"{what}={unknown[0]}: {nearest(unknown[0], known)}")
        if not self.tests or not 0 < self.alpha < 1 or self.examples < 0:
            raise SpecError(
                "a comparison needs a test, 0 < alpha < 1 and examples >= 0, but got "
                f"tests={self.tests}, alpha={self.alpha}, examples={self.examples}"
            )


@dataclass(frozen=True)
class Versus:
    """A system against the baseline. Differences are system minus baseline, whichever direction is better.

    `p_values` are two-sided, by test. A row is won if it is better by more than rounding.
    """

    difference: float
    low: float | None
    high: float | None
    p_values: Mapping[str, float]
    wins: int
    losses: int
    ties: int
    examples: Sequence[Example] = ()

    corrected: float | None = None  # of three and more systems: the largest p-value, corrected for all their pairs

    @property
    def p_value(self) -> float:
        """The largest: a difference is significant if every test that was run says so."""
        return max(self.p_values.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
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
    """A system under one metric. `rank` is for three and more systems: equal ranks are not told apart."""

    system: str
    score: float
    low: float | None
    high: float | None
    rank: int | None
    flags: Mapping[str, int]
    versus: Versus | None  # None for the baseline itself

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        plain: dict[str, Any] = {"system": self.system, "score": self.score, "low": self.low, "high": self.high}
        if self.rank is not None:
            plain["rank"] = self.rank
        plain["flags"] = dict(self.flags)
        return plain if self.versus is None else plain | self.versus.to_dict()


@dataclass(frozen=True)
class MetricComparison:
    """All systems under one metric, the baseline first; rows that failed in any system are left out for all.

    `pairs` has what three and more systems say of each other besides: (first, second) -> second against first.
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
    pairs: Mapping[tuple[str, str], Versus]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
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
    """What `compare` and `compare_sources` return."""

    plan: ComparisonPlan
    baseline: str
    paired_by: str
    rows: int
    metrics: Sequence[MetricComparison]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as `evalign compare --format json` prints them."""
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
class Limits:
    """How much worse than the baseline a system may be, in the metric's own units; metrics without a limit pass."""

    default: float | None = None
    by_metric: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, texts: Iterable[str], metrics: Iterable[Metric]) -> Limits:
        """From `0.01` for all metrics and `bleu=0.5` for one, by its name or its spec."""
        known = {name for metric in metrics for name in (metric.name, str(metric))}
        default, by_metric = None, {}
        for text in texts:
            name, _, amount = text.rpartition("=")
            if name and name.strip() not in known:
                raise SpecError(f"--fail-if-worse {text}: {name.strip()!r} is not compared; {nearest(name, known)}")
            if name:
                by_metric[name.strip()] = _amount(amount, text)
            else:
                default = _amount(amount, text)
        return cls(default, by_metric)

    def of(self, metric: MetricComparison) -> float | None:
        """The limit for one metric: by spec, else by name, else the one for all."""
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
        told = f"{self.system or '-'} is worse than {self.baseline or '-'} by {self.worse_by:.4g} under {self.metric}"
        verdict = "significant" if self.significant else "not significant, so no failure"
        return f"{told} (limit {self.limit:g}, p = {self.p_value:.4f}: {verdict})"


def regressions(comparison: SystemComparison, limits: Limits) -> list[Regression]:
    """All differences beyond their limits, in the order of metrics and systems."""
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


def _amount(text: str, given: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise SpecError(f"--fail-if-worse {given}: expected a number from 0, or METRIC=NUMBER")
    return value
