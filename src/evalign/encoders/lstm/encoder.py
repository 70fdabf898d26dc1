"""A bidirectional LSTM sentence encoder: texts in, one vector per text out, or every gate of every word.

    text -> words -> word vectors -> cell.py -> one state per word -> pooled: the sentence vector

`LSTMModel` holds numpy arrays to score with, or torch tensors while it is trained; both run the same lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from evalign.encoders.batching import plan_batches
from evalign.encoders.lstm.cell import DIRECTIONS, CellWeights, Step, pooled, states, steps
from evalign.encoders.lstm.words import WordRows, split_words, word_vectors
from evalign.matching.arrays import Array, like
from evalign.types import Floats

POOLINGS = ("mean", "max")
STATES = tuple(part.name for part in fields(Step))
WORD_BUDGET = 4096  # words per batch: a step is then one product of a few hundred rows


@dataclass(frozen=True, eq=False)
class LSTMModel:
    """Words, their vectors, the cell's weights, and how states become one vector."""

    words: WordRows
    table: Array  # (words.count, width)
    weights: CellWeights
    pooling: str = "mean"
    training: dict[str, object] = field(default_factory=dict)  # where the weights come from, as the file tells it

    def pooled_states(self, vectors: Array, lengths: Array) -> Array:
        """(texts, 2 size) of padded word vectors (texts, longest, width)."""
        lengths = like(lengths, vectors)
        return pooled(states(vectors, lengths, self.weights), lengths, self.pooling)


@dataclass(frozen=True)
class WordTrace:
    """What the gates of one direction did at one word: means of the gates, lengths (Euclidean norms) of the states.

    `states` has all numbers behind them, gates and states by the names that `Step` gives them.
    """

    word: str
    known: bool
    forget: float
    input: float
    output: float
    kept: float  # of the old cell state, after the forget gate
    written: float  # of the candidate, after the input gate
    cell: float
    hidden: float
    states: dict[str, tuple[float, ...]]


@dataclass(frozen=True)
class Trace:
    """A text as the cell reads it, by direction in the order of reading, and the vector it ends in."""

    text: str
    directions: dict[str, tuple[WordTrace, ...]]
    vector: tuple[float, ...]


def sentence_vectors(model: LSTMModel, texts: Sequence[Sequence[str]]) -> Floats:
    """(texts, 2 size) of texts given as words, in batches of like lengths; 0 for a text without words."""
    vectors = np.zeros((len(texts), 2 * model.weights.size), dtype=np.float32)
    for batch in plan_batches([len(text) for text in texts], WORD_BUDGET):
        vectors[batch] = model.pooled_states(*word_vectors(model.table, model.words, [texts[row] for row in batch]))
    return vectors


def trace(model: LSTMModel, text: str) -> Trace:
    """Every gate of every word of one text."""
    words = split_words(text)
    if not words:
        return Trace(text, dict.fromkeys(DIRECTIONS, ()), (0.0,) * (2 * model.weights.size))
    vectors, lengths = word_vectors(model.table, model.words, [words])
    read = list(steps(vectors, lengths, model.weights))
    directions = {}
    for side, (direction, order) in enumerate(zip(DIRECTIONS, (words, words[::-1]), strict=True)):
        before = [np.zeros(model.weights.size, dtype=np.float32), *(step.cell[side, 0] for step in read)]
        directions[direction] = tuple(
            _word_trace(word, model.words.knows(word), step, old_cell, side)
            for word, step, old_cell in zip(order, read, before[:-1], strict=True)
        )
    return Trace(text, directions, tuple(model.pooled_states(vectors, lengths)[0].tolist()))


def _word_trace(word: str, known: bool, read: Step, old_cell: Floats, side: int) -> WordTrace:
    own = {name: getattr(read, name)[side, 0] for name in STATES}
    forget, write, output = (float(own[gate].mean()) for gate in ("forget", "input", "output"))
    lasting, new = own["forget"] * old_cell, own["input"] * own["candidate"]
    kept, written, cell, hidden = (float(np.linalg.norm(part)) for part in (lasting, new, own["cell"], own["hidden"]))
    states = {name: tuple(state.tolist()) for name, state in own.items()}
    return WordTrace(word, known, forget, write, output, kept, written, cell, hidden, states)
