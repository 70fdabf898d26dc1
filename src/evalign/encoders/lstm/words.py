"""Words of a text as rows of a table of vectors: a known word has its own row, any other the rows of its letter groups.

    text -> words -> rows (several for an unknown word, whose vector is their mean) -> vectors

Letter groups are the 3 to 5 neighbouring characters of `<word>`, hashed into a fixed number of rows, so that any word
of any script has a vector and words of one stem have similar ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalign.encoders.batching import pad
from evalign.matching.arrays import Array, like, namespace
from evalign.text.words import unicode_words
from evalign.types import Ints

GROUPS = (3, 4, 5)
LONGEST = 64  # characters of a word whose groups are read: longer "words" are data, not language


def split_words(text: str) -> list[str]:
    """The text's words, lower case; of a text without letters and digits, its visible characters (emoji, signs)."""
    return unicode_words(text) or [char for char in text if not char.isspace() and char.isprintable()]


@dataclass(frozen=True)
class WordRows:
    """Which rows of the table a word has: first those of the vocabulary, then `buckets` rows for letter groups."""

    vocabulary: tuple[str, ...]
    buckets: int

    @property
    def count(self) -> int:
        """Rows of the table."""
        return len(self.vocabulary) + self.buckets

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.vocabulary)}

    def knows(self, word: str) -> bool:
        """Whether the word has a row of its own."""
        return word in self._places

    def rows(self, word: str) -> tuple[int, ...]:
        """The rows whose mean is the word's vector."""
        place = self._places.get(word)
        return (place,) if place is not None else self.group_rows(word)

    def group_rows(self, word: str) -> tuple[int, ...]:
        """The rows of a word's letter groups, whether it is known or not."""
        framed = f"<{word[:LONGEST]}>"
        groups = [framed[start : start + size] for size in GROUPS for start in range(max(1, len(framed) - size + 1))]
        return tuple(len(self.vocabulary) + _hashed(group) % self.buckets for group in dict.fromkeys(groups))


def word_vectors(table: Array, words: WordRows, texts: Sequence[Sequence[str]]) -> tuple[Array, Ints]:
    """(texts, longest, width) of padded texts given as words, and their lengths; a word's vector is computed once."""
    distinct = list(dict.fromkeys(word for text in texts for word in text))
    place = {word: row for row, word in enumerate(distinct)}
    grid, real = pad([[place[word] for word in text] for text in texts], 0, max([1, *map(len, texts)]))
    return _taken(_means(table, [words.rows(word) for word in distinct] or [(0,)]), grid), real.sum(axis=1)


def _means(table: Array, rows: Sequence[tuple[int, ...]]) -> Array:
    """(words, width): the mean of each word's rows."""
    grid, real = pad(rows, 0)
    shares = (real / real.sum(axis=1, keepdims=True)).astype(np.float32)[..., None]
    return (_taken(table, grid) * like(shares, table)).sum(-2)


def _taken(table: Array, grid: Ints) -> Array:
    """Rows of a table. torch's plain indexing sums gradients in no fixed order; its embedding does."""
    xp = namespace(table)
    return table[grid] if xp is np else xp.nn.functional.embedding(like(grid, table), table)


def _hashed(group: str) -> int:
    raw = hashlib.blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw, "little")
