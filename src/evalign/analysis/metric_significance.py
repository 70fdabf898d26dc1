"""Does one metric agree with people better than another? The test that a `Plan` asks for, on a `RatedTable`.

In: table, plan and ratings. Out: a function from two metrics' scores to a `Comparison`, on the rows that both scored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from evalign.analysis.plan import PAIR_ACCURACIES, SOFT, Plan
from evalign.analysis.rated_tables import RatedTable
from evalign.errors import UndefinedStatisticError
from evalign.stats.correlation import CORRELATIONS
from evalign.stats.levels import Averaging, Rated, level_function, system_means
from evalign.stats.pair_levels import PAIR_STATISTICS
from evalign.stats.pair_swaps import pair_outcomes, pair_swap_test
from evalign.stats.significance import Comparison, permutation_test, williams
from evalign.stats.weighted import mean_of_defined
from evalign.types import Floats, Ints


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
