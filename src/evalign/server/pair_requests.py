"""Handle /api/align and /api/likelihood: a checked request about one pair in, a document out.

Runs in a worker thread. The only part of HTTP it knows are the ApiErrors that it raises.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from evalign.core import Row
from evalign.metrics.all_matchings import align_all
from evalign.metrics.bartscore import BARTScore
from evalign.metrics.token_metric import aligning_metric
from evalign.render.documents import alignment_document
from evalign.server.allowed_specs import allowed_metric, check_model
from evalign.server.corpus_requests import alone, fitting_table
from evalign.server.errors import ApiError
from evalign.server.request_costs import check_rows
from evalign.server.schemas import AlignRequest, LikelihoodRequest
from evalign.server.settings import Settings


def align(request: AlignRequest, settings: Settings) -> dict[str, Any]:
    """Align a pair under the metric's matching or all matchings; a table replaces the IDF of the spec."""
    metric = aligning_metric(allowed_metric(request.metric, settings.models, settings.plugins))
    pair = request.candidate, request.reference
    check_rows([Row("1", pair[0], (pair[1],))], [metric], settings.limits)
    table = None if request.idf is None else fitting_table(request.idf.table(), metric)
    aligned = align_all(metric, *pair, table, only_first=request.matchings != "all")
    for side, tokens in (("candidate", aligned.first.candidate), ("reference", aligned.first.reference)):
        if tokens.empty:
            raise ApiError(422, "empty-text", f"the {side} is empty, so there is nothing to match")
    return alignment_document(aligned.alignments, aligned.skipped, str(metric), packed=True)


def likelihood(request: LikelihoodRequest, settings: Settings) -> dict[str, Any]:
    """Return the log-probability of aligned predicted token of a pair."""
    if why := why_no_likelihood(settings):
        raise ApiError(422, "bad-metric", why)
    check_model(request.model, settings.generators)
    metric = generator(request.model, request.direction)
    texts = [text for text in (request.reference, request.source) if text is not None]
    check_rows([Row("1", request.candidate, tuple(texts))], [metric], settings.limits)
    with alone("bartscore"):  # its threads are torch's
        return metric.likelihoods(request.candidate, request.reference, request.source).to_dict()


def generator(model: str, direction: str = "f") -> BARTScore:
    """Return the metric of a listed model, with one thread, as all requests."""
    return BARTScore(model=model, direction=direction, threads=1)


def why_no_likelihood(settings: Settings) -> str | None:
    """Return the reason why this server has no log-probabilities, or None if it has."""
    if not _has_torch():
        return "bartscore needs torch, which this server does not have: pip install 'evalign[torch]'"
    if not settings.generators:
        return "bartscore needs a model that generates text, and this server has none: start it with one (`bartscore`)"
    return None


@cache
def _has_torch() -> bool:
    return find_spec("torch") is not None
