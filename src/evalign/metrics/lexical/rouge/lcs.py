"""Longest common subsequences of texts read as letters, plain and weighted by runs.

Length comes from rapidfuzz (10,000 x 10,000 words in milliseconds). Where the positions on the path matter, one row of
the table is one integer (bit-parallel), and the path is that of ROUGE-1.5.5 and rouge-score: from the last corner, on
a tie towards the beginning of the reference. Texts beyond the stated sizes are refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import LCSseq

from evalign.errors import TextTooLongError
from evalign.metrics.lexical.rouge.formula import RunWeight, worth
from evalign.types import Bools, Floats, Ints

LENGTH_CELLS = 10**11  # words of one text times words of the other; about three seconds
PATH_CELLS = 2 * 10**9  # a quarter of a gigabyte of bits
PATH_PAIRS = 10**6  # of sentences
WEIGHTED_CELLS = 4 * 10**8  # about ten seconds
WEIGHTED_PATH_CELLS = 2 * 10**8
WEIGHTED_PAIRS = 40_000  # of sentences; about ten seconds
Cells = list[tuple[int, int]]  # matches as (place in the reference, place in the candidate), last first


def lcs_lengths(candidates: Sequence[str], references: Sequence[str]) -> Ints:
    """For each pair of texts the number of words in a longest common subsequence."""
    longest = [max(map(len, texts), default=0) for texts in (candidates, references)]
    _check(longest[0] * longest[1], LENGTH_CELLS, "words times words")
    return np.fromiter(map(LCSseq.similarity, candidates, references), dtype=np.int64, count=len(candidates))


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


def lcs_cells(reference: str, candidate: str) -> Cells:
    """The matches on the path of the LCS table."""
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

    def goes_left(i: int, j: int) -> bool:
        """Whether the cell to the left is larger than the one above."""
        row, above = rows[i], rows[i - 1]
        return bool(row >> (j - 1) & 1) and row is not above and _zeros(above, j) < _zeros(row, j)

    return _path(reference, candidate, goes_left)


def lcs_places(reference: Sequence[str], candidate: Sequence[str]) -> list[list[int]]:
    """Per reference sentence, the places on an LCS with any candidate sentence, in order."""
    _check(len(reference) * len(candidate), PATH_PAIRS, "pairs of sentences")
    return _places_on_paths(reference, candidate, lcs_cells)


def weighted_places(reference: Sequence[str], candidate: Sequence[str], weight: RunWeight) -> list[list[int]]:
    """The same on the paths of weighted tables."""
    _check(len(reference) * len(candidate), WEIGHTED_PAIRS, "pairs of sentences")
    return _places_on_paths(reference, candidate, partial(weighted_cells, weight=weight))


def weighted_length(candidate: str, reference: str, weight: RunWeight) -> float:
    """WLCS (Lin 2004): each run of matches is worth what the weight says."""
    _check(len(candidate) * len(reference), WEIGHTED_CELLS, "words times words")
    rows, columns = sorted((candidate, reference), key=len)
    values = _weighted_table(rows, columns, weight)
    return float(values[-1]) if len(values) else 0.0


def weighted_cells(reference: str, candidate: str, weight: RunWeight) -> Cells:
    """The matches on the path of the weighted table."""
    _check(len(reference) * len(candidate), WEIGHTED_PATH_CELLS, "words times words")
    left = np.zeros((len(reference), len(candidate)), dtype=np.bool_)
    _weighted_table(reference, candidate, weight, left)
    return _path(reference, candidate, lambda i, j: bool(left[i - 1, j - 1]))


def weighted_rows(rows: str, columns: str, weight: RunWeight) -> Floats:
    """The whole weighted table, for people to look at."""
    return np.array([_weighted_table(rows[: i + 1], columns, weight) for i in range(len(rows))])


def _places_on_paths(
    reference: Sequence[str], candidate: Sequence[str], path: Callable[[str, str], Cells]
) -> list[list[int]]:
    words = [frozenset(sentence) for sentence in candidate]
    places = []
    for sentence in reference:
        marked: set[int] = set()
        own_words = frozenset(sentence)
        for candidate_sentence, candidate_words in zip(candidate, words, strict=True):
            if not own_words.isdisjoint(candidate_words):
                marked.update(place for place, _ in path(sentence, candidate_sentence))
        places.append(sorted(marked))
    return places


def _path(reference: str, candidate: str, goes_left: Callable[[int, int], bool]) -> Cells:
    """Walks from the last corner of a table; `goes_left(i, j)` decides where the words of a cell differ."""
    i, j, cells = len(reference), len(candidate), []
    while i and j:
        if reference[i - 1] == candidate[j - 1]:
            i, j = i - 1, j - 1
            cells.append((i, j))
        elif goes_left(i, j):
            j -= 1
        else:
            i -= 1
    return cells


def _zeros(row: int, columns: int) -> int:
    """A table value: the columns among the first where the row grows."""
    return columns - (row & ((1 << columns) - 1)).bit_count()


def _weighted_table(rows: str, columns: str, weight: RunWeight, left: Bools | None = None) -> Floats:
    """The last row; `left` is filled with where the path goes left.

    A match always extends the diagonal, even where the cell to the left is larger, as the paper and the script have it:
    a row is a running maximum that starts anew at each match.
    """
    values = np.array([worth(weight, run) for run in range(len(rows) + 2)])
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, letter in enumerate(columns):
        places[letter].append(place)
    matches = {letter: np.array(columns_of) for letter, columns_of in places.items()}
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
            cells[at + 1] = (above[at] + values[run + 1]) - values[run]  # in the script's order of operations
            longer[at + 1] = run + 1
        row = np.maximum.accumulate(cells)
        rising = at is None or not (row[at + 1] > cells[at + 1]).any()
        if at is not None and not rising:
            row = _restarting_maximum(cells, at + 1)
        if left is not None:
            left[number] = above[1:] < row[:-1]
        above, runs = row, longer
    return above[1:]


def _restarting_maximum(cells: Floats, starts: Ints) -> Floats:
    """A running maximum that begins anew at each start.

    Complex numbers compare by their real part first, which is here the number of starts so far.
    """
    is_start = np.zeros(len(cells))
    is_start[starts] = 1
    numbered = np.empty(len(cells), dtype=np.complex128)
    numbered.real, numbered.imag = np.cumsum(is_start), cells
    return np.asarray(np.maximum.accumulate(numbered).imag)


def _check(size: int, largest: int, what: str) -> None:
    if size > largest:
        raise TextTooLongError(
            f"{size:,} {what} to compare, and this metric takes at most {largest:,}; cut the texts with words=N"
        )
