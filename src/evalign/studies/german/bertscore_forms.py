"""BERTScore in the forms that the paper tried: of every layer of a model, and rescaled.

    rescaled F1 = (F1 - b) / (1 - b), b being the mean F1 of unrelated references of the same data

A straight line: it moves the error of raw scores, and no correlation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evalign.encoders.layers import parse_layers
from evalign.encoders.loading import EncoderChoice, open_encoder
from evalign.metrics.baseline import layer_name
from evalign.metrics.bertscore import BERTScore
from evalign.studies.german.data import JudgedRows
from evalign.studies.german.systems import BERTSCORE, Options, Scored, matched_layer
from evalign.studies.inputs import model_identity
from evalign.studies.step_cache import Steps, digest_of
from evalign.tuning.baselines import fit_baseline
from evalign.tuning.grid import Setting, depth, grid_scores
from evalign.types import Floats

RESCALED = f"{BERTSCORE}, rescaled"
PAIRS = 1000  # of unrelated references, at most
TEXTS = 300  # references, at most: every layer is encoded


def unrelated_f1(model: str, judged: JudgedRows, options: Options, steps: Steps) -> float:
    """The mean F1 of unrelated references, by the layer that BERTScore reads."""
    layer = matched_layer(model, options)
    texts = sorted({text for row in judged.rows for text in row.references})[:TEXTS]
    key = {"study": "german", "step": "baseline", "model": model_identity(model), "layer": layer, "pairs": PAIRS,
           "texts": digest_of(texts)}  # fmt: skip

    def fitted() -> float:
        layers = open_encoder(EncoderChoice(model, layer, threads=options.threads)).encoder.layers
        name = layer_name(parse_layers("+".join(map(str, layers))))
        baseline = fit_baseline(BERTScore(model=model, threads=options.threads), texts, PAIRS, more_choices=(name,))
        return baseline.by_layer[name][2]

    return float(steps.values(key, fitted))


def rescaled(plain: Scored, baseline: float) -> Scored:
    """The scores of BERTScore on the rescaled line."""
    signature = f"{plain.signature}, then (F1 - {baseline:.4f}) / (1 - {baseline:.4f})"
    return replace(plain, name=RESCALED, signature=signature, scores=(plain.scores - baseline) / (1 - baseline))


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
