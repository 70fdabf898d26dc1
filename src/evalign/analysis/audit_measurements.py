"""Trial of one metric: its cost per pair, its reliability, and its robustness to changed texts.

Scores are negated where lower is better, and NaN where a row failed. Cost is measured at once, twice and four
times the text length of the data (neighbouring rows joined), in rounds over different rows. Words are rotated, so that
no text repeats and no vector comes from the cache. For reliability, items (rows that share
references and source) are split at random into halves many times: reported are the difference of the correlations with
people, and the agreement of the two rankings of systems.
"""

from __future__ import annotations

import random
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalign.analysis.data_quality import Spread, item_of, spread
from evalign.analysis.rated_tables import RatedTable
from evalign.core import Floats, Row, Segment
from evalign.core.metric import Metric, Scorer
from evalign.core.scoring import StreamOptions, score_stream
from evalign.core.tokens import Bools
from evalign.errors import UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.stats.correlation import kendall, pearson
from evalign.stats.estimate import MIN_ROWS, Estimate, codes
from evalign.text.words import unicode_words, word_set

BLOCK_ROWS = 128  # small, so that the progress bar moves
LENGTH_FACTORS = (1, 2, 4)  # text lengths, relative to the data
ROUNDS = 3
PAIRS_PER_ROUND = 24  # fewer would not fill a batch of short texts
MIN_SECONDS = 0.02  # of a measurement; shorter calls are repeated
MAX_REPEATS = 1000
WARM_UP_ROWS = 2
PAIRS_TIMED = ROUNDS * PAIRS_PER_ROUND * len(LENGTH_FACTORS)
SPLITS = 200
REORDERED_ROWS = 30


@dataclass(frozen=True)
class CostAt:
    """Cost of pairs of one length: milliseconds of processor time per pair, over rounds."""

    times: int  # length relative to the data
    words: float  # mean of words in candidate and reference together
    milliseconds: Spread


@dataclass(frozen=True)
class Cost:
    """Time by length, and the exponent k in time ~ words^k with its minimum and maximum over rounds."""

    lengths: tuple[CostAt, ...]
    exponent: Estimate
    note: str = ""  # lengths that the metric refused


@dataclass(frozen=True)
class Robustness:
    """Effect of one change of the candidates on their scores, negated where lower is better."""

    change: str
    about: str
    expected: str  # fall, stay or rise
    rows: int
    mean: float
    deviations: float | None  # mean in standard deviations of the original scores; None if those are constant
    fell: float  # shares of the rows
    rose: float


@dataclass(frozen=True)
class Reliability:
    """Agreement of the metric with itself on different rows and in a different order of rows."""

    half_difference: Mapping[str, Estimate]  # by aspect: |r - r'| of Pearson in two halves; 95 % lie below `high`
    half_ranking: Estimate | None  # Kendall's tau of the system rankings of two halves; None below three systems
    reordered: float  # largest change of a score when rows are scored in reverse, one at a time
    flags: Mapping[str, int]  # flag -> rows
    flagged: int  # rows with any flag
    failed: int  # rows without a score
    scored: int


@dataclass(frozen=True, eq=False)
class AuditTrial:
    """A metric under audit and its scorer; `advance` receives the number of rows scored after each block."""

    metric: Metric
    scorer: Scorer
    advance: Callable[[int], Any] = lambda _: None

    def segments(self, rows: Sequence[Row]) -> list[Segment]:
        """Return one segment per row; a row that cannot be scored has an error."""
        segments: list[Segment] = []
        for block in score_stream([(self.metric, self.scorer)], rows, StreamOptions(BLOCK_ROWS)):
            segments += block.segments[0]
            self.advance(len(block.rows))
        return segments

    def scores(self, rows: Sequence[Row]) -> Floats:
        """Return the values of every row."""
        return self.values(self.segments(rows))

    def values(self, segments: Sequence[Segment]) -> Floats:
        """Return the main field, negated if lower is better, NaN where a row failed."""
        sign = 1.0 if self.metric.higher_is_better else -1.0
        return np.array([
            float("nan") if segment.error is not None else sign * segment.scores[self.metric.main]
            for segment in segments
        ])  # fmt: skip


