"""Longest common subsequences of texts read as letters, plain and weighted by runs.

Length comes from rapidfuzz (10,000 x 10,000 words in milliseconds). Where the positions on the path matter, one row of
the table is one integer (bit-parallel), and the path is that of ROUGE-1.5.5 and rouge-score: from the last corner, on
a tie towards the beginning of the reference. Texts beyond the stated sizes are refused.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import LCSseq

from evalign.errors import TextTooLongError
from evalign.types import Bools, Floats, Ints

LENGTH_CELLS = 10**11  # words of one text times words of the other; about three seconds
PATH_CELLS = 2 * 10**9  # a quarter of a gigabyte of bits
PATH_PAIRS = 10**6  # of sentences
WEIGHTED_CELLS = 4 * 10**8  # about ten seconds
WEIGHTED_PATH_CELLS = 2 * 10**8
WEIGHTED_PAIRS = 40_000  # of sentences; about ten seconds


def lcs_length(one: str, other: str) -> int:
    """Words in a longest common subsequence."""
    _check(len(one) * len(other), LENGTH_CELLS, "words times words")
    length: int = LCSseq.similarity(one, other)
    return length


def lcs_lengths(one: Sequence[str], other: Sequence[str]) -> Ints:
    """The same for many pairs."""
    _check(max(map(len, one), default=0) * max(map(len, other), default=0), LENGTH_CELLS, "words times words")
    return np.fromiter(map(LCSseq.similarity, one, other), dtype=np.int64, count=len(one))


def best_lengths(reference: Sequence[str], candidate: Sequence[str]) -> tuple[Ints, Ints]:
    """For each reference sentence the LCS with the candidate sentence that shares most, and the other way round."""
    _check(sum(map(len, reference)) * sum(map(len, candidate)), LENGTH_CELLS // 10, "words times words")
    for_candidate = np.zeros(len(candidate), dtype=np.int64)
    for_reference = np.zeros(len(reference), dtype=np.int64)
    for place, sentence in enumerate(reference):
        lengths = process.cdist([sentence], candidate, scorer=LCSseq.similarity, dtype=np.int32)[0]
        np.maximum(for_candidate, lengths, out=for_candidate)
        for_reference[place] = lengths.max(initial=0)
    return for_reference, for_candidate


def lcs_path(reference: str, candidate: str) -> list[int]:
    """Places in the reference that the path marks, last first."""
    return [place for place, _ in lcs_cells(reference, candidate)]


def lcs_cells(reference: str, candidate: str) -> list[tuple[int, int]]:
    """The matches on the path, (place in the reference, in the candidate), last first."""
    _check(len(reference) * len(candidate), PATH_CELLS, "words times words")
    places: defaultdict[str, int] = defaultdict(int)
    for place, letter in enumerate(candidate):
        places[letter] |= 1 << place
    full = (1 << len(candidate)) - 1
    row = full  # a 0 bit is a column where the table grows by one (Hyyrö 2004)
    rows = [row]
    for letter in reference:
        matches = row & places.get(letter, 0)
        if matches:
            row = ((row + matches) | (row - matches)) & full
        rows.append(row)
    return _trace(rows, reference, candidate)


def union_hits(reference: Sequence[str], candidate: Sequence[str]) -> list[list[int]]:
    """Per reference sentence, the places on the path against any candidate sentence, in order."""
    _check(len(reference) * len(candidate), PATH_PAIRS, "sentences times sentences")
    words = [frozenset(sentence) for sentence in candidate]
    found = []
    for sentence in reference:
        marked: set[int] = set()
        own = frozenset(sentence)
        for other, others_words in zip(candidate, words, strict=True):
            if not own.isdisjoint(others_words):
                marked.update(lcs_path(sentence, other))
        found.append(sorted(marked))
    return found


def clipped(sentences: Sequence[str], marked: Sequence[Sequence[int]], left: Counter[str]) -> list[list[int]]:
    """The marked places that count: each uses up one of the `left` occurrences of its word."""
    kept: list[list[int]] = []
    for sentence, places in zip(sentences, marked, strict=True):
        kept.append([])
        for place in places:
            if left[sentence[place]] > 0:
                left[sentence[place]] -= 1
                kept[-1].append(place)
    return kept


def common_words(one: str, other: str) -> Counter[str]:
    """How often each word can be used up on both sides."""
    return Counter(one) & Counter(other)


def weighted_length(one: str, other: str, weight: float) -> float:
    """WLCS (Lin 2004): a run of k matches is worth k^weight."""
    _check(len(one) * len(other), WEIGHTED_CELLS, "words times words")
    rows, columns = sorted((one, other), key=len)
    values, _ = _weighted_table(rows, columns, weight, None)
    return float(values[-1]) if len(values) else 0.0


def weighted_path(reference: str, candidate: str, weight: float) -> list[int]:
    """Places in the reference on the path of the weighted table, last first."""
    return [place for place, _ in weighted_cells(reference, candidate, weight)]


def weighted_cells(reference: str, candidate: str, weight: float) -> list[tuple[int, int]]:
    """The matches on the path of the weighted table, last first."""
    _check(len(reference) * len(candidate), WEIGHTED_PATH_CELLS, "words times words")
    left = np.zeros((len(reference), len(candidate)), dtype=np.bool_)
    _weighted_table(reference, candidate, weight, left)
    i, j, cells = len(reference), len(candidate), []
    while i and j:
        if reference[i - 1] == candidate[j - 1]:
            i, j = i - 1, j - 1
            cells.append((i, j))
        elif left[i - 1, j - 1]:
            j -= 1
        else:
            i -= 1
    return cells


def weighted_rows(rows: str, columns: str, weight: float) -> Floats:
    """The whole weighted table, for people to look at."""
    return np.array([_weighted_table(rows[: i + 1], columns, weight, None)[0] for i in range(len(rows))])


def _trace(rows: list[int], reference: str, candidate: str) -> list[tuple[int, int]]:
    i, j, cells = len(reference), len(candidate), []
    while i and j:
        if reference[i - 1] == candidate[j - 1]:
            i, j = i - 1, j - 1
            cells.append((i, j))
        elif rows[i] >> (j - 1) & 1 and rows[i] is not rows[i - 1] and _zeros(rows[i - 1], j) < _zeros(rows[i], j):
            j -= 1  # the cell to the left is larger than the one above
        else:
            i -= 1
    return cells


def _zeros(row: int, columns: int) -> int:
    """A table value: the columns among the first where the row grows."""
    return columns - (row & ((1 << columns) - 1)).bit_count()


def _weighted_table(rows: str, columns: str, weight: float, left: Bools | None) -> tuple[Floats, Ints]:
    """The last row and its run lengths; `left` is filled with where the path goes left.

    A match always extends the diagonal, even where the cell to the left is larger, as the paper and the script have it:
    a row is a running maximum that starts anew at each match.
    """
    powers = np.array([float(run) ** weight for run in range(len(rows) + 2)])
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, letter in enumerate(columns):
        places[letter].append(place)
    matches = {letter: np.array(found) for letter, found in places.items()}
    above, runs = np.zeros(len(columns) + 1), np.zeros(len(columns) + 1, dtype=np.int64)
    rising = True
    for number, letter in enumerate(rows):
        at = matches.get(letter)
        if at is None and rising:  # the row above once more, and the path goes up
            runs = np.zeros_like(runs)
            continue
        cells, longer = above.copy(), np.zeros_like(runs)
        if at is not None:
            run = runs[at]
            cells[at + 1] = (above[at] + powers[run + 1]) - powers[run]  # in the script's order of operations
            longer[at + 1] = run + 1
        row = np.maximum.accumulate(cells)
        rising = at is None or not (row[at + 1] > cells[at + 1]).any()
        if at is not None and not rising:
            row = _restarting_maximum(cells, at + 1)
        if left is not None:
            left[number] = above[1:] < row[:-1]
        above, runs = row, longer
    return above[1:], runs[1:]


def _restarting_maximum(cells: Floats, starts: Ints) -> Floats:
    """A running maximum that forgets at each start. Complex numbers compare by their real part, the storey, first."""
    storey = np.zeros(len(cells))
    storey[starts] = 1
    both = np.empty(len(cells), dtype=np.complex128)
    both.real, both.imag = np.cumsum(storey), cells
    return np.asarray(np.maximum.accumulate(both).imag)


def check_weighted_pairs(pairs: int) -> None:
    """Raises if so many pairs of sentences would take too long."""
    _check(pairs, WEIGHTED_PAIRS, "pairs of sentences")


def _check(size: int, largest: int, what: str) -> None:
    if size > largest:
        raise TextTooLongError(
            f"{size:,} {what} to compare, and this metric takes at most {largest:,}; cut the texts with words=N"
        )
