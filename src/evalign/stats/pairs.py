"""Statistics of pairs of outputs: accuracy with calibrated ties, daRR, pairwise differences, soft pairwise accuracy.

In: scores and ratings of rows, with the item (the source text) of each row if only outputs of the same item are
compared. Out: accuracies between 0 and 1, with the tie threshold that was chosen; tau between -1 and 1; and a test
whether one metric's accuracy is higher, by swapping the outcomes of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from evalign.core import Bools, Floats, Ints
from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats.bootstrap import ResampledStatistic, Resampling, bootstrap_mean
from evalign.stats.correlation import correlate_rows
from evalign.stats.estimate import Estimate, Labels, codes, column, merged, paired, parallel, rows_by_code, varied
from evalign.stats.significance import ROUNDING, Comparison
from evalign.stats.weighted import Weighted, ratio, weighted_mean

BLOCK_PAIRS = 250_000  # in memory at once
DROPPED_BITS = 43  # of a difference's floating-point form in the first pass: 512 bins from a number to its double
BINS = 1 << (63 - DROPPED_BITS)
BLOCK_ROWS = 512  # of one item, compared with all its rows at once


@dataclass(frozen=True)
class TieCalibration:
    """Best accuracy over all tie thresholds, the smallest threshold that reaches it, and the accuracy without one."""

    accuracy: Estimate
    uncalibrated: Estimate
    epsilon: float
    pairs: int


def tie_calibrated_accuracy(
    scores: npt.ArrayLike, human: npt.ArrayLike, items: Labels | None = None, resampling: Resampling | None = None
) -> TieCalibration:
    """acc_eq (Deutsch et al. 2023): (C + T_both) / all pairs; the metric ties pairs with |difference| <= epsilon.

    With `items`, only rows of the same item are paired, and the value is the mean over items; an interval, over items
    and with a fixed epsilon, exists only then. Epsilon is the best of all differences that occur. The search is exact
    and never holds all pairs: a first pass sums gains and losses in narrow bins of the difference, a second searches
    the bins that can hold the best threshold.
    """
    if resampling is not None and items is None:
        raise InputError("the interval of a pairwise accuracy is over items; pass the item of each row")
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
    """Return the best threshold, and the share of each item's pairs that is right without and with it."""
    epsilon = _best_epsilon(x, y, rows_by_item)
    before, after = _accuracies(x, y, rows_by_item, [0.0, epsilon])
    return epsilon, before, after


def items_of_pairs(items: Labels | None, rows: int) -> tuple[list[Ints], tuple[str, ...]]:
    """Return the rows of each item with at least two, and a flag that counts the other items."""
    if items is None:
        if rows < 2:
            raise UndefinedStatisticError(f"{rows} rows make no pair: at least two rows are needed")
        return [np.arange(rows)], ()
    all_items = rows_by_code(codes(items, "items", rows)[0])
    paired = [rows_of_item for rows_of_item in all_items if len(rows_of_item) > 1]
    if not paired:
        raise UndefinedStatisticError(
            "no item has two rows, so there are no pairs; pass items that several systems share"
        )
    single = len(all_items) - len(paired)
    return paired, (f"left out: {single} items of one row",) if single else ()


def _accuracies(x: Floats, y: Floats, rows_by_item: list[Ints], epsilons: Sequence[float]) -> Floats:
    """Return the share of each item's pairs that is right, (thresholds, items)."""
    right = np.zeros((len(epsilons), len(rows_by_item)))
    for item, difference, tied, agrees in _pairs(x, y, rows_by_item):
        for row, epsilon in zip(right, epsilons, strict=True):
            row += np.bincount(item, np.where(difference <= epsilon, tied, agrees), len(row))
    return right / _pair_counts(rows_by_item)


def _best_epsilon(x: Floats, y: Floats, rows_by_item: list[Ints]) -> float:
    """Return the threshold with the highest accuracy.

    Raising epsilon past a pair's difference gains the pair if people tie it, and loses it if it was concordant.
    """
    counts = _pair_counts(rows_by_item)
    weight = counts.max() / counts  # exactly 1 where all items have as many pairs: then every sum is exact
    changes = (_changes(*pair, weight) for pair in _pairs(x, y, rows_by_item))
    before = np.zeros(1)
    if counts.sum() > BLOCK_PAIRS:
        before, possible = _promising_bins(x, y, rows_by_item, weight)
        changes = ((d[possible[_bin(d)]], change[possible[_bin(d)]]) for d, change in changes)
    difference, change = (np.concatenate(part) for part in zip(*changes, strict=True))
    if not len(difference):
        return 0.0
    order = np.argsort(difference, kind="stable")
    difference, change = difference[order], change[order]
    bins = _bin(difference) if len(before) > 1 else np.zeros(len(difference), dtype=np.int64)
    running, first = np.cumsum(change), np.searchsorted(bins, bins)  # a bin's sum starts from that of all lower bins
    reached = running - (running - change)[first] + before[bins]
    last = np.append(difference[1:] != difference[:-1], True)  # a threshold ties all pairs of that difference
    difference, reached = difference[last], reached[last]
    good = reached >= max(0.0, reached.max()) - ROUNDING * counts.max()
    return 0.0 if reached.max() <= 0 else float(difference[good][0])


