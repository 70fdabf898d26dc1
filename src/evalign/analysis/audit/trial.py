"""One metric on trial: its scores as numbers that are higher for better texts, what a pair costs, and its reliability.

Rows that cannot be scored are NaN, and counted by those who ask. Cost is measured on texts as long as the data's, twice
and four times as long (neighbouring rows joined), in rounds over different rows; words are turned round by some places,
so that no text was seen before and nothing comes from a cache of vectors. For reliability items (rows that share
references and source) are split at random into halves, again and again: how far apart the correlation with people is in
the two halves, and how alike they order the systems.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalign.analysis.audit.data_quality import item_of, spread
from evalign.analysis.audit.values import Cost, CostAt, Reliability
from evalign.analysis.rated_tables import RatedTable
from evalign.errors import UndefinedStatisticError
from evalign.metrics.base import Metric, Scorer, score_blocks
from evalign.stats.bootstrap import Resampling
from evalign.stats.correlation import kendall, pearson
from evalign.stats.estimate import FEWEST_ROWS, Estimate, codes
from evalign.text.words import unicode_words
from evalign.types import Floats, Row, Segment
from evalign.types.arrays import Bools

BLOCK = 128  # rows: so that a progress bar moves
TIMES = (1, 2, 4)
ROUNDS = 3
PAIRS = 24  # of a round: fewer would not fill a batch of short texts
LEAST_SECONDS = 0.02  # of a measurement: shorter ones are repeated
MOST_REPEATS = 1000
WARM_UP = 2
PAIRS_TIMED = ROUNDS * PAIRS * len(TIMES)
SPLITS = 200
REORDERED_ROWS = 30


@dataclass(frozen=True, eq=False)
class Trial:
    """A metric, its scorer, and what is told how many rows are done."""

    metric: Metric
    scorer: Scorer
    advance: Callable[[int], Any] = lambda _: None

    def segments(self, rows: Sequence[Row]) -> list[Segment]:
        """One segment per row; a row that cannot be scored has an error."""
        segments: list[Segment] = []
        for _, _, block in score_blocks([(self.metric, self.scorer)], rows, BLOCK):
            segments += block
            self.advance(len(block))
        return segments

    def scores(self, rows: Sequence[Row]) -> Floats:
        """The main field of every row."""
        return self.values(self.segments(rows))

    def values(self, segments: Sequence[Segment]) -> Floats:
        """The main field, turned round if lower is better, NaN where a row failed."""
        sign = 1.0 if self.metric.higher_is_better else -1.0
        return np.array([
            float("nan") if segment.error is not None else sign * segment.scores[self.metric.main]
            for segment in segments
        ])  # fmt: skip


def cost(trial: Trial, rows: Sequence[Row], shift: int = 0) -> Cost:
    """Processor time per pair; `shift` makes the texts of several metrics differ, whose encoder may be the same."""
    full = [row for row in rows if row.candidate.strip() and row.references and row.references[0].strip()] or list(rows)
    trial.segments(full[:WARM_UP])
    milliseconds: dict[int, list[float]] = {times: [] for times in TIMES}
    words: dict[int, list[float]] = {times: [] for times in TIMES}
    refused = ""
    for number in range(ROUNDS):
        for times in TIMES:
            pairs = [_pair(full, number * PAIRS + place, times, 1 + shift * ROUNDS + number) for place in range(PAIRS)]
            seconds, failed = _seconds(trial, pairs)
            if failed:
                refused = f"texts {times} times as long were refused ({failed})"
                continue
            milliseconds[times].append(1000 * seconds / len(pairs))
            words[times].append(float(np.mean([_words(row) for row in pairs])))
    lengths = tuple(
        CostAt(times, float(np.mean(words[times])), spread(milliseconds[times])) for times in TIMES if words[times]
    )
    return Cost(lengths, _exponent(words, milliseconds), refused)


def _pair(rows: Sequence[Row], first: int, times: int, shift: int) -> Row:
    joined = [rows[(first + step) % len(rows)] for step in range(times)]
    sides = [" ".join(_turned(text, shift) for text in texts) for texts in (
        [row.candidate for row in joined], [(*row.references, "")[0] for row in joined],
    )]  # fmt: skip
    source = " ".join(_turned(row.source or "", shift) for row in joined)
    own = joined[0]
    return Row(own.id, sides[0], (sides[1],) if own.references else (), None if own.source is None else source)


def _turned(text: str, shift: int) -> str:
    words = text.split()
    shift %= max(1, len(words))
    return " ".join(words[shift:] + words[:shift])


def _words(row: Row) -> int:
    return sum(len(unicode_words(text)) for text in (row.candidate, *row.references))


def _seconds(trial: Trial, pairs: list[Row]) -> tuple[float, str]:
    """Processor time of scoring the pairs once, and why it failed if it did."""
    repeats, spent = 0, 0.0
    while spent < LEAST_SECONDS and repeats < MOST_REPEATS:
        began = time.process_time()
        segments = trial.segments(pairs) if repeats == 0 else trial.scorer.score(pairs)
        spent += time.process_time() - began
        repeats += 1
        if failed := next((segment.error for segment in segments if segment.error), None):
            return 0.0, failed
    return spent / repeats, ""


def _exponent(words: dict[int, list[float]], milliseconds: dict[int, list[float]]) -> Estimate:
    """The slope of log time over log words: median, lowest and highest of the rounds."""
    known = [times for times in TIMES if len(words[times]) == ROUNDS]
    lengths = np.log([[words[times][number] for times in known] for number in range(ROUNDS)])
    if len(known) < 2 or not np.isfinite(lengths).all() or np.ptp(lengths.mean(axis=0)) <= 0:
        return Estimate(None, ROUNDS, flags=("no growth: fewer than two lengths were scored",))
    spent = np.log([[max(milliseconds[times][number], 1e-9) for times in known] for number in range(ROUNDS)])
    slopes = [_slope(lengths[number], spent[number]) for number in range(ROUNDS)]
    return Estimate(float(np.median(slopes)), ROUNDS, min(slopes), max(slopes))


def _slope(x: Floats, y: Floats) -> float:
    centred = x - x.mean()
    return float((centred * (y - y.mean())).sum() / (centred**2).sum())


def reliability(
    trial: Trial, rows: Sequence[Row], segments: Sequence[Segment], table: RatedTable, resampling: Resampling
) -> Reliability:
    """`rows` and their `segments` are all that was scored, `table` those of them that have a rating and a score."""
    scores = table.scores[str(trial.metric)]
    halves = _halves(table.rows, resampling)
    return Reliability(
        {aspect: _difference(halves, scores, human) for aspect, human in table.human.items()},
        _ranking(halves, scores, [row.system for row in table.rows]),
        _reordered(trial, rows[:REORDERED_ROWS], trial.values(segments[:REORDERED_ROWS])),
        dict(Counter(flag for segment in segments for flag in segment.flags)),
        sum(bool(segment.flags) for segment in segments),
        sum(segment.error is not None for segment in segments),
        len(segments),
    )


def _halves(rows: Sequence[Row], resampling: Resampling) -> list[Bools]:
    """Masks of the rows in the first half, one per split."""
    item, names = codes([item_of(row) for row in rows], "items", len(rows))
    masks = []
    for split in range(SPLITS):
        first = resampling.generator(split).permutation(len(names)) < len(names) / 2
        masks.append(first[item])
    return masks


def _difference(halves: Sequence[Bools], scores: Floats, human: Floats) -> Estimate:
    """The median of |r - r'| over splits, 0.95 of which lie below `high`."""
    apart = [
        abs(first - second)
        for mask in halves
        if (first := _pearson(scores[mask], human[mask])) is not None
        and (second := _pearson(scores[~mask], human[~mask])) is not None
    ]
    if len(apart) < SPLITS / 2:
        return Estimate(None, len(apart), flags=("too few rows, or constant ones, in a half",))
    return Estimate(float(np.median(apart)), len(apart), 0.0, float(np.quantile(apart, 0.95)))


