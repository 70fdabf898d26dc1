"""Encoder without a model, for tests and demonstrations: words are hashed to vectors, always the same.

Equal words get similar vectors at any position; each layer mixes in more of a word's neighbours, so that layers
differ and order matters a little, as in a real encoder.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from evalign.core import Embedded, Floats, Tokens
from evalign.encoders.loading import check_layers
from evalign.encoders.tokenizer import memoised

WORD = re.compile(r"\w+|[^\w\s]")
WIDTH = 32
LAYERS = 4
BOUNDARIES = ("<s>", "</s>")


class FakeEncoder:
    """`model=fake`: deterministic on every machine, thousands of texts a second."""

    name = "fake@00000000"
    precision = "fp32"
    tokenizer_fingerprint = "fake"
    special_ids = frozenset((0, 1))

    def __init__(self, layers: tuple[int, ...] | None = None) -> None:
        self.layers = check_layers(layers, LAYERS)

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Return words and punctuation marks between two boundary tokens."""
        return memoised(self.tokenizer_fingerprint, texts, lambda unseen: [_tokens(text) for text in unseen])

    def encode(self, texts: Sequence[str], pad_to: int | None = None) -> list[Embedded]:
        """Return the vectors of each text, computed alone, independent of the batch."""
        if pad_to is not None:
            raise ValueError("the fake encoder has no padding")
        return [Embedded(tokens, self._vectors(tokens)) for tokens in self.tokenize(texts)]

    def settle(self) -> None:
        """Do nothing."""

    def _vectors(self, tokens: Tokens) -> Floats:
        vectors = np.stack([_vector(piece.lower()) for piece in tokens.pieces])
        neighbours = np.zeros_like(vectors)
        neighbours[1:] += vectors[:-1]
        neighbours[:-1] += vectors[1:]
        return np.stack([vectors + np.float32(0.1 * layer) * neighbours for layer in self.layers])


def _tokens(text: str) -> Tokens:
    words = list(WORD.finditer(text))
    pieces = (BOUNDARIES[0], *(word.group() for word in words), BOUNDARIES[1])
    offsets = [(0, 0), *(word.span() for word in words), (0, 0)]
    special = np.zeros(len(pieces), dtype=bool)
    special[[0, -1]] = True
    ids = np.array([0, *(_digest(word.group().lower())[0] for word in words), 1], dtype=np.int64)
    return Tokens(text, pieces, ids, np.array(offsets, dtype=np.int32), special)


@lru_cache(maxsize=20_000)
def _digest(piece: str) -> tuple[int, bytes]:
    raw = hashlib.blake2b(piece.encode("utf-8", "surrogatepass"), digest_size=WIDTH * 2).digest()
    return 2 + int.from_bytes(raw[:4], "little"), raw


@lru_cache(maxsize=20_000)
def _vector(piece: str) -> Floats:
    signed = np.frombuffer(_digest(piece)[1], dtype="<i2").astype(np.int64)
    length = np.sqrt(float((signed**2).sum()))  # of whole numbers: exact, so the same bits on every processor
    return np.asarray(signed / length, dtype=np.float32)
