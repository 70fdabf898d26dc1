"""Is system B better than the baseline A? Paired bootstrap and approximate randomisation, as sacrebleu counts them.

In: additive statistics of both systems, a matrix (rows, k) each in the same order of rows, and the function from their
totals to a score (for a mean, one column and `mean_score`). Out: both scores, the p-value, intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalign.cancellation import check_stopped
from evalign.errors import InputError, LengthMismatchError
from evalign.stats.bootstrap import Resampling, drawn, with_interval
from evalign.stats.estimate import Estimate
from evalign.types import Floats

Score = Callable[[Floats, float], float]


@dataclass(frozen=True)
class SystemTest:
    """Two systems and the two-sided p-value of "they do not differ"; intervals only from the bootstrap."""

    baseline: Estimate
    system: Estimate
    difference: Estimate
    p_value: float


def mean_score(totals: Floats, rows: float) -> float:
    """The mean of a single column."""
    return float(totals[0]) / rows


def paired_bootstrap(
    baseline: npt.ArrayLike, system: npt.ArrayLike, score: Score = mean_score, resampling: Resampling | None = None
) -> SystemTest:
    """Paired bootstrap resampling (Koehn 2004) with sacrebleu's p-value.

    With d the absolute differences on resamples and D the observed one, p = (1 + #{d - mean(d) > D}) / (1 + resamples).
    """
    resampling = resampling or Resampling()
    first, second = _statistics(baseline, system)
    rows = len(first)
    totals = [(block @ first, block @ second) for block in drawn(rows, resampling)]
    draws = [_scores(np.concatenate(parts), rows, score) for parts in zip(*totals, strict=True)]
    draws.append(draws[1] - draws[0])
    observed = _observed(first, second, score)
    first_score, second_score, difference = (
        with_interval(estimate, values, resampling.confidence) for estimate, values in zip(observed, draws, strict=True)
    )
    sizes = np.abs(draws[2])
    return SystemTest(first_score, second_score, difference, _p_value(sizes - sizes.mean(), difference))


def approximate_randomisation(
    baseline: npt.ArrayLike, system: npt.ArrayLike, score: Score = mean_score, resampling: Resampling | None = None
) -> SystemTest:
    """Approximate randomisation (Riezler and Maxwell 2005): the outputs of both systems are swapped on random rows.

    p = (1 + #{|difference after swapping| > |observed|}) / (1 + trials); sacrebleu makes 10,000 trials by default.
    """
    resampling = resampling or Resampling(samples=10_000)
    first, second = _statistics(baseline, system)
    rows, whole = len(first), first.sum(axis=0) + second.sum(axis=0)
    base, gain = second.sum(axis=0), first - second
    coins = (resampling.coins(samples, rows).astype(np.float64) for samples in resampling.blocks(rows))
    shuffled = np.concatenate([base + block @ gain for block in coins])
    differences = _scores(shuffled, rows, score) - _scores(whole - shuffled, rows, score)
    observed = _observed(first, second, score)
    return SystemTest(*observed, _p_value(np.abs(differences), observed[2]))


def _p_value(sizes: Floats, difference: Estimate) -> float:
    """Strictly larger ones count: a system against itself must not come out as significant by rounding."""
    observed = abs(difference.value or 0.0)
    return float((np.count_nonzero(sizes > observed + 1e-12 * observed) + 1) / (len(sizes) + 1))


def _observed(first: Floats, second: Floats, score: Score) -> tuple[Estimate, Estimate, Estimate]:
    """Both scores and their difference, without intervals."""
    baseline, system = (float(score(table.sum(axis=0), len(table))) for table in (first, second))
    return Estimate(baseline, len(first)), Estimate(system, len(first)), Estimate(system - baseline, len(first))


def _scores(totals: Floats, rows: int, score: Score) -> Floats:
    check_stopped()
    return np.array([score(row, rows) for row in totals])


def _statistics(baseline: npt.ArrayLike, system: npt.ArrayLike) -> tuple[Floats, Floats]:
    tables = []
    for values, name in ((baseline, "baseline"), (system, "system")):
        table = np.asarray(values, dtype=np.float64)
        table = table[:, None] if table.ndim == 1 else table
        if table.ndim != 2 or not len(table) or not np.isfinite(table).all():
            raise InputError(
                f"the statistics of the {name} must be finite numbers, one row per segment and at least one, "
                f"but have shape {table.shape}{'' if np.isfinite(table).all() else ' and are not all finite'}"
            )
        tables.append(table)
    if tables[0].shape != tables[1].shape:
        raise LengthMismatchError(
            "a paired test needs the same segments and statistics of both systems, but they have "
            f"{tables[0].shape} and {tables[1].shape}"
        )
    return tables[0], tables[1]
