"""Percentile bootstrap: statistics in, their values on seeded resamples of rows or groups and their intervals out.

Resample k depends only on the seed and k, so metrics with the same rows and seed are compared on the same resamples.
Weights are computed and used in blocks: memory does not grow with the number of resamples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evalign.core import Floats, Ints
from evalign.core.scoring import check_stopped
from evalign.errors import InputError
from evalign.stats.estimate import Estimate
from evalign.stats.weighted import Weighted, weighted_mean

BLOCK_WEIGHTS = 320_000  # in memory at once: larger blocks do not fit into the processor's cache


@dataclass(frozen=True)
class Resampling:
    """Number of resamples, seed, and the share of resampled values that an interval covers.

    Another `stream` gives independent draws, as the groups of a table need.
    """

    samples: int = 1000
    seed: int = 12345
    confidence: float = 0.95
    stream: int = 0

    def __post_init__(self) -> None:
        if self.samples < 1 or self.seed < 0 or not 0 < self.confidence < 1:
            raise InputError(
                "resampling needs samples >= 1, seed >= 0 and 0 < confidence < 1, but got "
                f"samples={self.samples}, seed={self.seed}, confidence={self.confidence}"
            )

    def generator(self, sample: int) -> np.random.Generator:
        """Return the random generator of one resample."""
        return np.random.default_rng([self.seed, self.stream, sample])

    def independent(self, stream: int) -> Resampling:
        """Return the same resampling with other draws."""
        return replace(self, stream=stream)

    def blocks(self, size: int) -> Iterator[range]:
        """Yield the numbers of all resamples in blocks; `size` values for each stay within `BLOCK_WEIGHTS`."""
        step = max(1, BLOCK_WEIGHTS // max(size, 1))
        for first in range(0, self.samples, step):
            check_stopped()
            yield range(first, min(first + step, self.samples))

    def coins(self, samples: range, size: int, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
        """Draw zeros and ones of equal chance (samples, size). The draws depend on the type."""
        return np.stack([self.generator(k).integers(2, size=size, dtype=dtype) for k in samples])


def resample_weights(units: int, resampling: Resampling, rows: int | None = None) -> Iterator[Floats]:
    """Yield blocks of weights (r, units): the number of times each unit is in each resample.

    `rows` is the number of rows that the caller expands units to, for the size of a block.
    """
    for samples in resampling.blocks(max(units, rows or 0)):
        counts = (np.bincount(resampling.generator(k).integers(units, size=units), minlength=units) for k in samples)
        yield np.stack(list(counts)).astype(np.float32)


def resampled(
    statistics: Sequence[Weighted], units: int, resampling: Resampling, unit_of_row: Ints | None = None
) -> Floats:
    """Return (samples, statistics): each statistic on each resample of rows, or of groups if each row has a group."""
    values, done = np.empty((resampling.samples, len(statistics))), 0
    for weights in resample_weights(units, resampling, None if unit_of_row is None else len(unit_of_row)):
        row_weights = weights if unit_of_row is None else np.take(weights, unit_of_row, axis=1)
        for column, statistic in enumerate(statistics):
            values[done : done + len(weights), column] = statistic(row_weights)
        done += len(weights)
    return values


@dataclass(frozen=True, eq=False)
class ResampledStatistic:
    """An estimate, and the function that computes it again on resamples of `units`."""

    estimate: Estimate
    statistic: Weighted
    units: int
    unit_of_row: Ints | None = None

    def draws(self, resampling: Resampling) -> Floats:
        """Return the statistic's value on each resample, NaN where undefined."""
        return resampled([self.statistic], self.units, resampling, self.unit_of_row)[:, 0]


def with_interval(estimate: Estimate, values: Floats, confidence: float) -> Estimate:
    """Add the interval of resampled values to an estimate; undefined resamples are left out and flagged."""
    defined = values[np.isfinite(values)]
    flags = estimate.flags
    if len(defined) < len(values):
        flags += (f"undefined on {len(values) - len(defined)} of {len(values)} resamples",)
    if 2 * len(defined) <= len(values):
        return replace(estimate, flags=(*flags, "no interval"))
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return replace(estimate, low=float(low), high=float(high), flags=flags)


def bootstrap_mean(
    values: Floats, resampling: Resampling | None, groups: Ints | None = None, flags: tuple[str, ...] = ()
) -> Estimate:
    """Return the mean of a column, with its interval if there is a resampling; groups are drawn whole."""
    if not len(values):
        raise InputError("a mean needs at least one row, but there are none")
    estimate = Estimate(float(values.mean()), len(values), flags=flags)
    if resampling is None:
        return estimate
    units = len(values) if groups is None else int(groups.max()) + 1
    (draws,) = resampled([weighted_mean(values)], units, resampling, groups).T
    return with_interval(estimate, draws, resampling.confidence)
