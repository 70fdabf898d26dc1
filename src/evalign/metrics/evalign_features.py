"""What the recommended recipe looks at: numbers of one pair of texts, all from one similarity matrix per layer.

Written `precision@4` for layer 4. Each is 1 for a text against itself, and none depends on other rows.

    precision recall            greedy matching of the text's own tokens (special tokens take no part)
    rare-precision rare-recall  the same, rare tokens weighing more
    next-precision next-recall  the same for pairs of neighbouring tokens
    worst-precision worst-recall  the mean of the worst matched quarter of the tokens
    pooled                      cosine of the mean vectors
    characters edits word-edits F of character 4-grams; share of characters, and of words, that need no edit
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rapidfuzz.distance import Indel

from evalign.errors import SpecError, nearest
from evalign.types import Embedded, Floats

ORDER = 4  # of character n-grams
WORST = 4  # the worst quarter
CELLS = 4_000_000  # of all layers' matrices held at once
WORD = re.compile(r"\w+|[^\w\s]")
BY_LAYER = ("precision", "recall", "rare-precision", "rare-recall", "next-precision", "next-recall", "worst-precision",
            "worst-recall", "pooled")  # fmt: skip
LEXICAL = ("characters", "edits", "word-edits")
REPEATED = 0.3  # share of words that a text may repeat: long texts say "the" more often than short references
COMMON, FREE = 0.3, 0.5  # weight of punctuation and single characters, and of the commonest word


@dataclass(frozen=True, eq=False)
class Text:
    """One text, encoded, and what each pair it is part of needs of it, made once."""

    embedded: Embedded
    commonest: int  # the id of the commonest word, from which the vocabulary is sorted by frequency

    @property
    def empty(self) -> bool:
        """No token of the text itself."""
        return self.embedded.tokens.empty

    @cached_property
    def vectors(self) -> Floats:
        """(layers, tokens, width) of the text's own tokens; a view wherever special tokens stand around them only."""
        own = np.flatnonzero(~self.embedded.tokens.special)
        together = len(own) and own[-1] - own[0] + 1 == len(own)
        return self.embedded.vectors[:, own[0] : own[-1] + 1] if together else self.embedded.vectors[:, own]

    @cached_property
    def norms(self) -> Floats:
        """(layers, tokens); in 32 bits, which is a third of the time and exact to 1e-6."""
        lengths = np.sqrt(np.einsum("ltd,ltd->lt", self.vectors, self.vectors))
        return np.where(lengths > 0, lengths, 1)

    @cached_property
    def pooled(self) -> Floats:
        """(layers, width) of length 1; special tokens are part of the mean, as in Sentence-BERT."""
        mean = self.embedded.vectors.mean(axis=1)
        length = np.sqrt(np.einsum("ld,ld->l", mean, mean))[:, None]
        return np.asarray(mean / np.where(length > 0, length, 1))

    @cached_property
    def shares(self) -> Floats:
        """(tokens, 2): what each token weighs, equally and by rarity; both sum to 1."""
        ids = self.embedded.tokens.ids[~self.embedded.tokens.special]
        rank = np.maximum(ids - self.commonest, 0)
        rare = np.where(ids < self.commonest, COMMON, np.log1p(rank / 10) + FREE)
        return np.stack([np.full(len(ids), 1 / len(ids)), rare / rare.sum()], axis=1)

    @cached_property
    def characters(self) -> str:
        """The text without white space."""
        return "".join(self.embedded.tokens.text.split())

    @cached_property
    def grams(self) -> Counter[str]:
        """Its character n-grams; of a shorter text, the text."""
        text = self.characters
        return Counter([text[start : start + ORDER] for start in range(max(1, len(text) - ORDER + 1))])

    @cached_property
    def words(self) -> list[str]:
        """Words and punctuation marks, lower case."""
        return WORD.findall(self.embedded.tokens.text.lower())


