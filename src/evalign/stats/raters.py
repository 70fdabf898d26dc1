"""Agreement between raters: the ratings of each unit (a text that people judged) in, Krippendorff's alpha out.

Krippendorff 2011, "Computing Krippendorff's alpha-reliability", for interval data: alpha = 1 - observed / expected
disagreement, where two ratings disagree by their squared difference. 1: all agree; 0: as ratings drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalign.core import Floats
from evalign.errors import UndefinedStatisticError
from evalign.stats.bootstrap import Resampling, resampled, with_interval
from evalign.stats.estimate import Estimate, column
from evalign.stats.weighted import ratio


def krippendorff_alpha(units: Sequence[Sequence[float]], resampling: Resampling | None = None) -> Estimate:
    """Return alpha for interval data over the units with two or more ratings.

    `n` counts these units; with a resampling, units are drawn for the interval.
    """
    paired = [ratings for unit in units if len(ratings := column(unit, "ratings")) > 1]
    if len(paired) < 2:
        raise UndefinedStatisticError(
            f"agreement of raters needs two or more units with two or more ratings each, but there are {len(paired)}"
        )
    centre = float(np.concatenate(paired).mean())  # alpha does not depend on it; centring avoids cancellation
    moments = np.array([_moments(ratings - centre) for ratings in paired])
    if not (_expected(moments.sum(axis=0)[None])[0] > 0):
        raise UndefinedStatisticError("all ratings are equal, so there is nothing for raters to agree about")
    (value,) = _alpha(moments.sum(axis=0)[None])
    estimate = Estimate(float(value), len(paired))
    if resampling is None:
        return estimate
    (draws,) = resampled([lambda weights: _alpha(weights @ moments)], len(paired), resampling).T
    return with_interval(estimate, draws, resampling.confidence)


def _moments(ratings: Floats) -> list[float]:
    """Return count, sum and sum of squares of a unit's ratings, and their disagreement; all are additive over units."""
    count, total, squares = len(ratings), float(ratings.sum()), float((ratings**2).sum())
    return [count, total, squares, 2 * (count * squares - total**2) / (count - 1)]


def _alpha(sums: Floats) -> Floats:
    """Return alphas (r,) from sums (r, 4) of `_moments`, NaN where all ratings are equal."""
    return 1 - ratio(sums[:, 3] / sums[:, 0], _expected(sums))


def _expected(sums: Floats) -> Floats:
    """Return the mean squared difference of all pairs of ratings; 0 if it is only rounding."""
    count, total, squares = sums[:, 0], sums[:, 1], sums[:, 2]
    variation = count * squares - total**2
    return np.where(variation > 1e-12 * count * squares, 2 * variation / (count * (count - 1)), 0.0)
