"""Statistics of pairs for the table of levels: pairwise accuracy and the correlation of pairwise differences.

In: scores and ratings of rows, with the item of each (rows of one item are compared), or the means of systems. Out: a
`Prepared` estimate over items, or a value and a function that computes it for many resamples of the systems' means.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from evalign.errors import UndefinedStatisticError
from evalign.stats.bootstrap import Prepared
from evalign.stats.correlation import correlate_rows
from evalign.stats.estimate import Estimate, Labels, codes, merged, varied
from evalign.stats.pairs import items_of_pairs, order_of, tie_calibration
from evalign.stats.weighted import Weighted, ratio, weighted_mean
from evalign.types import Floats, Ints

PAIR_BLOCK = 500_000  # pairs held at once
CELL_BLOCK = 500_000  # scores worked on at once
RowFunction = Callable[[Floats, Floats], Floats]


def pairs_of_items(
    statistic: str, scores: Floats, human: Floats, items: Labels | None, documents: Labels | None
) -> Prepared:
    """The named statistic over pairs of rows of the same item (of all rows without items).

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
            return Prepared(estimate, compute, int(of_item.max()) + 1, of_item)
    return Prepared(estimate, compute, len(rows_by_item))


def pairs_of_systems(statistic: str, scores: Floats, human: Floats) -> tuple[float, RowFunction]:
    """The statistic over all pairs of systems from their means, and a function of matrices of means (r, systems)."""
    if statistic == "pdp":  # all differences of one item: Pearson's correlation
        varied(scores, human)
        return float(correlate_rows("pearson", scores[None], human[None])[0]), partial(correlate_rows, "pearson")
    rows = [np.arange(len(scores))]
    epsilon = tie_calibration(merged(scores), merged(human), rows)[0] if statistic == "acc-eq" else 0.0
    compute = partial(accuracy_of_rows, epsilon=epsilon)
    return float(compute(scores[None], human[None])[0]), compute


def accuracy_of_rows(scores: Floats, human: Floats, epsilon: float) -> Floats:
    """(r,): the part of pairs of columns that each row of scores orders, or ties, as the row of ratings does."""
    first, second = np.triu_indices(scores.shape[1], 1)
    per_block = max(1, PAIR_BLOCK // len(first))
    values = np.empty(len(scores))
    for start in range(0, len(scores), per_block):
        x, y = merged(scores[start : start + per_block]), merged(human[start : start + per_block])
        order = order_of(x[:, first] - x[:, second], epsilon)
        right = (order == np.sign(y[:, first] - y[:, second])).mean(axis=1)
        values[start : start + per_block] = np.where(np.isfinite(x + y).all(axis=1), right, np.nan)
    return values


def pdp_function(human: Floats, items: Labels | None) -> Callable[[Floats], Floats]:
    """A function from scores (r, n) of the same rows to the Pearson correlation of differences within items (r,)."""
    rows_by_item, _ = items_of_pairs(items, len(human))
    order = np.concatenate(rows_by_item)  # rows that have no other of their item are left out
    sizes = np.array([len(rows) for rows in rows_by_item])
    starts = np.cumsum(sizes) - sizes
    size = np.repeat(sizes, sizes).astype(np.float64)  # of each row's item

    def centred(values: Floats) -> Floats:
        means = np.add.reduceat(values, starts, axis=-1) / sizes
        differences: Floats = values - np.repeat(means, sizes, axis=-1)
        return differences

    people = centred(human[order])
    spread = float(size @ people**2)

    def block(scores: Floats) -> Floats:
        differences = centred(scores[:, order])
        return ratio(differences @ (size * people), np.sqrt((differences**2 @ size) * spread))

    def value(scores: Floats) -> Floats:
        """In blocks: memory is that of some copies of `CELL_BLOCK` scores, whatever the number of items is."""
        per_block = max(1, CELL_BLOCK // scores.shape[1])
        return np.concatenate([block(scores[k : k + per_block]) for k in range(0, len(scores), per_block)])

    return value


def _accuracy(scores: Floats, human: Floats, rows_by_item: list[Ints], calibrated: bool) -> tuple[float, Weighted]:
    _, before, after = tie_calibration(scores, human, rows_by_item)
    right = after if calibrated else before
    return float(right.mean()), weighted_mean(right)


def _difference_correlation(scores: Floats, human: Floats, rows_by_item: list[Ints]) -> tuple[float, Weighted]:
    """Pearson over the differences of all ordered pairs of rows of the same item, which have the mean 0.

    The sum over pairs of an item of n rows, of (xi - xj)(yi - yj), is 2 n sum (x - mean x)(y - mean y).
    """
    sums = np.empty((len(rows_by_item), 3))
    for item, rows in enumerate(rows_by_item):
        x, y = scores[rows] - scores[rows].mean(), human[rows] - human[rows].mean()
        sums[item] = len(rows) * (x @ y), len(rows) * (x @ x), len(rows) * (y @ y)
    for column, name in ((1, "scores"), (2, "human scores")):
        if not sums[:, column].sum() > 0:
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
