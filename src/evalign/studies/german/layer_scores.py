"""BERTScore of every layer of a model on the judged rows, from one encoding pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalign.metrics.bertscore import BERTScore
from evalign.studies.german.data import JudgedRows
from evalign.studies.german.systems import Options
from evalign.studies.model_identity import model_identity
from evalign.studies.step_cache import Steps
from evalign.tuning.grid import Setting, depth, grid_scores
from evalign.types import Floats


@dataclass(frozen=True, eq=False)
class LayerScores:
    """F1 of a model's layers, (layers, rows); layer 0 is the embeddings."""

    scores: Floats

    @property
    def last(self) -> int:
        """The number of the last layer."""
        return len(self.scores) - 1

    def best_before_last(self, judged: JudgedRows) -> int:
        """Of the layers before the last, the one with the smallest error of raw scores."""
        squares = ((np.clip(self.scores, 0, 1) - judged.shares) ** 2).mean(axis=1)
        return int(squares[:-1].argmin())


def score_layers(model: str, judged: JudgedRows, options: Options, steps: Steps) -> LayerScores:
    """The scores of all layers; one step."""
    key = {"study": "german", "step": "layers", "model": model_identity(model), "rated": judged.digest}

    def measure() -> dict[str, Floats]:
        metric = BERTScore(model=model, threads=options.threads)
        choices = tuple(map(str, range(depth(metric) + 1)))
        (scores,) = grid_scores([Setting(metric, choices)], judged.rows)
        return {"f1": scores[..., metric.fields.index("f1")]}

    return LayerScores(steps.arrays(key, measure)["f1"])
