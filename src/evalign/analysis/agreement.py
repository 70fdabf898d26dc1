"""Agreement of metrics with people: estimates with intervals, and ranks from significance tests.

In: a `RatedTable` and an `AgreementPlan` (statistics, level, groups, resampling, test). Out: an `Agreement` with one
`MetricAgreement` per aspect and metric. Metrics of equal rank do not differ significantly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from evalign.analysis.rated_tables import RatedTable, rate
from evalign.core import Floats, Ints, Row
from evalign.core.metric import Metric
from evalign.core.registry import as_metrics
from evalign.core.rows import checked_rows
from evalign.errors import InputError, SpecError, UndefinedStatisticError, nearest
from evalign.io.rows import InMemory
from evalign.stats.bootstrap import Resampling
from evalign.stats.correlation import CORRELATIONS
from evalign.stats.estimate import MIN_ROWS, Estimate, merged
from evalign.stats.levels import (
    LEVELS,
    Averaging,
    GroupEstimates,
    Rated,
    agreement,
    agreement_by,
    level_function,
    soft_agreement,
    system_means,
)
from evalign.stats.pairs import PAIR_STATISTICS, darr, pair_outcomes, pair_swap_test
from evalign.stats.significance import Comparison, clusters, compare_all, permutation_test, williams
from evalign.stats.weighted import mean_of_defined


@dataclass(frozen=True, eq=False)
class MetricAgreement:
    """Agreement of one metric with the human scores of one aspect."""

    aspect: str
    metric: str
    estimates: dict[str, Estimate]  # by statistic
    groups: dict[str, dict[str, Estimate]]  # by statistic, then group
    rank: int | None  # 1 is the best; None without a test or a value


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of all metrics by aspect and rank, and the p-values behind the ranks."""

    plan: AgreementPlan
    table: RatedTable
    judgements: Sequence[MetricAgreement]
    p_values: dict[str, tuple[list[str], Floats]]  # by aspect: metrics, p of "row is better than column"

    @property
    def aspects(self) -> list[str]:
        """Return the aspects that people rated, in order."""
        return list(dict.fromkeys(judgement.aspect for judgement in self.judgements))


def agree(
    rows: Iterable[Row], metrics: Iterable[Metric | str] = ("bertscore",), plan: AgreementPlan | None = None
) -> Agreement:
    """Score rated rows with every metric, and measure how well each agrees with people.

    Args:
        rows: Rows with a human score.
        metrics: Metrics or their specs.
        plan: Statistics, level, groups and tests; by default `AgreementPlan()`.
    """
    parsed = as_metrics(metrics, "to compare with the ratings")
    return agree_table(rate(InMemory(checked_rows(rows)), parsed), plan or AgreementPlan())


def agree_table(table: RatedTable, plan: AgreementPlan) -> Agreement:
    """Compute the agreement of every metric of a table with every aspect."""
    if len(table.rows) < plan.fewest:
        raise InputError(f"agreement needs at least {plan.fewest} rows with human scores, found {len(table.rows)}")
    judgements: list[MetricAgreement] = []
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
        judgements += [MetricAgreement(aspect, name, *judged[name], ranks.get(name)) for name in ordered]
    return Agreement(plan, table, judgements, p_values)


def agree_pairs(better: RatedTable, worse: RatedTable, plan: AgreementPlan) -> Agreement:
    """Compute WMT's daRR: a tau from -1 to 1, by how often each metric prefers the better of two outputs.

    Args:
        better: Scores of the outputs that people preferred.
        worse: Scores of the outputs they were preferred to, row by row.
        plan: Groups and resampling; `test` is ignored.
    """
    labels = np.array([""] * len(better.rows) if plan.within is None else better.labels(plan.within), dtype=object)
    judgements = []
    for name in better.scores:
        groups = {}
        for number, group in enumerate(sorted(set(labels))):
            rows = np.flatnonzero(labels == group)
            resampling = plan.resampling.independent(number)
            groups[group] = darr(better.scores[name][rows], worse.scores[name][rows], resampling)
        overall = darr(better.scores[name], worse.scores[name], plan.resampling)
        by_group = {DARR: groups} if plan.within is not None else {}
        judgements.append(MetricAgreement("better before worse", name, {DARR: overall}, by_group, None))
    order = _best_first({judgement.metric: judgement.estimates[DARR] for judgement in judgements})
    judgements.sort(key=lambda judgement: order.index(judgement.metric))
    return Agreement(plan, better, judgements, {})


def _estimates(column: ScoredAspect) -> tuple[dict[str, Estimate], dict[str, dict[str, Estimate]]]:
    estimates: dict[str, Estimate] = {}
    groups: dict[str, dict[str, Estimate]] = {}
    plan, rated = column.plan, column.rated()
    by = None if plan.within is None else column.table.labels(plan.within)
    for statistic in plan.statistics:
        options = statistic, plan.level, plan.resampling, plan.averaging
        try:
            if statistic == SOFT:
                grouped = soft_agreement(_with_repeats_apart(rated, plan), by, plan.resampling, plan.averaging)
            elif by is not None:
                grouped = agreement_by(rated, by, *options)
            else:
                grouped = GroupEstimates({}, agreement(rated, *options))
        except UndefinedStatisticError as error:
            systems = rated.systems if plan.level == "system" else None
            units = len(column.scores) if systems is None else len(set(map(str, systems)))
            grouped = GroupEstimates({}, Estimate(None, units, flags=(str(error),)))
        estimates[statistic] = grouped.mean
        if by is not None:
            groups[statistic] = grouped.groups
    return estimates, groups


