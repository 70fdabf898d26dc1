"""Skip-bigrams: ordered pairs of words with at most so many words between them, counted without listing them.

A text of n words has up to n² / 2 of them. Per block of shared first words, how many of them stand before each place is
a running sum; adding it up over the places of each second word gives the counts of all pairs. Memory stays bounded.
"""

from __future__ import annotations

import numpy as np

from evalign.errors import TextTooLongError
from evalign.types import Ints

BLOCK_CELLS = 2**20  # places times first words held at once
MOST_CELLS = 4 * 10**9  # places times shared words; about half a minute


def pair_count(words: int, skip: int | None) -> int:
    """Skip-bigrams in a text of so many words; `skip` None is unlimited."""
    reach = max(0, words - 1) if skip is None else min(skip + 1, max(0, words - 1))
    return reach * words - reach * (reach + 1) // 2


def pair_hits(candidate: str, reference: str, skip: int | None) -> int:
    """Skip-bigrams that both texts have, each as often as it occurs in both."""
    shared = set(candidate) & set(reference)
    if not shared:
        return 0
    cells = (len(candidate) + len(reference)) * len(shared)
    if cells > MOST_CELLS:
        raise TextTooLongError(
            f"{cells:,} places times shared words for skip-bigrams, and at most {MOST_CELLS:,} are counted; "
            "cut the texts with words=N"
        )
    number = {letter: place for place, letter in enumerate(sorted(shared))}
    texts = [_Places(text, number) for text in (candidate, reference)]
    width = max(1, BLOCK_CELLS // max(len(text.words) for text in texts))
    hits = 0
    for first in range(0, len(number), width):
        block = np.arange(first, min(first + width, len(number)))
        hits += int(np.minimum(*(text.counts(block, skip) for text in texts)).sum())
    return hits


class _Places:
    """The shared words of one text in its order: their numbers (`words`) and places in the whole text (`at`)."""

    def __init__(self, text: str, number: dict[str, int]) -> None:
        shared = [(number[letter], place) for place, letter in enumerate(text) if letter in number]
        self.words, self.at = np.array(shared, dtype=np.int64).T
        self.order = np.argsort(self.words, kind="stable")  # places of word 0, of word 1, ...: none is without one
        self.starts = np.searchsorted(self.words[self.order], np.arange(len(number)))

    def counts(self, block: Ints, skip: int | None) -> Ints:
        """(second word, first word of the block): how often the pair occurs."""
        before = np.zeros((len(self.words) + 1, len(block)), dtype=np.int32)
        np.cumsum(self.words[:, None] == block, axis=0, out=before[1:])
        standing = before[:-1][self.order]
        if skip is not None:
            too_far = np.searchsorted(self.at, self.at - skip - 1)
            standing -= before[too_far[self.order]]
        return np.asarray(np.add.reduceat(standing, self.starts, axis=0, dtype=np.int64))
