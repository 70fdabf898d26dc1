"""Metric `evalign`: BERTScore with an encoder that was trained through its own matching, on a scale from 0 to 100.

    tokens, weighed by their learned importance -> greedy matching -> P, R, F1 -> output layer -> 0 to 100

    score = 100 (m - u) / (1 - u) · (the part that is said once), m a weighted mean of P, R and F1; below 10, bent so
            that it stays above 0

u is what unrelated text was held to in training: 0 is unrelated text, 100 the reference itself. Two adapters ship with
the package (docs/recipe.md); nothing is trained at run time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalign.encoders.adapter import OutputLayer, read_adapter
from evalign.encoders.shipped_adapters import MODELS, SHIPPED, shipped
from evalign.errors import SpecError
from evalign.matching.base import Matched, Matching
from evalign.matching.greedy import Greedy
from evalign.metrics.matching_metric import MatchingMetric, prf_of
from evalign.metrics.options import option
from evalign.metrics.repetition import said_once
from evalign.metrics.token_side import Side
from evalign.types import Alignment, Floats


@dataclass(frozen=True)
class Evalign(MatchingMetric):
    """Greedy matching with a trained adapter: 100 is the reference itself, unrelated text lies near 0."""

    name: ClassVar[str] = "evalign"
    about: ClassVar[str] = "BERTScore with an encoder trained on people's ratings through the matching"
    fields: ClassVar[tuple[str, ...]] = ("score",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    made_for: ClassVar[tuple[str, ...]] = MODELS

    adapter: str = option(SHIPPED, "evalign: the one that ships for the model; or a folder of your own")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adapter == SHIPPED:
            shipped(self.model)
        if not self.adapter:
            raise SpecError("evalign is nothing without an adapter; bertscore is the same matching without one")

    @classmethod
    def match_options(cls, match: str) -> dict[str, str]:
        """There is one matching."""
        return {}

    @property
    def matcher(self) -> Matching:
        """Every token with its most similar one."""
        return Greedy()

    @property
    def output(self) -> OutputLayer:
        """What makes one number of precision, recall and F1."""
        return read_adapter(self.adapter_folder).output

    def fields_of(self, matched: Matched, candidate: Side, reference: Side) -> Floats:
        """The score of one pair."""
        once = said_once(candidate.tokens.text, reference.tokens.text)
        return self.output.percent(prf_of(matched, candidate, reference))[..., None] * once


Recipe = Evalign  # its former name


def shares(alignment: Alignment, output: OutputLayer) -> tuple[Floats, Floats]:
    """What each token of the candidate, and of the reference, adds to the score; they sum to it.

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
        scale * slope * (own - lost * weights / max(float(weights.sum()), 1e-12))
        for slope, (weights, own) in zip(slopes, sides, strict=True)
    )
    return candidate, reference
