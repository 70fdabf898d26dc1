"""From a rated table to columns: what people said, and what metrics and other people's programs said, row by row.

In: rows with a `human` field (a number, or an object of named ratings), metrics, and score files.
Out: `RatedTable`, parallel arrays over the rows that everybody scored; who was left out, and why, is counted. From that
the places of rows in both orders (percentiles need no common scale), and where a metric and people differ most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from evalign.analysis.scoring import Result, ScoredSource, score_source
from evalign.data.rows import InMemory, RowSource
from evalign.errors import FileFormatError, InputError, SpecError
from evalign.metrics.base import Metric
from evalign.stats.estimate import merged
from evalign.types import Floats, Ints, Row, Segment

PLAIN = "human"  # the aspect's name where people gave one number per row


@dataclass(frozen=True, eq=False)
class RatedTable:
    """Columns over the same rows; scores are turned round where lower is better."""

    rows: Sequence[Row]
    human: Mapping[str, Floats]  # by aspect
    scores: Mapping[str, Floats]  # by metric
    signatures: Mapping[str, str]
    left_out: Mapping[str, int]  # why -> how many rows

    def part(self, rows: Ints) -> RatedTable:
        """The same with some of the rows only."""
        return replace(
            self,
            rows=[self.rows[row] for row in rows],
            human={aspect: values[rows] for aspect, values in self.human.items()},
            scores={name: values[rows] for name, values in self.scores.items()},
        )

    def labels(self, name: str) -> list[str]:
        """A field of every row: `system`, or one that was carried along."""
        if name == "system":
            return [row.system for row in self.rows]
        return [_label(row, name) for row in self.rows]


def rate(
    source: RowSource,
    metrics: Sequence[Metric],
    others: Mapping[str, Mapping[int, float]] | None = None,
    advance: Callable[[], Any] = lambda: None,
    missing: str = "rows",
) -> RatedTable:
    """Scores every row; `others` are columns by row number that somebody else computed (`data.score_files`).

    `missing` says what a missing score or rating costs: the whole row, or (`cells`) only that cell, which is then NaN.
    """
    rows = list(source)
    if not rows:
        raise InputError("no rows to judge: the input is empty")
    columns: dict[str, Floats] = {}
    signatures: dict[str, str] = {}
    problems: Counter[str] = Counter()
    usable, human = _ratings(rows, problems, missing)
    if taken := {str(metric) for metric in metrics} & set(others or {}):
        raise SpecError(f"two columns are called {taken.pop()}: give the scores from a file another name")
    for metric in metrics:
        columns[str(metric)] = values = np.full(len(rows), np.nan)
        if isinstance(source, ScoredSource):
            values[:], signatures[str(metric)] = _scores(metric, source, advance)
            continue
        rated = [rows[place] for place in np.flatnonzero(usable)]
        values[usable], signatures[str(metric)] = _scores(metric, InMemory(rated), advance)
    for name, scores in (others or {}).items():
        columns[name] = np.array([scores.get(place, np.nan) for place in range(len(rows))])
        signatures[name] = "scores from a file"
    places = _scored(columns, usable, problems, missing)
    return RatedTable(
        [rows[place] for place in places],
        {aspect: values[places] for aspect, values in human.items()},
        {name: values[places] for name, values in columns.items()},
        signatures,
        dict(problems),
    )


def rate_pairs(
    better: RowSource, worse: RowSource, metrics: Sequence[Metric], advance: Callable[[], Any] = lambda: None
) -> tuple[RatedTable, RatedTable]:
    """Scores both sides of pairs whose order people gave; pairs that a metric could not score are left out."""
    sides = [list(better), list(worse)]
    if not sides[0]:
        raise InputError("no pairs to judge: the input is empty")
    scored = [{str(metric): _scores(metric, InMemory(rows), advance) for metric in metrics} for rows in sides]
    problems: Counter[str] = Counter()
    both = {name: scored[0][name][0] + scored[1][name][0] for name in map(str, metrics)}  # NaN if one of them is
    places = _scored(both, np.ones(len(sides[0]), dtype=bool), problems)
    first, second = (
        RatedTable(
            [rows[place] for place in places],
            {},
            {name: values[places] for name, (values, _) in side.items()},
            {name: signature for name, (_, signature) in side.items()},
            dict(problems),
        )
        for rows, side in zip(sides, scored, strict=True)
    )
    return first, second


def _scored(columns: Mapping[str, Floats], usable: Any, problems: Counter[str], missing: str = "rows") -> Ints:
    """Places of the usable rows; those without a score in some column are counted, and left out or kept as cells."""
    for name, values in columns.items():
        absent = usable & ~np.isfinite(values)
        if absent.any():
            problems[f"no score from {name}" + ("" if missing == "rows" else ", for it alone")] += int(absent.sum())
            usable = usable & ~absent if missing == "rows" else usable
    return np.flatnonzero(usable)


def _scores(metric: Metric, rows: RowSource, advance: Callable[[], Any]) -> tuple[Floats, str]:
    """The metric's main field, turned round if lower is better, NaN where a row failed; and its signature."""
    values: list[float] = []

    def emit(_: Result, segment: Segment) -> None:
        value = float("nan") if segment.error is not None else segment.scores[metric.main]
        values.append(value if metric.higher_is_better else -value)
        advance()

    results = score_source(rows, [metric], emit)
    return np.array(values), results[0].signature


def _ratings(rows: list[Row], problems: Counter[str], missing: str) -> tuple[Any, dict[str, Floats]]:
    """Which rows people rated on every aspect (with cells: on any), and the ratings (NaN where there is none)."""
    named = [row.human for row in rows if isinstance(row.human, Mapping)]
    aspects = list(dict.fromkeys(str(name) for ratings in named for name in ratings)) or [PLAIN]
    human = {aspect: np.array([_rating(row, aspect) for row in rows]) for aspect in aspects}
    rated = np.array([np.isfinite(values) for values in human.values()])
    usable = rated.all(axis=0) if missing == "rows" else rated.any(axis=0)
    if missing == "cells" and len(aspects) > 1:
        for aspect, values in zip(aspects, rated, strict=True):
            if absent := int((usable & ~values).sum()):
                problems[f"no human score for {aspect}, for it alone"] = absent
    if not usable.all():
        problems["no human score"] = int((~usable).sum())
    if not usable.any():
        raise InputError("no row has a human score: its field must hold a number or an object of numbers")
    return usable, human


def _rating(row: Row, aspect: str) -> float:
    value = row.human.get(aspect) if isinstance(row.human, Mapping) else row.human if aspect == PLAIN else None
    if value is None or value == "":
        return float("nan")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise FileFormatError(
            f"row {row.id}: the human score {aspect} is {str(value)[:40]!r}, expected a number"
        ) from None
    return number if np.isfinite(number) else float("nan")


def _label(row: Row, name: str) -> str:
    if row.extra.get(name) is None:
        raise InputError(f"row {row.id} has no {name!r}, which rows are grouped by")
    return str(row.extra[name])


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
