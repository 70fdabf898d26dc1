"""Agreement with people behind docs/metrics.md: scores and a `Sample` in, values with resamples out, and differences.

Two metrics are compared on the rows that both scored, on the same resamples of documents; a metric is told apart from
another if the 95 % interval of the difference leaves out 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import rated
from guide_data import SUMMARIES, Sample

from evalign.stats.bootstrap import Resampling, resampled
from evalign.stats.levels import Rated, agreement, agreement_draws
from evalign.stats.weighted import weighted_mean

SAMPLES = Resampling(samples=500)


@dataclass(frozen=True, eq=False)
class Draws:
    """A number and its values on resamples."""

    value: float
    draws: np.ndarray

    @property
    def ends(self) -> tuple[float, float]:
        """Where the middle 95 % lie."""
        low, high = np.nanquantile(self.draws, [0.025, 0.975])
        return float(low), float(high)

    @property
    def apart(self) -> bool:
        """Whether the interval leaves out 0."""
        low, high = self.ends
        return low > 0 or high < 0


def mean(parts: list[Draws]) -> Draws:
    """Over data sets, groups or aspects."""
    return Draws(float(np.mean([part.value for part in parts])), np.mean([part.draws for part in parts], axis=0))


def agrees(sample: Sample, values: np.ndarray) -> Draws:
    """kk-en: tau over pairs; summaries: Spearman per document, mean over aspects; else Pearson, mean over groups.

    Rows without a score (NaN) are left out.
    """
    if sample.name == rated.DARR:
        better, worse = values[::2], values[1::2]
        known = np.isfinite(better) & np.isfinite(worse)
        signs = np.where(better[known] > worse[known], 1.0, -1.0)
        (draws,) = resampled([weighted_mean(signs)], len(signs), SAMPLES).T
        return Draws(float(signs.mean()), draws)
    known = np.isfinite(values)
    if sample.name in SUMMARIES:
        return mean([
            _draws(Rated(values[known], human[known], sample.documents[known]), "spearman", "summary", 0)
            for human in sample.human.values()
        ])  # fmt: skip
    human = sample.human["human"]
    return mean([
        _draws(Rated(values[part], human[part], sample.documents[part]), "pearson", "segment", number)
        for number, group in enumerate(sorted(set(sample.groups)))
        if (part := np.flatnonzero(known & (sample.groups == group))).size
    ])  # fmt: skip


def minus(sample: Sample, first: np.ndarray, second: np.ndarray) -> Draws:
    """The agreement of the first metric less that of the second, on the rows that both scored."""
    known = np.isfinite(first) & np.isfinite(second)
    ours, theirs = (agrees(sample, np.where(known, values, np.nan)) for values in (first, second))
    return Draws(ours.value - theirs.value, ours.draws - theirs.draws)


def _draws(rated_rows: Rated, statistic: str, level: str, stream: int) -> Draws:
    drawn = agreement_draws(rated_rows, statistic, level, SAMPLES.independent(stream))
    return Draws(float(agreement(rated_rows, statistic, level).value or 0.0), drawn)
