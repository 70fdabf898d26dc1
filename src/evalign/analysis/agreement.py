"""Judging the judges: how well each metric of a rated table agrees with people, and which are really apart.

In: a `RatedTable` and a `Plan` (statistics, level, groups, resampling, test). Out: an `Agreement`, one `Judgement` per
aspect and metric, with intervals and ranks; metrics of equal rank are not told apart by the test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from evalign.analysis.plan import DARR, PAIR_ACCURACIES, SOFT, Plan
from evalign.analysis.rated_tables import RatedTable, rate
from evalign.data.rows import InMemory
from evalign.errors import InputError, SpecError, UndefinedStatisticError
from evalign.metrics.base import Metric
from evalign.metrics.registry import metric
from evalign.stats.clusters import clusters
from evalign.stats.correlation import CORRELATIONS
from evalign.stats.estimate import Estimate, merged
from evalign.stats.levels import Averaging, Grouped, Rated, agreement, agreement_by, level_function, system_means
from evalign.stats.pair_levels import PAIR_STATISTICS
from evalign.stats.pairs import darr, pair_outcomes, pair_swap_test
from evalign.stats.significance import Comparison, compare_all, permutation_test, williams
from evalign.stats.soft_pairs import soft_agreement
from evalign.stats.weighted import mean_of_defined
from evalign.types import Floats, Ints, Row


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
        return list(dict.fromkeys(judgement.aspect for judgement in self.judgements))


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
        judged = {name: _estimates(column(table, plan, name, aspect)) for name in table.scores}
        first = plan.statistics[0]
        ranked = [name for name, (estimates, _) in judged.items() if estimates[first].value is not None]
        ranks: dict[str, int] = {}
        if plan.test != "none" and len(ranked) > 1:
            better = compare_all(
                [table.scores[name] for name in ranked], human, significance_test(table, plan, human), plan.correction
            )
            values = [float(judged[name][0][first].value or 0.0) for name in ranked]
            ranks = dict(zip(ranked, clusters(values, better, plan.alpha, "visited"), strict=True))
            p_values[aspect] = ranked, better
        ordered = _best_first({name: estimates[first] for name, (estimates, _) in judged.items()})
        judgements += [Judgement(aspect, name, *judged[name], ranks.get(name)) for name in ordered]
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
                grouped = soft_agreement(_told_apart(rated, plan), by, plan.resampling, plan.averaging)
            elif by is not None:
                grouped = agreement_by(rated, by, *options)
            else:
                grouped = Grouped({}, agreement(rated, *options))
        except UndefinedStatisticError as error:
            grouped = Grouped({}, Estimate(None, len(judged.scores), flags=(str(error),)))
        estimates[statistic] = grouped.mean
        if by is not None:
            groups[statistic] = grouped.groups
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
    values = (estimate.value for estimate in estimates.values())
    numbers = merged(np.array([-np.inf if value is None else value for value in values]))
    return [list(estimates)[place] for place in np.argsort(-numbers, kind="stable")]


def significance_test(
    table: RatedTable, plan: Plan, human: Floats
) -> Callable[[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike], Comparison]:
    """The test of two metrics, on the rows that both scored."""
    test = _complete_test(table, plan, human) if np.isfinite(human).all() else None

    def compare(first: npt.ArrayLike, second: npt.ArrayLike, people: npt.ArrayLike) -> Comparison:
        columns = np.array([first, second, people])
        rows = np.flatnonzero(np.isfinite(columns).all(axis=0))
        complete = test is not None and len(rows) == columns.shape[1]
        try:
            chosen = test if complete else _complete_test(table.part(rows), plan, columns[2, rows])
            assert chosen is not None
            return chosen(*columns[:, rows])
        except UndefinedStatisticError:  # no group in which both have a value: nothing tells them apart
            return Comparison(0.0, 1.0, 1.0, 1.0, len(rows))

    return compare


@dataclass(frozen=True, eq=False)
class Column:
    """One metric's scores beside one aspect."""

    table: RatedTable
    plan: Plan
    scores: Floats
    human: Floats

    def rated(self, rows: Any = slice(None)) -> Rated:
        """Some of the rows with the labels that the plan's level and statistics need."""

        def labels(name: str) -> Any:
            return np.array(self.table.labels(name), dtype=object)[rows]

        plan = self.plan
        systems = labels("system") if plan.level == "system" else None
        documents = None if plan.document is None else labels(plan.document)
        items = documents if plan.item is None else labels(plan.item)
        if items is None and (SOFT in plan.statistics or set(plan.statistics) & set(PAIR_STATISTICS)):
            items = np.array(["\n".join(row.references) for row in self.table.rows], dtype=object)[rows]
        return Rated(self.scores[rows], self.human[rows], documents, systems, items)


