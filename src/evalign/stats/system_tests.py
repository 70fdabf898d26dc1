"""Tests whether system B is better than the baseline A: paired bootstrap and approximate randomisation, as sacrebleu.

In: additive statistics of both systems, a matrix (rows, k) each in the same order of rows, and the function from their
totals to a score (for a mean, one column and `mean_score`). Out: both scores, the p-value, intervals.

Both tests need only sums: over all rows, and over each resample's rows. Sums of parts of the rows are additive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalign.core import Floats
from evalign.core.scoring import check_stopped
from evalign.errors import InputError, LengthMismatchError
from evalign.stats.bootstrap import Resampling, resample_weights, with_interval
from evalign.stats.estimate import Estimate

Score = Callable[[Floats, float], float]


@dataclass(frozen=True)
class SystemTest:
    """Scores of two systems and the two-sided p-value of "they do not differ"; intervals only from the bootstrap."""

    baseline: Estimate
    system: Estimate
    difference: Estimate
    p_value: float


def mean_score(totals: Floats, rows: float) -> float:
    """Return the mean of a single column."""
    return float(totals[0]) / rows


def paired_bootstrap(
    baseline: npt.ArrayLike, system: npt.ArrayLike, score: Score = mean_score, resampling: Resampling | None = None
) -> SystemTest:
    """Paired bootstrap resampling (Koehn 2004) with sacrebleu's p-value.

    With d the absolute differences on resamples and D the observed one, p = (1 + #{d - mean(d) > D}) / (1 + resamples).
    """
    resampling = resampling or Resampling()
    both = _statistics(baseline, system)
    return bootstrap_test(_totals(both), resample_sums(both, resampling), len(both[0]), score, resampling.confidence)


def approximate_randomisation(
    baseline: npt.ArrayLike, system: npt.ArrayLike, score: Score = mean_score, resampling: Resampling | None = None
) -> SystemTest:
    """Approximate randomisation (Riezler and Maxwell 2005): swap the outputs of both systems on random rows.

    p = (1 + #{|difference after swapping| > |observed|}) / (1 + trials); sacrebleu runs 10,000 trials by default.
    """
    resampling = resampling or Resampling(samples=10_000)
    both = _statistics(baseline, system)
    (swaps,) = swap_sums([both[0] - both[1]], resampling)
    return randomisation_test(_totals(both), swaps, len(both[0]), score)


def resample_sums(
    tables: Sequence[Floats], resampling: Resampling, start: int = 0, rows: int | None = None
) -> list[Floats]:
    """Return the sums (samples, k) of each table on bootstrap resamples.

    Tables may be a part, from row `start` on, of `rows` rows.
    """
    part = slice(start, start + len(tables[0]))
    blocks = [
        [block[:, part] @ table for table in tables] for block in resample_weights(rows or len(tables[0]), resampling)
    ]
    return [np.concatenate(sums) for sums in zip(*blocks, strict=True)]


def swap_sums(gains: Sequence[Floats], resampling: Resampling, start: int = 0, rows: int | None = None) -> list[Floats]:
    """Return (samples, k) of each table of differences, first minus second: its sums over the swapped rows."""
    rows, part = rows or len(gains[0]), slice(start, start + len(gains[0]))
    coins = (resampling.coins(samples, rows).astype(np.float64)[:, part] for samples in resampling.blocks(rows))
    blocks = [[block @ gain for gain in gains] for block in coins]
    return [np.concatenate(sums) for sums in zip(*blocks, strict=True)]


def bootstrap_test(
    totals: Sequence[Floats], draws: Sequence[Floats], rows: int, score: Score, confidence: float
) -> SystemTest:
    """Run the bootstrap from two systems' sums over all rows, (k,) each, and their `resample_sums`."""
    scores = [_scores(sums, rows, score) for sums in draws]
    scores.append(scores[1] - scores[0])
    first_score, second_score, difference = (
        with_interval(estimate, values, confidence)
        for estimate, values in zip(_observed(totals, rows, score), scores, strict=True)
    )
    sizes = np.abs(scores[2])
    return SystemTest(first_score, second_score, difference, _p_value(sizes - sizes.mean(), difference))


def randomisation_test(totals: Sequence[Floats], swaps: Floats, rows: int, score: Score) -> SystemTest:
    """Run the randomisation from two systems' sums over all rows and the `swap_sums` of their difference."""
    shuffled = totals[1] + swaps
    differences = _scores(shuffled, rows, score) - _scores(totals[0] + totals[1] - shuffled, rows, score)
    observed = _observed(totals, rows, score)
    return SystemTest(*observed, _p_value(np.abs(differences), observed[2]))


def _p_value(sizes: Floats, difference: Estimate) -> float:
    """Return the p-value; only strictly larger differences count.

    Otherwise rounding could make a system differ significantly from itself.
    """
    observed = abs(difference.value or 0.0)
    return float((np.count_nonzero(sizes > observed + 1e-12 * observed) + 1) / (len(sizes) + 1))


def _totals(tables: Sequence[Floats]) -> list[Floats]:
    return [table.sum(axis=0) for table in tables]


def _observed(totals: Sequence[Floats], rows: int, score: Score) -> tuple[Estimate, Estimate, Estimate]:
    """Return both scores and their difference, without intervals."""
    baseline, system = (float(score(sums, rows)) for sums in totals)
    return Estimate(baseline, rows), Estimate(system, rows), Estimate(system - baseline, rows)


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
