"""Tests whether metric A agrees with people better than metric B: Williams' test and the paired permutation test.

In: the scores of metrics on the same rows, and the ratings of those rows. Out: one-sided and two-sided p-values; for
many metrics a matrix of them, corrected for multiple testing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from evalign.core import Floats, Ints
from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.stats.correlation import correlation, pearson
from evalign.stats.estimate import MIN_ROWS, Labels, codes, column, lookup, paired, varied
from evalign.stats.weighted import (
    MIN_VARIANCE_SHARE,
    TAU_DENOMINATORS,
    Concordance,
    Ordering,
    centred_ranks,
    ratio,
    standardised,
)

ROUNDING = 1e-12  # swaps that restore the observed scores must count as equal to them


@dataclass(frozen=True)
class Comparison:
    """Difference between the agreement of two metrics, and the probability of one as large by chance.

    `p_value` is for "the first is better", `p_reverse` for "the second is better", `p_two_sided` for "they differ".
    """

    difference: float
    p_value: float
    p_reverse: float
    p_two_sided: float
    n: int
    swaps: int = 0  # of a permutation test, on which the statistic has a value

    @classmethod
    def of_swaps(cls, observed: float, swapped: Floats, n: int) -> Comparison:
        """Compute p = (1 + swaps as extreme as observed) / (1 + swaps) from the differences after swaps."""
        sides = (swapped >= observed - ROUNDING, swapped <= observed + ROUNDING,
                 np.abs(swapped) >= abs(observed) - ROUNDING)  # fmt: skip
        above, below, either = ((1 + int(extreme.sum())) / (1 + len(swapped)) for extreme in sides)
        return cls(observed, above, below, either, n, len(swapped))


def williams(first: npt.ArrayLike, second: npt.ArrayLike, human: npt.ArrayLike) -> Comparison:
    """Test whether two Pearson correlations that share the human column differ (Williams 1959)."""
    x, y = paired(first, human)
    z, _ = paired(second, human)
    if len(x) < 4:
        raise UndefinedStatisticError(f"Williams' test needs at least 4 rows, but there are {len(x)}")
    return williams_from_correlations(pearson(x, y), pearson(z, y), pearson(x, z), len(x))


def williams_from_correlations(first: float, second: float, between: float, n: int) -> Comparison:
    """Run Williams' test from correlations.

    t = (r12 - r13) sqrt((n - 1)(1 + r23)) / sqrt(2 K (n - 1)/(n - 3) + (r12 + r13)^2 / 4 (1 - r23)^3), n - 3 degrees
    of freedom, K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23.

    Args:
        first: r12, of the first metric with people.
        second: r13, of the second metric with people.
        between: r23, between the metrics.
        n: Number of rows.
    """
    if n < 4:
        raise UndefinedStatisticError(f"Williams' test needs at least 4 rows, but there are {n}")
    difference = first - second
    determinant = max(0.0, 1 - first**2 - second**2 - between**2 + 2 * first * second * between)
    variance = 2 * determinant * (n - 1) / (n - 3) + (first + second) ** 2 / 4 * (1 - between) ** 3
    if abs(difference) < ROUNDING:
        return Comparison(difference, 0.5, 0.5, 1.0, n)
    # No spread with a difference: the columns determine each other, and t grows without bound.
    t = difference * np.sqrt((n - 1) * (1 + between) / variance) if variance > 0 else np.copysign(np.inf, difference)
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
    """PERM-BOTH (Deutsch et al. 2021): swap the standardised scores of two metrics on random rows.

    p = (1 + swaps as extreme as observed) / (1 + swaps).

    Args:
        first: Scores of the first metric.
        second: Scores of the second metric.
        human: Ratings of the same rows.
        statistic: Name of a correlation over rows, or a function from score matrices (r, n) to r agreements
            (`levels.level_function`).
        resampling: Number of swaps and seed.
        swap_together: Labels of rows to swap together (document: PERM-INPUTS; system: PERM-SYSTEMS).
        by: Groups of rows; a named correlation is computed in each group and averaged where it exists.
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
    """Return the corrected p-value (k, k) for "row is better than column"; 1 where the row is not ahead."""
    if not len(metrics):
        raise InputError("there are no metrics to compare")
    p_values = np.ones((len(metrics), len(metrics)))
    pairs, raw = [], []
    for row in range(len(metrics)):
        for rival in range(row + 1, len(metrics)):
            comparison = test(metrics[row], metrics[rival], human)
            ahead = comparison.difference >= 0
            pairs.append((row, rival) if ahead else (rival, row))
            raw.append(comparison.p_value if ahead else comparison.p_reverse)
    for pair, p_value in zip(pairs, adjusted(raw, correction), strict=True):
        p_values[pair] = p_value
    return p_values


