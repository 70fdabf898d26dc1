"""One vector per text: Sentence-BERT and the end token, compared by cosine.

`sbert` pools the last layer's token vectors, special tokens included, as sentence-transformers does; with IDF the mean
is weighted. `endtoken` takes the vector of one special token. Neither depends on matching or padding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evalign.core import Floats
from evalign.core.options import number_or_text, option
from evalign.encoders.loading import FAKE, EncoderSpec
from evalign.encoders.weights import locate
from evalign.errors import SpecError
from evalign.matching.greedy import Greedy
from evalign.metrics.reduction import Cosine, MultiReference
from evalign.metrics.token_metric import TokenMetric, TokenPipeline
from evalign.metrics.weighting import WeightedText, Weighting

LAYER_HELP = "a layer, or several as in 4+6, whose cosines are averaged"


@dataclass(frozen=True)
class VectorPooling:
    """A rule that makes one vector of a text: mean, max, cls (first token) or eot (last token)."""

    rule: str

    def vector(self, text: WeightedText, weighted: bool) -> Floats:
        """Return (layers, width) in 64 bits; `weighted` if IDF weights enter the mean."""
        vectors = text.embedded.vectors.astype(np.float64)
        if self.rule == "max":
            return np.asarray(vectors.max(axis=1))
        if self.rule == "mean":
            return np.asarray(np.einsum("t,ltd->ld", _mean_weights(text, weighted), vectors))
        return np.asarray(vectors[:, self._special_index(text)])

    def parts(self, text: WeightedText, weighted: bool) -> Floats:
        """Return (layers, tokens, width): the part of each token in the vector, which is their sum.

        Of a maximum, a token contributes the dimensions in which it is the largest.
        """
        vectors = text.embedded.vectors.astype(np.float64)
        if self.rule == "max":
            largest = vectors.argmax(axis=1)[:, None, :] == np.arange(vectors.shape[1])[None, :, None]
            return np.asarray(np.where(largest, vectors, 0))
        if self.rule == "mean":
            return np.asarray(_mean_weights(text, weighted)[:, None] * vectors)
        part = np.zeros_like(vectors)
        index = self._special_index(text)
        part[:, index] = vectors[:, index]
        return part

    def _special_index(self, text: WeightedText) -> int:
        """Return the index of the first or last token, which must be special: a content token is no summary."""
        index = -1 if self.rule == "eot" else 0
        if not text.tokens.special[index]:
            raise SpecError("this needs a special token there: use specials=keep and a model whose tokenizer adds one")
        return index


@dataclass(frozen=True)
class SBert(TokenMetric):
    """Cosine of pooled token vectors."""

    name: ClassVar[str] = "sbert"
    about: ClassVar[str] = "cosine of pooled token vectors (Reimers & Gurevych 2019)"
    fields: ClassVar[tuple[str, ...]] = ("score",)
    aligns: ClassVar[bool] = False

    layer: int | str | None = option("last", LAYER_HELP, parse=number_or_text)
    pooling: str = option("mean", "how token vectors become one", ("mean", "cls", "max"))

    def encoder_spec(self) -> EncoderSpec:
        """Return the encoder; `overlong=truncate` cuts where sentence-transformers does unless `max_length` is set."""
        if self.overlong != "truncate" or self.max_length or self.model == FAKE:
            return super().encoder_spec()
        limit = locate(self.model).sentence_limit()
        return super().encoder_spec() if limit is None else replace(self, max_length=limit).encoder_spec()

    def pipeline(self) -> TokenPipeline:
        """Return the cosine of two pooled vectors."""
        return _vector_pipeline(self, VectorPooling(self.pooling), f"pooling={self.pooling}")


@dataclass(frozen=True)
class EndToken(TokenMetric):
    """Cosine of one special token's vectors."""

    name: ClassVar[str] = "endtoken"
    about: ClassVar[str] = "cosine of the end token's vectors (the LiSAScore paper's CLIPScore baseline)"
    fields: ClassVar[tuple[str, ...]] = ("score",)
    aligns: ClassVar[bool] = False

    layer: int | str | None = option("last", LAYER_HELP, parse=number_or_text)
    token: str = option("eot", "the last token, which closes the text, or the first", ("eot", "cls"))

    def pipeline(self) -> TokenPipeline:
        """Return the cosine of two token vectors."""
        return _vector_pipeline(self, VectorPooling(self.token), f"token={self.token}")


def _vector_pipeline(metric: TokenMetric, pooling: VectorPooling, match: str) -> TokenPipeline:
    return TokenPipeline(
        encoder=metric.encoder_spec(),
        weighting=Weighting(metric.idf, metric.specials, pooling=pooling),
        matching=Greedy(),
        reduction=Cosine(),
        match=match,
        references=MultiReference(metric.multiref),
    )


def _mean_weights(text: WeightedText, weighted: bool) -> Floats:
    """Return (tokens,): the share of each token in the mean."""
    weights = text.weights if weighted else np.ones(len(text.tokens))
    return np.asarray(weights / weights.sum())
