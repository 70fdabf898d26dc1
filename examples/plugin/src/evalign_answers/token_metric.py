"""A token metric: it declares what evalign's own scorer runs, and gets alignments, explanations and pages with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalign.metrics.reduction import PRF, MultiReference
from evalign.metrics.token_metric import TokenMetric, TokenPipeline
from evalign_answers.matching import InOrder


@dataclass(frozen=True)
class InOrderScore(TokenMetric):
    """The similarity of tokens at the same position, for answers whose order counts."""

    name: ClassVar[str] = "inorderscore"
    about: ClassVar[str] = "similarity of contextual token vectors at the same position"

    def pipeline(self) -> TokenPipeline:
        """Return the in-order matching reduced to precision, recall and F1."""
        return TokenPipeline(
            encoder=self.encoder_spec(),
            weighting=self.weighting(),
            matching=InOrder(),
            reduction=PRF(),
            match=InOrder.key,
            references=MultiReference(self.multiref),
        )