class Looker:
    """Turns pairs of texts into the named features, in their order."""

    def __init__(self, names: Sequence[str], layers: Sequence[int]) -> None:
        places = [_place(name, list(layers)) for name in names]
        self._neighbours = sorted({layer for kind, layer in places if kind.startswith("next-")})
        self._worst = sorted({layer for kind, layer in places if kind.startswith("worst-")})
        every = list(range(len(layers)))
        chosen = {"next": self._neighbours, "worst": self._worst}
        computed = [(kind, layer) for kind in BY_LAYER for layer in chosen.get(kind.partition("-")[0], every)]
        position = {one: place for place, one in enumerate([*computed, *((kind, 0) for kind in LEXICAL)])}
        self._wanted = np.array([position[place] for place in places])

    def __call__(self, candidate: Text, reference: Text) -> Floats:
        """One number per feature; zeros if a text is empty."""
        if candidate.empty or reference.empty:
            return np.zeros(len(self._wanted))
        rows, columns, next_rows, next_columns = self._maxima(candidate, reference)
        precision, recall = rows @ candidate.shares, columns @ reference.shares  # (layers, 2): equally, by rarity
        computed = [  # in the order of BY_LAYER, then of LEXICAL
            precision[:, 0],
            recall[:, 0],
            precision[:, 1],
            recall[:, 1],
            next_rows.mean(axis=1),
            next_columns.mean(axis=1),
            [_worst(rows[layer]) for layer in self._worst],
            [_worst(columns[layer]) for layer in self._worst],
            np.einsum("ld,ld->l", candidate.pooled, reference.pooled),
            [
                shared(candidate.grams, reference.grams),
                Indel.normalized_similarity(candidate.characters, reference.characters),
                Indel.normalized_similarity(candidate.words, reference.words),
            ],
        ]
        return np.asarray(np.concatenate(computed)[self._wanted])

    def _maxima(self, candidate: Text, reference: Text) -> tuple[Floats, Floats, Floats, Floats]:
        """Best partner of every token and of every pair of neighbours, on both sides, in bands of candidate tokens."""
        ours, theirs, chosen = candidate.vectors, reference.vectors.transpose(0, 2, 1), self._neighbours
        layers, tokens, others = ours.shape[0], ours.shape[1], theirs.shape[2]
        rows, columns = np.empty((layers, tokens)), np.full((layers, others), -1.0)
        next_rows = np.empty((len(chosen), max(0, tokens - 1)))
        next_columns = np.full((len(chosen), max(0, others - 1)), -1.0)
        for start, stop in _bands(tokens, max(1, CELLS // (layers * others))):
            ahead = min(tokens, stop + 1)  # one more, whose predecessor is in this band
            matrix = np.matmul(ours[:, start:ahead], theirs)
            matrix /= candidate.norms[:, start:ahead, None]
            matrix /= reference.norms[:, None, :]
            rows[:, start:stop] = matrix[:, : stop - start].max(axis=2)
            np.maximum(columns, matrix[:, : stop - start].max(axis=1), out=columns)
            if chosen and ahead - start > 1 and others > 1:
                pairs = (matrix[chosen, :-1, :-1] + matrix[chosen, 1:, 1:]) / 2
                next_rows[:, start : ahead - 1] = pairs.max(axis=2)
                np.maximum(next_columns, pairs.max(axis=1), out=next_columns)
        if tokens == 1 or others == 1:  # no neighbours on one side: single tokens stand for them
            next_rows, next_columns = rows[chosen], columns[chosen]
        return np.minimum(rows, 1), np.minimum(columns, 1), np.minimum(next_rows, 1), np.minimum(next_columns, 1)


def said_once(candidate: Text, reference: Text) -> float:
    """The part of a score that is kept: all of it, unless the candidate repeats words that the reference does not.

    Similarities cannot tell whether a text was written twice. Of system outputs about 1 in 200 loses anything.
    """
    ours, theirs = Counter(candidate.words), Counter(reference.words)
    surplus = sum(max(0, count - max(theirs[word], 1)) for word, count in ours.items())
    share = surplus / max(1, ours.total())
    return 1 - max(0.0, share - REPEATED) / (1 - REPEATED)


def shared(ours: Counter[str], theirs: Counter[str]) -> float:
    """F of two bags: twice what they share by what they hold."""
    common = sum(min(count, theirs[key]) for key, count in ours.items() if key in theirs)
    return 2 * common / (ours.total() + theirs.total())


def _worst(values: Floats) -> float:
    count = max(1, len(values) // WORST)
    return float(np.partition(values, count - 1)[:count].mean())


def _bands(tokens: int, height: int) -> Iterator[tuple[int, int]]:
    for start in range(0, tokens, height):
        yield start, min(tokens, start + height)


def _place(name: str, layers: list[int]) -> tuple[str, int]:
    """Kind and position of the layer, which is 0 for lexical features."""
    kind, at, layer = name.partition("@")
    if kind in LEXICAL and not at:
        return kind, 0
    if kind not in BY_LAYER or not layer.isdecimal() or int(layer) not in layers:
        raise SpecError(f"feature {name!r}: {nearest(kind, (*BY_LAYER, *LEXICAL))}; layers {layers}")
    return kind, layers.index(int(layer))
