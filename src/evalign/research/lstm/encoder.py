"""A bidirectional LSTM sentence encoder: texts in, one vector per text out, or every gate of every word.

    text -> words -> word vectors -> cell -> one state per word -> pooled: the sentence vector

`LSTMModel` has numpy arrays for scoring, or torch tensors in training; both run the same code.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from evalign.core import Floats, Ints
from evalign.encoders.base import pad, plan_batches
from evalign.errors import ModelNotFoundError, WeightsError
from evalign.io.files import whole_file
from evalign.matching.arrays import Array, indices, like, namespace, to_numpy
from evalign.text.words import unicode_words

DIRECTIONS = ("forward", "backward")
GATES = ("forget", "input", "output", "candidate")  # the order of the columns of all weights


@dataclass(frozen=True, slots=True, eq=False)
class CellWeights:
    """Weights of a cell per direction: (2, width, 4 size), (2, size, 4 size) and (2, 4 size)."""

    from_word: Array  # W
    from_hidden: Array  # U
    bias: Array  # b

    @property
    def size(self) -> int:
        """Return the length of the cell state of one direction."""
        return int(self.from_hidden.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class CellStep:
    """Gates and states after one word in both directions, each (2, batch, size)."""

    forget: Array
    input: Array
    output: Array
    candidate: Array
    cell: Array
    hidden: Array


def step(word: Array, hidden: Array, cell: Array, weights: CellWeights) -> CellStep:
    """Read one word (2, batch, width) with the previous hidden and cell states, both (2, batch, size).

    forget    f = sigmoid(W_f x + U_f h + b_f)   share of the old cell state that is kept
    input     i = sigmoid(W_i x + U_i h + b_i)   share of the candidate that is written
    output    o = sigmoid(W_o x + U_o h + b_o)   share of the cell state that is output
    candidate g = tanh(W_g x + U_g h + b_g)      new content
    cell      c' = f * c + i * g
    hidden    h' = o * tanh(c')
    """
    size = weights.size
    inputs = word @ weights.from_word + hidden @ weights.from_hidden + weights.bias[:, None]
    gates = _sigmoid(inputs[..., : 3 * size])
    forget, write, output = (gates[..., start : start + size] for start in (0, size, 2 * size))
    candidate = namespace(inputs).tanh(inputs[..., 3 * size :])
    cell = forget * cell + write * candidate
    return CellStep(forget, write, output, candidate, cell, output * namespace(cell).tanh(cell))


def steps(words: Array, lengths: Array, weights: CellWeights) -> Iterator[CellStep]:
    """Yield every step of a padded batch; the backward direction starts at the last word of each text.

    Padding is last in both directions, so that no state of a real word depends on it.
    """
    xp = namespace(words)
    both = xp.stack([words, _reversed(words, lengths)])  # (2, batch, time, width)
    hidden = cell = xp.zeros((2, len(words), weights.size), dtype=words.dtype)
    for word in xp.moveaxis(both, 2, 0):  # split once: a slice per word would compute a full gradient each
        now = step(word, hidden, cell, weights)
        hidden, cell = now.hidden, now.cell
        yield now


def states(words: Array, lengths: Array, weights: CellWeights) -> Array:
    """Return the hidden states of both directions (batch, time, 2 size); those of padding are not 0."""
    xp = namespace(words)
    hidden = xp.stack([read.hidden for read in steps(words, lengths, weights)], -2)
    return xp.concatenate([hidden[0], _reversed(hidden[1], lengths)], -1)


def pooled(states: Array, lengths: Array, pooling: str) -> Array:
    """Return mean or maximum over the real words (batch, 2 size); 0 for a text without words."""
    xp = namespace(states)
    real = (indices(states, states.shape[1]) < lengths[:, None])[..., None]
    if pooling == "mean":
        return xp.where(real, states, 0).sum(-2) / lengths.clip(1)[:, None]
    highest = xp.where(real, states, -2.0)  # below any hidden state, which lies within -1 and 1
    return xp.where(lengths[:, None] > 0, xp.amax(highest, -2), 0)


def _reversed(words: Array, lengths: Array) -> Array:
    """Reverse the words of each text, without its padding; applying it twice is the identity."""
    time = indices(words, words.shape[1])
    back = lengths[:, None] - 1 - time
    order = namespace(words).where(back >= 0, back, time)
    return words[indices(words, len(words))[:, None], order]


def _sigmoid(x: Array) -> Array:
    """Return 1 / (1 + e^-x), computed without overflow."""
    return 0.5 * namespace(x).tanh(0.5 * x) + 0.5


GROUP_LETTERS = (3, 4, 5)
MAX_WORD_LETTERS = 64  # of a word whose letter groups are used: longer "words" are data, not language


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case; without letters and digits, its visible characters (emoji, signs)."""
    return unicode_words(text) or [char for char in text if not char.isspace() and char.isprintable()]


