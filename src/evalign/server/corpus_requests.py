"""The work behind /api/score and /api/compare: rows or scores in, a corpus document or a comparison out.

Rows are scored in blocks of the library's own size, so that numbers are the library's own; metrics without an encoder,
whose rows do not share batches, in small ones, so that a request nobody waits for ends soon.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import Any

import numpy as np

from evalign.analysis.comparison.run import compare_scored
from evalign.analysis.comparison.system_scores import PairedScores, score_pairs
from evalign.analysis.comparison.values import ComparisonPlan, SystemComparison
from evalign.analysis.scoring import Emit, Result, run_scorers
from evalign.cancellation import check_stopped
from evalign.data.row_pairing import pair_rows
from evalign.data.rows import InMemory, RowSource
from evalign.metrics.base import Metric
from evalign.metrics.token_metric import TokenMetric
from evalign.render.documents import scores_document
from evalign.server.allowed_specs import allowed_metric, allowed_metrics, check_metric_count
from evalign.server.corpus_parts import results_so_far
from evalign.server.errors import ApiError
from evalign.server.pair_requests import fitting_table, pooled_scores
from evalign.server.request_costs import USUAL_WIDTH, check_comparison, check_rows, metric_encoder
from evalign.server.request_models import CompareRequest, RowObject, ScoreRequest, ScoresObject
from evalign.server.settings import Settings
from evalign.stats.bootstrap import Resampling
from evalign.text.idf import IDFTable
from evalign.text.word_caches import forget
from evalign.types import Row, Segment

SMALL_BLOCK = 4
TURN = 0.1  # seconds after which a request that waits for its turn checks whether its answer is still wanted
REMEMBERED = 4_000_000  # characters that go through the lexical metrics before their caches are emptied
_locks: dict[str, Lock] = {}  # by module: metrics in plain Python gain no speed from threads, and some remember texts


class TextMemory:
    """Bounds what the lexical metrics cache of all requests' texts: they count entries, not characters."""

    def __init__(self) -> None:
        self._lock, self._characters = Lock(), 0

    def take(self, rows: Iterable[Row]) -> None:
        """Counts the texts of rows before one metric scores them, and empties the caches when they are full."""
        new = sum(len(text) for row in rows for text in (row.candidate, row.source or "", *row.references))
        with self._lock:
            self._characters += new
            full = self._characters > REMEMBERED
            if full:
                self._characters = new
        if full:
            forget()


_memory = TextMemory()


def score(request: ScoreRequest, settings: Settings) -> dict[str, Any]:
    """A corpus document without texts, which the client has."""
    metrics = allowed_metrics(request.metrics, settings.models, settings.limits.metrics)
    rows = [row.row(place) for place, row in enumerate(request.rows)]
    check_rows(rows, metrics, settings.limits)
    table = None if request.idf is None else request.idf.table()
    if table is not None and not any(_uses_idf(metric) for metric in metrics):
        raise ApiError(422, "bad-table", "idf: no metric asks for a table; write one as in bertscore(idf=references)")
    segments: dict[str, list[Segment]] = {str(metric): [] for metric in metrics}
    results = _score(InMemory(rows), metrics, lambda result, segment: segments[result.metric].append(segment), table)
    totals = results_so_far(metrics, results, rows, segments, request.earlier)
    return scores_document(metrics, totals, rows, list(segments.values()), texts=False)


def compare(request: CompareRequest, settings: Settings) -> dict[str, Any]:
    """Scores with intervals, paired tests, wins and losses."""
    plan = ComparisonPlan(baseline=request.baseline, resampling=Resampling(request.samples, request.seed))
    compared = _compare_rows if request.scores is None else _compare_scores
    return {"comparison": compared(request, plan, settings).to_dict()}


