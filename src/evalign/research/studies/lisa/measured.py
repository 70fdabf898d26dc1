"""The measured LiSAScore study, and shared parts of its figures: views, comparisons with negatives, densities.

For intervals, pairs are resampled and every number is computed on each resample (`Resamples`): one value per resample,
from the same resamples for all numbers, so that differences of two numbers have intervals too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evalign.core import Floats
from evalign.research.studies.inputs import StudyPairs, shown_names
from evalign.research.studies.lisa.model_scores import NEGATIVE, POSITIVE, Key, LisaPlan, ModelScores
from evalign.research.studies.lisa.pair_scores import NAMES, PLAIN, TARGETS, Padding
from evalign.research.studies.plots import Shape
from evalign.stats.effect import MIN_PEAK_SHARE, Separation, density, points_for_peaks, separation, silverman

RESAMPLES = 2000  # enough for a share of 1/40, divided among a dozen comparisons
ENDS = (0.025, 0.975)
NO_SPREAD = 1e-12  # what rounding leaves of 0
MIN_PAIRS = 3  # of a distribution
TOO_FEW = f"it needs at least {MIN_PAIRS} pairs, and there are {{}}; give more rows, or a larger `sample_rows`"
CSVLine = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class Resamples:
    """Counts of each pair in each resample (draws, pairs); the first is the sample itself."""

    counts: Floats

    @classmethod
    def of(cls, pairs: int, seed: int) -> Resamples:
        """Draw resamples of all pairs, with replacement."""
        drawn = np.random.default_rng(seed).multinomial(pairs, np.full(pairs, 1 / pairs), size=RESAMPLES)
        return cls(np.concatenate([np.ones((1, pairs)), drawn]))

    def mean(self, values: Floats) -> Floats:
        """Return the means (draws,) or (draws, columns) of values (pairs,) or (pairs, columns)."""
        return np.asarray(self.counts @ values / self.counts.shape[1])

    def auc(self, good: Floats, bad: Floats) -> Floats:
        """The chance that a true pair scores above a negative; pairs are drawn with their own negatives."""
        wins = (good[:, None] > bad).astype(np.float64) + 0.5 * (good[:, None] == bad)
        return np.asarray(((self.counts @ wins) * self.counts).sum(axis=1) / self.counts.shape[1] ** 2)

    def cohens_d(self, good: Floats, bad: Floats) -> Floats:
        """The difference of the means in pooled standard deviations; NaN where a resample has one value only."""
        n = self.counts.shape[1]
        squares = sum(self.mean(values**2) - self.mean(values) ** 2 for values in (good, bad))
        spread = np.sqrt(np.maximum(squares, 0) / 2 * n / (n - 1))
        difference = self.mean(good) - self.mean(bad)
        return _ratio(difference, spread)

    def eta_squared(self, groups: Sequence[Floats]) -> Floats:
        """The part of the variance between groups, each (pairs,) or (pairs, runs) of the same pairs."""
        columns = [values.reshape(len(values), -1) for values in groups]
        means = np.array([self.mean(values.mean(axis=1)) for values in columns])
        squares = np.array([self.mean((values**2).mean(axis=1)) for values in columns])
        centre = means.mean(axis=0)
        return _ratio(((means - centre) ** 2).mean(axis=0), squares.mean(axis=0) - centre**2)

    def peaks(self, groups: Sequence[Floats], bandwidth: float) -> Floats:
        """Count the maxima of the density of all groups together, as `stats.distribution.peaks` does."""
        pooled = np.concatenate(groups)
        grid, _ = density(pooled, bandwidth, points_for_peaks(pooled, bandwidth))
        heights = np.zeros((len(self.counts), len(grid)))
        for values in groups:
            heights += self.counts @ np.exp(-0.5 * ((grid[None] - values[:, None]) / bandwidth) ** 2)
        rising = np.diff(heights, axis=1) > 0
        tops = rising[:, :-1] & ~rising[:, 1:]
        high = heights[:, 1:-1] >= MIN_PEAK_SHARE * heights.max(axis=1, keepdims=True)
        return np.asarray((tops & high).sum(axis=1), dtype=np.float64)


def interval(draws: Floats) -> tuple[float, float, float]:
    """The number itself, and the ends of its 95 % interval over the draws that have one."""
    drawn = draws[1:][~np.isnan(draws[1:])]
    low, high = np.quantile(drawn, ENDS).tolist() if len(drawn) else (np.nan, np.nan)
    return float(draws[0]), low, high


def _ratio(part: Floats, spread: Floats) -> Floats:
    """NaN on draws without spread, which have no such number."""
    return np.divide(part, spread, out=np.full_like(part, np.nan), where=spread > NO_SPREAD)


@dataclass(frozen=True, eq=False)
class Compared:
    """Scores of true pairs and of negatives, and how far apart they are."""

    positives: Floats
    negatives: Floats
    separation: Separation

    @property
    def means(self) -> tuple[float, float]:
        """Return the means of positives and negatives."""
        return float(self.positives.mean()), float(self.negatives.mean())

    @property
    def cells(self) -> tuple[float | None, ...]:
        """Both means, their difference and ratio, Cohen's d, AUC and overlap: the columns of tables."""
        apart = self.separation
        return *self.means, apart.difference, apart.ratio, apart.cohens_d, apart.auc, apart.overlap


