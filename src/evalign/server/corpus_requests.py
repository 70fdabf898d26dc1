"""The work behind /api/score and /api/compare: rows or scores in, a corpus document or a comparison out.

Rows are scored in blocks of the library's own size, so that numbers are the library's own; metrics without an encoder,
whose rows never meet, in small ones, so that a request nobody waits for ends soon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from evalign.analysis.comparison.run import compare_scored
from evalign.analysis.comparison.system_scores import PairedScores
from evalign.analysis.comparison.values import ComparisonPlan, SystemComparison
from evalign.analysis.scoring import Result, run_scorers
from evalign.cancellation import check_stopped
from evalign.data.row_pairing import pair_rows
from evalign.data.rows import InMemory
from evalign.metrics.base import BLOCK_ROWS, Metric, Scorer
from evalign.metrics.token_metric import TokenMetric
from evalign.render.documents import scores_document
from evalign.server.allowed_specs import allowed_metric, allowed_metrics
from evalign.server.errors import ApiError
from evalign.server.pair_requests import fitting_table, pooled_scores
from evalign.server.request_costs import USUAL_WIDTH, check_comparison, check_rows, opened
from evalign.server.request_models import CompareRequest, ScoreRequest, ScoresObject
from evalign.server.settings import Settings
from evalign.stats.bootstrap import Resampling
from evalign.text.idf import IDFTable
from evalign.text.word_caches import forget
from evalign.types import Row, Segment

SMALL_BLOCK = 4
TURN = 0.1  # seconds after which one who waits for a turn looks whether the answer is still wanted
REMEMBERED = 4_000_000  # characters that go through the lexical metrics before their memories are emptied
_locks: dict[str, Lock] = {}  # by module: metrics in plain Python gain no speed from threads, and some remember texts


class TextMemory:
    """Bounds what the lexical metrics remember of all requests' texts: they count entries, not characters."""

    def __init__(self) -> None:
        self._lock, self._characters = Lock(), 0

    def take(self, rows: Sequence[Row]) -> None:
        """To be told before rows are scored by one metric."""
        new = sum(len(text) for row in rows for text in (row.candidate, row.source or "", *row.references))
        with self._lock:
            self._characters += new
            full = self._characters > REMEMBERED
            if full:
                self._characters = new
        if full:
            forget()


_memory = TextMemory()


@dataclass(frozen=True)
class Scored:
    """One metric over all rows: segments in order, and totals per system."""

    metric: Metric
    signature: str
    segments: list[Segment]
    results: list[Result]


def score(request: ScoreRequest, settings: Settings) -> dict[str, Any]:
    """A corpus document without texts: who asked has them."""
    metrics = allowed_metrics(request.metrics, settings.models, settings.limits.metrics)
    rows = [one.row(place) for place, one in enumerate(request.rows)]
    check_rows(rows, metrics, settings.limits)
    table = None if request.idf is None else request.idf.table()
    if table is not None and not any(_asks_idf(metric) for metric in metrics):
        raise ApiError(422, "bad-table", "idf: no metric asks for a table; write one as in bertscore(idf=references)")
    scored = [_scored(metric, rows, table) for metric in metrics]
    results = [result.to_dict() for one in scored for result in one.results]
    return scores_document([one.metric for one in scored], results, rows, [one.segments for one in scored], texts=False)


def compare(request: CompareRequest, settings: Settings) -> dict[str, Any]:
    """Scores with intervals, paired tests, wins and losses."""
    plan = ComparisonPlan(baseline=request.baseline, resampling=Resampling(request.samples, request.seed))
    compared = _compare_rows if request.scores is None else _compare_scores
    return {"comparison": compared(request, plan, settings).to_dict()}


def _scored(metric: Metric, rows: Sequence[Row], table: IDFTable | None) -> Scored:
    stream = InMemory(rows)
    if isinstance(metric, TokenMetric):
        return _run(metric, _token_scorer(metric, stream, table), stream, BLOCK_ROWS)
    with _alone(type(metric).__module__):
        _memory.take(rows)
        return _run(metric, metric.scorer(stream), stream, SMALL_BLOCK)


@contextmanager
def _alone(module: str) -> Iterator[None]:
    """Waits for its turn, but not longer than somebody waits for the answer."""
    lock = _locks.setdefault(module, Lock())
    while not lock.acquire(timeout=TURN):
        check_stopped()
    try:
        yield
    finally:
        lock.release()


def _token_scorer(metric: TokenMetric, rows: InMemory, table: IDFTable | None) -> Scorer:
    opened(metric)
    if table is not None and _asks_idf(metric):
        return metric.scorer(rows, fitting_table(table, metric))
    return metric.scorer(rows)


