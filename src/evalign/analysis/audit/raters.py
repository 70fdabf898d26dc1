"""Rows whose human score is a list, one number per rater, into rows with their mean, and the ratings beside them.

Raters may also stand in fields of their own, carried along in `Row.extra`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalign.analysis.rated_tables import PLAIN
from evalign.errors import FileFormatError
from evalign.types import Row


@dataclass(frozen=True, eq=False)
class RatedByMany:
    """Rows with one number (or one per aspect) each, and every single rating: aspect -> row by row."""

    rows: Sequence[Row]
    ratings: Mapping[str, Sequence[Sequence[float]]]


def mean_ratings(rows: Sequence[Row], fields: Sequence[str] = ()) -> RatedByMany:
    """Replaces lists of ratings by their mean; with `fields`, the mean of these fields is each row's human score."""
    single = [[_ratings(row, part) for part in _parts(row, fields).items()] for row in rows]
    aspects = list(dict.fromkeys(aspect for parts in single for aspect, _ in parts))
    by_row = [dict(parts) for parts in single]
    return RatedByMany(
        [replace(row, human=_meant(parts)) for row, parts in zip(rows, by_row, strict=True)],
        {aspect: [parts.get(aspect, []) for parts in by_row] for aspect in aspects},
    )


def _parts(row: Row, fields: Sequence[str]) -> dict[str, Any]:
    if fields:
        return {PLAIN: [row.extra.get(name) for name in fields]}
    return dict(row.human) if isinstance(row.human, Mapping) else {PLAIN: row.human}


def _ratings(row: Row, part: tuple[str, Any]) -> tuple[str, list[float]]:
    aspect, value = part
    said = value if isinstance(value, list | tuple) else [value]
    return str(aspect), [_number(row, aspect, one) for one in said if one is not None and one != ""]


def _number(row: Row, aspect: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not np.isfinite(number):
        raise FileFormatError(
            f"row {row.id}: the human score {aspect} is {str(value)[:40]!r}, expected a number, or a list of numbers, "
            "one per rater"
        )
    return number


def _meant(parts: Mapping[str, Sequence[float]]) -> Any:
    """One number, or an object of numbers; None where nobody rated."""
    means = {aspect: float(np.mean(ratings)) if ratings else None for aspect, ratings in parts.items()}
    return means[PLAIN] if list(means) == [PLAIN] else means
