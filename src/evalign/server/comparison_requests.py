"""Handle /api/compare and /api/resample: rows, scores, or sums of parts of the rows in, a comparison out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import combinations
from typing import Any

import numpy as np

from evalign.analysis.comparison import (
    MetricSums,
    PairSums,
    SystemSums,
    compare_scored,
    compare_sums,
    comparison_sums,
)
from evalign.analysis.comparison_results import ComparisonPlan, PairedScores, SystemComparison, read_rows, score_pairs
from evalign.core import Floats, Row
from evalign.core.scoring import check_stopped
from evalign.io.rows import InMemory, pair_rows
from evalign.server import schemas
from evalign.server.allowed_specs import allowed_metric, allowed_metrics, check_metric_count
from evalign.server.corpus_requests import pooled_scores, score_rows
from evalign.server.errors import ApiError
from evalign.server.request_costs import TYPICAL_STATISTICS, check_comparison, check_rows
from evalign.server.schemas import CompareRequest, ResampleRequest, RowObject, ScoresObject
from evalign.server.settings import Settings
from evalign.stats.bootstrap import Resampling


def compare(request: CompareRequest, settings: Settings) -> dict[str, Any]:
    """Compare systems by rows, scores or sums: intervals, paired tests, wins and losses."""
    plan = ComparisonPlan(baseline=request.baseline, resampling=Resampling(request.samples, request.seed))
    compared = _compare_sums if request.sums else _compare_scores if request.scores else _compare_rows
    return {"comparison": compared(request, plan, settings).to_dict()}


def resample(request: ResampleRequest, settings: Settings) -> dict[str, Any]:
    """Return the sums of a part of the rows."""
    scores = request.scores
    systems, rows = list(scores.values), len(next(iter(scores.values.values()), []))
    if len(systems) < 2 or not 1 <= rows <= request.rows - request.start:
        message = "scores: expected the values of two or more systems on at least one row, and at most `rows`"
        raise ApiError(422, "bad-input", message)
    check_comparison(request.rows, len(systems), [_statistics_width(scores)], request.samples, settings.limits)
    table = _table(scores, systems, rows, settings)
    if not table.scored.all():
        raise ApiError(
            422, "bad-input", "scores: every row of a part needs a value of all systems; leave out the other rows"
        )
    sums = comparison_sums(table, request.start, request.rows, Resampling(request.samples, request.seed))
    return {
        "metric": scores.metric,
        "signature": table.signatures[0],
        "rows": rows,
        "systems": {
            name: {"total": system.total.tolist(), "drawn": system.drawn.tolist()}
            for name, system in sums.systems.items()
        },
        "pairs": [
            {"first": first, "second": second, "swapped": pair.swapped.tolist(), "wins": pair.wins,
             "losses": pair.losses, "ties": pair.ties, "differing": pair.differing}
            for (first, second), pair in sums.pairs.items()
        ],
    }  # fmt: skip


def _compare_sums(request: CompareRequest, plan: ComparisonPlan, settings: Settings) -> SystemComparison:
    parts = request.sums or []
    check_metric_count(len(parts), settings.limits.metrics)
    systems, scored, failed = list(parts[0].systems), parts[0].rows, parts[0].failed
    if len(systems) < 2 or request.baseline not in (None, systems[0]):
        raise _no_sums("the sums of two or more systems, the baseline first")
    check_comparison(1, len(systems), [TYPICAL_STATISTICS] * len(parts), request.samples, settings.limits)
    tables = []
    for sums in parts:
        if list(sums.systems) != systems or (sums.rows, sums.failed) != (scored, failed):
            raise _no_sums("the same systems and rows under every metric")
        tables.append((_summed_table(sums, settings), _comparison_sums(sums, request.samples)))
    try:
        return compare_sums(tables, plan, scored, failed)
    except (ArithmeticError, LookupError, ValueError, TypeError):  # raised by formulas for numbers of another metric
        raise _no_sums("sums of the metric's own statistics") from None


def _summed_table(sums: schemas.ComparisonSums, settings: Settings) -> PairedScores:
    metric = allowed_metric(sums.metric, settings.models, settings.plugins)
    for system in sums.systems.values():
        if metric.pools:
            pooled_scores(metric, system.total, sums.rows)  # raises if they are not those of the metric
        elif len(system.total) != 1:
            raise _no_sums(f"one number for each total of {metric.name}, which is a mean")
    return PairedScores(metric, 0, signatures=[sums.signature or str(metric)])


def _comparison_sums(sums: schemas.ComparisonSums, samples: int) -> MetricSums:
    width = len(next(iter(sums.systems.values())).total)
    systems = {
        name: SystemSums(np.array(_of_shape([system.total], 1, width)[0]), _of_shape(system.drawn, samples, width))
        for name, system in sums.systems.items()
    }
    pairs = {
        (pair.first, pair.second): PairSums(
            _of_shape(pair.swapped, samples, width), pair.wins, pair.losses, pair.ties, pair.differing
        )
        for pair in sums.pairs
    }
    if list(pairs) != list(combinations(systems, 2)):
        raise _no_sums("every pair of the systems once, in their order")
    return MetricSums(systems, pairs)


def _of_shape(lists: list[list[float]], samples: int, width: int) -> Floats:
    if len(lists) != samples or any(len(numbers) != width for numbers in lists):
        raise _no_sums(f"{width} numbers for each of {samples:,} samples")
    return np.array(lists, dtype=np.float64)


def _no_sums(expected: str) -> ApiError:
    return ApiError(422, "bad-input", f"sums: expected what /api/resample answered, added up: {expected}")


def _compare_rows(request: CompareRequest, plan: ComparisonPlan, settings: Settings) -> SystemComparison:
    metrics = allowed_metrics(request.metrics or (), settings.models, settings.limits.metrics, settings.plugins)
    rows = _numbered(request.rows or [])
    check_rows(rows, metrics, settings.limits)
    source = InMemory(rows)
    pairing = pair_rows([source])
    widths = [TYPICAL_STATISTICS if metric.pools else 0 for metric in metrics]
    check_comparison(pairing.rows, len(pairing.systems), widths, request.samples, settings.limits)
    tables = score_pairs([source], pairing, metrics, score=score_rows)
    check_stopped()
    return compare_scored(tables, plan, pairing.by, lambda wanted: read_rows(wanted, [source], pairing), _watched)


def _watched(_what: str, _total: int | None) -> AbstractContextManager[Callable[[], object]]:
    """Return a progress callback that raises if the request was cancelled."""
    return nullcontext(check_stopped)


def _numbered(rows: list[RowObject]) -> list[Row]:
    """Return rows of the library; if none has an id, they are numbered within their system, to pair them by number."""
    by_system = all(row.id is None for row in rows)
    seen: Counter[str] = Counter()
    numbered = []
    for index, row in enumerate(rows):
        numbered.append(row.row(seen[row.system] if by_system else index))
        seen[row.system] += 1
    return numbered


def _compare_scores(request: CompareRequest, plan: ComparisonPlan, settings: Settings) -> SystemComparison:
    scores = request.scores or []
    check_metric_count(len(scores), settings.limits.metrics)
    systems, rows = list(scores[0].values), len(next(iter(scores[0].values.values()), []))
    if len(systems) < 2 or rows < 1:
        raise ApiError(422, "bad-input", "scores: expected the values of two or more systems on at least one row")
    widths = [_statistics_width(metric_scores) for metric_scores in scores]
    check_comparison(rows, len(systems), widths, request.samples, settings.limits)
    tables = [_table(metric_scores, systems, rows, settings) for metric_scores in scores]
    return compare_scored(tables, plan, watch=_watched)


def _table(scores: ScoresObject, systems: list[str], rows: int, settings: Settings) -> PairedScores:
    metric = allowed_metric(scores.metric, settings.models, settings.plugins)
    if set(scores.values) != set(systems) or any(len(values) != rows for values in scores.values.values()):
        message = (
            f"scores: {scores.metric} must have the same systems as the other metrics, and {rows:,} values for each"
        )
        raise ApiError(422, "bad-input", message)
    table = PairedScores(metric, rows, signatures=[scores.signature or str(metric)])
    for system in systems:
        table.values[system] = np.array(scores.values[system], dtype=np.float64)
    if metric.pools:
        table.statistics.update({system: _statistics(scores, system, rows) for system in systems})
        for statistics in table.statistics.values():
            pooled_scores(
                metric, statistics[table.scored].sum(axis=0).tolist(), rows
            )  # raises if they are not those of the metric
    return table


def _statistics_width(scores: ScoresObject) -> int:
    """Return the length of the longest list of statistics."""
    return max((len(row or ()) for rows in (scores.statistics or {}).values() for row in rows), default=0)


def _statistics(scores: ScoresObject, system: str, rows: int) -> Any:
    """Return the statistics (rows, width) of one system; zeros where a row failed."""
    lists = (scores.statistics or {}).get(system, [])
    widths = {len(row) for row in lists if row is not None}
    if len(lists) != rows or len(widths) != 1:
        message = f"scores: {scores.metric} pools over rows: send the statistics of all {rows:,} rows of every system"
        raise ApiError(422, "bad-input", message)
    width = widths.pop()
    return np.array([[0.0] * width if row is None else row for row in lists], dtype=np.float64)
