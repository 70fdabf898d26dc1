"""Handle /api/score, /api/idf and /api/pool: rows, texts or summed statistics in, plain JSON values out.

Rows are scored in blocks of the library's size, so that the numbers are equal to the library's. Metrics without an
encoder, whose rows do not share batches, use small blocks, so that a cancelled request ends soon.

A corpus may be scored in several requests: each carries the results of the requests before it as `earlier`, and the
answer covers all rows so far. Every result has `sums`: those of its rows' scores, from which means follow, and those of
their statistics, from which the corpus scores of pooled metrics follow. They are the `Totals` of the rows as numbers.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from threading import Lock
from typing import Any

from evalign.analysis.scoring import Emit, run_scorers
from evalign.core import Row, Segment
from evalign.core.metric import Metric
from evalign.core.scoring import StreamOptions, check_stopped
from evalign.core.spec import common_signature
from evalign.core.totals import ExactSum, Result, Totals, result_entry
from evalign.encoders.loading import EncoderSpec, open_encoder
from evalign.errors import SpecError
from evalign.io.rows import InMemory, RowSource
from evalign.metrics.token_metric import TokenMetric
from evalign.metrics.weighting import count_idf
from evalign.render.documents import scores_document
from evalign.server.allowed_specs import allowed_metric, allowed_metrics, check_model
from evalign.server.errors import ApiError
from evalign.server.request_costs import check_rows, check_texts, metric_encoder
from evalign.server.schemas import EarlierResult, IDFRequest, PoolRequest, ScoreRequest
from evalign.server.settings import Settings
from evalign.text.idf import FORMAT, IDFTable
from evalign.text.words import clear_caches

FOUR_ROW_BLOCKS = StreamOptions(block_rows=4)
LOCK_POLL_SECONDS = 0.1  # a request that waits for a lock checks this often whether it was cancelled
MAX_CACHED_CHARACTERS = 4_000_000  # scored by lexical metrics before their caches are cleared
_locks: dict[str, Lock] = {}  # by module: metrics in plain Python gain no speed from threads, and some remember texts


class TextMemory:
    """Limit on the texts of all requests that lexical metrics cache: their caches count entries, not characters."""

    def __init__(self) -> None:
        self._lock, self._characters = Lock(), 0

    def take(self, rows: Iterable[Row]) -> None:
        """Count the texts of rows before one metric scores them, and clear the caches when they are full."""
        new = sum(len(text) for row in rows for text in (row.candidate, row.source or "", *row.references))
        with self._lock:
            self._characters += new
            full = self._characters > MAX_CACHED_CHARACTERS
            if full:
                self._characters = new
        if full:
            clear_caches()


_memory = TextMemory()


def score(request: ScoreRequest, settings: Settings) -> dict[str, Any]:
    """Return a corpus document without texts, which the client has."""
    metrics = allowed_metrics(request.metrics, settings.models, settings.limits.metrics, settings.plugins)
    rows = [row.row(index) for index, row in enumerate(request.rows)]
    check_rows(rows, metrics, settings.limits)
    table = None if request.idf is None else request.idf.table()
    if table is not None and not any(_uses_idf(metric) for metric in metrics):
        raise ApiError(422, "bad-table", "idf: no metric asks for a table; write one as in bertscore(idf=references)")
    segments: dict[str, list[Segment]] = {str(metric): [] for metric in metrics}
    results = score_rows(
        InMemory(rows), metrics, lambda result, segment: segments[result.metric].append(segment), table
    )
    merged = results_so_far(metrics, results, request.earlier)
    return scores_document(metrics, merged, rows, list(segments.values()), texts=False)


def score_rows(rows: RowSource, metrics: Sequence[Metric], emit: Emit, table: IDFTable | None = None) -> list[Result]:
    """Return the results of one metric after the other; a table replaces the IDF of the metrics that use it."""
    results = []
    for metric in metrics:
        if isinstance(metric, TokenMetric):
            metric_encoder(metric)  # loaded with a cache of a server's size
            weights = fitting_table(table, metric) if table is not None and _uses_idf(metric) else None
            results += run_scorers([(metric, metric.scorer(rows, weights))], rows, emit)
        else:
            with alone(type(metric).__module__):
                _memory.take(rows)
                results += run_scorers([(metric, metric.scorer(rows))], rows, emit, FOUR_ROW_BLOCKS)
    return results


@contextmanager
def alone(module: str) -> Iterator[None]:
    """Wait until no other request uses the module; stop waiting when the request is cancelled."""
    lock = _locks.setdefault(module, Lock())
    while not lock.acquire(timeout=LOCK_POLL_SECONDS):
        check_stopped()
    try:
        yield
    finally:
        lock.release()


def _uses_idf(metric: Metric) -> bool:
    return isinstance(metric, TokenMetric) and metric.needs_corpus


@dataclass(frozen=True)
class PartialResult:
    """A result on a part of the rows: its JSON entry and its totals."""

    entry: dict[str, Any]
    totals: Totals


def results_so_far(
    metrics: Sequence[Metric], results: Sequence[Result], earlier: Sequence[EarlierResult]
) -> list[dict[str, Any]]:
    """Return the entries of `results` in a corpus document, metric by metric, then by system."""
    parts: dict[str, dict[str, list[PartialResult]]] = {str(metric): defaultdict(list) for metric in metrics}
    for answered in earlier:
        if answered.metric not in parts:
            raise _unfit(f"{answered.metric} is not among the metrics of this request")
        parts[answered.metric][answered.system].append(_earlier_part(answered))
    for result in results:
        entry = result.to_dict() | {"sums": _sums(result.totals)}
        parts[result.metric][result.system].append(PartialResult(entry, result.totals))
    merged = []
    for metric in metrics:
        systems = parts[str(metric)]
        signature = _common_signature([part.entry["signature"] for group in systems.values() for part in group])
        merged += [_merge(metric, group) | {"signature": signature} for group in systems.values()]
    return merged


def _earlier_part(result: EarlierResult) -> PartialResult:
    sums = {name: ExactSum.of(value, result.n) for name, value in result.sums.scores.items()}
    statistics = [ExactSum.of(value, result.n) for value in result.sums.statistics or ()]
    totals = Totals(result.n, result.failed or 0, Counter(result.flags), sums, statistics)
    return PartialResult(result.model_dump(exclude_none=True), totals)


def _merge(metric: Metric, parts: Sequence[PartialResult]) -> dict[str, Any]:
    """Return one entry for all parts of a system's rows; a single part is returned as it is."""
    if len(parts) == 1:
        return parts[0].entry
    for part in parts:
        if part.totals.rows and set(part.totals.sums) != set(metric.fields):
            raise _unfit(f"results of {metric.name} have sums of {', '.join(metric.fields)}")
    try:
        totals = reduce(Totals.merge, (_additive(metric, part.totals) for part in parts))
    except ValueError:
        raise _unfit("statistics of one metric are equally many in all results") from None
    pooled = metric.pools and totals.rows > 0
    entry = {"system": parts[0].entry["system"]} | result_entry(str(metric), "", totals, {})
    entry |= {"sums": _sums(totals)}
    return entry | ({"corpus": pooled_scores(metric, totals.pooled_statistics, totals.rows)} if pooled else {})


