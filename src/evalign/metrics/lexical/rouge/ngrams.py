"""How many n-grams or skip-bigrams pairs of texts have in common: texts come as letters (one per word), hits go out.

N-grams are counted for many pairs at once: those of a chunk of pairs become whole numbers that hold pair, n-gram and
side; sorted, equal n-grams of both sides lie next to each other.

Skip-bigrams are ordered pairs of words with at most so many words between them, up to n² / 2 in a text of n words. They
are counted without listing them: per block of shared first words, how many of them stand before each place is a running
sum; adding it up over the places of each second word gives the counts of all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalign.errors import TextTooLongError
from evalign.types import Ints

LETTER_BITS = 21  # a letter is a character
CHUNK_LETTERS = 2**18
PAIR_SHIFT = 2 * LETTER_BITS + 1  # two letters and the side
CHUNK_PAIRS = 2**19  # together 62 bits
BLOCK_CELLS = 2**20  # of skip-bigrams: places times first words held at once
MOST_CELLS = 4 * 10**9  # places times shared words; about half a minute


def common_grams(candidates: Sequence[str], references: Sequence[str], order: int) -> Ints:
    """For each pair the number of n-grams in common, each as often as it occurs in both."""
    lengths = np.fromiter(map(len, candidates), np.int64) + np.fromiter(map(len, references), np.int64)
    pairs = np.arange(len(lengths))
    chunk = np.maximum(np.cumsum(lengths) // CHUNK_LETTERS, pairs // CHUNK_PAIRS)  # bounds memory
    starts = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist()]
    ranges = zip(starts, [*starts[1:], len(lengths)], strict=True)
    return np.concatenate([_hits(candidates[start:stop], references[start:stop], order) for start, stop in ranges])


def distinct_grams(letters: str, order: int) -> set[str]:
    """The n-grams of a text, each once."""
    return {letters[start : start + order] for start in range(len(letters) - order + 1)}


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


def _hits(candidates: Sequence[str], references: Sequence[str], order: int) -> Ints:
    pairs, texts = len(candidates), [*candidates, *references]
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=2 * pairs)
    places = np.arange(pairs) << PAIR_SHIFT
    grams, text = _grams("".join(texts), np.repeat(np.concatenate([places, places | 1]), lengths), order)
    keys = np.sort((grams << 1) | text)
    last = np.flatnonzero(keys[1:] != keys[:-1])
    last = np.append(last, len(keys) - 1) if len(keys) else last
    kinds, counts = keys[last], np.diff(last, prepend=-1)
    both = np.flatnonzero(kinds[1:] ^ kinds[:-1] == 1)  # the same n-gram of the same pair, on either side
    common = np.minimum(counts[both], counts[both + 1])
    return np.bincount(kinds[both] >> PAIR_SHIFT, weights=common, minlength=pairs).astype(np.int64)


def _grams(letters: str, text: Ints, order: int) -> tuple[Ints, Ints]:
    """Number of each n-gram, equal for equal ones, and its text; none reaches over the end of a text."""
    codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)
    if order == 1:
        return codes, text
    grams = codes
    for length in range(2, order + 1):
        if length > 2:  # numbered anew, so that two more letters' bits suffice
            grams = np.unique(grams, return_inverse=True)[1]
        grams = (grams[:-1] << LETTER_BITS) | codes[length - 1 :]
    within = text[: len(grams)] == text[len(text) - len(grams) :]
    return grams[within], text[: len(grams)][within]


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
