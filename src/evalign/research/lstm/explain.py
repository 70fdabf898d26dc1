"""Explain an LSTM: its gates at every word, in both directions, and the sentence vector."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.encoders.tokenizer import utf8
from evalign.render.documents import VERSION
from evalign.render.explain.parts import Explanation, line
from evalign.render.tables import signature_line, terminal_table
from evalign.render.terminal import visible
from evalign.research.lstm.encoder import Trace, WordTrace, demonstration_file
from evalign.research.lstm.metric import LSTM
from evalign.version import __version__

MAX_WORD_CHARACTERS = 16
MAX_VECTOR_NUMBERS = 6
COLUMNS = {
    "forget": "mean of the forget gate: 1 keeps the cell state, 0 clears it",
    "input": "mean of the input gate: 1 writes the whole candidate, 0 nothing",
    "output": "mean of the output gate: share of the cell state that is output",
    "kept": "length of the old cell state after the forget gate",
    "written": "length of the candidate after the input gate; new cell state = kept + written",
    "cell": "length of the cell state after this word",
    "hidden": "length of the hidden state, the contribution of this word to the sentence vector",
}


def explain_lstm(metric: LSTM, candidate: str, reference: str | None = None) -> RenderableType:
    """Return the trace of one text; of two, and how their vectors become the score."""
    metric, included = _trained(metric), not metric.file
    traces = [metric.trace(text) for text in (candidate, reference) if text is not None]
    parts: list[RenderableType] = []
    for trace in traces:
        parts += [Text(f'"{visible(trace.text)}"', style="bold"), *_directions(trace), _vector(trace), Text()]
    parts += [Text(f"{name:<8} {about}", style="dim") for name, about in COLUMNS.items()]
    parts.append(Text("*        not in the vocabulary: read by its letter groups\n", style="dim"))
    if reference is not None:
        (score,) = metric.score([candidate], [reference])["score"]
        parts.append(Text(f"score = cosine of the two sentence vectors = {score:.4f}", style="bold"))
    parts.append(signature_line(metric.scorer().signature))
    if included:
        parts.append(Text("The small cell that is included; lstm(file=FILE) traces a trained one.", style="dim"))
    return Group(*parts)


def _trained(metric: LSTM) -> LSTM:
    """Return the metric, with the small cell that is included if it has no file."""
    return metric if metric.file else replace(metric, file=str(demonstration_file()))


def lstm_json(metric: LSTM, text: str) -> dict[str, Any]:
    """Return the trace as plain JSON values, with a line for each column."""
    metric = _trained(metric)
    return asdict(metric.trace(text)) | {"columns": COLUMNS, "signature": str(metric.scorer().signature)}


def _directions(trace: Trace) -> list[RenderableType]:
    order = {"forward": "forward, first word to last", "backward": "backward, last word to first"}
    if not trace.directions["forward"]:
        return [line("no words: the score would be the worst, flagged empty")]
    return [_table(order[name], words) for name, words in trace.directions.items()]


def _table(title: str, words: tuple[WordTrace, ...]) -> Table:
    lines = []
    for word in words:
        label = visible(word.word)
        label = label if len(label) < MAX_WORD_CHARACTERS else f"{label[: MAX_WORD_CHARACTERS - 2]}…"
        lines.append([f"{label}{'' if word.known else '*'}", *(f"{getattr(word, name):.2f}" for name in COLUMNS)])
    columns, kinds = ("word", *COLUMNS), "w" + "n" * len(COLUMNS)
    table = terminal_table(columns, kinds, lines, title=title, title_justify="left", padding=(0, 1, 0, 1))
    table.columns[0].min_width = MAX_WORD_CHARACTERS
    return table


def _vector(trace: Trace) -> Text:
    first = ", ".join(f"{value:.3f}" for value in trace.vector[:MAX_VECTOR_NUMBERS])
    more = ", …" if len(trace.vector) > MAX_VECTOR_NUMBERS else ""
    length = math.hypot(*trace.vector)
    return Text(f"sentence vector: {len(trace.vector)} numbers, length {length:.3f}\n   ({first}{more})")


LSTM_FORMAT = "evalign.lstm"
DIGITS = 6  # of every number: gates and states are within -1 and 1, cell states rarely above 10


def lstm_document(metric: LSTM, text: str) -> dict[str, Any]:
    """Return the document of a text: gates and states of each word by direction, and the sentence vector."""
    metric = _trained(metric)
    trace, scorer = metric.trace(text), metric.scorer()
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


EXPLANATION = Explanation(explain_lstm, lstm_json, lstm_document)