def _additive(metric: Metric, totals: Totals) -> Totals:
    """Return totals without statistics that the metric does not pool: earlier results have none of them."""
    return totals if metric.pools else replace(totals, statistics=[])


def _sums(totals: Totals) -> dict[str, Any]:
    sums: dict[str, Any] = {"scores": {name: total.value for name, total in totals.sums.items()}}
    return sums | ({"statistics": totals.pooled_statistics} if totals.statistics else {})


def _common_signature(signatures: Sequence[str]) -> str:
    try:
        return common_signature(signatures)
    except SpecError:
        raise _unfit("all results of a metric have its signature") from None


def _unfit(expected: str) -> ApiError:
    return ApiError(422, "bad-input", f"earlier: expected what /api/score answered: {expected}")


def idf(request: IDFRequest, settings: Settings) -> dict[str, Any]:
    """Count the texts in which each token of a model occurs; tables of parts can be added."""
    check_model(request.model, settings.models)
    memory = open_encoder(EncoderSpec(request.model))
    check_texts(request.texts, settings.limits)
    table = count_idf(memory.encoder, request.texts)
    counts = {str(token): table.frequencies[token] for token in sorted(table.frequencies)}
    return {"format": FORMAT, "tokenizer": table.tokenizer, "documents": table.documents, "df": counts}


def pool(request: PoolRequest, settings: Settings) -> dict[str, Any]:
    """Return the corpus score of summed statistics."""
    metric = allowed_metric(request.metric, settings.models, settings.plugins)
    return {"corpus": pooled_scores(metric, request.totals, request.rows)}


def pooled_scores(metric: Metric, totals: list[float], rows: int) -> dict[str, float]:
    """Return corpus scores by field, or raise ApiError if these totals cannot be those of the metric."""
    if not metric.pools:
        raise ApiError(422, "bad-metric", f"{metric.name} has no totals to pool; its corpus score is the mean")
    try:
        scores = dict(metric.from_totals(totals, rows))
    except (ArithmeticError, LookupError, ValueError, TypeError):  # raised by formulas for numbers of another metric
        scores = {}
    if not scores or not all(map(math.isfinite, scores.values())):
        raise ApiError(
            422, "bad-input", f"totals: these {len(totals)} numbers are not sums of {metric.name} statistics"
        )
    return scores


def fitting_table(table: IDFTable, metric: TokenMetric) -> IDFTable:
    """Return the table, or raise if it was counted with a different tokenizer."""
    table.check(metric_encoder(metric).tokenizer_fingerprint)
    return table
