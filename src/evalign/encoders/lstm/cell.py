"""A bidirectional LSTM, gate by gate: word vectors in, one state per word out, on numpy arrays and torch tensors alike.

    words (batch, time, width) --step, word by word, both directions at once--> states (batch, time, 2 x size)

The same lines train (torch, with gradient), score (numpy, without torch) and explain (every gate of every word).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evalign.matching.arrays import Array, indices, namespace

DIRECTIONS = ("forward", "backward")
GATES = ("forget", "input", "output", "candidate")  # the order of the columns of all weights


@dataclass(frozen=True, slots=True, eq=False)
class CellWeights:
    """What a cell has learned, per direction: (2, width, 4 size), (2, size, 4 size) and (2, 4 size)."""

    from_word: Array  # W
    from_hidden: Array  # U
    bias: Array  # b

    @property
    def size(self) -> int:
        """How many numbers the cell state of one direction has."""
        return int(self.from_hidden.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One word read, in both directions: each (2, batch, size)."""

    forget: Array
    input: Array
    output: Array
    candidate: Array
    cell: Array
    hidden: Array


def step(word: Array, hidden: Array, cell: Array, weights: CellWeights) -> Step:
    """Reads one word (2, batch, width), given the hidden and the cell state so far, both (2, batch, size).

    forget    f = sigmoid(W_f x + U_f h + b_f)   how much of the old cell state stays
    input     i = sigmoid(W_i x + U_i h + b_i)   how much of the candidate is written
    output    o = sigmoid(W_o x + U_o h + b_o)   how much of the cell state is shown
    candidate g = tanh(W_g x + U_g h + b_g)      what could be written
    cell      c' = f * c + i * g
    hidden    h' = o * tanh(c')
    """
    size = weights.size
    inputs = word @ weights.from_word + hidden @ weights.from_hidden + weights.bias[:, None]
    gates = _sigmoid(inputs[..., : 3 * size])
    forget, write, output = (gates[..., start : start + size] for start in (0, size, 2 * size))
    candidate = namespace(inputs).tanh(inputs[..., 3 * size :])
    cell = forget * cell + write * candidate
    return Step(forget, write, output, candidate, cell, output * namespace(cell).tanh(cell))


def steps(words: Array, lengths: Array, weights: CellWeights) -> Iterator[Step]:
    """Every step of a padded batch; the backward direction starts at each text's own last word.

    Padding comes last in both directions, so that no state of a real word ever depends on it.
    """
    xp = namespace(words)
    both = xp.stack([words, _turned(words, lengths)])  # (2, batch, time, width)
    hidden = cell = xp.zeros((2, len(words), weights.size), dtype=words.dtype)
    for word in xp.moveaxis(both, 2, 0):  # taken apart once: a slice per word would cost a whole gradient each
        now = step(word, hidden, cell, weights)
        hidden, cell = now.hidden, now.cell
        yield now


def states(words: Array, lengths: Array, weights: CellWeights) -> Array:
    """(batch, time, 2 size): for every word the hidden states of both directions, side by side; padding is not 0."""
    xp = namespace(words)
    hidden = xp.stack([read.hidden for read in steps(words, lengths, weights)], -2)
    return xp.concatenate([hidden[0], _turned(hidden[1], lengths)], -1)


def pooled(states: Array, lengths: Array, pooling: str) -> Array:
    """(batch, 2 size): mean or maximum over the real words; 0 for a text without words."""
    xp = namespace(states)
    real = (indices(states, states.shape[1]) < lengths[:, None])[..., None]
    if pooling == "mean":
        return xp.where(real, states, 0).sum(-2) / lengths.clip(1)[:, None]
    highest = xp.where(real, states, -2.0)  # below any hidden state, which lies within -1 and 1
    return xp.where(lengths[:, None] > 0, xp.amax(highest, -2), 0)


def _turned(words: Array, lengths: Array) -> Array:
    """Every text's words from the last to the first; its padding stays where it is. Twice gives the same again."""
    time = indices(words, words.shape[1])
    back = lengths[:, None] - 1 - time
    places = namespace(words).where(back >= 0, back, time)
    return words[indices(words, len(words))[:, None], places]


def _sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x) in a form that cannot overflow."""
    return 0.5 * namespace(x).tanh(0.5 * x) + 0.5
