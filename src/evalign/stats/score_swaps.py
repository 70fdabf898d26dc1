"""Differences of agreement after swapping two metrics' scores on random rows: the inner loop of PERM-BOTH.

Both metrics' scores form 2n fixed rows. A swap gives n of them to the first metric and the other n to the second, so
order and ties are computed once, and the second metric's sums are the totals minus the first's. The ranks of the
human ratings never change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from evalign.stats.estimate import lookup
from evalign.stats.weighted import SAME, TAU_DENOMINATORS, Concordance, Ordering, centred_ranks, ratio, standardised
from evalign.types import Floats

Difference = Callable[[Floats], Floats]


def swap_difference(name: str, first: Floats, second: Floats, human: Floats) -> Difference:
    """A function from masks (r, n), 1 where a row is NOT swapped, to r differences of the named correlation."""
    return lookup(SWAPS, name)(first, second, human)


def _pearson(first: Floats, second: Floats, human: Floats) -> Difference:
    y = standardised(human)
    y = y / np.sqrt((y**2).sum())
    moments = np.stack([np.stack([x, x**2, x * y], axis=1) for x in (first, second)])
    gain, whole = moments[0] - moments[1], moments.sum(axis=(0, 1))
    base = moments[1].sum(axis=0)

    def correlation(sums: Floats) -> Floats:
        spread = sums[:, 1] - sums[:, 0] ** 2 / len(human)
        return ratio(sums[:, 2], np.sqrt(np.where(spread > SAME * sums[:, 1], spread, 0)))

    def difference(unswapped: Floats) -> Floats:
        sums = base + unswapped @ gain
        return correlation(sums) - correlation(whole - sums)

    return difference


def _spearman(first: Floats, second: Floats, human: Floats) -> Difference:
    human_order, pooled = Ordering.of(human), Ordering.of(np.concatenate([first, second]))
    y = centred_ranks(np.diff(human_order.starts, append=len(human)).astype(np.float64))[human_order.level]
    y = np.tile(y / np.sqrt((y**2).sum()), 2)[pooled.order]
    whole_sums, whole_y = pooled.sums(np.ones((1, len(y))))[0], _grouped(pooled, y[None])[0]
    whole_ranks = centred_ranks(whole_sums)

    def correlation(sums: Floats, ranks: Floats, y_sums: Floats) -> Floats:
        return ratio(np.einsum("rg,rg->r", ranks, y_sums), np.sqrt(np.einsum("rg,rg,rg->r", sums, ranks, ranks)))

    def difference(unswapped: Floats) -> Floats:
        taken = np.take(np.concatenate([unswapped, 1 - unswapped], axis=1), pooled.order, axis=1).astype(np.float64)
        sums, y_sums = _grouped(pooled, taken), _grouped(pooled, taken * y)
        ranks = centred_ranks(sums)
        return correlation(sums, ranks, y_sums) - correlation(whole_sums - sums, whole_ranks - ranks, whole_y - y_sums)

    return difference


def _tau(first: Floats, second: Floats, human: Floats, denominator: Callable[[Floats, Floats], Floats]) -> Difference:
    """With Q(w) = w' S w and g = S 1: Q(1 - w) = 1'g - 2 g'w + Q(w), so that Q(w) - Q(1 - w) is linear in w."""
    human_order, pooled = Ordering.of(human), Ordering.of(np.concatenate([first, second]))
    concordance = Concordance(pooled, Ordering.of(np.tile(human, 2)))
    row_sums = concordance.row_sums()
    human_sums = np.diff(human_order.starts, append=len(human)).astype(np.float64)
    whole = pooled.sums(np.ones((1, 2 * len(human))))

    def difference(unswapped: Floats) -> Floats:
        weights = np.concatenate([unswapped, 1 - unswapped], axis=1)
        sums = pooled.sums(weights)
        gained = 2 * (weights @ row_sums) - row_sums.sum()
        below, swapped_below = denominator(sums, human_sums), denominator(whole - sums, human_sums)
        if np.array_equal(below, swapped_below):  # no ties: the expensive part cancels
            return ratio(gained, below)
        taken = concordance(weights)
        return ratio(taken, below) - ratio(taken - gained, swapped_below)

    return difference


SWAPS: dict[str, Callable[[Floats, Floats, Floats], Difference]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    **{name: partial(_tau, denominator=formula) for name, formula in TAU_DENOMINATORS.items()},
}


def _grouped(ordering: Ordering, in_order: Floats) -> Floats:
    """Sums over equal values of a matrix whose columns are already in order."""
    return in_order if ordering.distinct else np.add.reduceat(in_order, ordering.starts, axis=1)