def _pearson(scores: Floats, human: Floats) -> float | None:
    try:
        return pearson(scores, human)
    except UndefinedStatisticError:
        return None


def _ranking(halves: Sequence[Bools], scores: Floats, systems: Sequence[str]) -> Estimate | None:
    """The mean tau-b of the systems' mean scores in both halves, and where 95 % of the splits lie."""
    code, names = codes(systems, "systems", len(scores))
    if len(names) < FEWEST_ROWS:
        return None
    alike = []
    for mask in halves:
        counts = [np.bincount(code[side], minlength=len(names)) for side in (mask, ~mask)]
        if all(count.all() for count in counts):
            first, second = (
                np.bincount(code[side], scores[side], len(names)) / count
                for side, count in zip((mask, ~mask), counts, strict=True)
            )
            try:
                alike.append(kendall(first, second))
            except UndefinedStatisticError:
                continue
    if len(alike) < SPLITS / 2:
        return Estimate(None, len(alike), flags=("too few rows of each system for two halves",))
    low, high = np.quantile(alike, [0.025, 0.975])
    return Estimate(float(np.mean(alike)), len(alike), float(low), float(high))


def _reordered(trial: Trial, rows: Sequence[Row], values: Floats) -> float:
    """The largest change of a score when rows come last first and one at a time."""
    again = np.array([trial.scores([row])[0] for row in reversed(rows)])[::-1]
    moved = np.abs(again - values)
    return float(np.nanmax(moved)) if np.isfinite(moved).any() else 0.0
