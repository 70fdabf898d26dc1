"""MoverScore (Zhao et al. 2019): what it costs to carry one text's mass to the other's, token by token.

Masses are IDF weights (or equal), costs the Euclidean distance of L2-normalised vectors; score = 1 / (1 + cost), as in
the published moverscore_v2. Special tokens have no mass.
"""

from __future__ import annotations

import string
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evalign.errors import SpecError
from evalign.matching.base import Matched, Matching
from evalign.matching.ngrams import ngrams
from evalign.matching.transport import COSTS, FORMS, SOLVERS, Transport, mover_score
from evalign.metrics.matching_metric import MatchingMetric
from evalign.metrics.options import option
from evalign.metrics.token_metric import Side
from evalign.text.stopwords import ENGLISH
from evalign.text.word_numbers import continues
from evalign.types import Embedded, Floats, Tokens

KEEP_DROP = ("keep", "drop")
OWN_OPTIONS = ("cost", "form", "ngram", "stopwords", "subwords", "punctuation", "regularization", "fraction", "penalty")


@dataclass(frozen=True)
class MoverScore(MatchingMetric):
    """Optimal transport between token (n-gram) vectors."""

    name: ClassVar[str] = "moverscore"
    about: ClassVar[str] = "optimal transport of contextual token vectors (Zhao et al. 2019)"
    fields: ClassVar[tuple[str, ...]] = ("score",)

    transport: str = option("exact", "how the mass is carried", SOLVERS)
    cost: str = option("euclidean", "distance of two tokens", tuple(COSTS))
    form: str = option("inverse", "1 / (1 + cost), or 1 - cost", FORMS)
    ngram: int = option(1, "tokens that travel together")
    stopwords: str = option("keep", "whether English function words have mass", KEEP_DROP)
    subwords: str = option("keep", "whether continuations of a word have mass", KEEP_DROP)
    punctuation: str = option("keep", "whether punctuation has mass", KEEP_DROP)
    regularization: float = option(0.05, "smoothing of transport=sinkhorn")
    fraction: float = option(0.9, "share of the mass that transport=partial carries")
    penalty: float = option(0.5, "price of a unit of mass that transport=unbalanced leaves")

    @property
    def matcher(self) -> Matching:
        """Transport with its settings."""
        return Transport(self.transport, self.cost, self.regularization, self.fraction, self.penalty)

    @property
    def match(self) -> str:
        """Everything that decides the plan, where other metrics name their matching."""
        own = [(key, getattr(self, key), getattr(type(self), key)) for key in OWN_OPTIONS]
        changed = [f"{key}={value}" for key, value, default in own if value != default]
        return ",".join([f"transport={self.transport}", *changed])

    @classmethod
    def match_options(cls, match: str) -> dict[str, str]:
        """The options back from a signature."""
        parts = [part.partition("=") for part in match.split(",")]
        if not all(equals for _, equals, _ in parts):
            raise SpecError(f"match:{match} is not what moverscore writes into a signature")
        return {key: value for key, _, value in parts}

    def fields_of(self, matched: Matched, candidate: Side, reference: Side) -> Floats:
        """One score from the cost of the plan."""
        assert matched.cost is not None
        return np.array([mover_score(float(matched.cost), self.form)])

    def matched_side(self, side: Side) -> Side:
        """Tokens that an option leaves out have no mass; n-grams are made of those that have."""
        if side.empty:
            return side
        masses = side.weights * np.array([not option for option in self.left_out_by(side.tokens)])
        masses = masses if masses.any() else side.weights  # if the options leave none, all take part
        if self.ngram == 1:
            return replace(side, weights=masses)
        carried = side.embedded.keep(masses > 0)
        vectors, gram_masses = ngrams(carried.vectors, masses[masses > 0], self.ngram)
        grams = Embedded(_gram_tokens(carried.tokens, self.ngram), vectors)
        return replace(side, embedded=grams, weights=gram_masses)

    def left_out_by(self, tokens: Tokens) -> list[str]:
        """For every token the option that gives it no mass, "" if none does."""
        return [self._left_out_by(tokens, place) for place in range(len(tokens))]

    def _left_out_by(self, tokens: Tokens, place: int) -> str:
        word = tokens.pieces[place].lower().lstrip("▁Ġ")
        if self.stopwords == "drop" and word in ENGLISH:
            return "stopwords=drop"
        if self.subwords == "drop" and continues(tokens, place):
            return "subwords=drop"
        if self.punctuation == "drop" and word and all(char in string.punctuation for char in word):
            return "punctuation=drop"
        return ""


def _gram_tokens(tokens: Tokens, n: int) -> Tokens:
    """N-grams shown as tokens: the pieces of their parts, from the first's start to the last's end."""
    size = min(n, len(tokens))
    if size == 1:
        return tokens
    count = len(tokens) - size + 1
    offsets = [(tokens.offsets[i][0], tokens.offsets[i + size - 1][1]) for i in range(count)]
    return replace(
        tokens,
        pieces=tuple(" ".join(tokens.pieces[i : i + size]) for i in range(count)),
        ids=tokens.ids[:count],
        offsets=np.array(offsets, dtype=np.int32),
        special=np.zeros(count, dtype=bool),
        unknown=tuple(place for place in tokens.unknown if place < count),
        borders=tuple(place for place in tokens.borders if place < count),
    )
