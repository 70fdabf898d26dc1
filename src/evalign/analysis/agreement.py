"""Judging the judges: how well each metric of a rated table agrees with people, and which are really apart.

In: a `RatedTable` and a `Plan` (statistics, level, groups, resampling, test). Out: an `Agreement`, one `Judgement` per
aspect and metric, with intervals and ranks; metrics of equal rank are not told apart by the test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalign.analysis.metric_significance import Column, column, significance_test
from evalign.analysis.plan import DARR, SOFT, Plan
from evalign.analysis.rated_tables import RatedTable, rate
from evalign.data.rows import InMemory
from evalign.errors import InputError, SpecError, UndefinedStatisticError
from evalign.metrics.base import Metric
from evalign.metrics.registry import metric
from evalign.stats.clusters import clusters
from evalign.stats.estimate import Estimate
from evalign.stats.levels import Grouped, Rated, agreement, agreement_by
from evalign.stats.pairs import darr
from evalign.stats.significance import compare_all
from evalign.stats.soft_pairs import soft_agreement
from evalign.stats.ties import merged
from evalign.types import Floats, Row


@dataclass(frozen=True, eq=False)
class Judgement:
    """How one metric agrees with one kind of human score."""

    aspect: str
    metric: str
    estimates: dict[str, Estimate]  # by statistic
    groups: dict[str, dict[str, Estimate]]  # by statistic, then group
    rank: int | None  # 1 is the best; None without a test or a value


@dataclass(frozen=True, eq=False)
class Agreement:
    """The judgements in order of aspect and rank, and the p-values behind the ranks."""

    plan: Plan
    table: RatedTable
    judgements: Sequence[Judgement]
    p_values: dict[str, tuple[list[str], Floats]]  # by aspect: metrics, p of "row is better than column"

    @property
    def aspects(self) -> list[str]:
        """What people judged."""
        return list(dict.fromkeys(one.aspect for one in self.judgements))


def judge(rows: Iterable[Row], metrics: Iterable[Metric | str], plan: Plan | None = None) -> Agreement:
    """Scores rows that have a human rating with every metric, and says how well each agrees with people."""
    parsed = [metric(spec) if isinstance(spec, str) else spec for spec in metrics]
    if not parsed:
        raise SpecError("no metrics: name at least one to hold against the ratings")
    return judge_table(rate(InMemory(list(rows)), parsed), plan or Plan())


def judge_table(table: RatedTable, plan: Plan) -> Agreement:
    """Every metric against every aspect."""
    if len(table.rows) < plan.fewest:
        raise InputError(f"agreement needs at least {plan.fewest} rows with human scores, found {len(table.rows)}")
    judgements: list[Judgement] = []
    p_values = {}
    for aspect, human in table.human.items():
        found = {name: _estimates(column(table, plan, name, aspect)) for name in table.scores}
        first = plan.statistics[0]
        ranked = [name for name, (estimates, _) in found.items() if estimates[first].value is not None]
        ranks: dict[str, int] = {}
        if plan.test != "none" and len(ranked) > 1:
            better = compare_all(
                [table.scores[name] for name in ranked], human, significance_test(table, plan, human), plan.correction
            )
            values = [float(found[name][0][first].value or 0.0) for name in ranked]
            ranks = dict(zip(ranked, clusters(values, better, plan.alpha, "visited"), strict=True))
            p_values[aspect] = ranked, better
        ordered = _best_first({name: estimates[first] for name, (estimates, _) in found.items()})
        judgements += [Judgement(aspect, name, *found[name], ranks.get(name)) for name in ordered]
    return Agreement(plan, table, judgements, p_values)


def judge_pairs(better: RatedTable, worse: RatedTable, plan: Plan) -> Agreement:
    """WMT's daRR: how often each metric puts the better one of two outputs first, as a tau from -1 to 1."""
    labels = np.array([""] * len(better.rows) if plan.by is None else better.labels(plan.by), dtype=object)
    judgements = []
    for name in better.scores:
        groups = {}
        for number, group in enumerate(sorted(set(labels))):
            rows = np.flatnonzero(labels == group)
            resampling = plan.resampling.independent(number)
            groups[group] = darr(better.scores[name][rows], worse.scores[name][rows], resampling)
        overall = darr(better.scores[name], worse.scores[name], plan.resampling)
        by_group = {DARR: groups} if plan.by is not None else {}
        judgements.append(Judgement("better before worse", name, {DARR: overall}, by_group, None))
    order = _best_first({judgement.metric: judgement.estimates[DARR] for judgement in judgements})
    judgements.sort(key=lambda judgement: order.index(judgement.metric))
    return Agreement(plan, better, judgements, {})


def _estimates(judged: Column) -> tuple[dict[str, Estimate], dict[str, dict[str, Estimate]]]:
    estimates: dict[str, Estimate] = {}
    groups: dict[str, dict[str, Estimate]] = {}
    plan, rated = judged.plan, judged.rated()
    by = None if plan.by is None else judged.table.labels(plan.by)
    for statistic in plan.statistics:
        options = statistic, plan.level, plan.resampling, plan.averaging
        try:
            if statistic == SOFT:
                found = soft_agreement(_told_apart(rated, plan), by, plan.resampling, plan.averaging)
            elif by is not None:
                found = agreement_by(rated, by, *options)
            else:
                found = Grouped({}, agreement(rated, *options))
        except UndefinedStatisticError as error:
            found = Grouped({}, Estimate(None, len(judged.scores), flags=(str(error),)))
        estimates[statistic] = found.mean
        if by is not None:
            groups[statistic] = found.groups
    return estimates, groups


def _told_apart(rated: Rated, plan: Plan) -> Rated:
    """Where references stand for the item: a text that a system has several times is as many items, in their order."""
    if plan.item is not None or plan.document is not None or rated.items is None or rated.systems is None:
        return rated
    seen: Counter[tuple[str, str]] = Counter()
    items = []
    for key in zip(map(str, rated.items), map(str, rated.systems), strict=True):
        seen[key] += 1
        items.append(f"{key[0]}\n{seen[key]}")
    return replace(rated, items=items)


def _best_first(estimates: dict[str, Estimate]) -> list[str]:
    """Names by value; equal ones in the order in which they were asked for, those without a value last."""
    values = merged(np.array([-np.inf if found.value is None else found.value for found in estimates.values()]))
    return [list(estimates)[place] for place in np.argsort(-values, kind="stable")]