def cost(trial: AuditTrial, rows: Sequence[Row], shift: int = 0) -> Cost:
    """Measure processor time per pair.

    Args:
        trial: The metric.
        rows: Rows whose texts are joined to reach each measured length.
        shift: Index of the metric; rotates words by metric, so that a shared encoder's cache never hits.
    """
    full = [row for row in rows if row.candidate.strip() and row.references and row.references[0].strip()] or list(rows)
    trial.segments(full[:WARM_UP_ROWS])
    milliseconds: dict[int, list[float]] = {times: [] for times in LENGTH_FACTORS}
    words: dict[int, list[float]] = {times: [] for times in LENGTH_FACTORS}
    refused = ""
    for number in range(ROUNDS):
        for times in LENGTH_FACTORS:
            pairs = [
                _pair(full, number * PAIRS_PER_ROUND + index, times, 1 + shift * ROUNDS + number)
                for index in range(PAIRS_PER_ROUND)
            ]
            seconds, failed = _cpu_seconds(trial, pairs)
            if failed:
                refused = f"texts {times} times as long were refused ({failed})"
                continue
            milliseconds[times].append(1000 * seconds / len(pairs))
            words[times].append(float(np.mean([_words(row) for row in pairs])))
    lengths = tuple(
        CostAt(times, float(np.mean(words[times])), spread(milliseconds[times]))
        for times in LENGTH_FACTORS
        if words[times]
    )
    return Cost(lengths, _exponent(words, milliseconds), refused)


def _pair(rows: Sequence[Row], first: int, times: int, shift: int) -> Row:
    joined = [rows[(first + step) % len(rows)] for step in range(times)]
    sides = [" ".join(_rotated(text, shift) for text in texts) for texts in (
        [row.candidate for row in joined], [(*row.references, "")[0] for row in joined],
    )]  # fmt: skip
    source = " ".join(_rotated(row.source or "", shift) for row in joined)
    row = joined[0]
    return Row(row.id, sides[0], (sides[1],) if row.references else (), None if row.source is None else source)


def _rotated(text: str, shift: int) -> str:
    words = text.split()
    shift %= max(1, len(words))
    return " ".join(words[shift:] + words[:shift])


def _words(row: Row) -> int:
    return sum(len(unicode_words(text)) for text in (row.candidate, *row.references))


def _cpu_seconds(trial: AuditTrial, pairs: list[Row]) -> tuple[float, str]:
    """Return the processor time of scoring the pairs once, and the error if it failed."""
    repeats, spent = 0, 0.0
    while spent < MIN_SECONDS and repeats < MAX_REPEATS:
        began = time.process_time()
        segments = trial.segments(pairs) if repeats == 0 else trial.scorer.score(pairs)
        spent += time.process_time() - began
        repeats += 1
        if failed := next((segment.error for segment in segments if segment.error), None):
            return 0.0, failed
    return spent / repeats, ""


def _exponent(words: dict[int, list[float]], milliseconds: dict[int, list[float]]) -> Estimate:
    """Return the slope of log time over log words: median, minimum and maximum of the rounds."""
    complete = [times for times in LENGTH_FACTORS if len(words[times]) == ROUNDS]
    lengths = np.log([[words[times][number] for times in complete] for number in range(ROUNDS)])
    if len(complete) < 2 or not np.isfinite(lengths).all() or np.ptp(lengths.mean(axis=0)) <= 0:
        return Estimate(None, ROUNDS, flags=("no exponent: fewer than two lengths were scored",))
    spent = np.log([[max(milliseconds[times][number], 1e-9) for times in complete] for number in range(ROUNDS)])
    slopes = [_slope(lengths[number], spent[number]) for number in range(ROUNDS)]
    return Estimate(float(np.median(slopes)), ROUNDS, min(slopes), max(slopes))


def _slope(x: Floats, y: Floats) -> float:
    centred = x - x.mean()
    return float((centred * (y - y.mean())).sum() / (centred**2).sum())


