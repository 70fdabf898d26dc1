"""Quality of rated data: rows with single ratings in, a `DataQuality` out. No metric is needed.

A human score may be a list with one number per rater, or each rater may have a field in `Row.extra`. `mean_ratings`
replaces the single ratings by their mean and returns them next to the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalign.analysis.rated_tables import PLAIN
from evalign.core import Row
from evalign.errors import FileFormatError, UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import Estimate, merged
from evalign.stats.raters import krippendorff_alpha
from evalign.text.words import unicode_words


@dataclass(frozen=True)
class Spread:
    """Minimum, median and maximum of a list of numbers."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Ratings:
    """Statistics of the ratings of one aspect; `tied` is the share of row pairs with equal ratings."""

    rows: int
    mean: float
    deviation: float
    low: float
    high: float
    distinct: int
    tied: float
    raters: int  # largest number of ratings of a row
    raters_per_row: float
    alpha: Estimate | None  # None where each row has one rating


@dataclass(frozen=True)
class DataQuality:
    """Statistics of the whole file, before rows are sampled."""

    rows: int
    unrated: int
    systems: int
    rows_per_system: Spread | None
    items: int  # distinct references, with their source
    references: Spread  # per row
    candidate_words: Spread
    reference_words: Spread | None
    empty_candidates: int
    empty_references: int  # rows with no reference, or an empty one
    duplicates: int  # rows with the candidate and references of an earlier row
    copies: int  # rows whose candidate is one of its references
    ratings: Mapping[str, Ratings]  # by aspect


@dataclass(frozen=True, eq=False)
class RowsWithRatings:
    """Rows with their mean rating (or one per aspect), and the single ratings by aspect, row by row."""

    rows: Sequence[Row]
    ratings: Mapping[str, Sequence[Sequence[float]]]


def mean_ratings(rows: Sequence[Row], fields: Sequence[str] = ()) -> RowsWithRatings:
    """Replace lists of ratings by their mean.

    Args:
        rows: Rows whose human score is a number, a list, or an object of both.
        fields: Fields of `Row.extra` with one rater each; their mean replaces the human score.
    """
    by_row = [_single_ratings(row, fields) for row in rows]
    aspects = dict.fromkeys(aspect for parts in by_row for aspect in parts)
    return RowsWithRatings(
        [replace(row, human=_mean_rating(parts)) for row, parts in zip(rows, by_row, strict=True)],
        {aspect: [parts.get(aspect, []) for parts in by_row] for aspect in aspects},
    )


def _single_ratings(row: Row, fields: Sequence[str]) -> dict[str, list[float]]:
    """Return the single ratings of a row by aspect."""
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


def _mean_rating(parts: Mapping[str, Sequence[float]]) -> Any:
    """Return one number, or an object of numbers; None where no rating exists."""
    means = {aspect: float(np.mean(ratings)) if ratings else None for aspect, ratings in parts.items()}
    return means[PLAIN] if list(means) == [PLAIN] else means


def data_quality(rated: RowsWithRatings, resampling: Resampling) -> DataQuality:
    """Compute counts, lengths, ties and the agreement between raters over all rows."""
    rows = rated.rows
    systems = Counter(row.system for row in rows)
    reference_words = [len(unicode_words(text)) for row in rows for text in row.references]
    seen = Counter((row.candidate, row.references) for row in rows)
    rated_by_all = [all(parts[row] for parts in rated.ratings.values()) for row in range(len(rows))]
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
    """Return the key of a row's item: its references and source."""
    return "\n".join((*row.references, row.source or ""))


def spread(values: Sequence[float]) -> Spread:
    """Return minimum, median and maximum."""
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
