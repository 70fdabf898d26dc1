"""Differences of agreement after swapping two metrics' scores on random rows: the inner loop of PERM-BOTH.

Swapping picks, for every row, one of its two scores for the first metric and the other for the second. Seen as 2n
fixed rows of which each swap takes n and leaves n, order and ties are computed once; what the second metric gets is
the complement of the first, whose sums are the total minus the first's. People's ranks never change.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evalign.errors import InputError, nearest
from evalign.stats.concordance import Concordance, Ordering
from evalign.stats.weighted import SAME, centred_ranks, ratio, square_table, standardised, untied_pairs
from evalign.types import Floats

Difference = Callable[[Floats], Floats]


def swap_difference(name: str, first: Floats, second: Floats, human: Floats) -> Difference:
    """A function from masks (r, n), 1 where a row is NOT swapped, to r differences of the named correlation."""
    if name not in SWAPS:
        raise InputError(f"unknown correlation {name!r}; {nearest(name, SWAPS)}")
    return SWAPS[name](first, second, human)


def _pearson(first: Floats, second: Floats, human: Floats) -> Difference:
    y = standardised(human)
    y = y / np.sqrt((y**2).sum())
    moments = np.stack([np.stack([x, x**2, x * y], axis=1) for x in (first, second)])
    gain, whole = moments[0] - moments[1], moments.sum(axis=(0, 1))
    base = moments[1].sum(axis=0)

    def correlation(sums: Floats) -> Floats:
        spread = sums[:, 1] - sums[:, 0] ** 2 / len(human)
        return ratio(sums[:, 2], np.sqrt(np.where(spread > SAME * sums[:, 1], spread, 0)))

    def difference(kept: Floats) -> Floats:
        sums = base + kept @ gain
        return correlation(sums) - correlation(whole - sums)

    return difference


def _spearman(first: Floats, second: Floats, human: Floats) -> Difference:
    people, pooled = Ordering.of(human), Ordering.of(np.concatenate([first, second]))
    y = centred_ranks(np.diff(people.starts, append=len(human)).astype(np.float64))[people.level]
    y = np.tile(y / np.sqrt((y**2).sum()), 2)[pooled.order]
    whole_sums, whole_y = pooled.sums(np.ones((1, len(y))))[0], _grouped(pooled, y[None])[0]
    whole_ranks = centred_ranks(whole_sums)

    def correlation(sums: Floats, ranks: Floats, y_sums: Floats) -> Floats:
        return ratio(np.einsum("rg,rg->r", ranks, y_sums), np.sqrt(np.einsum("rg,rg,rg->r", sums, ranks, ranks)))

    def difference(kept: Floats) -> Floats:
        taken = np.take(np.concatenate([kept, 1 - kept], axis=1), pooled.order, axis=1).astype(np.float64)
        sums, y_sums = _grouped(pooled, taken), _grouped(pooled, taken * y)
        ranks = centred_ranks(sums)
        return correlation(sums, ranks, y_sums) - correlation(whole_sums - sums, whole_ranks - ranks, whole_y - y_sums)

    return difference


def _kendall(first: Floats, second: Floats, human: Floats) -> Difference:
    return _tau(first, second, human, untied_pairs)


def _kendall_c(first: Floats, second: Floats, human: Floats) -> Difference:
    return _tau(first, second, human, square_table)


SWAPS: dict[str, Callable[[Floats, Floats, Floats], Difference]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _kendall,
    "kendall-c": _kendall_c,
}


def _tau(first: Floats, second: Floats, human: Floats, denominator: Callable[[Floats, Floats], Floats]) -> Difference:
    """With Q(w) = w' S w and g = S 1: Q(1 - w) = 1'g - 2 g'w + Q(w), so that Q(w) - Q(1 - w) is linear in w."""
    people, pooled = Ordering.of(human), Ordering.of(np.concatenate([first, second]))
    concordance = Concordance(pooled, Ordering.of(np.tile(human, 2)))
    row_sums = concordance.row_sums()
    human_sums = np.diff(people.starts, append=len(human)).astype(np.float64)
    whole = pooled.sums(np.ones((1, 2 * len(human))))

    def difference(kept: Floats) -> Floats:
        weights = np.concatenate([kept, 1 - kept], axis=1)
        sums = pooled.sums(weights)
        gained = 2 * (weights @ row_sums) - row_sums.sum()
        below, other_below = denominator(sums, human_sums), denominator(whole - sums, human_sums)
        if np.array_equal(below, other_below):  # no ties: the expensive part cancels
            return ratio(gained, below)
        taken = concordance(weights)
        return ratio(taken, below) - ratio(taken - gained, other_below)

    return difference


def _grouped(ordering: Ordering, in_order: Floats) -> Floats:
    """Sums over equal values of a matrix whose columns are already in order."""
    return in_order if ordering.distinct else np.add.reduceat(in_order, ordering.starts, axis=1)