def _score(rows: RowSource, metrics: Sequence[Metric], emit: Emit, table: IDFTable | None = None) -> list[Result]:
    """Totals per system of one metric after the other; a table replaces the IDF of the metrics that use it."""
    results = []
    for metric in metrics:
        if isinstance(metric, TokenMetric):
            metric_encoder(metric)  # loaded with a cache of a server's size
            weights = fitting_table(table, metric) if table is not None and _uses_idf(metric) else None
            results += run_scorers([(metric, metric.scorer(rows, weights))], rows, emit)
        else:
            with _alone(type(metric).__module__):
                _memory.take(rows)
                results += run_scorers([(metric, metric.scorer(rows))], rows, emit, SMALL_BLOCK)
    return results


@contextmanager
def _alone(module: str) -> Iterator[None]:
    """Waits until no other request uses the module, and ends the wait when the answer is not wanted any more."""
    lock = _locks.setdefault(module, Lock())
    while not lock.acquire(timeout=TURN):
        check_stopped()
    try:
        yield
    finally:
        lock.release()


def _uses_idf(metric: Metric) -> bool:
    return isinstance(metric, TokenMetric) and metric.needs_corpus


def _compare_rows(request: CompareRequest, plan: ComparisonPlan, settings: Settings) -> SystemComparison:
    metrics = allowed_metrics(request.metrics or (), settings.models, settings.limits.metrics)
    rows = _numbered(request.rows or [])
    check_rows(rows, metrics, settings.limits)
    source = InMemory(rows)
    pairing = pair_rows([source])
    widths = [USUAL_WIDTH if metric.pools else 0 for metric in metrics]
    check_comparison(pairing.rows, len(pairing.systems), widths, request.samples, settings.limits)
    tables = score_pairs([source], pairing, metrics, score=_score)
    check_stopped()
    return compare_scored(tables, plan, pairing.by, lambda chosen: chosen.read([source], pairing), _watched)


def _watched(_what: str, _total: int | None) -> AbstractContextManager[Callable[[], object]]:
    """Is called for every pair of systems that is tested, and raises if the answer is not wanted any more."""
    return nullcontext(check_stopped)


def _numbered(rows: list[RowObject]) -> list[Row]:
    """The library's rows; without any id, they are numbered within their system, so that the n-th of each meet."""
    by_system = all(row.id is None for row in rows)
    seen: Counter[str] = Counter()
    numbered = []
    for place, row in enumerate(rows):
        numbered.append(row.row(seen[row.system] if by_system else place))
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
    metric = allowed_metric(scores.metric, settings.models)
    if set(scores.values) != set(systems) or any(len(values) != rows for values in scores.values.values()):
        message = f"scores: {scores.metric} must have the same systems as the others, and {rows:,} values for each"
        raise ApiError(422, "bad-input", message)
    table = PairedScores(metric, rows, signatures=[scores.signature or str(metric)])
    for system in systems:
        table.values[system] = np.array(scores.values[system], dtype=np.float64)
    if metric.pools:
        table.statistics.update({system: _statistics(scores, system, rows) for system in systems})
        for statistics in table.statistics.values():
            pooled_scores(metric, statistics[table.scored].sum(axis=0).tolist(), rows)  # raises if they are not its own
    return table


def _statistics_width(scores: ScoresObject) -> int:
    """The length of the longest list of statistics."""
    return max((len(row or ()) for rows in (scores.statistics or {}).values() for row in rows), default=0)


def _statistics(scores: ScoresObject, system: str, rows: int) -> Any:
    """(rows, width) of one system; zeros where a row failed."""
    lists = (scores.statistics or {}).get(system, [])
    widths = {len(row) for row in lists if row is not None}
    if len(lists) != rows or len(widths) != 1:
        message = f"scores: {scores.metric} pools over rows: send the statistics of all {rows:,} rows of every system"
        raise ApiError(422, "bad-input", message)
    width = widths.pop()
    return np.array([[0.0] * width if row is None else row for row in lists], dtype=np.float64)
