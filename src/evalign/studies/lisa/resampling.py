"""Intervals of the LiSAScore study: pairs are drawn anew, and every number is computed again on each draw.

In: a number of pairs and a seed; scores of those pairs. Out: one value per draw, all from the same draws, so that
differences of two numbers have intervals too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalign.stats.distribution import LEAST_PEAK, density, places_for_peaks
from evalign.types import Floats

RESAMPLES = 2000  # enough for a share of 1/40, divided among a dozen comparisons
ENDS = (0.025, 0.975)
NO_SPREAD = 1e-12  # what rounding leaves of 0


@dataclass(frozen=True, eq=False)
class Resamples:
    """How often each pair was drawn, (draws, pairs); the first draw is the sample itself."""

    counts: Floats

    @classmethod
    def of(cls, pairs: int, seed: int) -> Resamples:
        """As many pairs as there are, with replacement."""
        drawn = np.random.default_rng(seed).multinomial(pairs, np.full(pairs, 1 / pairs), size=RESAMPLES)
        return cls(np.concatenate([np.ones((1, pairs)), drawn]))

    def mean(self, values: Floats) -> Floats:
        """Of values (pairs,) or (pairs, columns): (draws,) or (draws, columns)."""
        return np.asarray(self.counts @ values / self.counts.shape[1])

    def auc(self, good: Floats, bad: Floats) -> Floats:
        """The chance that a true pair scores above a negative; pairs are drawn with their own negatives."""
        wins = (good[:, None] > bad).astype(np.float64) + 0.5 * (good[:, None] == bad)
        return np.asarray(((self.counts @ wins) * self.counts).sum(axis=1) / self.counts.shape[1] ** 2)

    def cohens_d(self, good: Floats, bad: Floats) -> Floats:
        """The difference of the means in pooled standard deviations; NaN where a resample has one value only."""
        n = self.counts.shape[1]
        squares = sum(self.mean(values**2) - self.mean(values) ** 2 for values in (good, bad))
        spread = np.sqrt(np.maximum(squares, 0) / 2 * n / (n - 1))
        difference = self.mean(good) - self.mean(bad)
        return _ratio(difference, spread)

    def eta_squared(self, groups: Sequence[Floats]) -> Floats:
        """The part of the variance between groups, each (pairs,) or (pairs, runs) of the same pairs."""
        columns = [values.reshape(len(values), -1) for values in groups]
        means = np.array([self.mean(values.mean(axis=1)) for values in columns])
        squares = np.array([self.mean((values**2).mean(axis=1)) for values in columns])
        centre = means.mean(axis=0)
        return _ratio(((means - centre) ** 2).mean(axis=0), squares.mean(axis=0) - centre**2)

    def peaks(self, groups: Sequence[Floats], bandwidth: float) -> Floats:
        """How many maxima the density of all groups together has, as `stats.distribution.peaks` counts them."""
        pooled = np.concatenate(groups)
        places, _ = density(pooled, bandwidth, places_for_peaks(pooled, bandwidth))
        heights = np.zeros((len(self.counts), len(places)))
        for values in groups:
            heights += self.counts @ np.exp(-0.5 * ((places[None] - values[:, None]) / bandwidth) ** 2)
        rising = np.diff(heights, axis=1) > 0
        tops = rising[:, :-1] & ~rising[:, 1:]
        high = heights[:, 1:-1] >= LEAST_PEAK * heights.max(axis=1, keepdims=True)
        return np.asarray((tops & high).sum(axis=1), dtype=np.float64)


def interval(draws: Floats) -> tuple[float, float, float]:
    """The number itself, and the ends of its 95 % interval over the draws that have one."""
    drawn = draws[1:][~np.isnan(draws[1:])]
    low, high = np.quantile(drawn, ENDS).tolist() if len(drawn) else (np.nan, np.nan)
    return float(draws[0]), low, high


def _ratio(part: Floats, spread: Floats) -> Floats:
    """NaN on draws without spread, which have no such number."""
    return np.divide(part, spread, out=np.full_like(part, np.nan), where=spread > NO_SPREAD)