def column(table: RatedTable, plan: Plan, metric: str, aspect: str) -> Column:
    """The rows that have both: all of them, unless missing cells were allowed."""
    both = np.isfinite(table.scores[metric]) & np.isfinite(table.human[aspect])
    table = table if both.all() else table.part(np.flatnonzero(both))
    return Column(table, plan, table.scores[metric], table.human[aspect])


def _complete_test(
    table: RatedTable, plan: Plan, human: Floats
) -> Callable[[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike], Comparison]:
    if plan.test == "williams":
        return williams
    if plan.statistics[0] in PAIR_ACCURACIES:
        return partial(_pair_swaps, table, plan)
    documents = None if plan.document is None else table.labels(plan.document)
    groups = {"segment": plan.by, "summary": plan.document}.get(plan.level)
    plain = plan.level == "segment" or (plan.level == "summary" and plan.by is None)
    plain = plain and plan.averaging == Averaging() and plan.statistics[0] in CORRELATIONS
    statistic: Any = plan.statistics[0] if plain else _mean_over_groups(table, plan, human)
    by = table.labels(groups) if plain and groups is not None else None

    def test(first: npt.ArrayLike, second: npt.ArrayLike, people: npt.ArrayLike) -> Comparison:
        return permutation_test(first, second, people, statistic, plan.resampling, documents, by)

    return test


def _pair_swaps(table: RatedTable, plan: Plan, first: Floats, second: Floats, human: Floats) -> Comparison:
    """Pairs of the same item, or pairs of systems, group by group; groups weigh as in the estimate."""
    parts = []
    for rows in _groups(table, plan):
        rated = Column(table, plan, first, human).rated(rows)
        columns, items = [first[rows], second[rows], human[rows]], rated.items
        if plan.level == "system":
            columns, items = system_means(columns, rated.systems), None
        ours, theirs, people = columns
        try:
            outcomes = pair_outcomes(ours, theirs, people, items, plan.statistics[0] == "acc-eq")
        except UndefinedStatisticError:
            continue  # said in the estimates
        parts.append((outcomes, len(rows) if plan.average == "micro" else 1))
    if not parts:
        raise UndefinedStatisticError("no group has a pair, so there is nothing to test")
    total = sum(size for _, size in parts)
    return pair_swap_test([(part, size / total) for part, size in parts], len(human), plan.resampling)


def _groups(table: RatedTable, plan: Plan) -> list[Ints]:
    labels = np.array(["" for _ in table.rows] if plan.by is None else table.labels(plan.by), dtype=object)
    return [np.flatnonzero(labels == group) for group in sorted(set(labels))]


def _mean_over_groups(table: RatedTable, plan: Plan, human: Floats) -> Callable[[Floats], Floats]:
    """From score matrices (r, n) to the statistic that is reported: at its level, averaged over the groups."""
    parts = []
    for rows in _groups(table, plan):
        try:
            column = Column(table, plan, human, human).rated(rows)
            parts.append((rows, level_function(column, plan.statistics[0], plan.level, plan.averaging)))
        except UndefinedStatisticError:
            continue  # said in the estimates
    if not parts:
        raise UndefinedStatisticError("no group has a value, so there is nothing to test")
    sizes = plan.averaging.sizes([len(rows) for rows, _ in parts])

    def mean(scores: Floats) -> Floats:
        groups = np.stack([function(scores[:, rows]) for rows, function in parts])
        values = mean_of_defined(plan.averaging.filled(groups), sizes)
        return np.where(np.isfinite(values), values, 0.0)

    return mean