@dataclass(frozen=True)
class WordRows:
    """Rows of the word table: first those of the vocabulary, then `buckets` rows for letter groups."""

    vocabulary: tuple[str, ...]
    buckets: int

    @property
    def count(self) -> int:
        """Return the number of rows of the table."""
        return len(self.vocabulary) + self.buckets

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.vocabulary)}

    def knows(self, word: str) -> bool:
        """Return whether the word is in the vocabulary."""
        return word in self._row_of

    def rows(self, word: str) -> tuple[int, ...]:
        """Return the rows whose mean is the word's vector."""
        row = self._row_of.get(word)
        return (row,) if row is not None else self.group_rows(word)

    def group_rows(self, word: str) -> tuple[int, ...]:
        """Return the rows of a word's letter groups."""
        framed = f"<{word[:MAX_WORD_LETTERS]}>"
        groups = [
            framed[start : start + size] for size in GROUP_LETTERS for start in range(max(1, len(framed) - size + 1))
        ]
        return tuple(len(self.vocabulary) + _hashed(group) % self.buckets for group in dict.fromkeys(groups))


def word_vectors(table: Array, words: WordRows, texts: Sequence[Sequence[str]]) -> tuple[Array, Ints]:
    """Return padded vectors (texts, longest, width) of texts as words, and their lengths; words are computed once."""
    distinct = list(dict.fromkeys(word for text in texts for word in text))
    row_of = {word: row for row, word in enumerate(distinct)}
    grid, real = pad([[row_of[word] for word in text] for text in texts], 0, max([1, *map(len, texts)]))
    return _table_rows(_means(table, [words.rows(word) for word in distinct] or [(0,)]), grid), real.sum(axis=1)


def _means(table: Array, rows: Sequence[tuple[int, ...]]) -> Array:
    """Return the mean of each word's rows (words, width)."""
    grid, real = pad(rows, 0)
    shares = (real / real.sum(axis=1, keepdims=True)).astype(np.float32)[..., None]
    return (_table_rows(table, grid) * like(shares, table)).sum(-2)


def _table_rows(table: Array, grid: Ints) -> Array:
    """Return rows of a table. The gradient of torch's embedding is deterministic, that of indexing is not."""
    xp = namespace(table)
    return table[grid] if xp is np else xp.nn.functional.embedding(like(grid, table), table)


def _hashed(group: str) -> int:
    raw = hashlib.blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw, "little")


POOLINGS = ("mean", "max")
STATES = tuple(part.name for part in fields(CellStep))
WORD_BUDGET = 4096  # words per batch, so that a step is one product of a few hundred rows


@dataclass(frozen=True, eq=False)
class LSTMModel:
    """Words, their vectors, the weights of the cell, and the pooling of states."""

    words: WordRows
    table: Array  # (words.count, width)
    weights: CellWeights
    pooling: str = "mean"
    training: dict[str, object] = field(default_factory=dict)  # origin of the weights

    def pooled_states(self, vectors: Array, lengths: Array) -> Array:
        """Return sentence vectors (texts, 2 size) of padded word vectors (texts, longest, width)."""
        lengths = like(lengths, vectors)
        return pooled(states(vectors, lengths, self.weights), lengths, self.pooling)


