"""One vector per text: Sentence-BERT and the end token, compared by cosine.

`sbert` pools the last layer's token vectors, special tokens included, as sentence-transformers does; with IDF the mean
is weighted. `endtoken` takes the vector of one special token. Neither depends on matching or padding.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from evalign.encoders.base import Encoder
from evalign.encoders.loading import FAKE, EncoderChoice, open_encoder
from evalign.encoders.locating import locate
from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.errors import SpecError
from evalign.metrics.options import number_or_text, option
from evalign.metrics.signature import Signature
from evalign.metrics.token_metric import PairScore, TokenMetric, TokenScorer, is_stream
from evalign.metrics.token_side import Side
from evalign.text.idf import TokenWeights
from evalign.types import Floats, Row

LAST = "a layer, or several as in 4+6, whose cosines are averaged"


@dataclass(frozen=True)
class VectorMetric(TokenMetric):
    """A metric that reduces every text to one vector per layer."""

    fields: ClassVar[tuple[str, ...]] = ("score",)
    explainer: ClassVar[str] = "terms:explain_vectors"
    reduction: ClassVar[str]  # the option that says how a text becomes a vector

    layer: int | str | None = option("last", LAST, parse=number_or_text)

    @abstractmethod
    def vector(self, side: Side, weighted: bool) -> Floats:
        """(layers, width) of one text; `weighted` if IDF weights are to be used."""

    @abstractmethod
    def parts(self, side: Side, weighted: bool) -> Floats:
        """(layers, tokens, width): what each token gives to the vector, which is their sum."""

    @property
    def match(self) -> str:
        """How a text becomes a vector, where token metrics name their matching."""
        return f"{self.reduction}={getattr(self, self.reduction)}"

    @classmethod
    def match_options(cls, match: str) -> dict[str, str]:
        """That option back from a signature."""
        return {cls.reduction: match.partition("=")[2]}

    def scorer(self, rows: Iterable[Row] | None = None, weights: TokenWeights | None = None) -> VectorScorer:
        """Loads the encoder and the IDF table; `weights` overrides `idf`."""
        memory = open_encoder(self.choice())
        return VectorScorer(self, memory, weights or self.corpus_weights(memory.encoder, rows), is_stream(rows))


class VectorScorer(TokenScorer):
    """A vector metric with its encoder loaded."""

    metric: VectorMetric

    def __init__(
        self, metric: VectorMetric, memory: EmbeddingMemory, weights: TokenWeights | None, streaming: bool = False
    ) -> None:
        super().__init__(metric, memory, weights, streaming)
        self.signature = metric.signature(memory.encoder, weights, metric.match, "no")

    def pair(self, candidate: Side, reference: Side) -> PairScore:
        """The mean over layers of the cosine of both texts' vectors."""
        weighted = self.weights is not None
        ours, theirs = (self.metric.vector(side, weighted) for side in (candidate, reference))
        scale = np.linalg.norm(ours, axis=-1) * np.linalg.norm(theirs, axis=-1)
        cosines = (ours * theirs).sum(axis=-1) / np.where(scale > 0, scale, 1)
        return np.asarray(np.clip(cosines, -1, 1).mean(keepdims=True)), {}


@dataclass(frozen=True)
class SBert(VectorMetric):
    """Cosine of pooled token vectors."""

    name: ClassVar[str] = "sbert"
    reduction: ClassVar[str] = "pooling"
    about: ClassVar[str] = "cosine of pooled token vectors (Reimers & Gurevych 2019)"

    pooling: str = option("mean", "how token vectors become one", ("mean", "cls", "max"))

    def choice(self) -> EncoderChoice:
        """The encoder; texts are truncated where sentence-transformers does, unless `max_length` says otherwise."""
        limit = self._own_limit()
        return super().choice() if limit is None else replace(self, max_length=limit).choice()

    def signature(self, encoder: Encoder, weights: TokenWeights | None, match: str, base: str) -> Signature:
        """With the limit that was read from the model."""
        limit = self._own_limit()
        shown = self if limit is None else replace(self, max_length=limit)
        return super(SBert, shown).signature(encoder, weights, match, base)

    def _own_limit(self) -> int | None:
        """`max_seq_length` of the model's sentence_bert_config.json, which only `overlong=truncate` reads."""
        if self.overlong != "truncate" or self.max_length or self.model == FAKE:
            return None
        return locate(self.model).sentence_limit()

    def vector(self, side: Side, weighted: bool) -> Floats:
        """Pooled in 64 bits; IDF weights enter the mean only."""
        vectors = side.embedded.vectors.astype(np.float64)
        if self.pooling == "cls":
            _check_special(side, 0)
            return np.asarray(vectors[:, 0])
        if self.pooling == "max":
            return np.asarray(vectors.max(axis=1))
        return np.asarray(np.einsum("t,ltd->ld", _shares(side, weighted), vectors))

    def parts(self, side: Side, weighted: bool) -> Floats:
        """Of the maximum, a token gives the dimensions in which it is the largest."""
        vectors = side.embedded.vectors.astype(np.float64)
        if self.pooling == "cls":
            return _only(vectors, 0)
        if self.pooling == "max":
            largest = vectors.argmax(axis=1)[:, None, :] == np.arange(vectors.shape[1])[None, :, None]
            return np.asarray(np.where(largest, vectors, 0))
        return np.asarray(_shares(side, weighted)[:, None] * vectors)


@dataclass(frozen=True)
class EndToken(VectorMetric):
    """Cosine of one special token's vectors."""

    name: ClassVar[str] = "endtoken"
    reduction: ClassVar[str] = "token"
    about: ClassVar[str] = "cosine of the end token's vectors (the LiSAScore paper's CLIPScore baseline)"

    token: str = option("eot", "the last token, which closes the text, or the first", ("eot", "cls"))

    def vector(self, side: Side, weighted: bool) -> Floats:
        """No padding is left in a `Side`, so the end is the end whatever else was in the batch."""
        _check_special(side, -1 if self.token == "eot" else 0)
        vectors: Any = side.embedded.vectors
        return np.asarray(vectors[:, -1 if self.token == "eot" else 0], dtype=np.float64)

    def parts(self, side: Side, weighted: bool) -> Floats:
        """All of it comes from one token."""
        return _only(side.embedded.vectors.astype(np.float64), -1 if self.token == "eot" else 0)


def _shares(side: Side, weighted: bool) -> Floats:
    """(tokens,): what each weighs in the mean."""
    weights = side.weights if weighted else np.ones(len(side.tokens))
    return np.asarray(weights / weights.sum())


def _only(vectors: Floats, place: int) -> Floats:
    part = np.zeros_like(vectors)
    part[:, place] = vectors[:, place]
    return part


def _check_special(side: Side, place: int) -> None:
    """A content token in that place would be compared silently."""
    if not side.tokens.special[place]:
        raise SpecError("this needs a special token there: use specials=keep and a model whose tokenizer adds one")