def _promising_bins(x: Floats, y: Floats, rows_by_item: list[Ints], weight: Floats) -> tuple[Floats, Bools]:
    """Return the sum of changes of all lower bins, and which bins could hold the best threshold."""
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
    """Return the differences of pairs that a threshold changes, and each change; a difference of 0 is always tied."""
    changed = (tied | agrees) & (difference > 0)
    return difference[changed], np.where(tied[changed], weight[item[changed]], -weight[item[changed]])


def _bin(difference: Floats) -> Ints:
    """Return a number that never falls as the difference grows: the leading bits of its floating-point form."""
    return difference.view(np.int64) >> DROPPED_BITS


def _pairs(x: Floats, y: Floats, rows_by_item: list[Ints]) -> Iterator[tuple[Ints, Floats, Bools, Bools]]:
    """Yield blocks of pairs: item, |difference| of scores, whether people tie them, whether people order them alike.

    Small items are joined, large ones are split. Rows are sorted by score, so that no sign is needed; where scores are
    equal the last value is undefined and not used.
    """
    waiting: list[tuple[Ints, Floats, Floats]] = []
    count = 0
    for item, rows in enumerate(rows_by_item):
        rows = rows[np.argsort(x[rows], kind="stable")]
        score, rating = x[rows], y[rows]
        step = max(1, BLOCK_PAIRS // len(rows))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            later = np.arange(len(score[part]))[:, None] < np.arange(len(rows) - start)
            difference = (score[start:] - score[part, None])[later]
            waiting.append((np.full(len(difference), item), difference, (rating[start:] - rating[part, None])[later]))
            count += len(difference)
            if count >= BLOCK_PAIRS:
                yield _joined(waiting)
                waiting, count = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[tuple[Ints, Floats, Floats]]) -> tuple[Ints, Floats, Bools, Bools]:
    item, difference, rating = (np.concatenate(part) for part in zip(*parts, strict=True))
    return item, difference, rating == 0, rating > 0


def _pair_counts(rows_by_item: list[Ints]) -> Floats:
    return np.array([len(rows) * (len(rows) - 1) / 2 for rows in rows_by_item])


@dataclass(frozen=True, eq=False)
class PairOutcomes:
    """Outcomes of two metrics per item: pairs only one of them has right, net gain of the first, and weight of a pair.

    The difference of two accuracies is `gained @ weights`; a swap gives each of `unlike` pairs a random sign.
    """

    unlike: Ints
    gained: Ints
    weights: Floats


def pair_outcomes(
    first: npt.ArrayLike, second: npt.ArrayLike, human: npt.ArrayLike, items: Labels | None, calibrated: bool = True
) -> PairOutcomes:
    """Find the pairs of rows of an item that each metric has right, at its best threshold or without one."""
    x, z, y = column(first, "scores"), column(second, "scores"), column(human, "human scores")
    parallel(x, "scores", y, "human scores")
    parallel(z, "scores", y, "human scores")
    rows_by_item, _ = items_of_pairs(items, len(y))
    thresholds = [tie_calibration(scores, y, rows_by_item)[0] if calibrated else 0.0 for scores in (x, z)]
    unlike, gained, pairs = (np.zeros(len(rows_by_item), dtype=np.int64) for _ in range(3))
    for item, rows in enumerate(rows_by_item):
        for start in range(0, len(rows), BLOCK_ROWS):
            part = rows[start : start + BLOCK_ROWS]
            later = np.arange(len(rows)) > np.arange(start, start + len(part))[:, None]
            people = np.sign(y[part, None] - y[rows])
            right, rival = (
                order_of(scores[part, None] - scores[rows], epsilon) == people
                for scores, epsilon in zip((x, z), thresholds, strict=True)
            )
            unlike[item] += int(((right != rival) & later).sum())
            gained[item] += int((right & ~rival & later).sum()) - int((rival & ~right & later).sum())
            pairs[item] += int(later.sum())
    return PairOutcomes(unlike, gained, 1 / (pairs * len(pairs)))


