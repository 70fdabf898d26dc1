"""Does metric A agree with people better than metric B? Williams' test and the paired permutation test.

In: the scores of metrics on the same rows, and the ratings of those rows. Out: one-sided and two-sided p-values; for
many metrics a matrix of them, corrected for their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.stats.clusters import adjusted
from evalign.stats.correlation import correlation, pearson
from evalign.stats.estimate import FEWEST_ROWS, Labels, codes, paired, varied
from evalign.stats.score_swaps import Difference, swap_difference
from evalign.types import Floats, Ints

ROUNDING = 1e-12  # swaps that restore the observed scores must count as equal to them


@dataclass(frozen=True)
class Comparison:
    """Two metrics' agreement: its difference, and how often chance alone makes one as large or larger.

    `p_value` is for "the first is better", `p_reverse` for "the second is better", `p_two_sided` for "they differ".
    """

    difference: float
    p_value: float
    p_reverse: float
    p_two_sided: float
    n: int
    swaps: int = 0  # behind the p-values, of a permutation test: those on which the statistic has a value

    @classmethod
    def of_swaps(cls, observed: float, swapped: Floats, n: int) -> Comparison:
        """From the differences after swaps: p = (1 + swaps as extreme as observed) / (1 + swaps)."""
        sides = (swapped >= observed - ROUNDING, swapped <= observed + ROUNDING,
                 np.abs(swapped) >= abs(observed) - ROUNDING)  # fmt: skip
        above, below, either = ((1 + int(side.sum())) / (1 + len(swapped)) for side in sides)
        return cls(observed, above, below, either, n, len(swapped))


def williams(first: npt.ArrayLike, second: npt.ArrayLike, human: npt.ArrayLike) -> Comparison:
    """Williams (1959): are two Pearson correlations that share the human column different?"""
    x, y = paired(first, human)
    z, _ = paired(second, human)
    if len(x) < 4:
        raise UndefinedStatisticError(f"Williams' test needs at least 4 rows, but there are {len(x)}")
    return williams_from_correlations(pearson(x, y), pearson(z, y), pearson(x, z), len(x))


def williams_from_correlations(first: float, second: float, between: float, n: int) -> Comparison:
    """From r12 and r13 of the two metrics with people, r23 between the metrics, and the number of rows.

    t = (r12 - r13) sqrt((n - 1)(1 + r23)) / sqrt(2 K (n - 1)/(n - 3) + (r12 + r13)^2 / 4 (1 - r23)^3), n - 3 degrees of
    freedom, K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23.
    """
    if n < 4:
        raise UndefinedStatisticError(f"Williams' test needs at least 4 rows, but there are {n}")
    difference = first - second
    determinant = max(0.0, 1 - first**2 - second**2 - between**2 + 2 * first * second * between)
    spread = 2 * determinant * (n - 1) / (n - 3) + (first + second) ** 2 / 4 * (1 - between) ** 3
    if abs(difference) < ROUNDING:
        return Comparison(difference, 0.5, 0.5, 1.0, n)
    # No spread with a difference: the columns determine each other, and t grows without bound.
    t = difference * np.sqrt((n - 1) * (1 + between) / spread) if spread > 0 else np.copysign(np.inf, difference)
    above, below = float(student.sf(t, n - 3)), float(student.cdf(t, n - 3))
    return Comparison(difference, above, below, min(1.0, 2 * min(above, below)), n)


def permutation_test(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    human: npt.ArrayLike,
    statistic: str | Callable[[Floats], Floats] = "pearson",
    resampling: Resampling | None = None,
    swap_together: Labels | None = None,
    by: Labels | None = None,
) -> Comparison:
    """PERM-BOTH (Deutsch et al. 2021): standardised scores of the two metrics are swapped on random rows.

    `statistic` is the name of a correlation over rows, or a function from score matrices (r, n) to r agreements
    (`levels.level_function`). Rows with the same label in `swap_together` are swapped together (PERM-INPUTS if that
    is the document, PERM-SYSTEMS if it is the system). With `by`, a named correlation is computed within each group of
    rows and averaged over the groups where it exists. p = (1 + swaps as extreme as observed) / (1 + swaps).
    """
    resampling = resampling or Resampling()
    x, y = paired(first, human)
    z, _ = paired(second, human)
    varied(x, y)
    varied(z, y)
    x, z = _standard_scores(x), _standard_scores(z)
    block_of_row = None if swap_together is None else codes(swap_together, "swap_together", len(y))[0]
    if isinstance(statistic, str):
        groups = [np.arange(len(y))] if by is None else _groups(by, x, z, y)
        compute = correlation(statistic)
        observed = float(np.mean([compute(x[rows], y[rows]) - compute(z[rows], y[rows]) for rows in groups]))
        difference = _mean([(rows, swap_difference(statistic, x[rows], z[rows], y[rows])) for rows in groups])
    else:
        difference = _by_recomputing(statistic, x, z)
        observed = float(difference(np.ones((1, len(y))))[0])
    if not np.isfinite(observed):
        raise UndefinedStatisticError("the statistic has no value on the observed scores, so there is nothing to test")
    nulls = np.concatenate([difference(mask) for mask in _masks(len(y), resampling, block_of_row)])
    nulls = nulls[np.isfinite(nulls)]
    return Comparison.of_swaps(observed, nulls, len(y))


def compare_all(
    metrics: Sequence[npt.ArrayLike],
    human: npt.ArrayLike,
    test: Callable[[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike], Comparison],
    correction: str = "holm",
) -> Floats:
    """(k, k): the corrected p-value for "row is better than column"; 1 on the diagonal and below the observed order."""
    if not len(metrics):
        raise InputError("there are no metrics to compare")
    p_values = np.ones((len(metrics), len(metrics)))
    pairs, raw = [], []
    for row in range(len(metrics)):
        for column in range(row + 1, len(metrics)):
            comparison = test(metrics[row], metrics[column], human)
            ahead = comparison.difference >= 0
            pairs.append((row, column) if ahead else (column, row))
            raw.append(comparison.p_value if ahead else comparison.p_reverse)
    for pair, p_value in zip(pairs, adjusted(raw, correction), strict=True):
        p_values[pair] = p_value
    return p_values


def _groups(by: Labels, *columns: Floats) -> list[Ints]:
    """The rows of each group in which every column varies."""
    group_of_row, names = codes(by, "groups", len(columns[0]))
    groups = [np.flatnonzero(group_of_row == group) for group in range(len(names))]
    usable = [rows for rows in groups if len(rows) >= FEWEST_ROWS and all(np.ptp(x[rows]) > 0 for x in columns)]
    if not usable:
        raise UndefinedStatisticError("no group has a correlation for both metrics, so there is nothing to test")
    return usable


def _mean(parts: list[tuple[Ints, Difference]]) -> Difference:
    """The mean over groups of rows, each with its own difference."""
    return lambda masks: np.asarray(np.mean([part(masks[:, rows]) for rows, part in parts], axis=0))


def _by_recomputing(statistic: Callable[[Floats], Floats], first: Floats, second: Floats) -> Difference:
    def difference(masks: Floats) -> Floats:
        return statistic(np.where(masks, first, second)) - statistic(np.where(masks, second, first))

    return difference


def _masks(rows: int, resampling: Resampling, block_of_row: Ints | None) -> Iterator[Floats]:
    """Blocks of masks (r, rows): 1 where scores are not swapped. Mask k depends on the seed and k only."""
    units = rows if block_of_row is None else int(block_of_row.max()) + 1
    for samples in resampling.blocks(2 * rows):
        coins = _coins(resampling, samples, units)
        yield (coins if block_of_row is None else coins[:, block_of_row]).astype(np.float32)


@lru_cache(maxsize=128)  # of at most BLOCK / 2 bytes: every pair of metrics is swapped by the same masks
def _coins(resampling: Resampling, samples: range, units: int) -> npt.NDArray[np.int8]:
    return resampling.coins(samples, units, np.int8)


def _standard_scores(values: Floats) -> Floats:
    standard: Floats = (values - values.mean()) / values.std()
    return standard
