"""Has a system become worse than its baseline? What continuous integration asks of a comparison.

In: a `SystemComparison` and `Limits`. Out: every difference beyond its limit, significant or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from evalign.analysis.comparison.values import MetricComparison, SystemComparison
from evalign.errors import SpecError, nearest
from evalign.metrics.base import Metric


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
    found = []
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
                found.append(
                    Regression(system.system, comparison.baseline, metric.metric, loss, limit, p_value, significant)
                )
    return found


def _amount(text: str, given: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise SpecError(f"--fail-if-worse {given}: expected a number from 0, or METRIC=NUMBER")
    return value