def pair_swap_test(groups: list[tuple[PairOutcomes, float]], rows: int, resampling: Resampling) -> Comparison:
    """Test groups of rows, each with its share of the mean; p = (1 + swaps as extreme) / (1 + swaps)."""
    unlike, gained = (np.concatenate([getattr(each, name) for each, _ in groups]) for name in ("unlike", "gained"))
    weights = np.concatenate([each.weights * share for each, share in groups])
    observed = float(gained @ weights)
    # The sum of m random signs is 2 Binomial(m, 1/2) - m: no pair needs its own coin.
    nulls = np.array(
        [(2 * resampling.generator(k).binomial(unlike, 0.5) - unlike) @ weights for k in range(resampling.samples)]
    )
    return Comparison.of_swaps(observed, nulls, rows)


def order_of(difference: Floats, epsilon: float) -> Floats:
    """Return 1, 0 or -1 for differences of two scores, which are tied up to `epsilon`."""
    order: Floats = np.where(np.abs(difference) <= epsilon, 0, np.sign(difference))
    return order


BLOCK_CELLS = 500_000  # scores in memory at once
RowFunction = Callable[[Floats, Floats], Floats]


def pairs_of_items(
    statistic: str, scores: Floats, human: Floats, items: Labels | None, documents: Labels | None
) -> ResampledStatistic:
    """Compute the named statistic over pairs of rows of the same item (of all rows without items).

    Documents are resampled where each item lies in one document, else items.
    """
    rows_by_item, flags = items_of_pairs(items, len(scores))
    value, compute = PAIR_STATISTICS[statistic](scores, human, rows_by_item)
    if len(rows_by_item) == 1:
        flags += ("one item only: its interval has no width",)
    estimate = Estimate(value, len(rows_by_item), flags=flags)
    if documents is not None:
        document = codes(documents, "documents", len(scores))[0]
        if all((document[rows] == document[rows[0]]).all() for rows in rows_by_item):
            of_item = np.unique([document[rows[0]] for rows in rows_by_item], return_inverse=True)[1]
            return ResampledStatistic(estimate, compute, int(of_item.max()) + 1, of_item)
    return ResampledStatistic(estimate, compute, len(rows_by_item))


def pairs_of_systems(statistic: str, scores: Floats, human: Floats) -> tuple[float, RowFunction]:
    """Compute the statistic over all pairs of systems from their means, and return its function of means."""
    if statistic == "pdp":  # all differences of one item: Pearson's correlation
        varied(scores, human)
        return float(correlate_rows("pearson", scores[None], human[None])[0]), partial(correlate_rows, "pearson")
    rows = [np.arange(len(scores))]
    epsilon = tie_calibration(merged(scores), merged(human), rows)[0] if statistic == "acc-eq" else 0.0
    compute = partial(accuracy_of_rows, epsilon=epsilon)
    return float(compute(scores[None], human[None])[0]), compute