def reliability(
    trial: AuditTrial, rows: Sequence[Row], segments: Sequence[Segment], table: RatedTable, resampling: Resampling
) -> Reliability:
    """Measure reliability.

    Args:
        trial: The metric.
        rows: All scored rows.
        segments: Their segments.
        table: The rows that have a rating and a score.
        resampling: Seed of the splits.
    """
    scores = table.scores[str(trial.metric)]
    halves = _halves(table.rows, resampling)
    return Reliability(
        {aspect: _difference(halves, scores, human) for aspect, human in table.human.items()},
        _ranking(halves, scores, [row.system for row in table.rows]),
        _order_effect(trial, rows[:REORDERED_ROWS], trial.values(segments[:REORDERED_ROWS])),
        dict(Counter(flag for segment in segments for flag in segment.flags)),
        sum(bool(segment.flags) for segment in segments),
        sum(segment.error is not None for segment in segments),
        len(segments),
    )


def _halves(rows: Sequence[Row], resampling: Resampling) -> list[Bools]:
    """Return masks of the rows in the first half, one per split."""
    item, names = codes([item_of(row) for row in rows], "items", len(rows))
    masks = []
    for split in range(SPLITS):
        first = resampling.generator(split).permutation(len(names)) < len(names) / 2
        masks.append(first[item])
    return masks


def _difference(halves: Sequence[Bools], scores: Floats, human: Floats) -> Estimate:
    """Return the median of |r - r'| over splits; 95 % of them are below `high`."""
    differences = [
        abs(first - second)
        for mask in halves
        if (first := _pearson(scores[mask], human[mask])) is not None
        and (second := _pearson(scores[~mask], human[~mask])) is not None
    ]
    if len(differences) < SPLITS / 2:
        return Estimate(None, len(differences), flags=("too few rows, or constant scores or ratings, in a half",))
    return Estimate(float(np.median(differences)), len(differences), 0.0, float(np.quantile(differences, 0.95)))


def _pearson(scores: Floats, human: Floats) -> float | None:
    try:
        return pearson(scores, human)
    except UndefinedStatisticError:
        return None


def _ranking(halves: Sequence[Bools], scores: Floats, systems: Sequence[str]) -> Estimate | None:
    """Return the mean tau-b of the systems' mean scores in both halves, and the 95 % range of the splits."""
    code, names = codes(systems, "systems", len(scores))
    if len(names) < MIN_ROWS:
        return None
    taus = []
    for mask in halves:
        counts = [np.bincount(code[side], minlength=len(names)) for side in (mask, ~mask)]
        if all(count.all() for count in counts):
            first, second = (
                np.bincount(code[side], scores[side], len(names)) / count
                for side, count in zip((mask, ~mask), counts, strict=True)
            )
            try:
                taus.append(kendall(first, second))
            except UndefinedStatisticError:
                continue
    if len(taus) < SPLITS / 2:
        return Estimate(None, len(taus), flags=("too few rows of each system for two halves",))
    low, high = np.quantile(taus, [0.025, 0.975])
    return Estimate(float(np.mean(taus)), len(taus), float(low), float(high))


def _order_effect(trial: AuditTrial, rows: Sequence[Row], values: Floats) -> float:
    """Return the largest change of a score when rows are scored in reverse order, one at a time."""
    again = np.array([trial.scores([row])[0] for row in reversed(rows)])[::-1]
    moved = np.abs(again - values)
    return float(np.nanmax(moved)) if np.isfinite(moved).any() else 0.0


STUFFING = "the of and to in a is that for it"
UNRELATED = "violin granite Thursday photosynthesis harbour economics bread lantern"
FALL, STAY, RISE = "fall", "stay", "rise"
MISSPELT_EVERY = 4  # words
WORD = re.compile(r"\S+")
BATCH_TOLERANCE = 1e-5  # score changes up to this size can come from batch composition alone


@dataclass(frozen=True)
class Change:
    """A change of a text, and its expected effect on the score."""

    about: str
    expected: str
    apply: Callable[[str], str]


def shuffled(text: str) -> str:
    """Shuffle the words; the random seed is the text's length."""
    words = text.split()
    random.Random(len(text)).shuffle(words)
    return " ".join(words)


