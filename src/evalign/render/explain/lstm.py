"""An LSTM's steps on one screen: what its gates do at every word, in both directions, and the sentence vector."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.encoders.lstm.encoder import Trace, WordTrace
from evalign.metrics.lstm import LSTM
from evalign.render.explain.parts import line
from evalign.render.tables import signature_line, terminal_table
from evalign.render.terminal import visible

WORD = 16  # characters of a word that are shown
SHOWN = 6  # numbers of the sentence vector
COLUMNS = {
    "forget": "mean of the forget gate: 1 keeps the whole cell state, 0 wipes it",
    "input": "mean of the input gate: 1 writes all that the word proposes, 0 nothing",
    "output": "mean of the output gate: how much of the cell state is shown",
    "kept": "length of what the forget gate left of the old cell state",
    "written": "length of what the input gate let in; new cell state = kept + written",
    "cell": "length of the cell state: the memory after this word",
    "hidden": "length of the hidden state: what this word gives to the sentence vector",
}


def explain_lstm(metric: LSTM, candidate: str, reference: str | None = None) -> RenderableType:
    """The trace of one text; of two, and how their vectors become the score."""
    traces = [metric.trace(text) for text in (candidate, reference) if text is not None]
    parts: list[RenderableType] = []
    for trace in traces:
        parts += [Text(f'"{visible(trace.text)}"', style="bold"), *_directions(trace), _vector(trace), Text()]
    parts += [Text(f"{name:<8} {about}", style="dim") for name, about in COLUMNS.items()]
    parts.append(Text("*        not in the vocabulary: read by its letter groups\n", style="dim"))
    if reference is not None:
        (score,) = metric.score([candidate], [reference])["score"]
        parts.append(Text(f"score = cosine of the two sentence vectors = {score:.4f}", style="bold"))
    return Group(*parts, signature_line(metric.scorer().signature))


def lstm_json(metric: LSTM, text: str) -> dict[str, Any]:
    """The trace as plain JSON values, with a line for each column."""
    return asdict(metric.trace(text)) | {"columns": COLUMNS, "signature": str(metric.scorer().signature)}


def _directions(trace: Trace) -> list[RenderableType]:
    order = {"forward": "forward, first word to last", "backward": "backward, last word to first"}
    if not trace.directions["forward"]:
        return [line("no words: nothing is read, and the score would be the worst, flagged empty")]
    return [_table(order[name], words) for name, words in trace.directions.items()]


def _table(title: str, words: tuple[WordTrace, ...]) -> Table:
    lines = []
    for word in words:
        shown = visible(word.word)
        shown = shown if len(shown) < WORD else f"{shown[: WORD - 2]}…"
        lines.append([f"{shown}{'' if word.known else '*'}", *(f"{getattr(word, name):.2f}" for name in COLUMNS)])
    columns, kinds = ("word", *COLUMNS), "w" + "n" * len(COLUMNS)
    table = terminal_table(columns, kinds, lines, title=title, title_justify="left", padding=(0, 1, 0, 1))
    table.columns[0].min_width = WORD
    return table


def _vector(trace: Trace) -> Text:
    first = ", ".join(f"{value:.3f}" for value in trace.vector[:SHOWN])
    more = ", …" if len(trace.vector) > SHOWN else ""
    length = math.hypot(*trace.vector)
    return Text(f"sentence vector: {len(trace.vector)} numbers, length {length:.3f}\n   ({first}{more})")
