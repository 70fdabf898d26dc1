"""An audit from beginning to end: rated rows and metrics in, an `Audit` out.

    rows --mean_ratings--> data quality --sample--> scores --> agreement, robustness, reliability; cost on its own texts

Every metric is scored on the same rows, which are drawn by item: rows that share references and source stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalign.analysis.agreement import judge_table
from evalign.analysis.audit.data_quality import data_quality, item_of, mean_ratings
from evalign.analysis.audit.robustness import CHANGE_COUNT, robustness
from evalign.analysis.audit.trial import PAIRS_TIMED, REORDERED_ROWS, Trial, cost, reliability
from evalign.analysis.audit.values import CORRELATIONS, Audit, AuditPlan, Cost, DataQuality, MetricAudit
from evalign.analysis.plan import Plan
from evalign.analysis.rated_tables import RatedTable, rate
from evalign.data.rows import InMemory
from evalign.errors import InputError, SpecError
from evalign.metrics.base import Metric
from evalign.metrics.registry import metric as parsed_metric
from evalign.stats.estimate import FEWEST_ROWS, Estimate
from evalign.types import Floats, Row, Segment

ITEM = "item"  # the field of `Row.extra` that names what is resampled
Watch = Callable[[str, int | None], AbstractContextManager[Callable[[int], Any]]]
Levels = dict[str, dict[str, dict[str, Estimate]]]  # aspect -> level -> correlation


def audit(
    rows: Iterable[Row],
    metrics: Iterable[Metric | str],
    plan: AuditPlan | None = None,
    rater_fields: Sequence[str] = (),
    watch: Watch = lambda _what, _total: nullcontext(lambda _: None),
) -> Audit:
    """What the evaluation of metrics on rated rows should report; `human` may be a list, one number per rater.

    `rater_fields` name fields of `Row.extra` with one rater each, instead of `human`; `watch` opens a progress bar.
    """
    plan = plan or AuditPlan()
    parsed = list(dict.fromkeys(parsed_metric(spec) if isinstance(spec, str) else spec for spec in metrics))
    if not parsed:
        raise SpecError("no metrics: name at least one to audit")
    rated = mean_ratings(list(rows), rater_fields)
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
        audited = [_judged(metric, sample, table, levels, plan) for metric in scored]
    notes = [f"left out: {count} rows, {why}" for why, count in table.left_out.items()]
    notes += [f"{metric.trial.metric}: {metric.cost.note}" for metric in scored if metric.cost.note]
    return Audit(plan, data, len(sample), tuple(audited), tuple(notes))


@dataclass(frozen=True, eq=False)
class _Scored:
    """A metric after its first pass: cost first, while no text is in the cache of vectors."""

    trial: Trial
    cost: Cost
    segments: list[Segment]
    values: Floats


def _checked(rows: Sequence[Row], data: DataQuality) -> DataQuality:
    """The data, or an error where there is nothing to agree with."""
    if not data.ratings or data.unrated == len(rows):
        raise InputError("no row has a human score: its field must hold a number, a list of them, or an object of both")
    if len(rows) - data.unrated < FEWEST_ROWS:
        raise InputError(
            f"an audit needs at least {FEWEST_ROWS} rows with human scores, found {len(rows) - data.unrated}"
        )
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
    """All rows, or those of items drawn at random until there are enough; in the order of the file."""
    rows = [replace(row, extra={**row.extra, ITEM: item_of(row)}) for row in rows]
    if not plan.sample or len(rows) <= plan.sample:
        return rows
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(item_of(row), []).append(place)
    chosen: list[int] = []
    names = list(places)
    for number in np.random.default_rng(plan.resampling.seed).permutation(len(names)):
        if len(chosen) >= plan.sample:
            break
        chosen += places[names[number]]
    return [rows[place] for place in sorted(chosen)]


def _scored(metric: Metric, sample: Sequence[Row], number: int, advance: Callable[[int], Any]) -> _Scored:
    trial = Trial(metric, metric.scorer(sample), advance)
    if all(map(metric.lacks, sample)):
        metric.check_needs(sample)
    spent = cost(trial, [row for row in sample if not metric.lacks(row)], number)
    segments = trial.segments(sample)
    return _Scored(trial, spent, segments, trial.values(segments))


def _agreement(table: RatedTable, data: DataQuality, plan: AuditPlan) -> dict[str, Levels]:
    """By metric: aspect, level, correlation; items are resampled, so rows of one item do not count as independent."""
    levels = ["segment", *(["system"] if data.systems >= FEWEST_ROWS else [])]
    agreement: dict[str, Levels] = {name: {aspect: {} for aspect in table.human} for name in table.scores}
    for level in levels:
        asked = Plan(CORRELATIONS, level, document=ITEM, resampling=plan.resampling, test="none")
        for judgement in judge_table(table, asked).judgements:
            agreement[judgement.metric][judgement.aspect][level] = judgement.estimates
    return agreement


def _judged(
    scored: _Scored, sample: Sequence[Row], table: RatedTable, levels: dict[str, Levels], plan: AuditPlan
) -> MetricAudit:
    name = str(scored.trial.metric)
    order = np.random.default_rng(plan.resampling.seed).permutation(len(sample))[: plan.changed]
    places = np.sort(order)
    return MetricAudit(
        name,
        str(scored.trial.scorer.signature),
        levels[name],
        scored.cost,
        robustness(scored.trial, [sample[place] for place in places], scored.values[places]),
        reliability(scored.trial, sample, scored.segments, table, plan.resampling),
    )
