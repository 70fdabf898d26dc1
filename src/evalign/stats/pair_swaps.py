"""Is one metric's pairwise accuracy really higher? The permutation test that swaps the outcomes of pairs.

In: two metrics' scores and the ratings of the same rows, with the item of each row. Out: a `Comparison`. As
PairwisePermutationSigDiff of mt-metrics-eval: each metric keeps its own tie threshold, and what is swapped is whether
a pair came out right, so that nothing is calibrated again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import Labels, column, parallel
from evalign.stats.pairs import items_of_pairs, tie_calibration
from evalign.stats.significance import ROUNDING, Comparison
from evalign.types import Floats, Ints

ROW_BLOCK = 512  # rows of one item compared with all its rows at once


@dataclass(frozen=True, eq=False)
class PairOutcomes:
    """For each item: how many pairs only one of two metrics has right, the net gain of the first, and a pair's weight.

    The difference of two accuracies is `gained @ weights`; a swap gives each of `unlike` pairs a random sign.
    """

    unlike: Ints
    gained: Ints
    weights: Floats


def pair_outcomes(
    first: npt.ArrayLike, second: npt.ArrayLike, human: npt.ArrayLike, items: Labels | None, calibrated: bool = True
) -> PairOutcomes:
    """Which pairs of rows of the same item each metric has right, at its own best threshold or without one."""
    x, z, y = column(first, "scores"), column(second, "scores"), column(human, "human scores")
    parallel(x, "scores", y, "human scores")
    parallel(z, "scores", y, "human scores")
    rows_by_item, _ = items_of_pairs(items, len(y))
    thresholds = [tie_calibration(scores, y, rows_by_item)[0] if calibrated else 0.0 for scores in (x, z)]
    unlike, gained, pairs = (np.zeros(len(rows_by_item), dtype=np.int64) for _ in range(3))
    for item, rows in enumerate(rows_by_item):
        for start in range(0, len(rows), ROW_BLOCK):
            here = rows[start : start + ROW_BLOCK]
            later = np.arange(len(rows)) > np.arange(start, start + len(here))[:, None]
            people = np.sign(y[here, None] - y[rows])
            right, other = (
                _order(scores[here, None] - scores[rows], epsilon) == people
                for scores, epsilon in zip((x, z), thresholds, strict=True)
            )
            unlike[item] += int(((right != other) & later).sum())
            gained[item] += int((right & ~other & later).sum()) - int((other & ~right & later).sum())
            pairs[item] += int(later.sum())
    return PairOutcomes(unlike, gained, 1 / (pairs * len(pairs)))


def pair_swap_test(groups: list[tuple[PairOutcomes, float]], rows: int, resampling: Resampling) -> Comparison:
    """The test over groups of rows, each with its share of the mean; p = (1 + swaps as extreme) / (1 + swaps)."""
    unlike, gained = (np.concatenate([getattr(part, name) for part, _ in groups]) for name in ("unlike", "gained"))
    weights = np.concatenate([part.weights * share for part, share in groups])
    observed = float(gained @ weights)
    # The sum of m random signs is 2 Binomial(m, 1/2) - m: no pair needs a coin of its own.
    nulls = np.array(
        [(2 * resampling.generator(k).binomial(unlike, 0.5) - unlike) @ weights for k in range(resampling.samples)]
    )
    sides = (nulls >= observed - ROUNDING, nulls <= observed + ROUNDING, np.abs(nulls) >= abs(observed) - ROUNDING)
    above, below, either = ((1 + int(side.sum())) / (1 + len(nulls)) for side in sides)
    return Comparison(observed, above, below, either, rows, len(nulls))


def _order(difference: Floats, epsilon: float) -> Floats:
    order: Floats = np.where(np.abs(difference) <= epsilon, 0, np.sign(difference))
    return order
