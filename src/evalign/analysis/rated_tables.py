"""Rated tables: columns of human ratings, metric scores and scores from files, row by row.

In: rows with a `human` field (a number, or an object of named ratings), metrics, and score files. Out: a `RatedTable`,
parallel arrays over the rows that have all scores; rows left out are counted by reason. Percentiles of its rows (which
need no common scale) give the rows where a metric and people differ most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from evalign.analysis.scoring import ScoredSource, score_source
from evalign.core import Floats, Ints, Row, Segment
from evalign.core.metric import Metric
from evalign.core.totals import Result
from evalign.errors import FileFormatError, InputError, SpecError
from evalign.io.rows import InMemory, RowSource
from evalign.stats.estimate import merged

PLAIN = "human"  # name of the aspect if people gave one number per row


@dataclass(frozen=True, eq=False)
class RatedTable:
    """Columns over the same rows; scores are negated where lower is better."""

    rows: Sequence[Row]
    human: Mapping[str, Floats]  # by aspect
    scores: Mapping[str, Floats]  # by metric
    signatures: Mapping[str, str]
    left_out: Mapping[str, int]  # reason -> number of rows

    def part(self, rows: Ints) -> RatedTable:
        """Return the table of the selected rows."""
        return replace(
            self,
            rows=[self.rows[row] for row in rows],
            human={aspect: values[rows] for aspect, values in self.human.items()},
            scores={name: values[rows] for name, values in self.scores.items()},
        )

    def labels(self, name: str) -> list[str]:
        """Return a field of every row: `system`, or a field of `Row.extra`."""
        if name == "system":
            return [row.system for row in self.rows]
        return [_field_value(row, name) for row in self.rows]


def rate(
    source: RowSource,
    metrics: Sequence[Metric],
    columns: Mapping[str, Mapping[int, float]] | None = None,
    advance: Callable[[], Any] = lambda: None,
    missing: str = "rows",
) -> RatedTable:
    """Score the rated rows and return their table.

    Args:
        source: Rows with human scores.
        metrics: Metrics to score the rows with.
        columns: Scores computed elsewhere, by name and row number (`io.score_files`).
        advance: Called after each scored row.
        missing: `rows` to leave out rows without a score or rating, `cells` to set only the missing cell to NaN.
    """
    rows = list(source)
    if not rows:
        raise InputError("no rows to score: the input is empty")
    table: dict[str, Floats] = {}
    signatures: dict[str, str] = {}
    problems: Counter[str] = Counter()
    usable, human = _ratings(rows, problems, missing)
    if duplicates := {str(metric) for metric in metrics} & set(columns or {}):
        raise SpecError(f"two columns are called {duplicates.pop()}: rename the scores from the file, as in NAME=FILE")
    for metric in metrics:
        table[str(metric)] = values = np.full(len(rows), np.nan)
        if isinstance(source, ScoredSource):
            values[:], signatures[str(metric)] = _scores(metric, source, advance)
            continue
        rated = [rows[index] for index in np.flatnonzero(usable)]
        values[usable], signatures[str(metric)] = _scores(metric, InMemory(rated), advance)
    for name, scores in (columns or {}).items():
        table[name] = np.array([scores.get(index, np.nan) for index in range(len(rows))])
        signatures[name] = "scores from a file"
    selected = _scored_indices(table, usable, problems, missing)
    return RatedTable(
        [rows[index] for index in selected],
        {aspect: values[selected] for aspect, values in human.items()},
        {name: values[selected] for name, values in table.items()},
        signatures,
        dict(problems),
    )


def rate_pairs(
    better: RowSource, worse: RowSource, metrics: Sequence[Metric], advance: Callable[[], Any] = lambda: None
) -> tuple[RatedTable, RatedTable]:
    """Score both sides of pairs that people ordered; pairs that a metric could not score are left out.

    Args:
        better: Rows of the preferred outputs.
        worse: Rows of the other outputs, in the same order.
        metrics: Metrics to score the rows with.
        advance: Called after each scored row.
    """
    sides = [list(better), list(worse)]
    if not sides[0]:
        raise InputError("no pairs to score: the input is empty")
    scored = [{str(metric): _scores(metric, InMemory(rows), advance) for metric in metrics} for rows in sides]
    problems: Counter[str] = Counter()
    both = {name: scored[0][name][0] + scored[1][name][0] for name in map(str, metrics)}  # NaN if either is NaN
    selected = _scored_indices(both, np.ones(len(sides[0]), dtype=bool), problems)
    first, second = (
        RatedTable(
            [rows[index] for index in selected],
            {},
            {name: values[selected] for name, (values, _) in side.items()},
            {name: signature for name, (_, signature) in side.items()},
            dict(problems),
        )
        for rows, side in zip(sides, scored, strict=True)
    )
    return first, second


def _scored_indices(columns: Mapping[str, Floats], usable: Any, problems: Counter[str], missing: str = "rows") -> Ints:
    """Return the indices of usable rows; missing scores are counted, and their rows left out unless `missing=cells`."""
    for name, values in columns.items():
        absent = usable & ~np.isfinite(values)
        if absent.any():
            problems[f"no score from {name}" + ("" if missing == "rows" else " (cell only)")] += int(absent.sum())
            usable = usable & ~absent if missing == "rows" else usable
    return np.flatnonzero(usable)


def _scores(metric: Metric, rows: RowSource, advance: Callable[[], Any]) -> tuple[Floats, str]:
    """Return the metric's main field, negated if lower is better, NaN where a row failed; and its signature."""
    values: list[float] = []

    def emit(_: Result, segment: Segment) -> None:
        value = float("nan") if segment.error is not None else segment.scores[metric.main]
        values.append(value if metric.higher_is_better else -value)
        advance()

    results = score_source(rows, [metric], emit)
    return np.array(values), results[0].signature


