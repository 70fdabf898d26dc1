"""BERTScore (Zhang et al. 2020): every token is matched with its most similar one on the other side.

P = sum_i w_i max_j S_ij / sum w, R = sum_j v_j max_i S_ij / sum v, F1 = 2PR / (P + R), with S the
cosine of token vectors and w, v IDF weights or 1 (special tokens may be matched but weigh 0).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evalign.encoders.base import Encoder
from evalign.encoders.loading import EncoderChoice
from evalign.encoders.peer_profile import PROFILES
from evalign.matching.base import Matching
from evalign.matching.registry import MATCHINGS, matching_class, named
from evalign.metrics.matching_metric import PRFMetric
from evalign.metrics.options import option
from evalign.metrics.signature import Signature
from evalign.text.idf import TokenWeights
from evalign.types import Bools, Tokens


@dataclass(frozen=True)
class BERTScore(PRFMetric):
    """Greedy matching of token vectors; or any other matching that selects cells, with its default settings."""

    name: ClassVar[str] = "bertscore"
    about: ClassVar[str] = "greedy matching of contextual token vectors (Zhang et al. 2020)"

    matching: str = option("greedy", "how tokens find partners", MATCHINGS, rename=named)
    compat: str = option("no", "bert_score's reading of a text, with its slow or its fast tokenizer", PROFILES)

    @property
    def matcher(self) -> Matching:
        """The matching of that name."""
        return matching_class(self.matching)()

    def choice(self) -> EncoderChoice:
        """The encoder this metric asks for, with the reading that `compat` names."""
        choice = super().choice()
        return replace(choice, reading=replace(choice.reading, profile=self.compat))

    def weighted(self, tokens: Tokens, special_ids: Collection[int], by_table: bool) -> Bools:
        """In bert_score all tokens but cls and sep weigh something, and with an IDF table what the table says."""
        if self.compat == "no":
            return super().weighted(tokens, special_ids, by_table)
        return np.ones(len(tokens), dtype=bool) if by_table else ~np.isin(tokens.ids, list(special_ids))

    def signature(self, encoder: Encoder, weights: TokenWeights | None, match: str, base: str) -> Signature:
        """As every token metric, with the profile if there is one."""
        signature = super().signature(encoder, weights, match, base)
        if self.compat == "no":
            return signature
        settings = dict(signature.settings)
        version = settings.pop("v")
        return replace(signature, settings={**settings, "compat": self.compat, "v": version})