def _with_repeats_apart(rated: Rated, plan: AgreementPlan) -> Rated:
    """Number repeated items of a system, if items are identified by their references.

    A text that a system has several times then counts as several items, in their order.
    """
    if plan.item is not None or plan.document is not None or rated.items is None or rated.systems is None:
        return rated
    seen: Counter[tuple[str, str]] = Counter()
    items = []
    for key in zip(map(str, rated.items), map(str, rated.systems), strict=True):
        seen[key] += 1
        items.append(f"{key[0]}\n{seen[key]}")
    return replace(rated, items=items)


def _best_first(estimates: dict[str, Estimate]) -> list[str]:
    """Return the names sorted by value; ties in the requested order, those without a value last."""
    values = (estimate.value for estimate in estimates.values())
    numbers = merged(np.array([-np.inf if value is None else value for value in values]))
    names = list(estimates)
    return [names[index] for index in np.argsort(-numbers, kind="stable")]


def significance_test(
    table: RatedTable, plan: AgreementPlan, human: Floats
) -> Callable[[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike], Comparison]:
    """Return the plan's test of two metrics, on the rows that both scored."""
    test = _complete_test(table, plan, human) if np.isfinite(human).all() else None

    def compare(first: npt.ArrayLike, second: npt.ArrayLike, people: npt.ArrayLike) -> Comparison:
        columns = np.array([first, second, people])
        rows = np.flatnonzero(np.isfinite(columns).all(axis=0))
        complete = test is not None and len(rows) == columns.shape[1]
        try:
            selected = test if complete else _complete_test(table.part(rows), plan, columns[2, rows])
            assert selected is not None
            return selected(*columns[:, rows])
        except UndefinedStatisticError:  # no group has a value for both metrics
            return Comparison(0.0, 1.0, 1.0, 1.0, len(rows))

    return compare


@dataclass(frozen=True, eq=False)
class ScoredAspect:
    """One metric's scores and the ratings of one aspect, row by row."""

    table: RatedTable
    plan: AgreementPlan
    scores: Floats
    human: Floats

    def rated(self, rows: Any = slice(None)) -> Rated:
        """Return the selected rows with the labels that the plan's level and statistics need."""

        def labels(name: str) -> Any:
            return np.array(self.table.labels(name), dtype=object)[rows]

        plan = self.plan
        systems = labels("system") if plan.level == "system" else None
        documents = None if plan.document is None else labels(plan.document)
        items = documents if plan.item is None else labels(plan.item)
        if items is None and (SOFT in plan.statistics or set(plan.statistics) & set(PAIR_STATISTICS)):
            items = np.array(["\n".join(row.references) for row in self.table.rows], dtype=object)[rows]
        return Rated(self.scores[rows], self.human[rows], documents, systems, items)


def column(table: RatedTable, plan: AgreementPlan, metric: str, aspect: str) -> ScoredAspect:
    """Return the rows that have both a score and a rating: all rows, unless missing cells are allowed."""
    both = np.isfinite(table.scores[metric]) & np.isfinite(table.human[aspect])
    table = table if both.all() else table.part(np.flatnonzero(both))
    return ScoredAspect(table, plan, table.scores[metric], table.human[aspect])


def _complete_test(
    table: RatedTable, plan: AgreementPlan, human: Floats
) -> Callable[[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike], Comparison]:
    if plan.test == "williams":
        return williams
    if plan.statistics[0] in PAIR_ACCURACIES:
        return partial(_pair_swaps, table, plan)
    documents = None if plan.document is None else table.labels(plan.document)
    groups = {"segment": plan.within, "summary": plan.document}.get(plan.level)
    plain = plan.level == "segment" or (plan.level == "summary" and plan.within is None)
    plain = plain and plan.averaging == Averaging() and plan.statistics[0] in CORRELATIONS
    statistic: Any = plan.statistics[0] if plain else _mean_over_groups(table, plan, human)
    by = table.labels(groups) if plain and groups is not None else None

    def test(first: npt.ArrayLike, second: npt.ArrayLike, people: npt.ArrayLike) -> Comparison:
        return permutation_test(first, second, people, statistic, plan.resampling, documents, by)

    return test


