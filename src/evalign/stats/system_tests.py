"""Is system B better than the baseline A? Paired bootstrap and approximate randomisation, as sacrebleu counts them.

Flows in: additive statistics of both systems, a matrix (rows, k) each in the same order of rows, and the function that
makes a score of their totals; for a mean, one column and `mean_score`. Flows out: both scores, the p-value, intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalign.cancellation import check_stopped
from evalign.errors import InputError, LengthMismatchError
from evalign.stats.bootstrap import BLOCK, Resampling, drawn, with_interval
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
    scores_first = _scores(np.concatenate([pair[0] for pair in totals]), rows, score)
    scores_second = _scores(np.concatenate([pair[1] for pair in totals]), rows, score)
    observed = _observed(first, second, score)
    sizes = np.abs(scores_second - scores_first)
    p_value = _p_value(sizes - sizes.mean(), abs(observed[1] - observed[0]))
    return SystemTest(
        with_interval(Estimate(observed[0], rows), scores_first, resampling.confidence),
        with_interval(Estimate(observed[1], rows), scores_second, resampling.confidence),
        with_interval(Estimate(observed[1] - observed[0], rows), scores_second - scores_first, resampling.confidence),
        p_value,
    )


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
    shuffled = np.concatenate([base + coins @ gain for coins in _coins(rows, resampling)])
    differences = _scores(shuffled, rows, score) - _scores(whole - shuffled, rows, score)
    observed = _observed(first, second, score)
    return SystemTest(
        Estimate(observed[0], rows),
        Estimate(observed[1], rows),
        Estimate(observed[1] - observed[0], rows),
        _p_value(np.abs(differences), abs(observed[1] - observed[0])),
    )


def _p_value(sizes: Floats, observed: float) -> float:
    """Strictly larger ones count: a system against itself must not come out as significant by rounding."""
    return float((np.count_nonzero(sizes > observed + 1e-12 * abs(observed)) + 1) / (len(sizes) + 1))


def _observed(first: Floats, second: Floats, score: Score) -> tuple[float, float]:
    return float(score(first.sum(axis=0), len(first))), float(score(second.sum(axis=0), len(second)))


def _scores(totals: Floats, rows: int, score: Score) -> Floats:
    check_stopped()
    return np.array([score(row, rows) for row in totals])


def _coins(rows: int, resampling: Resampling) -> Iterator[Floats]:
    per_block = max(1, BLOCK // rows)
    for start in range(0, resampling.samples, per_block):
        check_stopped()
        samples = range(start, min(start + per_block, resampling.samples))
        yield np.stack([resampling.generator(k).integers(2, size=rows) for k in samples]).astype(np.float64)


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
