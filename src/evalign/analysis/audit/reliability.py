"""Would the same metric say the same again? Its scores beside people's in, a `Reliability` out.

Items (rows that share references and source) are split at random into halves, again and again: how far apart the
correlation with people is in the two halves, and how alike they order the systems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from evalign.analysis.audit.data_quality import item_of
from evalign.analysis.audit.trial import Trial
from evalign.analysis.audit.values import Reliability
from evalign.analysis.rated_tables import RatedTable
from evalign.errors import UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.stats.correlation import kendall, pearson
from evalign.stats.estimate import FEWEST_ROWS, Estimate, codes
from evalign.types import Floats, Row, Segment
from evalign.types.arrays import Bools

SPLITS = 200
REORDERED_ROWS = 30


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
