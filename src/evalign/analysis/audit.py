"""Audit of metrics: rated rows and metrics in, an `Audit` out.

    rows --mean_ratings--> data quality --sample--> scores --> agreement, robustness, reliability; cost on longer texts

Every metric scores the same rows, which are drawn by item: rows that share references and source stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evalign.analysis.agreement import AgreementPlan, agree_table
from evalign.analysis.audit_measurements import (
    CHANGE_COUNT,
    PAIRS_TIMED,
    REORDERED_ROWS,
    AuditTrial,
    Cost,
    Reliability,
    Robustness,
    cost,
    reliability,
    robustness,
)
from evalign.analysis.data_quality import DataQuality, data_quality, item_of, mean_ratings
from evalign.analysis.rated_tables import RatedTable, rate
from evalign.core import Floats, Row, Segment
from evalign.core.metric import Metric
from evalign.core.registry import as_metrics
from evalign.core.rows import checked_rows
from evalign.errors import InputError, SpecError
from evalign.io.rows import InMemory
from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import MIN_ROWS, Estimate

ITEM = "item"  # the field of `Row.extra` that holds the unit of resampling
Watch = Callable[[str, int | None], AbstractContextManager[Callable[[int], Any]]]
Levels = dict[str, dict[str, dict[str, Estimate]]]  # aspect -> level -> correlation
CORRELATIONS = ("pearson", "spearman", "kendall")


@dataclass(frozen=True)
class AuditPlan:
    """Size of an audit.

    Args:
        sample_rows: Rows scored for agreement; 0: all.
        changed: Rows scored for each change of the text, drawn from the sample.
        resampling: Number of resamples, seed and confidence of the intervals.
    """

    sample_rows: int = 1000
    changed: int = 100
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        if self.sample_rows and self.sample_rows < MIN_ROWS:
            raise SpecError(f"sample_rows={self.sample_rows}: expected 0 for all rows, or at least {MIN_ROWS}")
        if self.changed < 1:
            raise SpecError(f"changed={self.changed}: expected at least 1 row")


@dataclass(frozen=True, eq=False)
class MetricAudit:
    """Results of the audit for one metric."""

    metric: str
    signature: str
    agreement: Mapping[str, Mapping[str, Mapping[str, Estimate]]]  # aspect -> level -> correlation
    cost: Cost
    robustness: tuple[Robustness, ...]
    reliability: Reliability


@dataclass(frozen=True, eq=False)
class Audit:
    """Quality of the data, results of every metric, and notes, such as the number of rows left out."""

    plan: AuditPlan
    data: DataQuality
    sampled: int  # rows scored
    metrics: tuple[MetricAudit, ...]
    notes: tuple[str, ...]


def audit(
    rows: Iterable[Row],
    metrics: Iterable[Metric | str] = ("bertscore",),
    plan: AuditPlan | None = None,
    rater_fields: Sequence[str] = (),
    watch: Watch = lambda _what, _total: nullcontext(lambda _: None),
) -> Audit:
    """Measure agreement with people, cost, robustness and reliability of metrics on rated rows.

    Args:
        rows: Rows with a human score, which may be a list with one number per rater.
        metrics: Metrics or their specs.
        plan: Number of rows and resamples; by default `AuditPlan()`.
        rater_fields: Fields of `Row.extra` with the scores of one rater each, used instead of `human`.
        watch: Opens a progress bar with a title and a total.
    """
    plan = plan or AuditPlan()
    parsed = as_metrics(metrics, "to audit")
    rated = mean_ratings(checked_rows(rows), rater_fields)
    data = _checked(rated.rows, data_quality(rated, plan.resampling)) if rated.rows else None
    if data is None:
        raise InputError("no rows to audit: the input is empty")
    sample = _sample([row for row in rated.rows if _rated(row)], plan)
    changed = min(plan.changed, len(sample))
    steps = PAIRS_TIMED + len(sample) + CHANGE_COUNT * changed + min(REORDERED_ROWS, len(sample))
    with watch("auditing", steps * len(parsed)) as advance:
        scored = [_scored(metric, sample, number, advance) for number, metric in enumerate(parsed)]
        columns = {str(metric.trial.metric): dict(enumerate(metric.values.tolist())) for metric in scored}
        table = rate(InMemory(sample), [], columns)
        levels = _agreement(table, data, plan)
        audited = [_audited(metric, sample, table, levels, plan) for metric in scored]
    notes = [f"left out: {count} rows, {why}" for why, count in table.left_out.items()]
    notes += [f"{metric.trial.metric}: {metric.cost.note}" for metric in scored if metric.cost.note]
    return Audit(plan, data, len(sample), tuple(audited), tuple(notes))


@dataclass(frozen=True, eq=False)
class _Scored:
    """A metric after its first pass; cost is measured first, while no text is in the vector cache."""

    trial: AuditTrial
    cost: Cost
    segments: list[Segment]
    values: Floats


def _checked(rows: Sequence[Row], data: DataQuality) -> DataQuality:
    """Return the data, or raise an error if its ratings cannot be correlated with anything."""
    if not data.ratings or data.unrated == len(rows):
        raise InputError("no row has a human score: its field must hold a number, a list of them, or an object of both")
    if len(rows) - data.unrated < MIN_ROWS:
        raise InputError(f"an audit needs at least {MIN_ROWS} rows with human scores, found {len(rows) - data.unrated}")
    if all(ratings.distinct == 1 for ratings in data.ratings.values()):
        first = next(iter(data.ratings.values()))
        raise InputError(
            f"human scores are constant ({first.low:g} in all {first.rows} rows), so no metric can agree with them: "
            "give data whose ratings differ"
        )
    return data


def _rated(row: Row) -> bool:
    return row.human is not None and (not isinstance(row.human, dict) or None not in row.human.values())


def _sample(rows: Sequence[Row], plan: AuditPlan) -> list[Row]:
    """Return all rows, or the rows of items drawn at random until there are enough; in the order of the file."""
    rows = [replace(row, extra={**row.extra, ITEM: item_of(row)}) for row in rows]
    if not plan.sample_rows or len(rows) <= plan.sample_rows:
        return rows
    rows_of: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        rows_of.setdefault(item_of(row), []).append(index)
    selected: list[int] = []
    items = list(rows_of)
    for number in np.random.default_rng(plan.resampling.seed).permutation(len(items)):
        if len(selected) >= plan.sample_rows:
            break
        selected += rows_of[items[number]]
    return [rows[index] for index in sorted(selected)]


def _scored(metric: Metric, sample: Sequence[Row], number: int, advance: Callable[[int], Any]) -> _Scored:
    trial = AuditTrial(metric, metric.scorer(sample), advance)
    if all(map(metric.lacks, sample)):
        metric.check_needs(sample)
    spent = cost(trial, [row for row in sample if not metric.lacks(row)], number)
    segments = trial.segments(sample)
    return _Scored(trial, spent, segments, trial.values(segments))


def _agreement(table: RatedTable, data: DataQuality, plan: AuditPlan) -> dict[str, Levels]:
    """Return estimates by metric, aspect, level and correlation; items are resampled, as their rows are related."""
    levels = ["segment", *(["system"] if data.systems >= MIN_ROWS else [])]
    agreement: dict[str, Levels] = {name: {aspect: {} for aspect in table.human} for name in table.scores}
    for level in levels:
        agreement_plan = AgreementPlan(CORRELATIONS, level, document=ITEM, resampling=plan.resampling, test="none")
        for judgement in agree_table(table, agreement_plan).judgements:
            agreement[judgement.metric][judgement.aspect][level] = judgement.estimates
    return agreement


def _audited(
    scored: _Scored, sample: Sequence[Row], table: RatedTable, levels: dict[str, Levels], plan: AuditPlan
) -> MetricAudit:
    name = str(scored.trial.metric)
    order = np.random.default_rng(plan.resampling.seed).permutation(len(sample))[: plan.changed]
    selected = np.sort(order)
    return MetricAudit(
        name,
        str(scored.trial.scorer.signature),
        levels[name],
        scored.cost,
        robustness(scored.trial, [sample[index] for index in selected], scored.values[selected]),
        reliability(scored.trial, sample, scored.segments, table, plan.resampling),
    )
