"""The quality of rated data: rows with their single ratings in, a `DataQuality` out. No metric takes part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from evalign.analysis.audit.raters import RatedByMany
from evalign.analysis.audit.values import DataQuality, Ratings, Spread
from evalign.errors import UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import Estimate
from evalign.stats.raters import krippendorff_alpha
from evalign.stats.ties import merged
from evalign.text.words import unicode_words
from evalign.types import Row


def data_quality(rated: RatedByMany, resampling: Resampling) -> DataQuality:
    """Counts, lengths, ties and the raters' agreement over all rows."""
    rows = rated.rows
    systems = Counter(row.system for row in rows)
    reference_words = [len(unicode_words(text)) for row in rows for text in row.references]
    seen = Counter((row.candidate, row.references) for row in rows)
    given = [all(parts[place] for parts in rated.ratings.values()) for place in range(len(rows))]
    return DataQuality(
        rows=len(rows),
        unrated=len(rows) - sum(given),
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
    given = [unit for unit in units if unit]
    means = merged(np.array([np.mean(unit) for unit in given]))
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
        raters=max(map(len, given)),
        raters_per_row=float(np.mean([len(unit) for unit in given])),
        alpha=_alpha(given, resampling) if max(map(len, given)) > 1 else None,
    )


def _alpha(units: Sequence[Sequence[float]], resampling: Resampling) -> Estimate:
    try:
        return krippendorff_alpha(units, resampling)
    except UndefinedStatisticError as error:
        return Estimate(None, len(units), flags=(str(error),))
