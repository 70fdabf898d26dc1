"""MoverScore (Zhao et al. 2019): the cost of carrying one text's mass to the other's, token by token.

Masses are IDF weights (or equal), costs the Euclidean distance of L2-normalised vectors; score = 1 / (1 + cost), as in
the published moverscore_v2. Special tokens have no mass. `preset=moverscore_v2` weighs tokens as that script does: one
IDF table for candidates and one for references, no mass for parts of words and punctuation, special tokens like others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from evalign.core.options import option, written
from evalign.errors import SpecError
from evalign.matching.transport import COSTS, SCORE_FORMS, SOLVERS, Transport
from evalign.metrics.reduction import MoverCost, MultiReference
from evalign.metrics.token_metric import TokenMetric, TokenPipeline
from evalign.metrics.weighting import EVERY_TOKEN, SIDES, TokenFilter

KEEP_DROP = ("keep", "drop")
PRESETS = ("none", "moverscore_v2", "moverscore_v2-plain")
SIGNATURE_OPTIONS = ("preset", "cost", "form", "ngram", "stopwords", "subwords", "punctuation", "regularization",
                     "fraction", "penalty")  # fmt: skip
STOP_WORD = re.compile(r"[^\s,|=()+]+")


def stop_words_option(value: Any) -> str:
    """Parse keep, drop (function words), or the words themselves as in the+a+of."""
    text = written(value)
    if not all(STOP_WORD.fullmatch(word) for word in text.split("+")):
        raise SpecError(f"stopwords={text}: expected keep, drop, or words joined by +, as in the+a+of")
    return text


@dataclass(frozen=True)
class MoverScore(TokenMetric):
    """Optimal transport between token (n-gram) vectors."""

    name: ClassVar[str] = "moverscore"
    about: ClassVar[str] = "optimal transport of contextual token vectors (Zhao et al. 2019)"
    fields: ClassVar[tuple[str, ...]] = ("score",)

    transport: str = option("exact", "how the mass is carried", SOLVERS)
    cost: str = option("euclidean", "distance of two tokens", tuple(COSTS))
    form: str = option("inverse", "1 / (1 + cost), or 1 - cost", SCORE_FORMS)
    ngram: int = option(1, "tokens that travel together")
    stopwords: str = option("keep", "whether English function words have mass; or words that have none, as in the+a",
                            choices=KEEP_DROP, parse=stop_words_option)  # fmt: skip
    subwords: str = option("keep", "whether continuations of a word have mass", KEEP_DROP)
    punctuation: str = option("keep", "whether punctuation has mass", KEEP_DROP)
    regularization: float = option(0.05, "smoothing of transport=sinkhorn")
    fraction: float = option(0.9, "share of the mass that transport=partial carries")
    penalty: float = option(0.5, "price of a unit of mass that transport=unbalanced leaves")
    preset: str = option("none", "weights as in the published script, with its IDF of each side, or plain", PRESETS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.preset == "none":
            if self.idf == SIDES:
                raise SpecError("idf=sides goes with preset=moverscore_v2; without it, take idf=references")
            return
        preset_idf = SIDES if self.preset == "moverscore_v2" else "no"
        if self.idf not in ("no", preset_idf) or self.ngram != 1:
            raise SpecError(f"preset={self.preset} decides idf and ngram; leave them out, or leave out the preset")
        decided: dict[str, Any] = {"idf": preset_idf, "subwords": "drop", "punctuation": "drop"}
        for name, value in decided.items() if self.layer is not None else (decided | {"layer": "last"}).items():
            object.__setattr__(self, name, value)

    @property
    def filter(self) -> TokenFilter:
        """Tokens without mass."""
        return TokenFilter(self.stopwords, self.subwords, self.punctuation)

    def pipeline(self) -> TokenPipeline:
        """Return transport of token masses reduced to one score."""
        weighting = replace(self.weighting(), filter=self.filter, ngram=self.ngram)
        if self.preset != "none":  # the published script gives special tokens mass
            weighting = replace(weighting, weighted_tokens=EVERY_TOKEN)
        options = [(key, getattr(self, key), getattr(type(self), key)) for key in SIGNATURE_OPTIONS]
        changed = [f"{key}={value}" for key, value, default in options if value != default]
        return TokenPipeline(
            encoder=self.encoder_spec(),
            weighting=weighting,
            matching=Transport(self.transport, self.cost, self.regularization, self.fraction, self.penalty),
            reduction=MoverCost(self.form),
            match=",".join([f"transport={self.transport}", *changed]),
            references=MultiReference(self.multiref),
        )
