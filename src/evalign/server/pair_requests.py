"""The work behind /api/align, /api/idf and /api/pool: a checked request in, plain JSON values out.

Runs in a worker thread and knows no HTTP but the ApiErrors it raises. Corpora are in corpus_requests.py.
"""

from __future__ import annotations

import math
from typing import Any

from evalign.encoders.loading import EncoderChoice, open_encoder
from evalign.metrics.base import Metric
from evalign.metrics.corpus_idf import count_idf
from evalign.metrics.every_matching import align_every, matching_metric
from evalign.metrics.token_metric import TokenMetric
from evalign.render.documents import alignment_document
from evalign.server.allowed_specs import allowed_metric, check_model
from evalign.server.errors import ApiError
from evalign.server.request_costs import check_rows, check_texts, metric_encoder
from evalign.server.request_models import AlignRequest, IDFRequest, PoolRequest
from evalign.server.settings import Settings
from evalign.text.idf import FORMAT, IDFTable
from evalign.types import Row


def align(request: AlignRequest, settings: Settings) -> dict[str, Any]:
    """The pair under the metric's own matching or all of them, from one encoding; a table overrides the spec's IDF."""
    metric = matching_metric(allowed_metric(request.metric, settings.models))
    pair = request.candidate, request.reference
    check_rows([Row("1", pair[0], (pair[1],))], [metric], settings.limits)
    table = None if request.idf is None else fitting_table(request.idf.table(), metric)
    every = align_every(metric, *pair, table, others=request.matchings == "all")
    for side, tokens in (("candidate", every.own.candidate), ("reference", every.own.reference)):
        if tokens.empty:
            raise ApiError(422, "empty-text", f"the {side} is empty, so there is nothing to match")
    return alignment_document(every.alignments, every.skipped, str(metric), packed=True)


def idf(request: IDFRequest, settings: Settings) -> dict[str, Any]:
    """In how many texts each token of a model occurs; tables of parts add up."""
    check_model(request.model, settings.models)
    memory = open_encoder(EncoderChoice(request.model))
    check_texts(request.texts, settings.limits)
    table = count_idf(memory.encoder, request.texts)
    counts = {str(token): table.frequencies[token] for token in sorted(table.frequencies)}
    return {"format": FORMAT, "tokenizer": table.tokenizer, "documents": table.documents, "df": counts}


def pool(request: PoolRequest, settings: Settings) -> dict[str, Any]:
    """The corpus score of summed statistics."""
    metric = allowed_metric(request.metric, settings.models)
    return {"corpus": pooled_scores(metric, request.totals, request.rows)}


def pooled_scores(metric: Metric, totals: list[float], rows: int) -> dict[str, float]:
    """Field -> score, or an ApiError where these totals cannot be this metric's."""
    if not metric.pools:
        raise ApiError(422, "bad-metric", f"{metric.name} has no totals to pool; its corpus score is the mean")
    try:
        scores = dict(metric.from_totals(totals, rows))
    except (ArithmeticError, LookupError, ValueError, TypeError):  # what the formulas raise on numbers of other origin
        scores = {}
    if not scores or not all(map(math.isfinite, scores.values())):
        raise ApiError(422, "bad-input", f"totals: these {len(totals)} numbers are no sums of {metric.name} statistics")
    return scores


def fitting_table(table: IDFTable, metric: TokenMetric) -> IDFTable:
    """The table, if it was counted with the metric's tokenizer."""
    table.check(metric_encoder(metric).tokenizer_fingerprint)
    return table