@dataclass(frozen=True)
class WordTrace:
    """Gates and states of one direction at one word: means of the gates, Euclidean norms of the states.

    `states` has all their numbers by the field names of `CellStep`.
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
    """Trace of a text: the words by direction in reading order, and the sentence vector."""

    text: str
    directions: dict[str, tuple[WordTrace, ...]]
    vector: tuple[float, ...]


def sentence_vectors(model: LSTMModel, texts: Sequence[Sequence[str]]) -> Floats:
    """Return sentence vectors (texts, 2 size) of texts as words, in batches of similar length; 0 without words."""
    vectors = np.zeros((len(texts), 2 * model.weights.size), dtype=np.float32)
    for batch in plan_batches([len(text) for text in texts], WORD_BUDGET):
        vectors[batch] = model.pooled_states(*word_vectors(model.table, model.words, [texts[row] for row in batch]))
    return vectors


def trace(model: LSTMModel, text: str) -> Trace:
    """Return every gate at every word of one text."""
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


def _word_trace(word: str, known: bool, read: CellStep, old_cell: Floats, side: int) -> WordTrace:
    state_of = {name: getattr(read, name)[side, 0] for name in STATES}
    forget, write, output = (float(state_of[gate].mean()) for gate in ("forget", "input", "output"))
    old, new = state_of["forget"] * old_cell, state_of["input"] * state_of["candidate"]
    kept_norm, written, cell, hidden = (
        float(np.linalg.norm(part)) for part in (old, new, state_of["cell"], state_of["hidden"])
    )
    states = {name: tuple(state.tolist()) for name, state in state_of.items()}
    return WordTrace(word, known, forget, write, output, kept_norm, written, cell, hidden, states)


FORMAT = "evalign-lstm-1"
FILE_NAME = "lstm.safetensors"  # in a folder written by `evalign train lstm`
TENSORS = ("words", "from_word", "from_hidden", "bias")
HOW_TO_TRAIN = "train one: evalign train lstm"


def save_lstm(model: LSTMModel, path: Path) -> None:
    """Write the file, whole or not at all."""
    weights = model.weights
    arrays = (model.table, weights.from_word, weights.from_hidden, weights.bias)
    tensors = {
        name: np.ascontiguousarray(to_numpy(array), np.float32) for name, array in zip(TENSORS, arrays, strict=True)
    }
    metadata = {
        "format": FORMAT,
        "pooling": model.pooling,
        "buckets": str(model.words.buckets),
        "vocabulary": json.dumps(model.words.vocabulary, ensure_ascii=False),
        "training": json.dumps(model.training, ensure_ascii=False),
    }
    with whole_file(path, binary=True) as stream:
        stream.write(save(tensors, metadata | {"sha256": _digest(metadata, tensors)}))


def load_lstm(path: str | Path) -> tuple[LSTMModel, str]:
    """Return the model and its digest, which depends on words, settings and weights."""
    file = Path(path) / FILE_NAME if os.path.isdir(path) else Path(path)
    if not os.path.isfile(file):  # unlike Path's own, false for names that no system takes
        raise ModelNotFoundError(f"{file}: there is no such file; {HOW_TO_TRAIN}")
    try:
        with safe_open(file, "np") as stored:
            metadata = dict(stored.metadata() or {})
            if metadata.get("format") != FORMAT:
                raise WeightsError(
                    f"{file}: format {metadata.get('format', 'unknown')!r}, expected {FORMAT!r}; {HOW_TO_TRAIN}"
                )
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        digest = metadata.pop("sha256", "")
        if digest != _digest(metadata, tensors):
            raise WeightsError(f"{file}: damaged, its content does not have the digest it states; get it again")
        return _model(metadata, tensors), digest
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise WeightsError(f"{file}: not an LSTM encoder of evalign ({error}); {HOW_TO_TRAIN}") from error


def demonstration_file() -> Path:
    """A small cell that is included for explanations; benchmarks/lstm.py trained it. Not for scoring."""
    return Path(str(resources.files("evalign.research.lstm").joinpath("lstm_demonstration.safetensors")))


def _model(metadata: dict[str, str], tensors: dict[str, Floats]) -> LSTMModel:
    """The model of these parts; ValueError if they do not fit each other, which their digest does not prove."""
    table, from_word, from_hidden, bias = (tensors[name] for name in TENSORS)
    vocabulary, training = json.loads(metadata["vocabulary"]), json.loads(metadata["training"])
    if not (isinstance(vocabulary, list) and all(isinstance(word, str) for word in vocabulary)):
        raise ValueError("its vocabulary is not a list of words")
    words = WordRows(tuple(vocabulary), int(metadata["buckets"]))
    size = bias.shape[-1] // 4
    expected = ((words.count, table.shape[-1]), (2, table.shape[-1], 4 * size), (2, size, 4 * size), (2, 4 * size))
    if words.buckets < 1 or size < 1 or tuple(tensors[name].shape for name in TENSORS) != expected:
        raise ValueError("its tensors do not fit each other")
    if any(tensor.dtype != np.float32 or not np.isfinite(tensor).all() for tensor in tensors.values()):
        raise ValueError("its weights are not finite 32-bit numbers")
    if metadata["pooling"] not in POOLINGS or not isinstance(training, dict):
        raise ValueError(f"its pooling is {metadata['pooling']!r}, expected {' or '.join(POOLINGS)}")
    return LSTMModel(words, table, CellWeights(from_word, from_hidden, bias), metadata["pooling"], training)


def _digest(metadata: dict[str, Any], tensors: dict[str, Floats]) -> str:
    content = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(tensors):
        content.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
        content.update(np.ascontiguousarray(tensors[name]).tobytes())
    return content.hexdigest()
