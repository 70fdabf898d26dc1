"""The quality of rated data: rows with their single ratings in, a `DataQuality` out. No metric takes part.

A human score may be a list, one number per rater; raters may also stand in fields of their own, carried along in
`Row.extra`. `mean_ratings` makes rows with one number of it, and keeps the ratings beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalign.analysis.audit.values import DataQuality, Ratings, Spread
from evalign.analysis.rated_tables import PLAIN
from evalign.errors import FileFormatError, UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import Estimate, merged
from evalign.stats.raters import krippendorff_alpha
from evalign.text.words import unicode_words
from evalign.types import Row


@dataclass(frozen=True, eq=False)
class RatedByMany:
    """Rows with one number (or one per aspect) each, and every single rating: aspect -> row by row."""

    rows: Sequence[Row]
    ratings: Mapping[str, Sequence[Sequence[float]]]


def mean_ratings(rows: Sequence[Row], fields: Sequence[str] = ()) -> RatedByMany:
    """Replaces lists of ratings by their mean; with `fields`, the mean of these fields is each row's human score."""
    by_row = [_single_ratings(row, fields) for row in rows]
    aspects = dict.fromkeys(aspect for parts in by_row for aspect in parts)
    return RatedByMany(
        [replace(row, human=_meant(parts)) for row, parts in zip(rows, by_row, strict=True)],
        {aspect: [parts.get(aspect, []) for parts in by_row] for aspect in aspects},
    )


def _single_ratings(row: Row, fields: Sequence[str]) -> dict[str, list[float]]:
    """By aspect, the numbers that raters gave."""
    human: Any = [row.extra.get(name) for name in fields] if fields else row.human
    parts = {
        str(aspect): value if isinstance(value, list | tuple) else [value]
        for aspect, value in (human.items() if isinstance(human, Mapping) else [(PLAIN, human)])
    }
    return {
        aspect: [_number(row, aspect, rating) for rating in ratings if rating is not None and rating != ""]
        for aspect, ratings in parts.items()
    }


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


def data_quality(rated: RatedByMany, resampling: Resampling) -> DataQuality:
    """Counts, lengths, ties and the raters' agreement over all rows."""
    rows = rated.rows
    systems = Counter(row.system for row in rows)
    reference_words = [len(unicode_words(text)) for row in rows for text in row.references]
    seen = Counter((row.candidate, row.references) for row in rows)
    rated_by_all = [all(parts[place] for parts in rated.ratings.values()) for place in range(len(rows))]
    return DataQuality(
        rows=len(rows),
        unrated=len(rows) - sum(rated_by_all),
        systems=len(systems) if set(systems) != {""} else 0,
        rows_per_system=spread(list(systems.values())) if set(systems) != {""} else None,
        items=len({item_of(row) for row in rows}),
        references=spread([len(row.references) for row in rows]),
        candidate_words=spread([len(unicode_words(row.candidate)) for row in rows]),
        reference_words=spread(reference_words) if reference_words else None,
        empty_candidates=sum(not row.candidate.strip() for row in rows),
        empty_references=sum(not row.references or not all(map(str.strip, row.references)) for row in rows),
        duplicates=sum(count - 1 for count in seen.values()),
        copies=sum(row.candidate.strip() in map(str.strip, row.references) for row in rows if row.candidate.strip()),
        ratings={aspect: _ratings(units, resampling) for aspect, units in rated.ratings.items() if any(units)},
    )


def item_of(row: Row) -> str:
    """What rows of the same input share: references and source."""
    return "\n".join((*row.references, row.source or ""))


def spread(values: Sequence[float]) -> Spread:
    """Smallest, middle, largest."""
    return Spread(float(min(values)), float(np.median(values)), float(max(values)))


def _ratings(units: Sequence[Sequence[float]], resampling: Resampling) -> Ratings:
    rated = [unit for unit in units if unit]
    means = merged(np.array([np.mean(unit) for unit in rated]))
    counts = np.array(list(Counter(means.tolist()).values()))
    pairs = len(means) * (len(means) - 1)
    return Ratings(
        rows=len(means),
        mean=float(means.mean()),
        deviation=float(means.std(ddof=1)) if len(means) > 1 else 0.0,
        low=float(means.min()),
        high=float(means.max()),
        distinct=len(counts),
        tied=float((counts * (counts - 1)).sum() / pairs) if pairs else 0.0,
        raters=max(map(len, rated)),
        raters_per_row=float(np.mean([len(unit) for unit in rated])),
        alpha=_alpha(rated, resampling) if max(map(len, rated)) > 1 else None,
    )


def _alpha(units: Sequence[Sequence[float]], resampling: Resampling) -> Estimate:
    try:
        return krippendorff_alpha(units, resampling)
    except UndefinedStatisticError as error:
        return Estimate(None, len(units), flags=(str(error),))
