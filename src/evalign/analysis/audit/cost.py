"""What a pair costs and how that grows: a metric and rows in, a `Cost` out.

Texts as long as the data's, twice and four times as long (neighbouring rows joined), in rounds over different rows.
Words are turned round by some places, so that no text was seen before and nothing comes from a cache of vectors.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from evalign.analysis.audit.data_quality import spread
from evalign.analysis.audit.trial import Trial
from evalign.analysis.audit.values import Cost, CostAt
from evalign.stats.estimate import Estimate
from evalign.text.words import unicode_words
from evalign.types import Floats, Row

TIMES = (1, 2, 4)
ROUNDS = 3
PAIRS = 24  # of a round: fewer would not fill a batch of short texts
LEAST_SECONDS = 0.02  # of a measurement: shorter ones are repeated
MOST_REPEATS = 1000
WARM_UP = 2
PAIRS_TIMED = ROUNDS * PAIRS * len(TIMES)


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
    """The slope of log time over log words: of the rounds' medians, and lowest and highest of single rounds."""
    known = [times for times in TIMES if len(words[times]) == ROUNDS]
    lengths = np.log([[words[times][number] for times in known] for number in range(ROUNDS)])
    if len(known) < 2 or not np.isfinite(lengths).all() or np.ptp(lengths.mean(axis=0)) <= 0:
        return Estimate(None, ROUNDS, flags=("no growth: fewer than two lengths were scored",))
    spent = np.log([[max(milliseconds[times][number], 1e-9) for times in known] for number in range(ROUNDS)])
    slopes = [_slope(lengths[number], spent[number]) for number in range(ROUNDS)]
    return Estimate(_slope(lengths.mean(axis=0), np.median(spent, axis=0)), ROUNDS, min(slopes), max(slopes))


def _slope(x: Floats, y: Floats) -> float:
    centred = x - x.mean()
    return float((centred * (y - y.mean())).sum() / (centred**2).sum())
