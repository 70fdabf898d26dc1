"""Soft pairwise accuracy: does the metric's confidence in each ranking of two systems match people's?

In: scores and ratings of rows, with the item and the system of each. Out: a number between 0 and 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evalign.errors import InputError, UndefinedStatisticError
from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import Estimate, Labels, codes, column, parallel
from evalign.stats.levels import MACRO, Averaging, Grouped, Rated
from evalign.types import Floats


def soft_pairwise_accuracy(
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    items: Labels,
    systems: Labels,
    resampling: Resampling | None = None,
) -> Estimate:
    """SPA (Thompson et al. 2024): the mean over pairs of systems of 1 - |p_human - p_metric|.

    p is the one-sided p-value of a paired permutation test on the items. Items that some system lacks are left out.
    """
    score_table, human_table, flags = _tables(scores, human, items, systems)
    resampling = resampling or Resampling()
    gaps = np.abs(system_p_values(human_table, resampling) - system_p_values(score_table, resampling))
    pairs = gaps[np.triu_indices(len(gaps), 1)]
    return Estimate(float(1 - pairs.mean()), len(pairs), flags=flags)


def soft_agreement(rated: Rated, by: Labels | None, resampling: Resampling, averaging: Averaging = MACRO) -> Grouped:
    """Soft pairwise accuracy within each group of rows and its mean; of all rows without groups. It has no interval."""
    if rated.items is None or rated.systems is None:
        raise InputError("soft pairwise accuracy needs to know the item and the system of each row")
    scores, human, items, systems = map(np.asarray, (rated.scores, rated.human, rated.items, rated.systems))
    if by is None:
        return Grouped({}, soft_pairwise_accuracy(scores, human, items, systems, resampling))
    group_of_row, names = codes(by, "groups", len(scores))
    groups: dict[str, Estimate] = {}
    values, sizes = [], []
    for code, name in enumerate(names):
        rows = np.flatnonzero(group_of_row == code)
        try:
            groups[name] = soft_pairwise_accuracy(scores[rows], human[rows], items[rows], systems[rows], resampling)
        except UndefinedStatisticError as error:
            groups[name] = Estimate(None, len(rows), flags=(str(error),))
            continue
        values.append(groups[name].value)
        sizes.append(len(rows))
    if not values:
        return Grouped(groups, Estimate(None, 0, flags=("no group has a value",)))
    mean = float(np.average(np.array(values, dtype=np.float64), weights=averaging.sizes(sizes)))
    left_out = len(names) - len(values)
    flags = (f"left out: {left_out} groups without a value",) if left_out else ()
    return Grouped(groups, Estimate(mean, len(values), flags=flags))


def system_p_values(table: Floats, resampling: Resampling) -> Floats:
    """(systems, systems) from scores (items, systems): the p-value of "row is better than column".

    Each permutation swaps the scores of both systems on random items, that is, gives their difference a random sign;
    p is the part of permutations whose summed difference is at least the observed one.
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


def _tables(
    scores: npt.ArrayLike, human: npt.ArrayLike, items: Labels, systems: Labels
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Both columns as (items, systems), and a flag that counts the items left out."""
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
        twice = divmod(int(cells[count > 1][0]), len(system_names))
        raise InputError(
            f"item {item_names[twice[0]]!r} has several rows of system {system_names[twice[1]]!r}; "
            "soft pairwise accuracy needs one row for each item and system: name the item by a field (--item)"
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
