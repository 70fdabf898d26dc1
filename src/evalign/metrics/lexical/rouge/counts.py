"""Counts of ROUGE: n-grams, common subsequences and skip-bigrams of pairs of texts, and the arithmetic on them.

Texts are strings with one letter per word (`words.py`). N-grams are counted for many pairs at once: those of a chunk
of pairs become whole numbers of pair, n-gram and side; after sorting, equal n-grams of both sides are neighbours.

Skip-bigrams are ordered pairs of words with at most a given number of words between them, up to n² / 2 in a text of n
words. They are counted without listing them: for a block of shared first words, a running sum counts them before each
position; adding it up over the positions of each second word gives the counts of all pairs.

In ROUGE-W a run of k words has the weight k^weight, or ak - b. Both satisfy f(x + y) > f(x) + f(y) (Lin 2004, section
3.3) except for the power 1, which is ROUGE-L: one long run weighs more than its parts.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import LCSseq

from evalign.core import Bools, Floats, Ints
from evalign.core.options import written
from evalign.errors import SpecError, TextTooLongError

MAX_POWER = 5.0  # a power of 100,000 words must be finite
MAX_SLOPE = 1e6
NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
LINE = re.compile(rf"(?P<slope>{NUMBER})?k-(?P<gap>{NUMBER})")


class Counts(NamedTuple):
    """Units in a reference (the script's model), in the candidate (its peer), and in both.

    `score` decides which of several references is the best.
    """

    model: float
    peer: float
    hit: float
    score: float


def rounded_counts(model: float, peer: float, hit: float) -> Counts:
    """Return counts whose score is the recall to five decimals."""
    return Counts(model, peer, hit, rounded(hit / model) if model else 0.0)


def rounded(value: float) -> float:
    """Round to five decimals, the precision of the script."""
    return float(f"{value:.5f}")


def shares(hits: Ints, candidates: Sequence[str], references: Sequence[str], fewer: int = 0) -> tuple[Floats, Floats]:
    """Return precision and recall of many pairs: hits by units, the words of a text minus `fewer`; 0 without units."""
    precision, recall = (
        hits / np.maximum(1, np.fromiter(map(len, texts), dtype=np.int64, count=len(hits)) - fewer)
        for texts in (candidates, references)
    )
    return precision, recall


def f_measure(precision: Floats, recall: Floats, alpha: float | None) -> Floats:
    """Return PR / ((1 - alpha) P + alpha R), 0 where undefined.

    Without alpha, beta is P/R: RP (R² + P²) / (R³ + P³).
    """
    if alpha is None:
        numerator, denominator = recall * precision * (recall**2 + precision**2), recall**3 + precision**3
    else:
        numerator, denominator = precision * recall, (1 - alpha) * precision + alpha * recall
    return np.asarray(np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0))


@dataclass(frozen=True)
class LineWeight:
    """Weight f(k) = ak - b of a run of k words, and f(0) = 0: every run but the first costs b/a words."""

    slope: float
    gap: float

    def __str__(self) -> str:
        return f"{'' if self.slope == 1 else _decimal(self.slope)}k-{_decimal(self.gap)}"


RunWeight = float | LineWeight  # a power, or a line


def run_weight(value: Any) -> RunWeight:
    """Parse a weight: a number is a power, `2k-1` a line."""
    text = written(value)
    if line := LINE.fullmatch(text):
        return LineWeight(float(line["slope"] or 1), float(line["gap"]))
    try:
        return float(text)
    except ValueError:
        raise SpecError(f"weight={text}: expected a number (a run is worth k^weight), or ak-b such as 2k-1") from None


def option_value(value: Any) -> float | str:
    """Return a weight in canonical form as a metric's option: the power, or the text of the line."""
    weight = run_weight(value)
    return str(weight) if isinstance(weight, LineWeight) else weight


def weight_problems(weight: RunWeight) -> list[tuple[bool, str]]:
    """Find weights under which runs weigh no more than scattered words, or scores leave their range."""
    if not isinstance(weight, LineWeight):
        return [(not 1 <= weight <= MAX_POWER, f"weight={weight:g}: expected 1 to {MAX_POWER:g}")]
    return [
        (weight.gap <= 0, f"weight={weight} breaks f(x+y) > f(x) + f(y), which asks for ak-b with b above 0"),
        (weight.gap >= weight.slope, f"weight={weight} makes one word worth nothing; expected ak-b with a above b"),
        (weight.slope > MAX_SLOPE, f"weight={weight}: expected ak-b with a up to {MAX_SLOPE:,.0f}"),
    ]


def worth(weight: RunWeight, run: int) -> float:
    """Return f(k)."""
    if isinstance(weight, LineWeight):
        return weight.slope * run - weight.gap if run else 0.0
    return math.pow(run, weight)


def share(weight: RunWeight, value: float, words: int) -> float:
    """Return the share of a text that a value is, by the inverse of f: f^-1(value) / words.

    For powers that is Lin's f^-1(value / f(words)). For lines it is not: Lin's quotient would give (1 + b)/a to equal
    texts and b/a to unlike ones.
    """
    if isinstance(weight, LineWeight):
        return (value + weight.gap) / weight.slope / words if value > 0 else 0.0
    return float((value / float(words) ** weight) ** (1 / weight))


def _decimal(number: float) -> str:
    return f"{Decimal(repr(number)):f}".removesuffix(".0")


LETTER_BITS = 21  # a letter is a character
CHUNK_LETTERS = 2**18
PAIR_SHIFT = 2 * LETTER_BITS + 1  # two letters and the side
CHUNK_PAIRS = 2**19  # together 62 bits
BLOCK_CELLS = 2**20  # of skip-bigrams: positions times first words in memory at once
MAX_CELLS = 4 * 10**9  # positions times shared words; about half a minute


def common_grams(candidates: Sequence[str], references: Sequence[str], order: int) -> Ints:
    """Count the n-grams in common of each pair, each as often as it occurs in both."""
    lengths = np.fromiter(map(len, candidates), np.int64) + np.fromiter(map(len, references), np.int64)
    pairs = np.arange(len(lengths))
    chunk = np.maximum(np.cumsum(lengths) // CHUNK_LETTERS, pairs // CHUNK_PAIRS)  # bounds memory
    starts = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist()]
    ranges = zip(starts, [*starts[1:], len(lengths)], strict=True)
    return np.concatenate([_hits(candidates[start:stop], references[start:stop], order) for start, stop in ranges])


def distinct_grams(letters: str, order: int) -> set[str]:
    """Return the distinct n-grams of a text."""
    return {letters[start : start + order] for start in range(len(letters) - order + 1)}


def pair_count(words: int, skip: int | None) -> int:
    """Count the skip-bigrams in a text of `words` words; `skip` None is unlimited."""
    max_distance = max(0, words - 1) if skip is None else min(skip + 1, max(0, words - 1))
    return max_distance * words - max_distance * (max_distance + 1) // 2


def pair_hits(candidate: str, reference: str, skip: int | None) -> int:
    """Count the skip-bigrams that both texts have, each as often as it occurs in both."""
    shared = set(candidate) & set(reference)
    if not shared:
        return 0
    cells = (len(candidate) + len(reference)) * len(shared)
    if cells > MAX_CELLS:
        raise TextTooLongError(
            f"{cells:,} positions times shared words for skip-bigrams, and at most {MAX_CELLS:,} are counted; "
            "cut the texts with words=N"
        )
    number = {letter: index for index, letter in enumerate(sorted(shared))}
    texts = [_SharedWords(text, number) for text in (candidate, reference)]
    width = max(1, BLOCK_CELLS // max(len(text.words) for text in texts))
    hits = 0
    for first in range(0, len(number), width):
        block = np.arange(first, min(first + width, len(number)))
        hits += int(np.minimum(*(text.counts(block, skip) for text in texts)).sum())
    return hits


def _hits(candidates: Sequence[str], references: Sequence[str], order: int) -> Ints:
    pairs, texts = len(candidates), [*candidates, *references]
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=2 * pairs)
    pair_codes = np.arange(pairs) << PAIR_SHIFT
    grams, text = _grams("".join(texts), np.repeat(np.concatenate([pair_codes, pair_codes | 1]), lengths), order)
    keys = np.sort((grams << 1) | text)
    last = np.flatnonzero(keys[1:] != keys[:-1])
    last = np.append(last, len(keys) - 1) if len(keys) else last
    distinct_keys, counts = keys[last], np.diff(last, prepend=-1)
    both = np.flatnonzero(distinct_keys[1:] ^ distinct_keys[:-1] == 1)  # an n-gram of a pair, on both sides
    common = np.minimum(counts[both], counts[both + 1])
    return np.bincount(distinct_keys[both] >> PAIR_SHIFT, weights=common, minlength=pairs).astype(np.int64)


def _grams(letters: str, text: Ints, order: int) -> tuple[Ints, Ints]:
    """Number each n-gram, equal for equal ones, with its text; none extends over the end of a text."""
    codes = np.frombuffer(letters.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)
    if order == 1:
        return codes, text
    grams = codes
    for length in range(2, order + 1):
        if length > 2:  # renumbered, so that the bits of two letters suffice
            grams = np.unique(grams, return_inverse=True)[1]
        grams = (grams[:-1] << LETTER_BITS) | codes[length - 1 :]
    within = text[: len(grams)] == text[len(text) - len(grams) :]
    return grams[within], text[: len(grams)][within]


class _SharedWords:
    """Shared words of a text in order: their numbers (`words`) and positions in the whole text (`at`)."""

    def __init__(self, text: str, number: dict[str, int]) -> None:
        shared = [(number[letter], position) for position, letter in enumerate(text) if letter in number]
        self.words, self.at = np.array(shared, dtype=np.int64).T
        self.order = np.argsort(self.words, kind="stable")  # positions of word 0, of word 1, ...: each has one
        self.starts = np.searchsorted(self.words[self.order], np.arange(len(number)))

    def counts(self, block: Ints, skip: int | None) -> Ints:
        """Return how often each pair occurs: (second word, first word of the block)."""
        before = np.zeros((len(self.words) + 1, len(block)), dtype=np.int32)
        np.cumsum(self.words[:, None] == block, axis=0, out=before[1:])
        preceding = before[:-1][self.order]
        if skip is not None:
            too_far = np.searchsorted(self.at, self.at - skip - 1)
            preceding -= before[too_far[self.order]]
        return np.asarray(np.add.reduceat(preceding, self.starts, axis=0, dtype=np.int64))


LENGTH_CELLS = 10**11  # words of one text times words of the other; about three seconds
PATH_CELLS = 2 * 10**9  # a quarter of a gigabyte of bits
PATH_PAIRS = 10**6  # of sentences
WEIGHTED_CELLS = 4 * 10**8  # about ten seconds
WEIGHTED_PATH_CELLS = 2 * 10**8
WEIGHTED_PAIRS = 40_000  # of sentences; about ten seconds
Cells = list[tuple[int, int]]  # matches as (position in the reference, position in the candidate), last first


def lcs_lengths(candidates: Sequence[str], references: Sequence[str]) -> Ints:
    """Return the number of words in a longest common subsequence of each pair."""
    longest = [max(map(len, texts), default=0) for texts in (candidates, references)]
    _check(longest[0] * longest[1], LENGTH_CELLS, "words times words")
    return np.fromiter(map(LCSseq.similarity, candidates, references), dtype=np.int64, count=len(candidates))


def best_lengths(reference: Sequence[str], candidate: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the LCS of each reference sentence with the candidate sentence that shares most, and vice versa."""
    _check(sum(map(len, reference)) * sum(map(len, candidate)), LENGTH_CELLS // 10, "words times words")
    for_candidate = np.zeros(len(candidate), dtype=np.int64)
    for_reference = np.zeros(len(reference), dtype=np.int64)
    for index, sentence in enumerate(reference):
        lengths = process.cdist([sentence], candidate, scorer=LCSseq.similarity, dtype=np.int32)[0]
        np.maximum(for_candidate, lengths, out=for_candidate)
        for_reference[index] = lengths.max(initial=0)
    return for_reference, for_candidate


def lcs_cells(reference: str, candidate: str) -> Cells:
    """Return the matches on the path of the LCS table."""
    _check(len(reference) * len(candidate), PATH_CELLS, "words times words")
    positions: defaultdict[str, int] = defaultdict(int)
    for position, letter in enumerate(candidate):
        positions[letter] |= 1 << position
    full = (1 << len(candidate)) - 1
    row = full  # a 0 bit is a column where the table grows by one (Hyyrö 2004)
    rows = [row]
    for letter in reference:
        matches = row & positions.get(letter, 0)
        if matches:
            row = ((row + matches) | (row - matches)) & full
        rows.append(row)

    def goes_left(i: int, j: int) -> bool:
        """Return whether the cell to the left is larger than the one above."""
        row, above = rows[i], rows[i - 1]
        return bool(row >> (j - 1) & 1) and row is not above and _zeros(above, j) < _zeros(row, j)

    return _path(reference, candidate, goes_left)


def lcs_positions(reference: Sequence[str], candidate: Sequence[str]) -> list[list[int]]:
    """Return, per reference sentence, the positions on an LCS with any candidate sentence, in order."""
    _check(len(reference) * len(candidate), PATH_PAIRS, "pairs of sentences")
    return _positions_on_paths(reference, candidate, lcs_cells)


def weighted_positions(reference: Sequence[str], candidate: Sequence[str], weight: RunWeight) -> list[list[int]]:
    """Return, per reference sentence, the positions on the paths of weighted tables."""
    _check(len(reference) * len(candidate), WEIGHTED_PAIRS, "pairs of sentences")
    return _positions_on_paths(reference, candidate, partial(weighted_cells, weight=weight))


def weighted_length(candidate: str, reference: str, weight: RunWeight) -> float:
    """Return WLCS (Lin 2004): the sum of the weights of runs of matches."""
    _check(len(candidate) * len(reference), WEIGHTED_CELLS, "words times words")
    rows, columns = sorted((candidate, reference), key=len)
    values = _weighted_table(rows, columns, weight)
    return float(values[-1]) if len(values) else 0.0


def weighted_cells(reference: str, candidate: str, weight: RunWeight) -> Cells:
    """Return the matches on the path of the weighted table."""
    _check(len(reference) * len(candidate), WEIGHTED_PATH_CELLS, "words times words")
    left = np.zeros((len(reference), len(candidate)), dtype=np.bool_)
    _weighted_table(reference, candidate, weight, left)
    return _path(reference, candidate, lambda i, j: bool(left[i - 1, j - 1]))


def weighted_rows(rows: str, columns: str, weight: RunWeight) -> Floats:
    """Return the whole weighted table, for explanations."""
    return np.array([_weighted_table(rows[: i + 1], columns, weight) for i in range(len(rows))])


def _positions_on_paths(
    reference: Sequence[str], candidate: Sequence[str], path: Callable[[str, str], Cells]
) -> list[list[int]]:
    words = [frozenset(sentence) for sentence in candidate]
    positions = []
    for sentence in reference:
        marked: set[int] = set()
        reference_words = frozenset(sentence)
        for candidate_sentence, candidate_words in zip(candidate, words, strict=True):
            if not reference_words.isdisjoint(candidate_words):
                marked.update(position for position, _ in path(sentence, candidate_sentence))
        positions.append(sorted(marked))
    return positions


def _path(reference: str, candidate: str, goes_left: Callable[[int, int], bool]) -> Cells:
    """Walk from the last corner of a table; `goes_left(i, j)` decides where the words of a cell differ."""
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
    """Return a table value: the number of growing columns among the first `columns`."""
    return columns - (row & ((1 << columns) - 1)).bit_count()


def _weighted_table(rows: str, columns: str, weight: RunWeight, left: Bools | None = None) -> Floats:
    """Return the last row of the weighted table; `left` is set where the path goes left.

    A match always extends the diagonal, even where the cell to the left is larger, as in the paper and the script: a
    row is a running maximum that restarts at each match.
    """
    values = np.array([worth(weight, run) for run in range(len(rows) + 2)])
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for position, letter in enumerate(columns):
        positions[letter].append(position)
    matches = {letter: np.array(columns_of) for letter, columns_of in positions.items()}
    above, runs = np.zeros(len(columns) + 1), np.zeros(len(columns) + 1, dtype=np.int64)
    rising = True
    for number, letter in enumerate(rows):
        hits = matches.get(letter)
        if hits is None and rising:  # the row equals the one above, and the path goes up
            runs = np.zeros_like(runs)
            continue
        cells, longer = above.copy(), np.zeros_like(runs)
        if hits is not None:
            run = runs[hits]
            cells[hits + 1] = (above[hits] + values[run + 1]) - values[run]  # in the script's order of operations
            longer[hits + 1] = run + 1
        row = np.maximum.accumulate(cells)
        rising = hits is None or not (row[hits + 1] > cells[hits + 1]).any()
        if hits is not None and not rising:
            row = _restarting_maximum(cells, hits + 1)
        if left is not None:
            left[number] = above[1:] < row[:-1]
        above, runs = row, longer
    return above[1:]


def _restarting_maximum(cells: Floats, starts: Ints) -> Floats:
    """Return a running maximum that restarts at each start.

    Complex numbers compare by their real part first, here the number of starts so far.
    """
    is_start = np.zeros(len(cells))
    is_start[starts] = 1
    numbered = np.empty(len(cells), dtype=np.complex128)
    numbered.real, numbered.imag = np.cumsum(is_start), cells
    return np.asarray(np.maximum.accumulate(numbered).imag)


def _check(size: int, limit: int, unit: str) -> None:
    if size > limit:
        raise TextTooLongError(
            f"{size:,} {unit} to compare, and this metric takes at most {limit:,}; cut the texts with words=N"
        )