def _run(metric: Metric, scorer: Scorer, rows: InMemory, size: int) -> Scored:
    segments: list[Segment] = []
    results = run_scorers([(metric, scorer)], rows, lambda _, segment: segments.append(segment), size)
    return Scored(metric, str(scorer.signature), segments, results)


def _asks_idf(metric: Metric) -> bool:
    return isinstance(metric, TokenMetric) and metric.needs_corpus


def _compare_rows(request: CompareRequest, plan: ComparisonPlan, settings: Settings) -> SystemComparison:
    metrics = allowed_metrics(request.metrics or (), settings.models, settings.limits.metrics)
    rows = [one.row(place) for place, one in enumerate(request.rows or ())]
    check_rows(rows, metrics, settings.limits)
    source = InMemory(_numbered(request, rows))
    pairing = pair_rows([source])
    widths = [USUAL_WIDTH if metric.pools else 0 for metric in metrics]
    check_comparison(pairing.rows, len(pairing.systems), widths, request.samples, settings.limits)
    tables = []
    for metric in metrics:
        scored, table = _scored(metric, source.rows, None), PairedScores(metric, pairing.rows)
        done = dict.fromkeys(pairing.systems, 0)
        for row, segment in zip(source.rows, scored.segments, strict=True):
            table.add(row.system, int(pairing.places[row.system][done[row.system]]), segment)
            done[row.system] += 1
        table.signatures.append(scored.signature)
        table.flags.update({result.system: dict(result.flags) for result in scored.results})
        tables.append(table)
    check_stopped()
    return compare_scored(tables, plan, pairing.by, lambda chosen: chosen.read([source], pairing), _watched)


def _watched(_what: str, _total: int | None) -> AbstractContextManager[Callable[[], object]]:
    """What is told of every pair of systems tested: whether the answer is still wanted."""
    return nullcontext(check_stopped)


def _numbered(request: CompareRequest, rows: list[Row]) -> list[Row]:
    """Rows without an id are numbered within their system, so that the n-th of each meet."""
    if any(one.id is not None for one in request.rows or ()):
        return rows
    seen: dict[str, int] = {}
    numbered = []
    for one, row in zip(request.rows or (), rows, strict=True):
        seen[row.system] = seen.get(row.system, 0) + 1
        numbered.append(one.row(seen[row.system] - 1))
    return numbered


def _compare_scores(request: CompareRequest, plan: ComparisonPlan, settings: Settings) -> SystemComparison:
    asked = request.scores or []
    if len(asked) > settings.limits.metrics:
        message = f"{len(asked)} metrics; this server takes {settings.limits.metrics} in one request"
        raise ApiError(422, "too-many-metrics", message)
    systems, rows = list(asked[0].values), len(next(iter(asked[0].values.values()), []))
    if len(systems) < 2 or rows < 1:
        raise ApiError(422, "bad-input", "scores: expected the values of two or more systems on at least one row")
    check_comparison(rows, len(systems), [_width(one) for one in asked], request.samples, settings.limits)
    tables = [_table(one, systems, rows, settings) for one in asked]
    return compare_scored(tables, plan, watch=_watched)


def _table(given: ScoresObject, systems: list[str], rows: int, settings: Settings) -> PairedScores:
    metric = allowed_metric(given.metric, settings.models)
    if set(given.values) != set(systems) or any(len(values) != rows for values in given.values.values()):
        message = f"scores: {given.metric} must have the same systems as the others, and {rows:,} values for each"
        raise ApiError(422, "bad-input", message)
    table = PairedScores(metric, rows, signatures=[given.signature or str(metric)])
    for system in systems:
        table.values[system] = np.array(given.values[system], dtype=np.float64)
    if metric.pools:
        table.statistics.update({system: _statistics(given, system, rows) for system in systems})
        for statistics in table.statistics.values():
            pooled_scores(metric, statistics[table.scored].sum(axis=0).tolist(), rows)  # raises if they are not its own
    return table


def _width(given: ScoresObject) -> int:
    """Of the longest list of statistics."""
    return max((len(one or ()) for found in (given.statistics or {}).values() for one in found), default=0)


def _statistics(given: ScoresObject, system: str, rows: int) -> Any:
    found = (given.statistics or {}).get(system, [])
    widths = {len(one) for one in found if one is not None}
    if len(found) != rows or len(widths) != 1:
        message = f"scores: {given.metric} pools over rows: send the statistics of all {rows:,} rows of every system"
        raise ApiError(422, "bad-input", message)
    width = widths.pop()
    return np.array([[0.0] * width if one is None else one for one in found], dtype=np.float64)
