"""The shape of a sample: its density, how many peaks that has, and how much of its spread a grouping explains.

Flows in: scores, or scores by group. Flows out: curves to draw, counts, and eta squared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalign.stats.estimate import column
from evalign.types import Floats

POINTS = 400
REACH = 3.0  # bandwidths drawn beyond the smallest and the largest value
NARROWEST = 1e-4  # bandwidth of a constant sample, which has no spread of its own
LEAST_PEAK = 0.05  # of the highest: what a single value far out makes is no peak


def silverman(values: npt.ArrayLike) -> float:
    """Silverman's bandwidth, 0.9 min(sd, IQR / 1.34) n^(-1/5); the sd alone where the middle half is constant."""
    sample = column(values, "values")
    spread = float(sample.std(ddof=1)) if len(sample) > 1 else 0.0
    quarter, three_quarters = np.quantile(sample, [0.25, 0.75])
    middle = float(three_quarters - quarter) / 1.34
    return max(NARROWEST, 0.9 * (min(spread, middle) if middle > 0 else spread) * float(len(sample) ** -0.2))


def density(values: npt.ArrayLike, bandwidth: float, points: int = POINTS) -> tuple[Floats, Floats]:
    """Places and heights of the sample's density with normal kernels of that standard deviation."""
    sample = column(values, "values")
    places = np.linspace(sample.min() - REACH * bandwidth, sample.max() + REACH * bandwidth, points)
    kernels = np.exp(-0.5 * ((places[:, None] - sample) / bandwidth) ** 2)
    return places, kernels.mean(axis=1) / (bandwidth * np.sqrt(2 * np.pi))


def peaks(values: npt.ArrayLike, bandwidth: float) -> int:
    """How many maxima the density has at this bandwidth, those below a twentieth of the highest not counted."""
    sample = column(values, "values")
    _, heights = density(sample, bandwidth, places_for_peaks(sample, bandwidth))
    rising = np.diff(heights) > 0
    tops = heights[1:-1][rising[:-1] & ~rising[1:]]
    return int((tops >= LEAST_PEAK * heights.max()).sum())


def places_for_peaks(sample: Floats, bandwidth: float) -> int:
    """How many places of a density show every peak: eight to a bandwidth."""
    reach = float(np.ptp(sample)) + 2 * REACH * bandwidth
    return max(POINTS, int(8 * reach / bandwidth))


def eta_squared(groups: Sequence[npt.ArrayLike]) -> float | None:
    """The part of the variance that lies between groups, from 0 to 1; None if there is one group or no variance."""
    samples = [column(values, "values") for values in groups]
    pooled = np.concatenate(samples)
    total = float(((pooled - pooled.mean()) ** 2).sum())
    if len(samples) < 2 or pooled.min() == pooled.max():
        return None
    between = sum(len(sample) * float(sample.mean() - pooled.mean()) ** 2 for sample in samples)
    return between / total