def accuracy_of_rows(scores: Floats, human: Floats, epsilon: float) -> Floats:
    """Return the share of pairs of columns that each row of scores orders, or ties, as the row of ratings (r,)."""
    first, second = np.triu_indices(scores.shape[1], 1)
    per_block = max(1, BLOCK_CELLS // len(first))
    values = np.empty(len(scores))
    for start in range(0, len(scores), per_block):
        x, y = merged(scores[start : start + per_block]), merged(human[start : start + per_block])
        order = order_of(x[:, first] - x[:, second], epsilon)
        right = (order == np.sign(y[:, first] - y[:, second])).mean(axis=1)
        values[start : start + per_block] = np.where(np.isfinite(x + y).all(axis=1), right, np.nan)
    return values


def pdp_function(human: Floats, items: Labels | None) -> Callable[[Floats], Floats]:
    """Return a function from scores (r, n) to the Pearson correlation of differences within items (r,)."""
    rows_by_item, _ = items_of_pairs(items, len(human))
    order = np.concatenate(rows_by_item)  # rows without a second row of their item are left out
    sizes = np.array([len(rows) for rows in rows_by_item])
    starts = np.cumsum(sizes) - sizes
    size = np.repeat(sizes, sizes).astype(np.float64)  # of each row's item

    def centred(values: Floats) -> Floats:
        means = np.add.reduceat(values, starts, axis=-1) / sizes
        differences: Floats = values - np.repeat(means, sizes, axis=-1)
        return differences

    people = centred(human[order])
    variation = float(size @ people**2)

    def block(scores: Floats) -> Floats:
        differences = centred(scores[:, order])
        return ratio(differences @ (size * people), np.sqrt((differences**2 @ size) * variation))

    def value(scores: Floats) -> Floats:
        """Compute in blocks: memory is that of a few copies of `BLOCK_CELLS` scores."""
        per_block = max(1, BLOCK_CELLS // scores.shape[1])
        return np.concatenate([block(scores[k : k + per_block]) for k in range(0, len(scores), per_block)])

    return value


def _accuracy(scores: Floats, human: Floats, rows_by_item: list[Ints], calibrated: bool) -> tuple[float, Weighted]:
    _, before, after = tie_calibration(scores, human, rows_by_item)
    right = after if calibrated else before
    return float(right.mean()), weighted_mean(right)


def _difference_correlation(scores: Floats, human: Floats, rows_by_item: list[Ints]) -> tuple[float, Weighted]:
    """Compute Pearson's r over the differences of all ordered pairs of rows of the same item, which have the mean 0.

    The sum over pairs of an item of n rows, of (xi - xj)(yi - yj), is 2 n sum (x - mean x)(y - mean y).
    """
    sums = np.empty((len(rows_by_item), 3))
    for item, rows in enumerate(rows_by_item):
        x, y = scores[rows] - scores[rows].mean(), human[rows] - human[rows].mean()
        sums[item] = len(rows) * (x @ y), len(rows) * (x @ x), len(rows) * (y @ y)
    for index, name in ((1, "scores"), (2, "human scores")):
        if not sums[:, index].sum() > 0:
            raise UndefinedStatisticError(f"{name} are constant within every item, so no difference can agree")

    def value(weights: Floats) -> Floats:
        xy, xx, yy = (weights @ sums).T
        return ratio(xy, np.sqrt(xx * yy))

    return float(np.clip(value(np.ones((1, len(sums))))[0], -1, 1)), value


PAIR_STATISTICS: dict[str, Callable[[Floats, Floats, list[Ints]], tuple[float, Weighted]]] = {
    "accuracy": partial(_accuracy, calibrated=False),
    "acc-eq": partial(_accuracy, calibrated=True),
    "pdp": _difference_correlation,
}


def soft_pairwise_accuracy(
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    items: Labels,
    systems: Labels,
    resampling: Resampling | None = None,
) -> Estimate:
    """SPA (Thompson et al. 2024): the mean over pairs of systems of 1 - |p_human - p_metric|.

    p is the one-sided p-value of a paired permutation test on the items. Items without a row of each system are left
    out.
    """
    score_table, human_table, flags = _system_tables(scores, human, items, systems)
    resampling = resampling or Resampling()
    gaps = np.abs(system_p_values(human_table, resampling) - system_p_values(score_table, resampling))
    pairs = gaps[np.triu_indices(len(gaps), 1)]
    return Estimate(float(1 - pairs.mean()), len(pairs), flags=flags)


def system_p_values(table: Floats, resampling: Resampling) -> Floats:
    """Return the p-values (systems, systems) of "row is better than column" from scores (items, systems).

    Each permutation swaps the scores of both systems on random items, that is, gives their difference a random sign;
    p is the share of permutations whose summed difference is at least the observed one.
    """
    items, systems = table.shape
    table = table - table.mean()
    observed = _differences(table.sum(axis=0)[None])
    slack = 1e-12 * np.abs(table).sum()  # a permutation that restores the observed scores must count as equal
    reached = np.zeros((systems, systems))
    for samples in resampling.blocks(max(items, systems**2)):
        signs = 1 - 2.0 * resampling.coins(samples, items)
        reached += (_differences(signs @ table) >= observed - slack).sum(axis=0)
    return reached / resampling.samples


def _differences(sums: Floats) -> Floats:
    difference: Floats = sums[:, :, None] - sums[:, None, :]
    return difference


def _system_tables(
    scores: npt.ArrayLike, human: npt.ArrayLike, items: Labels, systems: Labels
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return both columns as (items, systems), and a flag that counts the items left out."""
    x, y = column(scores, "scores"), column(human, "human scores")
    parallel(x, "scores", y, "human scores")
    item, item_names = codes(items, "items", len(x))
    system, system_names = codes(systems, "systems", len(x))
    if len(system_names) < 2:
        raise UndefinedStatisticError(
            f"soft pairwise accuracy needs at least 2 systems, but there are {len(system_names)}"
        )
    cell = item * len(system_names) + system
    cells, count = np.unique(cell, return_counts=True)
    if (count > 1).any():
        duplicate = divmod(int(cells[count > 1][0]), len(system_names))
        raise InputError(
            f"item {item_names[duplicate[0]]!r} has several rows of system {system_names[duplicate[1]]!r}; "
            "soft pairwise accuracy needs one row for each item and system: name the item by a field (`item`)"
        )
    tables = np.full((2, len(item_names), len(system_names)), np.nan)
    tables[:, item, system] = x, y
    complete = np.isfinite(tables[0]).all(axis=1)
    if not complete.any():
        raise UndefinedStatisticError(
            "no item was scored for every system, so systems cannot be compared on the same items"
        )
    left_out = int((~complete).sum())
    flags = (f"left out: {left_out} items that some system lacks",) if left_out else ()
    return tables[0, complete], tables[1, complete], flags
