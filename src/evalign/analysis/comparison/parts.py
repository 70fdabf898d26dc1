"""Comparing systems part by part: sums over some of the rows, which add up, and the comparison that follows from them.

    part of the rows --comparison_sums--> ComparisonSums --added up by the caller--> --compare_sums--> SystemComparison

Resample k draws the same rows however they are divided, so the result is that of all rows at once, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from evalign.analysis.comparison.run import TestedPair, differing_rows, metric_comparison, wins_losses_ties
from evalign.analysis.comparison.system_scores import PairedScores
from evalign.analysis.comparison.values import ComparisonPlan, SystemComparison
from evalign.data.row_pairing import ID
from evalign.stats.bootstrap import Resampling
from evalign.stats.system_tests import bootstrap_test, drawn_sums, randomisation_test, swap_sums
from evalign.types import Floats


@dataclass(frozen=True, eq=False)
class SystemSums:
    """A system's additive statistics: over all rows (k,), and on every bootstrap resample (samples, k)."""

    total: Floats
    drawn: Floats


@dataclass(frozen=True, eq=False)
class PairSums:
    """Two systems: sums of their differences over the rows that each trial swaps (samples, k), and counts of rows."""

    swapped: Floats
    wins: int
    losses: int
    ties: int
    differing: int


@dataclass(frozen=True, eq=False)
class ComparisonSums:
    """What the tests of one metric need; the first system is the baseline, pairs go by two systems in their order."""

    systems: dict[str, SystemSums]
    pairs: dict[tuple[str, str], PairSums]


def comparison_sums(table: PairedScores, start: int, rows: int, resampling: Resampling) -> ComparisonSums:
    """The sums of a table's rows, all of which are scored: those from `start` on of `rows` in all."""
    additive = {system: table.additive(system) for system in table.values}
    draws = drawn_sums(list(additive.values()), resampling, start, rows)
    systems = {
        name: SystemSums(sums.sum(axis=0), draw) for (name, sums), draw in zip(additive.items(), draws, strict=True)
    }
    pairs = list(combinations(additive, 2))
    swaps = swap_sums([additive[first] - additive[second] for first, second in pairs], resampling, start, rows)
    return ComparisonSums(
        systems,
        {
            (first, second): PairSums(
                swapped, *wins_losses_ties(table, first, second), differing_rows(additive[first], additive[second])
            )
            for (first, second), swapped in zip(pairs, swaps, strict=True)
        },
    )


def compare_sums(
    tables: Sequence[tuple[PairedScores, ComparisonSums]], plan: ComparisonPlan, scored: int, failed: int = 0
) -> SystemComparison:
    """The comparison of all rows, a table without rows and the sums of all parts for each metric."""
    order = list(tables[0][1].systems)
    compared = []
    for table, sums in tables:
        tested = {}
        for (first, second), pair in sums.pairs.items():
            both = sums.systems[first], sums.systems[second]
            totals = [system.total for system in both]
            draws = [system.drawn for system in both]
            bootstrap = bootstrap_test(totals, draws, scored, table.score, plan.resampling.confidence)
            swapped = randomisation_test(totals, pair.swapped, scored, table.score)
            counts = pair.wins, pair.losses, pair.ties
            tested[first, second] = TestedPair.of(bootstrap, swapped, plan, pair.differing, counts)
        compared.append(metric_comparison(table, order, tested, plan, rows=(scored, failed)))
    return SystemComparison(plan, order[0], ID, scored + failed, compared)