def first_half(text: str) -> str:
    """Return the first half of the words, at least one."""
    words = text.split()
    return " ".join(words[: max(1, len(words) // 2)])


def misspelt(text: str) -> str:
    """Swap two adjacent characters in the middle of every fourth word of four or more characters."""
    long_words = [word for word in WORD.finditer(text) if len(word.group()) > 3]
    for word in reversed(long_words[::MISSPELT_EVERY]):
        middle = word.start() + len(word.group()) // 2
        text = text[: middle - 1] + text[middle] + text[middle - 1] + text[middle + 1 :]
    return text


def without_punctuation(text: str) -> str:
    """Remove punctuation marks; a text of punctuation marks only is returned as it is."""
    rest = "".join(char for char in text if not unicodedata.category(char).startswith("P"))
    return " ".join(rest.split()) or text


def without_stop_words(text: str) -> str:
    """Remove English function words; a text of function words only is returned as it is."""
    return " ".join(word for word in text.split() if word.lower() not in word_set("function words")) or text


TRICKS = {
    "repetition": Change("the whole text three times", FALL, lambda text: " ".join([text] * 3)),
    "padding": Change("eight unrelated words appended", FALL, lambda text: f"{text} {UNRELATED}"),
    "stuffing": Change("ten function words appended", FALL, lambda text: f"{text} {STUFFING}"),
    "truncation": Change("only the first half", FALL, first_half),
    "shuffling": Change("words in random order", FALL, shuffled),
}
CHANGES = TRICKS | {
    "function words": Change("without English function words", FALL, without_stop_words),
    "misspelling": Change("two letters swapped in every fourth longer word", FALL, misspelt),
    "lower case": Change("all letters in lower case", STAY, str.lower),
    "punctuation": Change("without punctuation marks", STAY, without_punctuation),
    "spaces": Change("two spaces between words", STAY, lambda text: "  ".join(text.split())),
}
# Replacement texts from another row or field, so not in CHANGES, which are functions of the candidate.
OTHER_TEXT = Change("another row's candidate", FALL, str)
REFERENCE = Change("the first reference itself", RISE, str)
CHANGE_COUNT = len(CHANGES) + 2


def robustness(trial: AuditTrial, rows: Sequence[Row], original: Floats) -> tuple[Robustness, ...]:
    """Compare the scores of changed texts with the original scores: all of `CHANGES`, another candidate, the reference.

    Args:
        trial: The metric.
        rows: Rows to change.
        original: Their values before the change.
    """
    measured = []
    for name, change, changed in _changed(rows, "references" in trial.metric.needs):
        moved = trial.scores(changed) - original
        moved = moved[np.isfinite(moved)]
        if len(moved):
            measured.append(_robustness(name, change, moved, original))
    return tuple(measured)


def _changed(rows: Sequence[Row], compares: bool) -> Iterator[tuple[str, Change, list[Row]]]:
    for name, change in CHANGES.items():
        yield name, change, [replace(row, candidate=change.apply(row.candidate)) for row in rows]
    candidates = [_candidate_of_other_item(rows, index) for index in range(len(rows))]
    yield "other text", OTHER_TEXT, [replace(row, candidate=text) for row, text in zip(rows, candidates, strict=True)]
    if compares:
        yield "reference", REFERENCE, [replace(row, candidate=(*row.references, "")[0]) for row in rows]


def _candidate_of_other_item(rows: Sequence[Row], index: int) -> str:
    """Return the next candidate (cyclically) of a different item, or the row's candidate if there is none."""
    item = item_of(rows[index])
    following = (rows[(index + step) % len(rows)] for step in range(1, len(rows)))
    return next((row.candidate for row in following if item_of(row) != item), rows[index].candidate)


def _robustness(name: str, change: Change, moved: Floats, original: Floats) -> Robustness:
    deviation = float(np.nanstd(original))
    return Robustness(
        name,
        change.about,
        change.expected,
        len(moved),
        float(moved.mean()),
        float(moved.mean()) / deviation if deviation > BATCH_TOLERANCE else None,
        float((moved < -BATCH_TOLERANCE).mean()),
        float((moved > BATCH_TOLERANCE).mean()),
    )
