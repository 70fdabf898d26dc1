"""BERTScore (Zhang et al. 2020): each token is matched with the most similar token of the other text.

P = sum_i w_i max_j S_ij / sum w, R = sum_j v_j max_i S_ij / sum v, F1 = 2PR / (P + R), with S the
cosine of token vectors and w, v IDF weights or 1 (special tokens may be matched but weigh 0).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from evalign.core.options import flag_or_text, option
from evalign.encoders.loading import EncoderSpec
from evalign.encoders.tokenizer import PROFILES
from evalign.matching.registry import cell_matchings, current_name, matching_class
from evalign.metrics.baseline import SCALES
from evalign.metrics.reduction import PRF, MultiReference
from evalign.metrics.token_metric import RESCALE_HELP, SCALE_HELP, TokenMetric, TokenPipeline
from evalign.metrics.weighting import BERT_SCORE


@dataclass(frozen=True)
class BERTScore(TokenMetric):
    """Greedy matching of token vectors; or any other matching that selects cells, with its default settings."""

    name: ClassVar[str] = "bertscore"
    about: ClassVar[str] = "greedy matching of contextual token vectors (Zhang et al. 2020)"
    rescales: ClassVar[bool] = True

    rescale: bool | str = option(False, RESCALE_HELP, parse=flag_or_text)
    scale: str = option("linear", SCALE_HELP, SCALES)
    matching: str = option("greedy", "how tokens are matched", cell_matchings, rename=current_name)
    compat: str = option("no", "bert_score's reading of a text, with its slow or its fast tokenizer", PROFILES)

    def encoder_spec(self) -> EncoderSpec:
        """Return the encoder, with the tokenizer behaviour that `compat` names."""
        spec = super().encoder_spec()
        return replace(spec, reading=replace(spec.reading, profile=self.compat))

    def pipeline(self) -> TokenPipeline:
        """Return greedy matching reduced to precision, recall and F1."""
        weighting = self.weighting()
        if self.compat != "no":
            weighting = replace(weighting, weighted_tokens=BERT_SCORE)
        matching = matching_class(self.matching)()
        return TokenPipeline(
            encoder=self.encoder_spec(),
            weighting=weighting,
            matching=matching,
            reduction=PRF(),
            match=matching.name,
            rescaling=self.rescaling_of(self.rescale, self.scale),
            references=MultiReference(self.multiref),
        )
