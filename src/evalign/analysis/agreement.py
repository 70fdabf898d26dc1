"""Judging the judges: how well each metric of a rated table agrees with people, and which are really apart.

In: a `RatedTable` and a `Plan` (statistics, level, groups, resampling, test). Out: an `Agreement`, one `Judgement` per
aspect and metric, with intervals and ranks; metrics of equal rank are not told apart by the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from evalign.analysis.rated_tables import RatedTable, rate
from evalign.data.rows import InMemory
from evalign.errors import InputError, SpecError, UndefinedStatisticError, nearest
from evalign.metrics.base import Metric
from evalign.metrics.registry import metric
from evalign.stats.bootstrap import Resampling
from evalign.stats.clusters import clusters
from evalign.stats.correlation import CORRELATIONS
from evalign.stats.estimate import FEWEST_ROWS, Estimate
from evalign.stats.levels import LEVELS, Rated, agreement, agreement_by, level_function
from evalign.stats.pairs import darr, tie_calibrated_accuracy
from evalign.stats.significance import Comparison, compare_all, permutation_test, williams
from evalign.stats.ties import merged
from evalign.types import Floats, Row

ACCURACY = "acc-eq"
DARR = "darr"
STATISTICS = (*CORRELATIONS, ACCURACY)
TESTS = ("permutation", "williams", "none")


@dataclass(frozen=True)
class Plan:
    """What is asked for. The first statistic ranks the metrics; `by` averages over groups, `document` is resampled."""

    statistics: tuple[str, ...] = ("pearson", "spearman", "kendall")
    level: str = "segment"
    by: str | None = None
    document: str | None = None
    resampling: Resampling = field(default_factory=Resampling)
    test: str = "permutation"
    correction: str = "holm"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        for what, value, known in (
            *(("statistic", name, (*STATISTICS, DARR)) for name in self.statistics),
            ("level", self.level, LEVELS),
            ("test", self.test, TESTS),
        ):
            if value not in known:
                raise SpecError(f"{what}={value}: {nearest(value, known)}")
        if ACCURACY in self.statistics and (self.by is not None or self.level != "segment"):
            raise SpecError(
                f"{ACCURACY} compares the rows of one item and averages over items: leave out --by and --level"
            )
        if self.level == "summary" and self.document is None:
            raise SpecError("level=summary needs to know the document of each row: --document FIELD")
        if self.test == "williams" and (self.statistics[0], self.level, self.by) != ("pearson", "segment", None):
            raise SpecError("Williams' test is about Pearson over all rows; use --test permutation")
        if self.test == "permutation" and self.statistics[0] == ACCURACY:
            raise SpecError("the permutation test is about correlations; name one first, or use --test none")


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
    if len(table.rows) < FEWEST_ROWS:
        raise InputError(f"agreement needs at least {FEWEST_ROWS} rows with human scores, found {len(table.rows)}")
    judgements: list[Judgement] = []
    p_values = {}
    for aspect, human in table.human.items():
        found = {name: _estimates(_Column(table, plan, scores, human)) for name, scores in table.scores.items()}
        first = plan.statistics[0]
        ranked = [name for name, (estimates, _) in found.items() if estimates[first].value is not None]
        ranks: dict[str, int] = {}
        if plan.test != "none" and len(ranked) > 1:
            better = compare_all(
                [table.scores[name] for name in ranked], human, _test(table, plan, human), plan.correction
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


@dataclass(frozen=True, eq=False)
class _Column:
    """One metric's scores beside one aspect."""

    table: RatedTable
    plan: Plan
    scores: Floats
    human: Floats

    def rated(self, rows: Any = slice(None)) -> Rated:
        systems = np.array(self.table.labels("system"), dtype=object)[rows] if self.plan.level == "system" else None
        documents = None
        if self.plan.document is not None:
            documents = np.array(self.table.labels(self.plan.document), dtype=object)[rows]
        return Rated(self.scores[rows], self.human[rows], documents, systems)


def _estimates(column: _Column) -> tuple[dict[str, Estimate], dict[str, dict[str, Estimate]]]:
    estimates: dict[str, Estimate] = {}
    groups: dict[str, dict[str, Estimate]] = {}
    plan = column.plan
    for statistic in plan.statistics:
        if statistic == ACCURACY:
            estimates[statistic] = _accuracy(column)
            continue
        if plan.by is not None:
            found = agreement_by(column.rated(), column.table.labels(plan.by), statistic, plan.level, plan.resampling)
            estimates[statistic], groups[statistic] = found.mean, found.groups
            continue
        try:
            estimates[statistic] = agreement(column.rated(), statistic, plan.level, plan.resampling)
        except UndefinedStatisticError as error:
            estimates[statistic] = Estimate(None, len(column.scores), flags=(str(error),))
    return estimates, groups


def _accuracy(column: _Column) -> Estimate:
    """Pairs of rows of the same document where it is known, else of the same references."""
    items = column.rated().documents
    if items is None:
        items = ["\n".join(row.references) for row in column.table.rows]
    try:
        return tie_calibrated_accuracy(column.scores, column.human, items, column.plan.resampling).accuracy
    except UndefinedStatisticError as error:
        return Estimate(None, len(column.scores), flags=(str(error),))


def _test(
    table: RatedTable, plan: Plan, human: Floats
) -> Callable[[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike], Comparison]:
    if plan.test == "williams":
        return williams
    documents = None if plan.document is None else table.labels(plan.document)
    groups = {"segment": plan.by, "summary": plan.document}.get(plan.level)
    plain = plan.level == "segment" or (plan.level == "summary" and plan.by is None)
    statistic: Any = plan.statistics[0] if plain else _mean_over_groups(table, plan, human)
    by = table.labels(groups) if plain and groups is not None else None

    def test(first: npt.ArrayLike, second: npt.ArrayLike, people: npt.ArrayLike) -> Comparison:
        try:
            return permutation_test(first, second, people, statistic, plan.resampling, documents, by)
        except UndefinedStatisticError:  # no group in which both have a value: nothing tells them apart
            return Comparison(0.0, 1.0, 1.0, 1.0, len(table.rows))

    return test


def _mean_over_groups(table: RatedTable, plan: Plan, human: Floats) -> Callable[[Floats], Floats]:
    """From score matrices (r, n) to the statistic that is reported: at its level, averaged over the groups."""
    labels = np.array(["" for _ in table.rows] if plan.by is None else table.labels(plan.by), dtype=object)
    parts = []
    for group in sorted(set(labels)):
        rows = np.flatnonzero(labels == group)
        try:
            column = _Column(table, plan, human, human).rated(rows)
            parts.append((rows, level_function(column, plan.statistics[0], plan.level)))
        except UndefinedStatisticError:
            continue  # said in the estimates

    def mean(scores: Floats) -> Floats:
        values = np.stack([function(scores[:, rows]) for rows, function in parts])
        defined = np.isfinite(values)
        return np.asarray(np.where(defined, values, 0).sum(axis=0) / np.maximum(defined.sum(axis=0), 1))

    return mean


def _best_first(estimates: dict[str, Estimate]) -> list[str]:
    """Names by value; equal ones in the order in which they were asked for, those without a value last."""
    values = merged(np.array([-np.inf if found.value is None else found.value for found in estimates.values()]))
    return [list(estimates)[place] for place in np.argsort(-values, kind="stable")]
