"""A text as a model reads it: its tokens, and their vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

# Any: numpy annotates results too loosely for mypy to check a narrower dtype.
Floats = npt.NDArray[Any]
Ints = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tokens:
    """A text cut into model tokens, special tokens included.

    `offsets` are (start, stop) characters in the ORIGINAL text; special tokens have (0, 0).
    """

    text: str
    pieces: tuple[str, ...]
    ids: Ints
    offsets: Ints
    special: Bools
    unknown: tuple[int, ...] = ()  # indices of tokens that the vocabulary lacks
    dropped: int = 0  # tokens cut off by overlong=truncate
    window_starts: tuple[int, ...] = ()  # indices where the next window of an over-long text begins

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def empty(self) -> bool:
        """True if there are only special tokens."""
        return bool(self.special.all())

    @property
    def windows(self) -> int:
        """Number of windows that an over-long text was read in."""
        return len(self.window_starts) + 1

    @property
    def counts(self) -> dict[str, int]:
        """Flag name -> number of affected tokens or windows; only flags that apply."""
        named = {
            "empty": int(self.empty),
            "truncated": self.dropped,
            "windowed": self.windows if self.window_starts else 0,
            "unknown-token": len(self.unknown),
        }
        return {name: count for name, count in named.items() if count}

    def keep(self, mask: Bools) -> Tokens:
        """Return only the tokens where `mask` is true."""
        return replace(
            self,
            pieces=tuple(piece for piece, keep in zip(self.pieces, mask, strict=True) if keep),
            ids=self.ids[mask],
            offsets=self.offsets[mask],
            special=self.special[mask],
            unknown=tuple(_kept_before(mask, index) for index in self.unknown if mask[index]),
            window_starts=tuple(_kept_before(mask, index) for index in self.window_starts),
        )

    def surface(self, index: int) -> str:
        """Return the characters that a token covers, or its vocabulary entry if it covers none."""
        start, stop = (int(offset) for offset in self.offsets[index])
        return self.text[start:stop] if stop > start else self.pieces[index]


def _kept_before(mask: Bools, index: int) -> int:
    return int(np.count_nonzero(mask[:index]))


@dataclass(frozen=True, eq=False)
class Embedded:
    """Tokens with their vectors: (layers, tokens, width), no padding."""

    tokens: Tokens
    vectors: npt.NDArray[np.float32]

    def keep(self, mask: Bools) -> Embedded:
        """Return only the tokens where `mask` is true."""
        return Embedded(self.tokens.keep(mask), self.vectors[:, mask])

    @property
    def matrix(self) -> npt.NDArray[np.float32]:
        """The vectors of a single-layer encoder, (tokens, width)."""
        if len(self.vectors) != 1:
            raise ValueError(f"{len(self.vectors)} layers were encoded; index .vectors by layer")
        matrix: npt.NDArray[np.float32] = self.vectors[0]
        return matrix

    @cached_property
    def norms(self) -> npt.NDArray[np.float64]:
        """Length of each vector, (layers, tokens); 1 where a vector is zero."""
        lengths = np.sqrt(np.einsum("ltd,ltd->lt", self.vectors, self.vectors, dtype=np.float64))
        return np.where(lengths > 0, lengths, 1.0)
