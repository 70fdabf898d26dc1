"""Is one system better than another? Scores with intervals, paired tests, wins and losses, and where they differ most.

    row sources --pair_rows--> Pairing --score_pairs--> PairedScores --tests--> SystemComparison

Rows are read once to be paired, once to be scored and once for the texts of the examples; arrays are all that is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from evalign.analysis.comparison.system_scores import Example, PairedScores, read_rows, score_pairs
from evalign.analysis.comparison.values import ComparisonPlan, MetricComparison, SystemComparison, SystemScore, Versus
from evalign.analysis.scoring import Result
from evalign.data.row_pairing import ID, pair_rows
from evalign.data.rows import InMemory, RowSource
from evalign.errors import InputError, SpecError, nearest
from evalign.metrics.base import Metric
from evalign.metrics.registry import metric as parsed_metric
from evalign.metrics.rows import make_rows
from evalign.stats.clusters import adjusted, clusters
from evalign.stats.system_tests import SystemTest, approximate_randomisation, paired_bootstrap
from evalign.types import Floats, Row, Segment

TIE = 1e-5  # what the batch that a text was encoded in can move a score by

ReadRows = Callable[[Collection[tuple[str, int]]], Mapping[tuple[str, int], Row]]  # by system and place
Watch = Callable[[str, int | None], AbstractContextManager[Callable[[], object]]]


def compare(
    candidates: Mapping[str, Iterable[str]],
    references: Iterable[str] | Iterable[Iterable[str]] | None,
    metrics: Iterable[Metric | str],
    sources: Iterable[str] | None = None,
    plan: ComparisonPlan | None = None,
) -> SystemComparison:
    """Compares lists in memory: system name -> its candidates, all parallel to the references."""
    references = list(references) if references is not None and not isinstance(references, str) else references
    sources = list(sources) if sources is not None and not isinstance(sources, str) else sources
    systems = [
        InMemory([replace(row, system=name) for row in make_rows(texts, references, sources)])
        for name, texts in candidates.items()
    ]
    return compare_sources(systems, [parsed_metric(m) if isinstance(m, str) else m for m in metrics], plan)


def compare_sources(
    sources: Sequence[RowSource],
    metrics: Sequence[Metric],
    plan: ComparisonPlan | None = None,
    watch: Watch = lambda _what, _total: nullcontext(lambda: None),
    emit: Callable[[Result, Segment], object] | None = None,
) -> SystemComparison:
    """Compares the systems of files; `watch` opens a progress bar, `emit` gets every segment as it is made.

    Streams are kept in memory, files are read again.
    """
    plan = plan or ComparisonPlan()
    metrics = list(dict.fromkeys(metrics))
    if not metrics:
        raise SpecError("no metrics: name at least one to compare the systems by")
    sources = [source if source.rereadable else InMemory(list(source)) for source in sources]
    pairing = pair_rows(sources, plan.pair_by)
    order = _order(pairing.systems, plan)
    with watch("scoring", pairing.rows * len(order) * len(metrics)) as advance:

        def took(result: Result, segment: Segment) -> None:
            if emit is not None:
                emit(result, segment)
            advance()

        tables = score_pairs(sources, pairing, list(metrics), took)
    return compare_scored(tables, plan, pairing.by, lambda wanted: read_rows(wanted, sources, pairing), watch)


def compare_scored(
    tables: Sequence[PairedScores],
    plan: ComparisonPlan,
    paired_by: str = ID,
    read: ReadRows = lambda _wanted: {},
    watch: Watch = lambda _what, _total: nullcontext(lambda: None),
) -> SystemComparison:
    """Compares scores that are there already, a table per metric; `read` finds the rows to be shown."""
    order = _order(list(tables[0].values), plan)
    _check_scored(tables)
    examples = _examples(tables, order, plan.examples, read)
    pairs = list(combinations(order, 2)) if len(order) > 2 else [(order[0], order[1])]
    with watch("testing", len(pairs) * len(tables)) as advance:
        compared = [
            metric_comparison(table, order, _tested(table, pairs, plan, advance), plan, examples) for table in tables
        ]
    return SystemComparison(plan, order[0], paired_by, tables[0].rows, compared)


def _examples(
    tables: Sequence[PairedScores], order: Sequence[str], most: int, read: ReadRows
) -> dict[tuple[str, str], list[Example]]:
    """By metric and system, the rows that differ most from the baseline, with their texts."""
    baseline, *systems = order
    places = {(table, system): table.most_different(baseline, system, most, TIE) for table in tables
              for system in systems}  # fmt: skip
    rows = read({(name, place) for (_, system), chosen in places.items() for place in chosen
                 for name in (baseline, system)})  # fmt: skip
    examples: dict[tuple[str, str], list[Example]] = {}
    for (table, system), chosen in places.items():
        shown = examples[str(table.metric), system] = []
        for place in chosen if rows else ():
            first, row = rows[baseline, place], rows[system, place]
            scores = float(table.values[baseline][place]), float(table.values[system][place])
            shown.append(Example(first.id, first.candidate, row.candidate, row.references, row.source, *scores))
    return examples


@dataclass(frozen=True)
class TestedPair:
    """Two systems: the bootstrap, whose intervals are always shown, the p-values of the tests asked for, and counts."""

    bootstrap: SystemTest
    p_values: Mapping[str, float]
    wins_losses_ties: tuple[int, int, int]

    @classmethod
    def of(cls, bootstrap: SystemTest, randomisation: SystemTest | None, plan: ComparisonPlan, differing: int,
           wins_losses_ties: tuple[int, int, int]) -> TestedPair:  # fmt: skip
        """`differing` rows on which two systems differ all point one way by chance with probability 2 / 2^differing.

        sacrebleu counts only swaps with a strictly larger difference: it prints .001 for a system against itself, and
        for two systems that differ on a single row, where every swap has the same difference.
        """
        least = min(1.0, 2.0 ** (1 - differing))
        tests = {"bootstrap": bootstrap, "randomisation": randomisation}
        p_values = {name: max(test.p_value, least) for name, test in tests.items() if test and name in plan.tests}
        return cls(bootstrap, p_values, wins_losses_ties)


def differing_rows(first: Floats, second: Floats) -> int:
    """On how many rows two systems' additive statistics, (rows, k) each, differ by more than rounding."""
    return int((np.abs(first - second) > TIE).any(axis=1).sum())