def _groups(by: Labels, *columns: Floats) -> list[Ints]:
    """Return the rows of each group in which every column varies."""
    group_of_row, names = codes(by, "groups", len(columns[0]))
    groups = [np.flatnonzero(group_of_row == group) for group in range(len(names))]
    usable = [rows for rows in groups if len(rows) >= MIN_ROWS and all(np.ptp(x[rows]) > 0 for x in columns)]
    if not usable:
        raise UndefinedStatisticError("no group has a correlation for both metrics, so there is nothing to test")
    return usable


def _mean(parts: list[tuple[Ints, Difference]]) -> Difference:
    """Average the differences of groups of rows."""
    return lambda masks: np.asarray(np.mean([part(masks[:, rows]) for rows, part in parts], axis=0))


def _by_recomputing(statistic: Callable[[Floats], Floats], first: Floats, second: Floats) -> Difference:
    def difference(masks: Floats) -> Floats:
        return statistic(np.where(masks, first, second)) - statistic(np.where(masks, second, first))

    return difference


def _masks(rows: int, resampling: Resampling, block_of_row: Ints | None) -> Iterator[Floats]:
    """Yield blocks of masks (r, rows): 1 where scores are not swapped. Mask k depends on the seed and k only."""
    units = rows if block_of_row is None else int(block_of_row.max()) + 1
    for samples in resampling.blocks(2 * rows):
        coins = _coins(resampling, samples, units)
        yield (coins if block_of_row is None else coins[:, block_of_row]).astype(np.float32)


@lru_cache(maxsize=128)  # of at most BLOCK_WEIGHTS / 2 bytes: every pair of metrics is swapped by the same masks
def _coins(resampling: Resampling, samples: range, units: int) -> npt.NDArray[np.int8]:
    return resampling.coins(samples, units, np.int8)


def _standard_scores(values: Floats) -> Floats:
    standard: Floats = (values - values.mean()) / values.std()
    return standard


Difference = Callable[[Floats], Floats]


def swap_difference(name: str, first: Floats, second: Floats, human: Floats) -> Difference:
    """Return a function from masks (r, n), 1 where a row is NOT swapped, to r differences of the correlation."""
    return lookup(SWAPS, name)(first, second, human)


def _pearson(first: Floats, second: Floats, human: Floats) -> Difference:
    y = standardised(human)
    y = y / np.sqrt((y**2).sum())
    moments = np.stack([np.stack([x, x**2, x * y], axis=1) for x in (first, second)])
    gain, total = moments[0] - moments[1], moments.sum(axis=(0, 1))
    base = moments[1].sum(axis=0)

    def correlation(sums: Floats) -> Floats:
        variance = sums[:, 1] - sums[:, 0] ** 2 / len(human)
        return ratio(sums[:, 2], np.sqrt(np.where(variance > MIN_VARIANCE_SHARE * sums[:, 1], variance, 0)))

    def difference(unswapped: Floats) -> Floats:
        sums = base + unswapped @ gain
        return correlation(sums) - correlation(total - sums)

    return difference


def _spearman(first: Floats, second: Floats, human: Floats) -> Difference:
    human_order, pooled = Ordering.of(human), Ordering.of(np.concatenate([first, second]))
    y = centred_ranks(np.diff(human_order.starts, append=len(human)).astype(np.float64))[human_order.level]
    y = np.tile(y / np.sqrt((y**2).sum()), 2)[pooled.order]
    total_sums, total_y = pooled.sums(np.ones((1, len(y))))[0], _grouped(pooled, y[None])[0]
    total_ranks = centred_ranks(total_sums)

    def correlation(sums: Floats, ranks: Floats, y_sums: Floats) -> Floats:
        return ratio(np.einsum("rg,rg->r", ranks, y_sums), np.sqrt(np.einsum("rg,rg,rg->r", sums, ranks, ranks)))

    def difference(unswapped: Floats) -> Floats:
        counted = np.take(np.concatenate([unswapped, 1 - unswapped], axis=1), pooled.order, axis=1).astype(np.float64)
        sums, y_sums = _grouped(pooled, counted), _grouped(pooled, counted * y)
        ranks = centred_ranks(sums)
        return correlation(sums, ranks, y_sums) - correlation(total_sums - sums, total_ranks - ranks, total_y - y_sums)

    return difference


