"""Many comparisons at once: p-values corrected for their number, and ranks that say who is really apart.

Flows in: p-values, or a matrix of them with the values they compare. Flows out: corrected p-values; ranks from 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalign.errors import InputError
from evalign.stats.estimate import column
from evalign.types import Floats

CORRECTIONS = ("holm", "bh", "none")
RULES = ("separated", "visited")


def adjusted(p_values: npt.ArrayLike, method: str = "holm") -> Floats:
    """Corrected p-values in the order given: compare them with the level itself.

    `holm` (1979) keeps the chance of any false finding below the level; `bh` (Benjamini and Hochberg 1995) keeps the
    expected part of false ones among the findings below it.
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
    """The rank of each: equal ranks are not told apart. `better[i, j]` is the p-value of "i is better than j".

    `separated` (WMT's system ranking): a new rank begins where every one above is significantly better than every one
    below. `visited` (WMT22 and later, for metrics): going down, a new rank begins at the first one that any member
    of the present rank is significantly better than.
    """
    score, p = column(values, "values"), np.asarray(better, dtype=np.float64)
    if p.shape != (len(score), len(score)) or np.isnan(p).any():
        raise InputError(f"the p-values must be {len(score)} x {len(score)} numbers, but have shape {p.shape}")
    if rule not in RULES:
        raise InputError(f"unknown rule {rule!r}; choose one of {', '.join(RULES)}")
    order = np.argsort(-score, kind="stable")
    wins = p[np.ix_(order, order)] < alpha
    ranks, begin = np.ones(len(score), dtype=np.int64), 0
    for place in range(1, len(score)):
        new = wins[:place, place:].all() if rule == "separated" else wins[begin:place, place].any()
        ranks[place] = ranks[place - 1] + int(new)
        begin = place if new else begin
    result = np.empty(len(score), dtype=np.int64)
    result[order] = ranks
    return [int(rank) for rank in result]
