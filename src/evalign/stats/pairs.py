"""Does the metric order pairs of outputs as people do? Accuracy with calibrated ties, and WMT's Kendall-like daRR.

In: scores and ratings of rows, with the item (the source text) of each row if only outputs of the same item are
compared. Out: accuracies between 0 and 1, with the tie threshold that was chosen; tau between -1 and 1; and, of two
metrics, whether one's accuracy is really higher, by swapping the outcomes of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats.bootstrap import Resampling, bootstrap_mean
from evalign.stats.estimate import Estimate, Labels, codes, column, paired, parallel, rows_by_code
from evalign.stats.significance import ROUNDING, Comparison
from evalign.types import Bools, Floats, Ints

PAIR_BLOCK = 250_000  # pairs held at once
DROPPED_BITS = 43  # of a difference's floating-point form in the first pass: 512 bins from a number to its double
BINS = 1 << (63 - DROPPED_BITS)
ROW_BLOCK = 512  # rows of one item compared with all its rows at once


@dataclass(frozen=True)
class TieCalibration:
    """The best accuracy over all thresholds, the smallest threshold that reaches it, and the accuracy without one."""

    accuracy: Estimate
    uncalibrated: Estimate
    epsilon: float
    pairs: int


def tie_calibrated_accuracy(
    scores: npt.ArrayLike, human: npt.ArrayLike, items: Labels | None = None, resampling: Resampling | None = None
) -> TieCalibration:
    """acc_eq (Deutsch et al. 2023): (C + T_both) / all pairs, the metric being tied where |difference| <= epsilon.

    With `items`, only rows of the same item are paired, and the value is the mean over items; an interval, over items
    and with a fixed epsilon, exists only then. Epsilon is the best of all differences that occur. The search is exact
    and never holds all pairs: a first pass sums gains and losses in narrow bins of the difference, a second looks
    into the bins that can hold the best threshold.
    """
    if resampling is not None and items is None:
        raise InputError("the interval of a pairwise accuracy is one over items; pass the item of each row")
    x, y = paired(scores, human)
    rows_by_item, flags = items_of_pairs(items, len(x))
    epsilon, before, after = tie_calibration(x, y, rows_by_item)
    accuracy, uncalibrated = (bootstrap_mean(part, resampling, flags=flags) for part in (after, before))
    return TieCalibration(accuracy, uncalibrated, epsilon, int(_pair_counts(rows_by_item).sum()))


def darr(better: npt.ArrayLike, worse: npt.ArrayLike, resampling: Resampling | None = None) -> Estimate:
    """WMT's Kendall-like tau on pairs that people ordered: (C - D) / (C + D); a tie of the metric is discordant.

    As in WMT17 to WMT20, where ties between the scores of a better and a worse translation count against the metric.
    """
    first, second = column(better, "scores of the better"), column(worse, "scores of the worse")
    parallel(first, "scores of the better", second, "scores of the worse")
    if not len(first):
        raise UndefinedStatisticError("daRR needs at least one pair of better and worse, but there are none")
    return bootstrap_mean(np.where(first > second, 1.0, -1.0), resampling)


def tie_calibration(x: Floats, y: Floats, rows_by_item: list[Ints]) -> tuple[float, Floats, Floats]:
    """The best threshold, and the part of each item's pairs that is right without and with it."""
    epsilon = _best_epsilon(x, y, rows_by_item)
    before, after = _accuracies(x, y, rows_by_item, [0.0, epsilon])
    return epsilon, before, after


def items_of_pairs(items: Labels | None, rows: int) -> tuple[list[Ints], tuple[str, ...]]:
    """The rows of each item with at least two of them, and a flag that counts the other items."""
    if items is None:
        if rows < 2:
            raise UndefinedStatisticError(f"{rows} rows make no pair: at least two rows are needed")
        return [np.arange(rows)], ()
    every = rows_by_code(codes(items, "items", rows)[0])
    several = [rows_of_item for rows_of_item in every if len(rows_of_item) > 1]
    if not several:
        raise UndefinedStatisticError(
            "no item has two rows, so there are no pairs; pass items that several systems share"
        )
    alone = len(every) - len(several)
    return several, (f"left out: {alone} items of one row",) if alone else ()


def _accuracies(x: Floats, y: Floats, rows_by_item: list[Ints], epsilons: Sequence[float]) -> Floats:
    """(thresholds, items): the part of each item's pairs that is right."""
    right = np.zeros((len(epsilons), len(rows_by_item)))
    for item, difference, tied, agrees in _pairs(x, y, rows_by_item):
        for row, epsilon in zip(right, epsilons, strict=True):
            row += np.bincount(item, np.where(difference <= epsilon, tied, agrees), len(row))
    return right / _pair_counts(rows_by_item)


