"""Metric `evalign`: BERTScore with an encoder that was trained through its own matching, on a scale from 0 to 100.

    tokens, weighted by learned importance -> greedy matching -> P, R, F1 -> output layer -> 0 to 100

    score = 100 (m - u) / (1 - u) · (the share that is not repetition), m a weighted mean of P, R and F1; below 10 bent
            so that it stays above 0

u is the score of unrelated text in training: 0 is unrelated text, 100 the reference itself. Two adapters ship with the
package (docs/recipe.md); nothing is trained at run time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalign.core import Alignment, Floats
from evalign.core.options import option
from evalign.encoders.adapter import SHIPPED, SHIPPED_DIGESTS, OutputLayer, shipped
from evalign.errors import SpecError
from evalign.matching.greedy import Greedy
from evalign.metrics.reduction import AdapterOutput, MultiReference
from evalign.metrics.token_metric import TokenMetric, TokenPipeline


@dataclass(frozen=True)
class Evalign(TokenMetric):
    """Greedy matching with a trained adapter: 100 is the reference itself, unrelated text lies near 0."""

    name: ClassVar[str] = "evalign"
    about: ClassVar[str] = "BERTScore with an encoder trained on people's ratings through the matching"
    fields: ClassVar[tuple[str, ...]] = ("score",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    made_for: ClassVar[tuple[str, ...]] = tuple(SHIPPED_DIGESTS)

    adapter: str = option(SHIPPED, "evalign: the one that ships for the model; or a folder of your own")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adapter == SHIPPED:
            shipped(self.model)
        if not self.adapter:
            raise SpecError("metric 'evalign' needs adapter=DIR; use 'bertscore' for the same matching without one")

    def pipeline(self) -> TokenPipeline:
        """Return greedy matching reduced by the adapter's output layer."""
        return TokenPipeline(
            encoder=self.encoder_spec(),
            weighting=self.weighting(),
            matching=Greedy(),
            reduction=AdapterOutput(self.adapter_folder),
            match=Greedy().name,
            references=MultiReference(self.multiref),
        )


def token_shares(alignment: Alignment, output: OutputLayer) -> tuple[Floats, Floats]:
    """Return the contribution of each candidate token and of each reference token to the score; they sum to it.

    That is before a score below 10 is bent and before anything is taken off for repetition. F1 is homogeneous, so that
    it is P dF1/dP + R dF1/dR; each part is divided among the tokens as P or R is.
    """
    (of_p, of_r, of_f), unrelated = output.mean
    p, r = float(alignment.precision_shares.sum()), float(alignment.recall_shares.sum())
    total = p + r
    slopes = (
        (of_p + of_f * 2 * (r / total) ** 2, of_r + of_f * 2 * (p / total) ** 2) if p > 0 and r > 0 else (of_p, of_r)
    )
    sides = (
        (alignment.candidate_weights, alignment.precision_shares),
        (alignment.reference_weights, alignment.recall_shares),
    )
    scale = 100 / (1 - unrelated)
    lost = unrelated / sum(slopes) if sum(slopes) > 0 else 0.0
    candidate, reference = (
        scale * slope * (shares - lost * weights / max(float(weights.sum()), 1e-12))
        for slope, (weights, shares) in zip(slopes, sides, strict=True)
    )
    return candidate, reference