@dataclass(frozen=True, eq=False)
class LisaStudy:
    """All models' numbers about the same rows."""

    pairs: StudyPairs
    models: tuple[ModelScores, ...]
    plan: LisaPlan
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    capabilities: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by method; empty without torch

    @cached_property
    def resamples(self) -> Resamples:
        """Draws of the pairs, the same for every number."""
        return Resamples.of(len(self.pairs.rows), self.plan.seed)

    @cached_property
    def named(self) -> list[tuple[str, ModelScores]]:
        """The models with the names they are shown by."""
        names = shown_names({model.model: model.pin for model in self.models})
        return [(names[model.model], model) for model in self.models]

    @property
    def main(self) -> str:
        """Return the type of pairs that padding was studied with."""
        return self.pairs.pair_types[0]

    @property
    def too_few(self) -> str:
        """Why there is no distribution to show; empty if there is."""
        count = len(self.pairs.rows)
        return TOO_FEW.format(count) if count < MIN_PAIRS else ""

    @cached_property
    def paper_paddings(self) -> tuple[Padding, ...]:
        """No padding, then the paper's: pads unmasked with weight 1, at every width that some model has."""
        measured = sorted({key.padding for model in self.models for key in model.parts})
        return PLAIN, *(padding for padding in measured if padding.pads == TARGETS and padding.weight)

    def views(self, paddings: Sequence[Padding] | None = None) -> list[tuple[str, Padding]]:
        """Return the main pair type with each padding (the paper's by default), other pair types without padding."""
        main = [(self.main, padding) for padding in (self.paper_paddings if paddings is None else paddings)]
        return main + [(pair_type, PLAIN) for pair_type in self.pairs.pair_types[1:]]

    def f1_by_model(self, key: Key) -> list[Floats]:
        """F1 per pair of every model that has it."""
        return [scores for model in self.models if (scores := model.f1(key)) is not None]

    def all_runs(self) -> dict[str, Floats]:
        """Return F1 of the true pairs of the main type by model, in every run that all models have: (pairs, runs).

        A run is a matching with one of the paper's paddings.
        """
        runs = [
            key
            for padding in self.paper_paddings
            for algorithm in NAMES
            if len(self.f1_by_model(key := Key(self.main, POSITIVE, algorithm, padding))) == len(self.models)
        ]
        return {name: np.stack([model.scores[key][:, 2] for key in runs], axis=1) for name, model in self.named}

    def compare(self, model: ModelScores, pair_type: str, algorithm: str, padding: Padding) -> Compared | None:
        """F1 of true pairs and negatives; None if it was not measured, or for too few pairs."""
        key = Key(pair_type, POSITIVE, algorithm, padding)
        return compared(model.f1(key), model.f1(key._replace(pairing=NEGATIVE)))

    def lines(self, labels: tuple[str, ...], values: Floats) -> Iterator[CSVLine]:
        """Lines of a CSV file from values (pairs, columns): the labels, the row's id, its values."""
        for row, columns in zip(self.pairs.rows, values.tolist(), strict=True):
            yield *labels, row.id, *columns


def compared(positives: Floats | None, negatives: Floats | None) -> Compared | None:
    """The comparison of two samples; None if one is missing or too small."""
    if positives is None or negatives is None or len(positives) < MIN_PAIRS:
        return None
    return Compared(positives, negatives, separation(positives, negatives))


def shape(values: Floats, bandwidth: float | None = None) -> Shape:
    """A sample as it is drawn, by default with Silverman's bandwidth, cut off at -1 and 1, which no score exceeds."""
    points, heights = density(values, silverman(values) if bandwidth is None else bandwidth)
    within = np.abs(points) <= 1
    quarter, half, three_quarters = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return Shape(points[within], heights[within], (quarter, half, three_quarters))


def common_bandwidth(samples: Sequence[Floats]) -> float:
    """Return the mean bandwidth of the samples."""
    return float(np.mean([silverman(sample) for sample in samples]))
