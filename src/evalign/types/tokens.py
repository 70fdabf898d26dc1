"""A text as a model reads it: its tokens, and their vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evalign.types.arrays import Bools, Ints


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
    unknown: tuple[int, ...] = ()  # places of tokens the vocabulary does not have
    dropped: int = 0  # tokens cut off by overlong=truncate
    borders: tuple[int, ...] = ()  # places where another window of an over-long text takes over

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def empty(self) -> bool:
        """No token of the text itself."""
        return bool(self.special.all())

    @property
    def windows(self) -> int:
        """How many pieces an over-long text was read in."""
        return len(self.borders) + 1

    @property
    def counts(self) -> dict[str, int]:
        """What a user should know about how this text was read: flag -> how many tokens or windows."""
        named = {
            "empty": int(self.empty),
            "truncated": self.dropped,
            "windowed": self.windows if self.borders else 0,
            "unknown-token": len(self.unknown),
        }
        return {name: count for name, count in named.items() if count}

    def keep(self, kept: Bools) -> Tokens:
        """Only the tokens where `kept` is true."""
        return replace(
            self,
            pieces=tuple(piece for piece, stays in zip(self.pieces, kept, strict=True) if stays),
            ids=self.ids[kept],
            offsets=self.offsets[kept],
            special=self.special[kept],
            unknown=tuple(_kept_before(kept, place) for place in self.unknown if kept[place]),
            borders=tuple(_kept_before(kept, place) for place in self.borders),
        )

    def surface(self, index: int) -> str:
        """The characters a token covers, or its vocabulary name if it covers none."""
        start, stop = (int(place) for place in self.offsets[index])
        return self.text[start:stop] if stop > start else self.pieces[index]


def _kept_before(kept: Bools, place: int) -> int:
    return int(np.count_nonzero(kept[:place]))


@dataclass(frozen=True, eq=False)
class Embedded:
    """Tokens with their vectors: (layers, tokens, width), no padding."""

    tokens: Tokens
    vectors: npt.NDArray[np.float32]

    def keep(self, kept: Bools) -> Embedded:
        """Only the tokens where `kept` is true."""
        return Embedded(self.tokens.keep(kept), self.vectors[:, kept])

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
