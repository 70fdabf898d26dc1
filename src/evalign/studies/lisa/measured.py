"""The measured LiSAScore study, and what its figures share: views, comparisons of true pairs and negatives, shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evalign.render.study.plots import Shape
from evalign.stats.distribution import density, silverman
from evalign.stats.effect import Separation, separation
from evalign.studies.lisa.matchings import NAMES
from evalign.studies.lisa.model_scores import NEGATIVE, POSITIVE, Key, LisaPlan, ModelScores
from evalign.studies.lisa.padding import PLAIN, TARGETS, Padding
from evalign.studies.lisa.resampling import Resamples
from evalign.studies.model_identity import shown_names
from evalign.studies.pair_selection import StudyPairs
from evalign.types import Floats

FEWEST = 3  # pairs that a distribution needs
TOO_FEW = f"it needs at least {FEWEST} pairs, and there are {{}}; give more rows, or a larger --pairs"
CSVLine = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class Compared:
    """Scores of true pairs and of negatives, and how far apart they are."""

    positives: Floats
    negatives: Floats
    separation: Separation

    @property
    def means(self) -> tuple[float, float]:
        """Of both."""
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
        """The kind of pair that padding was studied with."""
        return self.pairs.kinds[0]

    @property
    def too_few(self) -> str:
        """Why there is no distribution to show; empty if there is."""
        count = len(self.pairs.rows)
        return TOO_FEW.format(count) if count < FEWEST else ""

    @cached_property
    def paper_paddings(self) -> tuple[Padding, ...]:
        """No padding, then the paper's: pads unmasked with weight 1, at every width that some model has."""
        measured = sorted({key.padding for model in self.models for key in model.parts})
        return PLAIN, *(padding for padding in measured if padding.pads == TARGETS and padding.weight)

    def views(self, paddings: Sequence[Padding] | None = None) -> list[tuple[str, Padding]]:
        """Pairs of the main kind with each padding (the paper's by default), pairs of other kinds without any."""
        main = [(self.main, padding) for padding in (self.paper_paddings if paddings is None else paddings)]
        return main + [(kind, PLAIN) for kind in self.pairs.kinds[1:]]

    def f1_by_model(self, key: Key) -> list[Floats]:
        """F1 per pair of every model that has it."""
        return [scores for model in self.models if (scores := model.f1(key)) is not None]

    def all_runs(self) -> dict[str, Floats]:
        """By model, F1 of the main kind of true pairs in every run that all models have: (pairs, runs).

        A run is a matching with one of the paper's paddings.
        """
        runs = [
            key
            for padding in self.paper_paddings
            for algorithm in NAMES
            if len(self.f1_by_model(key := Key(self.main, POSITIVE, algorithm, padding))) == len(self.models)
        ]
        return {name: np.stack([model.scores[key][:, 2] for key in runs], axis=1) for name, model in self.named}

    def compare(self, model: ModelScores, kind: str, algorithm: str, padding: Padding) -> Compared | None:
        """F1 of true pairs and negatives; None if it was not measured, or for too few pairs."""
        key = Key(kind, POSITIVE, algorithm, padding)
        return compared(model.f1(key), model.f1(key._replace(pairing=NEGATIVE)))

    def lines(self, labels: tuple[str, ...], values: Floats) -> Iterator[CSVLine]:
        """Lines of a CSV file from values (pairs, columns): the labels, the row's id, its values."""
        for row, columns in zip(self.pairs.rows, values.tolist(), strict=True):
            yield *labels, row.id, *columns


def compared(positives: Floats | None, negatives: Floats | None) -> Compared | None:
    """The comparison of two samples; None if one is missing or too small."""
    if positives is None or negatives is None or len(positives) < FEWEST:
        return None
    return Compared(positives, negatives, separation(positives, negatives))


def shape(values: Floats, bandwidth: float | None = None) -> Shape:
    """A sample as it is drawn, by default with Silverman's bandwidth, cut off at -1 and 1, which no score exceeds."""
    places, heights = density(values, silverman(values) if bandwidth is None else bandwidth)
    within = np.abs(places) <= 1
    quarter, half, three_quarters = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return Shape(places[within], heights[within], (quarter, half, three_quarters))


def common_bandwidth(samples: Sequence[Floats]) -> float:
    """The mean of the samples' own bandwidths: what is wide within a group cannot make a peak of its own."""
    return float(np.mean([silverman(sample) for sample in samples]))