def _best_epsilon(x: Floats, y: Floats, rows_by_item: list[Ints]) -> float:
    """Raising epsilon past a pair's difference gains the pair if people tie it, and loses it if it was concordant."""
    counts = _pair_counts(rows_by_item)
    weight = counts.max() / counts  # exactly 1 where all items have as many pairs: then every sum is exact
    changes = (_changes(*pair, weight) for pair in _pairs(x, y, rows_by_item))
    before = np.zeros(1)
    if counts.sum() > PAIR_BLOCK:
        before, possible = _promising_bins(x, y, rows_by_item, weight)
        changes = ((d[possible[_bin(d)]], change[possible[_bin(d)]]) for d, change in changes)
    difference, change = (np.concatenate(part) for part in zip(*changes, strict=True))
    if not len(difference):
        return 0.0
    order = np.argsort(difference, kind="stable")
    difference, change = difference[order], change[order]
    bins = _bin(difference) if len(before) > 1 else np.zeros(len(difference), dtype=np.int64)
    running, first = np.cumsum(change), np.searchsorted(bins, bins)  # a bin's sum starts from what all lower ones gave
    reached = running - (running - change)[first] + before[bins]
    last = np.append(difference[1:] != difference[:-1], True)  # a threshold ties all pairs of that difference
    difference, reached = difference[last], reached[last]
    good = reached >= max(0.0, reached.max()) - ROUNDING * counts.max()
    return 0.0 if reached.max() <= 0 else float(difference[good][0])


def _promising_bins(x: Floats, y: Floats, rows_by_item: list[Ints], weight: Floats) -> tuple[Floats, Bools]:
    """What all lower bins change together, and whether a bin could hold the best threshold if its gains came first."""
    gains, losses = np.zeros(BINS), np.zeros(BINS)
    for pair in _pairs(x, y, rows_by_item):
        difference, change = _changes(*pair, weight)
        bins = _bin(difference)
        gains += np.bincount(bins, np.maximum(change, 0), BINS)
        losses += np.bincount(bins, np.maximum(-change, 0), BINS)
    after = np.cumsum(gains - losses)
    before = after - (gains - losses)
    return before, (gains > 0) & (before + gains >= max(0.0, after.max()) * (1 - ROUNDING))


def _changes(item: Ints, difference: Floats, tied: Bools, agrees: Bools, weight: Floats) -> tuple[Floats, Floats]:
    """Differences of the pairs that a threshold moves, and by how much; a difference of 0 is tied at any threshold."""
    moved = (tied | agrees) & (difference > 0)
    return difference[moved], np.where(tied[moved], weight[item[moved]], -weight[item[moved]])


def _bin(difference: Floats) -> Ints:
    """A number that never falls as the difference grows: the leading bits of its floating-point form."""
    return difference.view(np.int64) >> DROPPED_BITS


def _pairs(x: Floats, y: Floats, rows_by_item: list[Ints]) -> Iterator[tuple[Ints, Floats, Bools, Bools]]:
    """Blocks of pairs: item, |difference| of scores, whether people tie them, whether people order them alike.

    Small items come together, large ones in parts. Rows are put in the order of their scores, so that no sign is
    needed; where scores are equal the last value means nothing and is not used.
    """
    waiting: list[tuple[Ints, Floats, Floats]] = []
    held = 0
    for item, rows in enumerate(rows_by_item):
        rows = rows[np.argsort(x[rows], kind="stable")]
        score, rating = x[rows], y[rows]
        step = max(1, PAIR_BLOCK // len(rows))
        for start in range(0, len(rows), step):
            here = slice(start, start + step)
            later = np.arange(len(score[here]))[:, None] < np.arange(len(rows) - start)
            difference = (score[start:] - score[here, None])[later]
            waiting.append((np.full(len(difference), item), difference, (rating[start:] - rating[here, None])[later]))
            held += len(difference)
            if held >= PAIR_BLOCK:
                yield _joined(waiting)
                waiting, held = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[tuple[Ints, Floats, Floats]]) -> tuple[Ints, Floats, Bools, Bools]:
    item, difference, rating = (np.concatenate(part) for part in zip(*parts, strict=True))
    return item, difference, rating == 0, rating > 0


def _pair_counts(rows_by_item: list[Ints]) -> Floats:
    return np.array([len(rows) * (len(rows) - 1) / 2 for rows in rows_by_item])


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
                order_of(scores[here, None] - scores[rows], epsilon) == people
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
    return Comparison.of_swaps(observed, nulls, rows)


def order_of(difference: Floats, epsilon: float) -> Floats:
    """1, 0 or -1 for every difference of two scores, which are tied up to `epsilon`."""
    order: Floats = np.where(np.abs(difference) <= epsilon, 0, np.sign(difference))
    return order
