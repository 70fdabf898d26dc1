"""`/api/lstm`: the gates of an LSTM at every word of a text."""

from __future__ import annotations

from typing import Any

from evalign.research.lstm.encoder import demonstration_file, split_words
from evalign.research.lstm.explain import lstm_document
from evalign.research.lstm.metric import LSTM
from evalign.server.errors import ApiError
from evalign.server.routes import Document, Route
from evalign.server.schemas import Strict, Text
from evalign.server.settings import Settings


class LSTMRequest(Strict):
    """A text to trace."""

    text: Text


def trace(request: LSTMRequest, settings: Settings) -> dict[str, Any]:
    """Return the document of a text, as the LSTM of the server's settings reads it."""
    words, limit = len(split_words(request.text)), settings.limits.lstm_words
    if words > limit:
        raise ApiError(422, "too-many-tokens", f"text has {words:,} words; this server traces {limit:,}. Shorten it")
    return lstm_document(LSTM(settings.lstm or str(demonstration_file())), request.text)


ROUTE = Route(
    "Trace an LSTM",
    "Values of every gate at every word of a text.",
    LSTMRequest,
    Document("LSTMDocument", "lstm"),
    trace,
    {"text": "the film was not good"},
)
