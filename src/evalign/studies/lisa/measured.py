"""What the figures of the LiSAScore study share: the measured study, shapes of samples, separations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalign.render.study.plots import Shape
from evalign.stats.distribution import density, silverman
from evalign.stats.effect import Separation, separation
from evalign.studies.lisa.model_scores import NEGATIVE, POSITIVE, Key, ModelScores, Plan
from evalign.studies.lisa.padding import PLAIN, TARGETS, Setting
from evalign.studies.pair_selection import Chosen
from evalign.types import Floats

FEWEST = 3  # pairs below which a distribution is no distribution
TOO_FEW = f"it needs at least {FEWEST} pairs, and there are {{}}; give more rows, or a larger --pairs"


@dataclass(frozen=True, eq=False)
class LisaStudy:
    """All models' numbers about the same rows."""

    chosen: Chosen
    models: tuple[ModelScores, ...]
    plan: Plan
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def names(self) -> dict[str, str]:
        """How each model is called: its own name, with its digest where two share one."""
        count = Counter(model.name for model in self.models)
        return {model.model: model.name if count[model.name] == 1 else model.pin for model in self.models}

    @property
    def main(self) -> str:
        """The kind of pair that padding was studied with."""
        return self.chosen.kinds[0]

    @property
    def too_few(self) -> str:
        """Why there is no distribution to show; empty if there is."""
        pairs = len(self.chosen.rows)
        return TOO_FEW.format(pairs) if pairs < FEWEST else ""

    @cached_property
    def paper_settings(self) -> tuple[Setting, ...]:
        """No padding, then the paper's: pads unmasked with weight 1, at every width that some model has."""
        padded = sorted({key.setting for model in self.models for key in model.parts})
        return PLAIN, *(one for one in padded if one.pads == TARGETS and one.weight)

    def both(self, model: ModelScores, kind: str, algorithm: str, setting: Setting) -> tuple[Floats, Floats] | None:
        """F1 of positives and negatives, if both were measured."""
        good = model.f1(Key(kind, POSITIVE, algorithm, setting))
        bad = model.f1(Key(kind, NEGATIVE, algorithm, setting))
        return None if good is None or bad is None else (good, bad)

    def apart(self, model: ModelScores, kind: str, algorithm: str, setting: Setting) -> Separation | None:
        """How well the two are told apart."""
        found = self.both(model, kind, algorithm, setting)
        return None if found is None or len(found[0]) < FEWEST else separation(*found)


def shape(values: Floats) -> Shape:
    """A sample as it is drawn, with Silverman's bandwidth; no score lies beyond -1 and 1, so no curve does."""
    places, heights = density(values, silverman(values))
    within = np.abs(places) <= 1
    places, heights = places[within], heights[within]
    quarter, half, three_quarters = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return Shape(places, heights, (quarter, half, three_quarters))


def common_bandwidth(samples: Sequence[Floats]) -> float:
    """The mean of the samples' own bandwidths: what is wide within a group cannot make a peak of its own."""
    return float(np.mean([silverman(sample) for sample in samples]))
