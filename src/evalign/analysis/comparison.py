"""Comparison of systems: scores with intervals, paired tests, wins and losses, and the rows that differ most.

    row sources --pair_rows--> Pairing --score_pairs--> PairedScores --tests--> SystemComparison

Rows are read once to be paired, once to be scored and once for the texts of the examples; only arrays stay in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from evalign.analysis.comparison_results import (
    ComparisonPlan,
    Example,
    MetricComparison,
    PairedScores,
    SystemComparison,
    SystemDifference,
    SystemScore,
    read_rows,
    score_pairs,
)
from evalign.core import Floats, Row, Segment
from evalign.core.metric import Metric
from evalign.core.registry import as_metrics
from evalign.core.rows import make_rows
from evalign.core.totals import Result
from evalign.errors import InputError, SpecError, described, nearest
from evalign.io.rows import ID, InMemory, RowSource, pair_rows
from evalign.stats.bootstrap import Resampling
from evalign.stats.significance import adjusted, clusters
from evalign.stats.system_tests import (
    SystemTest,
    approximate_randomisation,
    bootstrap_test,
    paired_bootstrap,
    randomisation_test,
    resample_sums,
    swap_sums,
)

PURPOSE = "to compare the systems by"  # of metrics, in errors
TIE = 1e-5  # smaller score differences can come from batch composition alone and count as ties

ReadRows = Callable[[Collection[tuple[str, int]]], Mapping[tuple[str, int], Row]]  # by system and position
Watch = Callable[[str, int | None], AbstractContextManager[Callable[[], object]]]


def compare(
    candidates: Mapping[str, Iterable[str]],
    references: Iterable[str] | Iterable[Iterable[str]] | None,
    metrics: Iterable[Metric | str] = ("bertscore",),
    sources: Iterable[str] | None = None,
    plan: ComparisonPlan | None = None,
) -> SystemComparison:
    """Compare systems whose texts are in memory.

    Args:
        candidates: System name -> candidates, parallel to the references.
        references: One reference, or a list of references, per row.
        metrics: Metrics or their specs.
        sources: One source text per row.
        plan: Baseline, tests and resampling; by default `ComparisonPlan()`.
    """
    if not isinstance(candidates, Mapping):
        raise InputError(
            f"candidates: expected a mapping such as {{'old': texts, 'new': texts}}, found {described(candidates)}"
        )
    references = list(references) if references is not None and not isinstance(references, str) else references
    sources = list(sources) if sources is not None and not isinstance(sources, str) else sources
    systems = [
        InMemory([replace(row, system=name) for row in make_rows(texts, references, sources)])
        for name, texts in candidates.items()
    ]
    return compare_sources(systems, as_metrics(metrics, PURPOSE), plan)


def compare_sources(
    sources: Sequence[RowSource],
    metrics: Sequence[Metric],
    plan: ComparisonPlan | None = None,
    watch: Watch = lambda _what, _total: nullcontext(lambda: None),
    emit: Callable[[Result, Segment], object] | None = None,
) -> SystemComparison:
    """Compare the systems of row sources. Files are read several times; other sources are read into memory.

    Args:
        sources: Rows of one or several systems each.
        metrics: Metrics to compare by.
        plan: Baseline, tests and resampling; by default `ComparisonPlan()`.
        watch: Opens a progress bar with a title and a total.
        emit: Receives every segment as it is scored.
    """
    plan = plan or ComparisonPlan()
    metrics = as_metrics(metrics, PURPOSE)
    sources = [source if source.rereadable else InMemory(list(source)) for source in sources]
    pairing = pair_rows(sources, plan.pair_by)
    order = _order(pairing.systems, plan)
    with watch("scoring", pairing.rows * len(order) * len(metrics)) as advance:

        def receive(result: Result, segment: Segment) -> None:
            if emit is not None:
                emit(result, segment)
            advance()

        tables = score_pairs(sources, pairing, metrics, receive)
    return compare_scored(tables, plan, pairing.by, lambda wanted: read_rows(wanted, sources, pairing), watch)


def compare_scored(
    tables: Sequence[PairedScores],
    plan: ComparisonPlan,
    paired_by: str = ID,
    read: ReadRows = lambda _wanted: {},
    watch: Watch = lambda _what, _total: nullcontext(lambda: None),
) -> SystemComparison:
    """Compare systems by existing scores.

    Args:
        tables: Scores, a table per metric.
        plan: Baseline, tests and resampling.
        paired_by: Field that the rows were paired by.
        read: Returns the rows of the examples by system and position.
        watch: Opens a progress bar with a title and a total.
    """
    order = _order(list(tables[0].values), plan)
    _check_scored(tables)
    examples = _examples(tables, order, plan.examples, read)
    pairs = list(combinations(order, 2)) if len(order) > 2 else [(order[0], order[1])]
    with watch("testing", len(pairs) * len(tables)) as advance:
        compared = [
            metric_comparison(table, order, _tests(table, pairs, plan, advance), plan, examples) for table in tables
        ]
    return SystemComparison(plan, order[0], paired_by, tables[0].rows, compared)


def _examples(
    tables: Sequence[PairedScores], order: Sequence[str], limit: int, read: ReadRows
) -> dict[tuple[str, str], list[Example]]:
    """Return the rows that differ most from the baseline with their texts, by metric and system."""
    baseline, *systems = order
    positions = {(table, system): table.most_different(baseline, system, limit, TIE) for table in tables
                 for system in systems}  # fmt: skip
    rows = read({(name, position) for (_, system), selected in positions.items() for position in selected
                 for name in (baseline, system)})  # fmt: skip
    examples: dict[tuple[str, str], list[Example]] = {}
    for (table, system), selected in positions.items():
        entries = examples[str(table.metric), system] = []
        for position in selected if rows else ():
            first, row = rows[baseline, position], rows[system, position]
            scores = float(table.values[baseline][position]), float(table.values[system][position])
            entries.append(Example(first.id, first.candidate, row.candidate, row.references, row.source, *scores))
    return examples


@dataclass(frozen=True)
class TestedPair:
    """Test results of two systems: the bootstrap (always run, for its intervals), p-values by test, and counts."""

    bootstrap: SystemTest
    p_values: Mapping[str, float]
    wins_losses_ties: tuple[int, int, int]

    @classmethod
    def of(cls, bootstrap: SystemTest, randomisation: SystemTest | None, plan: ComparisonPlan, differing: int,
           wins_losses_ties: tuple[int, int, int]) -> TestedPair:  # fmt: skip
        """Build from two tests, with p-values of at least 2 / 2^differing: the chance that all `differing` rows agree.

        sacrebleu counts only swaps with a strictly larger difference: it prints .001 for a system against itself, and
        for two systems that differ on a single row, where every swap has the same difference.
        """
        least = min(1.0, 2.0 ** (1 - differing))
        tests = {"bootstrap": bootstrap, "randomisation": randomisation}
        p_values = {name: max(test.p_value, least) for name, test in tests.items() if test and name in plan.tests}
        return cls(bootstrap, p_values, wins_losses_ties)


def differing_rows(first: Floats, second: Floats) -> int:
    """Return the number of rows on which the additive statistics (rows, k) of two systems differ beyond rounding."""
    return int((np.abs(first - second) > TIE).any(axis=1).sum())


def _tests(
    table: PairedScores, pairs: Sequence[tuple[str, str]], plan: ComparisonPlan, advance: Callable[[], object]
) -> dict[tuple[str, str], TestedPair]:
    additive = {system: table.additive(system) for system in table.values}
    tested = {}
    for first, second in pairs:
        both = additive[first], additive[second]
        bootstrap = paired_bootstrap(*both, table.score, plan.resampling)
        swapped = (
            approximate_randomisation(*both, table.score, plan.resampling) if "randomisation" in plan.tests else None
        )
        counts = wins_losses_ties(table, first, second)
        tested[first, second] = TestedPair.of(bootstrap, swapped, plan, differing_rows(*both), counts)
        advance()
    return tested


def metric_comparison(
    table: PairedScores, order: Sequence[str], tested: Mapping[tuple[str, str], TestedPair], plan: ComparisonPlan,
    examples: Mapping[tuple[str, str], Sequence[Example]] | None = None, rows: tuple[int, int] | None = None,
) -> MetricComparison:  # fmt: skip
    """Combine the tests of all pairs into the comparison under one metric.

    Args:
        table: Scores of the metric.
        order: Systems, the baseline first.
        tested: Test results by pair.
        plan: Correction and significance level.
        examples: Rows to include, by metric and system.
        rows: Numbers of scored and failed rows, if the table has no rows.
    """
    baseline, spec, several = order[0], str(table.metric), len(order) > 2
    largest = [max(pair.p_values.values()) for pair in tested.values()]
    corrected = dict(zip(tested, adjusted(largest, plan.correction).tolist(), strict=True))
    ranks = _ranks(table.metric, order, tested, corrected, plan.alpha) if several else dict.fromkeys(order)
    against = {
        (first, second): SystemDifference(
            _value(pair.bootstrap.difference.value), pair.bootstrap.difference.low, pair.bootstrap.difference.high,
            pair.p_values, *pair.wins_losses_ties,
            (examples or {}).get((spec, second), ()) if first == baseline else (),
            corrected[first, second] if several else None,
        )
        for (first, second), pair in tested.items()
    }  # fmt: skip
    systems = []
    for system in order:
        versus = None
        if system == baseline:
            estimate = tested[baseline, order[1]].bootstrap.baseline
        else:
            estimate, versus = tested[baseline, system].bootstrap.system, against[baseline, system]
        flags = table.flags.get(system, {})
        systems.append(
            SystemScore(system, _value(estimate.value), estimate.low, estimate.high, ranks[system], flags, versus)
        )
    scored, failed = rows or (int(table.scored.sum()), int((~table.scored).sum()))
    return MetricComparison(
        spec, table.metric.name, table.metric.main, tuple(table.signatures), table.metric.higher_is_better,
        scored, failed, table.first_error, systems,
        {names: versus for names, versus in against.items() if names[0] != baseline},
    )  # fmt: skip


def _ranks(
    metric: Metric,
    order: Sequence[str],
    tested: Mapping[tuple[str, str], TestedPair],
    corrected: Mapping[tuple[str, str], float],
    alpha: float,
) -> dict[str, int | None]:
    """Return ranks by score; a new rank begins at the first system significantly worse than one in the current rank.

    The stricter rule of WMT's system rankings, all above better than all below, leaves a dozen systems in one rank
    where each is only a little better than the next.
    """
    sign = 1 if metric.higher_is_better else -1
    index_of = {system: index for index, system in enumerate(order)}
    scores = [0.0] * len(order)
    for (first, second), pair in tested.items():
        scores[index_of[first]] = sign * _value(pair.bootstrap.baseline.value)
        scores[index_of[second]] = sign * _value(pair.bootstrap.system.value)
    better = np.ones((len(order), len(order)))
    for (first, second), p_value in corrected.items():
        ahead, behind = sorted((index_of[first], index_of[second]), key=lambda index: -scores[index])
        better[ahead, behind] = p_value
    return dict(zip(order, clusters(scores, better, alpha, "visited"), strict=True))


def wins_losses_ties(table: PairedScores, baseline: str, system: str) -> tuple[int, int, int]:
    """Return the numbers of rows on which the system is better than the baseline, worse, and equal."""
    sign = 1 if table.metric.higher_is_better else -1
    gains = sign * (table.values[system] - table.values[baseline])[table.scored]
    wins, losses = int((gains > TIE).sum()), int((gains < -TIE).sum())
    return wins, losses, len(gains) - wins - losses


def _order(systems: Sequence[str], plan: ComparisonPlan) -> list[str]:
    """Return the systems, the baseline first."""
    baseline = systems[0] if plan.baseline is None else plan.baseline
    if baseline not in systems:
        raise SpecError(f"baseline={baseline}: no such system; {nearest(baseline, systems)}")
    return [baseline, *(system for system in systems if system != baseline)]


def _check_scored(tables: Iterable[PairedScores]) -> None:
    for table in tables:
        if not table.scored.any():
            raise InputError(
                f"{table.metric}: no row was scored for all systems, so they cannot be compared; "
                f"the first failure: {table.first_error}"
            )


def _value(value: float | None) -> float:
    if value is None:  # allowed by the type of Estimate; a score always has a value
        raise ValueError(f"expected a score, got {value}")
    return value


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
class MetricSums:
    """Sums for the tests of one metric: by system, the baseline first, and by pair of systems in that order."""

    systems: dict[str, SystemSums]
    pairs: dict[tuple[str, str], PairSums]


def comparison_sums(table: PairedScores, start: int, rows: int, resampling: Resampling) -> MetricSums:
    """Return the sums over the rows of a table, all of which are scored.

    Args:
        table: Scores of a part of the rows.
        start: Position of its first row among all rows.
        rows: Number of all rows.
        resampling: Number of resamples and seed.
    """
    additive = {system: table.additive(system) for system in table.values}
    draws = resample_sums(list(additive.values()), resampling, start, rows)
    systems = {
        name: SystemSums(sums.sum(axis=0), draw) for (name, sums), draw in zip(additive.items(), draws, strict=True)
    }
    pairs = list(combinations(additive, 2))
    swaps = swap_sums([additive[first] - additive[second] for first, second in pairs], resampling, start, rows)
    return MetricSums(
        systems,
        {
            (first, second): PairSums(
                swapped, *wins_losses_ties(table, first, second), differing_rows(additive[first], additive[second])
            )
            for (first, second), swapped in zip(pairs, swaps, strict=True)
        },
    )


def compare_sums(
    tables: Sequence[tuple[PairedScores, MetricSums]], plan: ComparisonPlan, scored: int, failed: int = 0
) -> SystemComparison:
    """Compare systems by sums over all rows.

    Args:
        tables: Per metric: an empty score table (it supplies the formula) and the sums merged over all parts.
        plan: Baseline, tests and resampling.
        scored: Number of rows scored.
        failed: Number of rows that failed.
    """
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