def _pair_swaps(table: RatedTable, plan: AgreementPlan, first: Floats, second: Floats, human: Floats) -> Comparison:
    """Test pairs of the same item, or pairs of systems, by group; groups have the weights of the estimate."""
    parts = []
    for rows in _groups(table, plan):
        rated = ScoredAspect(table, plan, first, human).rated(rows)
        columns, items = [first[rows], second[rows], human[rows]], rated.items
        if plan.level == "system":
            columns, items = system_means(columns, rated.systems), None
        left, right, people = columns
        try:
            outcomes = pair_outcomes(left, right, people, items, plan.statistics[0] == "acc-eq")
        except UndefinedStatisticError:
            continue  # the estimates carry a flag for it
        parts.append((outcomes, len(rows) if plan.average == "micro" else 1))
    if not parts:
        raise UndefinedStatisticError("no group has a pair, so there is nothing to test")
    total = sum(size for _, size in parts)
    return pair_swap_test([(part, size / total) for part, size in parts], len(human), plan.resampling)


def _groups(table: RatedTable, plan: AgreementPlan) -> list[Ints]:
    labels = np.array(["" for _ in table.rows] if plan.within is None else table.labels(plan.within), dtype=object)
    return [np.flatnonzero(labels == group) for group in sorted(set(labels))]


def _mean_over_groups(table: RatedTable, plan: AgreementPlan, human: Floats) -> Callable[[Floats], Floats]:
    """Return a function of score matrices (r, n): the reported statistic at its level, averaged over the groups."""
    parts = []
    for rows in _groups(table, plan):
        try:
            column = ScoredAspect(table, plan, human, human).rated(rows)
            parts.append((rows, level_function(column, plan.statistics[0], plan.level, plan.averaging)))
        except UndefinedStatisticError:
            continue  # the estimates carry a flag for it
    if not parts:
        raise UndefinedStatisticError("no group has a value, so there is nothing to test")
    sizes = plan.averaging.sizes([len(rows) for rows, _ in parts])

    def mean(scores: Floats) -> Floats:
        groups = np.stack([function(scores[:, rows]) for rows, function in parts])
        values = mean_of_defined(plan.averaging.filled(groups), sizes)
        return np.where(np.isfinite(values), values, 0.0)

    return mean


DARR = "darr"
SOFT = "spa"
STATISTICS = (*CORRELATIONS, *PAIR_STATISTICS, SOFT)
PAIR_ACCURACIES = ("accuracy", "acc-eq")
AVERAGES = ("macro", "micro")
MISSING = ("rows", "cells")
CONSTANT = ("left-out", "zero")
TESTS = ("permutation", "williams", "none")


@dataclass(frozen=True)
class AgreementPlan:
    """Options of an agreement analysis.

    Args:
        statistics: Names of statistics; the first ranks the metrics.
        level: Level of the statistics: segment, summary (needs `document`) or system.
        within: Field whose groups the statistics are averaged over.
        document: Field of the documents, which are resampled as a whole.
        resampling: Number of resamples, seed and confidence of the intervals.
        test: Significance test of two metrics, or `none`.
        correction: Correction of the p-values for multiple tests.
        alpha: Significance level.
        item: Field of the source text whose rows pair statistics compare; by default the document, else the references.
        average: `macro`, or `micro` to weight groups and documents by their rows.
        fewest: Minimum rows of a group or document.
        constant: `left-out`, or `zero` to count groups and documents with constant scores or ratings as 0.
    """

    statistics: tuple[str, ...] = ("pearson", "spearman", "kendall")
    level: str = "segment"
    within: str | None = None
    document: str | None = None
    resampling: Resampling = field(default_factory=Resampling)
    test: str = "permutation"
    correction: str = "holm"
    alpha: float = 0.05
    item: str | None = None
    average: str = "macro"
    fewest: int = MIN_ROWS
    constant: str = "left-out"

    @property
    def averaging(self) -> Averaging:
        """Return the averaging over groups and documents."""
        return Averaging(self.average == "micro", self.fewest, self.constant == "zero")

    def __post_init__(self) -> None:
        for option, value, allowed in (
            *(("statistic", name, (*STATISTICS, DARR)) for name in self.statistics),
            ("level", self.level, LEVELS),
            ("test", self.test, TESTS),
            ("average", self.average, AVERAGES),
            ("constant", self.constant, CONSTANT),
        ):
            if value not in allowed:
                raise SpecError(f"{option}={value}: {nearest(value, allowed)}")
        if self.fewest < 2:
            raise SpecError(f"fewest={self.fewest}: a correlation needs at least 2 rows")
        pairs = [name for name in self.statistics if name in PAIR_STATISTICS]
        if pairs and self.level == "summary":
            raise SpecError(f"{pairs[0]} compares the rows of one item already: use `level=segment` or `level=system`")
        if SOFT in self.statistics and self.level != "system":
            raise SpecError(f"{SOFT}, the soft pairwise accuracy, ranks systems: add `level=system`")
        if self.level == "summary" and self.document is None:
            raise SpecError("`level=summary` needs the document of each row: name its field with `document`")
        if self.test == "williams" and (self.statistics[0], self.level, self.within) != ("pearson", "segment", None):
            raise SpecError("Williams' test is about Pearson over all rows; use `test=permutation`")
        if self.test == "permutation" and self.statistics[0] == SOFT:
            raise SpecError(f"there is no test for {SOFT}: name another statistic first, or use `test=none`")