def _tested(
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
    """What the tests of all pairs say; `rows` are those scored and failed, where the table does not hold them."""
    baseline, spec, several = order[0], str(table.metric), len(order) > 2
    largest = [max(pair.p_values.values()) for pair in tested.values()]
    corrected = dict(zip(tested, adjusted(largest, plan.correction).tolist(), strict=True))
    ranks = _ranks(table.metric, order, tested, corrected, plan.alpha) if several else dict.fromkeys(order)
    against = {
        (first, second): Versus(
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
    """Going down by score, a new rank begins at the first system that any of the present rank is better than.

    The stricter rule of WMT's system rankings, all above better than all below, leaves a dozen systems in one rank
    where each is only a little better than the next.
    """
    sign = 1 if metric.higher_is_better else -1
    place = {system: index for index, system in enumerate(order)}
    scores = [0.0] * len(order)
    for (first, second), pair in tested.items():
        scores[place[first]] = sign * _value(pair.bootstrap.baseline.value)
        scores[place[second]] = sign * _value(pair.bootstrap.system.value)
    better = np.ones((len(order), len(order)))
    for (first, second), p_value in corrected.items():
        ahead, behind = sorted((place[first], place[second]), key=lambda index: -scores[index])
        better[ahead, behind] = p_value
    return dict(zip(order, clusters(scores, better, alpha, "visited"), strict=True))


def wins_losses_ties(table: PairedScores, baseline: str, system: str) -> tuple[int, int, int]:
    """How many rows the system is better on than the baseline, worse, and neither."""
    sign = 1 if table.metric.higher_is_better else -1
    gains = sign * (table.values[system] - table.values[baseline])[table.scored]
    wins, losses = int((gains > TIE).sum()), int((gains < -TIE).sum())
    return wins, losses, len(gains) - wins - losses


def _order(systems: Sequence[str], plan: ComparisonPlan) -> list[str]:
    """The baseline first."""
    baseline = systems[0] if plan.baseline is None else plan.baseline
    if baseline not in systems:
        raise SpecError(f"baseline={baseline}: no such system; {nearest(baseline, systems)}")
    return [baseline, *(system for system in systems if system != baseline)]


def _check_scored(tables: Iterable[PairedScores]) -> None:
    for table in tables:
        if not table.scored.any():
            raise InputError(
                f"{table.metric}: there is no row that all systems could be scored on, so nothing can be compared; "
                f"the first failure: {table.first_error}"
            )


def _value(value: float | None) -> float:
    if value is None:  # an Estimate's type allows it; a score always has a value
        raise ValueError("a score without a value")
    return value