def _ratings(rows: list[Row], problems: Counter[str], missing: str) -> tuple[Any, dict[str, Floats]]:
    """Return a mask of the rows rated on every aspect (`missing=cells`: on any), and the ratings, NaN if missing."""
    named = [row.human for row in rows if isinstance(row.human, Mapping)]
    aspects = list(dict.fromkeys(str(name) for ratings in named for name in ratings)) or [PLAIN]
    human = {aspect: np.array([_rating(row, aspect) for row in rows]) for aspect in aspects}
    rated = np.array([np.isfinite(values) for values in human.values()])
    usable = rated.all(axis=0) if missing == "rows" else rated.any(axis=0)
    if missing == "cells" and len(aspects) > 1:
        for aspect, values in zip(aspects, rated, strict=True):
            if absent := int((usable & ~values).sum()):
                problems[f"no human score for {aspect} (cell only)"] = absent
    if not usable.all():
        problems["no human score"] = int((~usable).sum())
    if not usable.any():
        raise InputError("no row has a human score: set `human_field` to a field of numbers or named numbers")
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


def _field_value(row: Row, name: str) -> str:
    if row.extra.get(name) is None:
        raise InputError(f"row {row.id} has no {name!r}, by which the rows are grouped")
    return str(row.extra[name])


@dataclass(frozen=True)
class Disagreement:
    """One row, its percentiles (0 to 100) by the metric and by people, and both values."""

    row: Row
    metric_percentile: float
    human_percentile: float
    score: float
    ratings: dict[str, float]  # by aspect

    @property
    def overrated(self) -> bool:
        """Return whether the metric's percentile is higher than that of people."""
        return self.metric_percentile > self.human_percentile


def percentiles(values: Floats) -> Floats:
    """Return the percentile of each value: 0 for the lowest, 100 for the highest, 50 for a single value."""
    if len(values) < 2:
        return np.full(len(values), 50.0)
    return np.asarray((rankdata(merged(values)) - 1) / (len(values) - 1) * 100)


def human_percentiles(table: RatedTable) -> Floats:
    """Return the percentile of each row by human ratings, the mean over all aspects."""
    return np.asarray(np.mean([percentiles(values) for values in table.human.values()], axis=0))


def largest_disagreements(table: RatedTable, metric: str, limit: int = 3) -> list[Disagreement]:
    """Return the rows that a metric overrates most, then those it underrates most; ties in the order of the table.

    Args:
        table: Scores and ratings.
        metric: Name of the metric's column.
        limit: Maximum rows of each type.
    """
    by_people, by_metric = human_percentiles(table), percentiles(table.scores[metric])
    difference = by_metric - by_people
    over = [row for row in np.argsort(-difference, kind="stable")[:limit] if difference[row] > 0]
    under = [row for row in np.argsort(difference, kind="stable")[:limit] if difference[row] < 0]
    return [
        Disagreement(
            table.rows[row],
            float(by_metric[row]),
            float(by_people[row]),
            float(table.scores[metric][row]),
            {aspect: float(values[row]) for aspect, values in table.human.items()},
        )
        for row in (*over, *under)
    ]
