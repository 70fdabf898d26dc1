"""How many n-grams pairs of texts have in common, for many pairs at once.

Texts come as letters (one per word), hits go out. All n-grams of a chunk of pairs become whole numbers that hold pair,
n-gram and side; sorted, equal n-grams of both sides lie next to each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalign.types import Ints

LETTER_BITS = 21  # a letter is a character
CHUNK_LETTERS = 2**18
PAIR_SHIFT = 2 * LETTER_BITS + 1  # two letters and the side
CHUNK_PAIRS = 2**19  # together 62 bits


def common_grams(candidates: Sequence[str], references: Sequence[str], order: int) -> Ints:
    """For each pair the number of n-grams in common, each as often as it occurs in both."""
    lengths = np.fromiter(map(len, candidates), np.int64) + np.fromiter(map(len, references), np.int64)
    pairs = np.arange(len(lengths))
    chunk = np.maximum(np.cumsum(lengths) // CHUNK_LETTERS, pairs // CHUNK_PAIRS)  # bounds memory
    starts = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist()]
    ranges = zip(starts, [*starts[1:], len(lengths)], strict=True)
    return np.concatenate([_hits(candidates[start:stop], references[start:stop], order) for start, stop in ranges])


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
