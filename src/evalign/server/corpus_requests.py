"""The work behind /api/score: rows in, a corpus document out. Comparisons are in comparison_requests.py.

Rows are scored in blocks of the library's own size, so that numbers are the library's own; metrics without an encoder,
whose rows do not share batches, in small ones, so that a request nobody waits for ends soon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from evalign.analysis.scoring import Emit, Result, run_scorers
from evalign.cancellation import check_stopped
from evalign.data.rows import InMemory, RowSource
from evalign.metrics.base import Metric
from evalign.metrics.token_metric import TokenMetric
from evalign.render.documents import scores_document
from evalign.server.allowed_specs import allowed_metrics
from evalign.server.corpus_parts import results_so_far
from evalign.server.errors import ApiError
from evalign.server.pair_requests import fitting_table
from evalign.server.request_costs import check_rows, metric_encoder
from evalign.server.request_models import ScoreRequest
from evalign.server.settings import Settings
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
    results = score_rows(
        InMemory(rows), metrics, lambda result, segment: segments[result.metric].append(segment), table
    )
    totals = results_so_far(metrics, results, rows, segments, request.earlier)
    return scores_document(metrics, totals, rows, list(segments.values()), texts=False)


def score_rows(rows: RowSource, metrics: Sequence[Metric], emit: Emit, table: IDFTable | None = None) -> list[Result]:
    """Totals per system of one metric after the other; a table replaces the IDF of the metrics that use it."""
    results = []
    for metric in metrics:
        if isinstance(metric, TokenMetric):
            metric_encoder(metric)  # loaded with a cache of a server's size
            weights = fitting_table(table, metric) if table is not None and _uses_idf(metric) else None
            results += run_scorers([(metric, metric.scorer(rows, weights))], rows, emit)
        else:
            with alone(type(metric).__module__):
                _memory.take(rows)
                results += run_scorers([(metric, metric.scorer(rows))], rows, emit, SMALL_BLOCK)
    return results


@contextmanager
def alone(module: str) -> Iterator[None]:
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
