"""An LSTM at work on one screen: what its gates do at every word, in both directions, and the vector it ends in."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.encoders.lstm.encoder import Trace, WordTrace
from evalign.metrics.lstm import LSTM
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
    texts = [candidate] if reference is None else [candidate, reference]
    traces = [metric.trace(text) for text in texts]
    parts: list[RenderableType] = []
    for one in traces:
        parts += [Text(f'"{visible(one.text)}"', style="bold"), *_directions(one), _vector(one), Text()]
    parts += [Text(f"{name:<8} {about}", style="dim") for name, about in COLUMNS.items()]
    parts.append(Text("*        not in the vocabulary: read by its letter groups\n", style="dim"))
    if len(traces) == 2:
        parts.append(_cosine(metric, *traces))
    parts.append(Text(str(metric.scorer().signature), style="dim", overflow="fold"))
    return Group(*parts)


def lstm_json(metric: LSTM, text: str) -> dict[str, Any]:
    """The trace as plain JSON values, with a line for each column."""
    return asdict(metric.trace(text)) | {"columns": COLUMNS, "signature": str(metric.scorer().signature)}


def _directions(one: Trace) -> list[RenderableType]:
    order = {"forward": "forward, first word to last", "backward": "backward, last word to first"}
    if not one.directions["forward"]:
        return [Text("   no words: nothing is read, and the score would be the worst, flagged empty")]
    return [_table(order[name], words) for name, words in one.directions.items()]


def _table(title: str, words: tuple[WordTrace, ...]) -> Table:
    table = Table(
        title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 1), header_style="bold"
    )
    table.add_column("word", no_wrap=True, min_width=WORD)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for word in words:
        shown = visible(word.word)
        shown = shown if len(shown) < WORD else f"{shown[: WORD - 2]}…"
        table.add_row(Text(f"{shown}{'' if word.known else '*'}"), *(f"{getattr(word, name):.2f}" for name in COLUMNS))
    return table


def _vector(one: Trace) -> Text:
    first = ", ".join(f"{value:.3f}" for value in one.vector[:SHOWN])
    more = ", …" if len(one.vector) > SHOWN else ""
    return Text(f"sentence vector: {len(one.vector)} numbers, length {math.hypot(*one.vector):.3f}\n   ({first}{more})")


def _cosine(metric: LSTM, one: Trace, other: Trace) -> Text:
    (score,) = metric.score([one.text], [other.text])["score"]
    return Text(f"score = cosine of the two sentence vectors = {score:.4f}", style="bold")
