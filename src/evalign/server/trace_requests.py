"""The work behind /api/lstm and /api/likelihood: what goes on inside a model on one text or pair, as a document."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from evalign.encoders.lstm.file import demonstration_file
from evalign.encoders.lstm.words import split_words
from evalign.metrics.bartscore import BARTScore
from evalign.metrics.lstm import LSTM
from evalign.render.lstm_document import lstm_document
from evalign.server.allowed_specs import check_model
from evalign.server.corpus_requests import alone
from evalign.server.errors import ApiError
from evalign.server.request_costs import check_rows
from evalign.server.request_models import LikelihoodRequest, LSTMRequest
from evalign.server.settings import Settings
from evalign.types import Row


def lstm(request: LSTMRequest, settings: Settings) -> dict[str, Any]:
    """Every gate of every word of a text, as the operator's cell reads it."""
    words, limit = len(split_words(request.text)), settings.limits.lstm_words
    if words > limit:
        raise ApiError(422, "too-many-tokens", f"text has {words:,} words; this server traces {limit:,}. Shorten it")
    return lstm_document(LSTM(settings.lstm or str(demonstration_file())), request.text)


def likelihood(request: LikelihoodRequest, settings: Settings) -> dict[str, Any]:
    """The log-probability of every predicted token of a pair."""
    if why := why_no_likelihood(settings):
        raise ApiError(422, "bad-metric", why)
    check_model(request.model, settings.generators)
    metric = generator(request.model, request.direction)
    others = [text for text in (request.reference, request.source) if text is not None]
    check_rows([Row("1", request.candidate, tuple(others))], [metric], settings.limits)
    with alone("bartscore"):  # its threads are torch's
        return metric.likelihoods(request.candidate, request.reference, request.source).to_dict()


def generator(model: str, direction: str = "f") -> BARTScore:
    """The metric of a listed model; one thread, as everything here."""
    return BARTScore(model=model, direction=direction, threads=1)


def why_no_likelihood(settings: Settings) -> str | None:
    """A sentence about why this server has no log-probabilities; None if it has."""
    if not _has_torch():
        return "bartscore needs torch, which this server does not have: pip install 'evalign[torch]'"
    if not settings.generators:
        return "bartscore needs a model that generates text, and this server has none: evalign serve --bartscore NAME"
    return None


@cache
def _has_torch() -> bool:
    return find_spec("torch") is not None