def _tau(first: Floats, second: Floats, human: Floats, denominator: Callable[[Floats, Floats], Floats]) -> Difference:
    """Return the difference of Kendall's taus after swaps, for `swap_difference`.

    With Q(w) = w' S w and g = S 1: Q(1 - w) = 1'g - 2 g'w + Q(w), so that Q(w) - Q(1 - w) is linear in w.
    """
    human_order, pooled = Ordering.of(human), Ordering.of(np.concatenate([first, second]))
    concordance = Concordance(pooled, Ordering.of(np.tile(human, 2)))
    row_sums = concordance.row_sums()
    human_sums = np.diff(human_order.starts, append=len(human)).astype(np.float64)
    total = pooled.sums(np.ones((1, 2 * len(human))))

    def difference(unswapped: Floats) -> Floats:
        weights = np.concatenate([unswapped, 1 - unswapped], axis=1)
        sums = pooled.sums(weights)
        gained = 2 * (weights @ row_sums) - row_sums.sum()
        denominators, swapped_denominators = denominator(sums, human_sums), denominator(total - sums, human_sums)
        if np.array_equal(denominators, swapped_denominators):  # no ties: the expensive part cancels
            return ratio(gained, denominators)
        concordant = concordance(weights)
        return ratio(concordant, denominators) - ratio(concordant - gained, swapped_denominators)

    return difference


SWAPS: dict[str, Callable[[Floats, Floats, Floats], Difference]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    **{name: partial(_tau, denominator=formula) for name, formula in TAU_DENOMINATORS.items()},
}


def _grouped(ordering: Ordering, in_order: Floats) -> Floats:
    """Sum over equal values a matrix whose columns are already in order."""
    return in_order if ordering.distinct else np.add.reduceat(in_order, ordering.starts, axis=1)


CORRECTIONS = ("holm", "bh", "none")
RULES = ("separated", "visited")


def adjusted(p_values: npt.ArrayLike, method: str = "holm") -> Floats:
    """Correct p-values for multiple testing, in the order given: compare them with the significance level itself.

    `holm` (1979) keeps the chance of any false finding below the level; `bh` (Benjamini and Hochberg 1995) keeps the
    expected share of false ones among the findings below it.
    """
    p = column(p_values, "p-values")
    if ((p < 0) | (p > 1)).any():
        raise InputError(f"p-values must lie between 0 and 1, but there is {p[(p < 0) | (p > 1)][0]:g}")
    if method not in CORRECTIONS:
        raise InputError(f"unknown correction {method!r}; choose one of {', '.join(CORRECTIONS)}")
    if method == "none" or not len(p):
        return p
    order, m = np.argsort(p, kind="stable"), len(p)
    if method == "holm":
        stepped = np.maximum.accumulate(p[order] * (m - np.arange(m)))
    else:
        stepped = np.minimum.accumulate((p[order] * m / np.arange(1, m + 1))[::-1])[::-1]
    result = np.empty(m)
    result[order] = np.minimum(stepped, 1)
    return result


def clusters(values: Sequence[float], better: Floats, alpha: float = 0.05, rule: str = "separated") -> list[int]:
    """Return the rank of each value; values with equal ranks do not differ significantly.

    `separated` (WMT's system ranking): a new rank begins where every value above is significantly better than every
    value below. `visited` (WMT22 and later, for metrics): going down, a new rank begins at the first value that any
    member of the present rank is significantly better than.

    Args:
        values: One per metric or system, higher is better.
        better: `better[i, j]` is the p-value of "i is better than j".
        alpha: Significance level.
        rule: `separated` or `visited`.
    """
    score, p = column(values, "values"), np.asarray(better, dtype=np.float64)
    if p.shape != (len(score), len(score)) or np.isnan(p).any():
        raise InputError(f"the p-values must be {len(score)} x {len(score)} numbers, but have shape {p.shape}")
    if rule not in RULES:
        raise InputError(f"unknown rule {rule!r}; choose one of {', '.join(RULES)}")
    order = np.argsort(-score, kind="stable")
    wins = p[np.ix_(order, order)] < alpha
    ranks, begin = np.ones(len(score), dtype=np.int64), 0
    for index in range(1, len(score)):
        new = wins[:index, index:].all() if rule == "separated" else wins[begin:index, index].any()
        ranks[index] = ranks[index - 1] + int(new)
        begin = index if new else begin
    result = np.empty(len(score), dtype=np.int64)
    result[order] = ranks
    return [int(rank) for rank in result]
