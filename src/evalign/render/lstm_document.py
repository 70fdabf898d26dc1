"""The versioned JSON document of what an LSTM does at every word of a text, which the page draws; schema in `schema/`.

Trace (LSTM.trace)  --lstm_document-->  evalign.lstm, version 1
"""

from __future__ import annotations

from typing import Any

from evalign.encoders.lstm.encoder import WordTrace
from evalign.encoders.tokenizer import utf8
from evalign.metrics.lstm import LSTM
from evalign.render.documents import VERSION
from evalign.version import __version__

LSTM_FORMAT = "evalign.lstm"
DIGITS = 6  # of every number: gates and states lie within -1 and 1, cell states seldom beyond 10


def lstm_document(metric: LSTM, text: str) -> dict[str, Any]:
    """Both directions in the order of reading: each word's gates and states, number by number; the sentence vector."""
    trace = metric.trace(text)
    scorer = metric.scorer()
    return {
        "format": LSTM_FORMAT,
        "version": VERSION,
        "evalign": __version__,
        "signature": utf8(str(scorer.signature)),
        "text": utf8(trace.text),
        "pooling": scorer.model.pooling,
        "size": scorer.model.weights.size,
        "directions": [
            {"name": name, "words": [_word(word) for word in words]} for name, words in trace.directions.items()
        ],
        "vector": _rounded(trace.vector),
    }


def _word(trace: WordTrace) -> dict[str, Any]:
    states = {name: _rounded(numbers) for name, numbers in trace.states.items()}
    return {"word": utf8(trace.word), "known": trace.known} | states


def _rounded(numbers: tuple[float, ...]) -> list[float]:
    return [round(number, DIGITS) for number in numbers]
