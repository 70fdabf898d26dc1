"""Where a metric and people differ: each row's place in the order of both, and the rows that are furthest apart.

In: a `RatedTable`. Out: percentiles (0 the worst row, 100 the best, ties share their mean place), which need no common
scale, and the worst `Disagreement`s of a metric in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from evalign.analysis.rated_tables import RatedTable
from evalign.stats.ties import merged
from evalign.types import Floats, Row


@dataclass(frozen=True)
class Disagreement:
    """One row, its place for the metric and for people (0 to 100), and both values."""

    row: Row
    metric_place: float
    human_place: float
    score: float
    ratings: dict[str, float]  # by aspect

    @property
    def overrated(self) -> bool:
        """The metric puts it above people."""
        return self.metric_place > self.human_place


def places(values: Floats) -> Floats:
    """The percentile of each value among all: 0 for the lowest, 100 for the highest, 50 if there is only one."""
    if len(values) < 2:
        return np.full(len(values), 50.0)
    return np.asarray((rankdata(merged(values)) - 1) / (len(values) - 1) * 100)


def human_places(table: RatedTable) -> Floats:
    """People's percentile of each row, the mean over all aspects."""
    return np.asarray(np.mean([places(values) for values in table.human.values()], axis=0))


def worst(table: RatedTable, metric: str, most: int = 3) -> list[Disagreement]:
    """The rows a metric overrates most, then those it underrates most; equal ones in the order of the table."""
    theirs, ours = human_places(table), places(table.scores[metric])
    apart = ours - theirs
    over = [row for row in np.argsort(-apart, kind="stable")[:most] if apart[row] > 0]
    under = [row for row in np.argsort(apart, kind="stable")[:most] if apart[row] < 0]
    return [
        Disagreement(
            table.rows[row],
            float(ours[row]),
            float(theirs[row]),
            float(table.scores[metric][row]),
            {aspect: float(values[row]) for aspect, values in table.human.items()},
        )
        for row in (*over, *under)
    ]
