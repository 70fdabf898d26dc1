"""MoverScore (Zhao et al. 2019): what it costs to carry one text's mass to the other's, token by token.

Masses are IDF weights (or equal), costs the Euclidean distance of L2-normalised vectors; score = 1 / (1 + cost), as in
the published moverscore_v2. Special tokens have no mass. `preset=moverscore_v2` weighs tokens as that script does: one
IDF table for candidates and one for references, no mass for parts of words and punctuation, special tokens like others.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from evalign.encoders.loading import open_encoder
from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.errors import SpecError
from evalign.matching.base import Matched, Matching
from evalign.matching.ngrams import ngrams
from evalign.matching.shared_matrix import SharedMatrix
from evalign.matching.transport import COSTS, FORMS, SOLVERS, Transport, mover_score
from evalign.metrics.corpus_idf import SIDES, corpus_texts, count_idf
from evalign.metrics.matching_metric import MatchingMetric, MatchingScorer
from evalign.metrics.options import option, written
from evalign.metrics.signature import Signature
from evalign.metrics.token_metric import PairScore, is_stream
from evalign.metrics.token_side import Side
from evalign.text.idf import IDFTable, TokenWeights
from evalign.text.word_numbers import continues
from evalign.text.word_sets import word_set
from evalign.types import Alignment, Bools, Embedded, Floats, Row, Tokens

KEEP_DROP = ("keep", "drop")
PRESETS = ("none", "moverscore_v2", "moverscore_v2-plain")
OWN_OPTIONS = ("preset", "cost", "form", "ngram", "stopwords", "subwords", "punctuation", "regularization", "fraction",
               "penalty")  # fmt: skip
STOP_WORD = re.compile(r"[^\s,|=()+]+")


def stop_words_option(value: Any) -> str:
    """keep, drop (ours), or the words themselves as in the+a+of."""
    text = written(value)
    if not all(STOP_WORD.fullmatch(word) for word in text.split("+")):
        raise SpecError(f"stopwords={text}: expected keep, drop, or words joined by +, as in the+a+of")
    return text


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
        own_idf = SIDES if self.preset == "moverscore_v2" else "no"
        if self.idf not in ("no", own_idf) or self.ngram != 1:
            raise SpecError(f"preset={self.preset} decides idf and ngram; leave them out, or leave out the preset")
        own: dict[str, Any] = {"idf": own_idf, "subwords": "drop", "punctuation": "drop"}
        for name, value in own.items() if self.layer is not None else (own | {"layer": "last"}).items():
            object.__setattr__(self, name, value)

    @property
    def needs_corpus(self) -> bool:
        """The tables of both sides are counted over all rows."""
        return self.idf == SIDES or super().needs_corpus

    def scorer(self, rows: Iterable[Row] | None = None, weights: TokenWeights | None = None) -> MatchingScorer:
        """Loads the encoder and the tables; `weights` overrides `idf`, but not that of each side."""
        if self.idf != SIDES:
            return super().scorer(rows, weights)
        if weights is not None or rows is None or not getattr(rows, "rereadable", True):
            raise SpecError(
                f"{self} counts IDF over the candidates and over the references of all rows: give it all rows at once, "
                "as evalign score does with a file; it takes no other table"
            )
        memory = open_encoder(self.choice())
        tables = (
            count_idf(memory.encoder, (row.candidate for row in rows)),
            count_idf(memory.encoder, corpus_texts(rows, "references")),
        )
        return SidesScorer(self, memory, tables, is_stream(rows))

    def weighted(self, tokens: Tokens, special_ids: Collection[int], by_table: bool) -> Bools:
        """The preset gives special tokens mass, as its script does."""
        if self.preset == "none":
            return super().weighted(tokens, special_ids, by_table)
        return np.ones(len(tokens), dtype=bool)

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """The preset stands for the IDF of each side, which no table holds."""
        settings = dict(signature.settings)
        if settings.get("idf", "").startswith(f"{SIDES}@"):
            settings["idf"] = "no"
        return super().from_signature(Signature(signature.name, settings))

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

    @property
    def stop_words(self) -> frozenset[str]:
        """The words that have no mass."""
        ours = {"keep": frozenset[str](), "drop": word_set("function words")}
        return ours[self.stopwords] if self.stopwords in ours else frozenset(self.stopwords.split("+"))

    def left_out_by(self, tokens: Tokens) -> list[str]:
        """For every token the option that gives it no mass, "" if none does."""
        stop_words = self.stop_words  # made once: this is done for every token that is scored
        return [self._left_out_by(tokens, place, stop_words) for place in range(len(tokens))]

    def _left_out_by(self, tokens: Tokens, place: int, stop_words: frozenset[str]) -> str:
        word = tokens.pieces[place].lower().lstrip("▁Ġ")
        if word in stop_words:
            return f"stopwords={self.stopwords}"
        if self.subwords == "drop" and continues(tokens, place):
            return "subwords=drop"
        if self.punctuation == "drop" and word and all(char in string.punctuation for char in word):
            return "punctuation=drop"
        return ""


class SidesScorer(MatchingScorer):
    """MoverScore with one IDF table for candidates and one for references."""

    def __init__(
        self, metric: MoverScore, memory: EmbeddingMemory, tables: tuple[IDFTable, IDFTable], streaming: bool
    ) -> None:
        super().__init__(metric, memory, None, streaming=streaming)
        self.tables = tables
        digest = hashlib.sha256("".join(table.digest for table in tables).encode()).hexdigest()[:8]
        self.signature = Signature(metric.name, dict(self.signature.settings) | {"idf": f"{SIDES}@{digest}"})

    def match(self, pairs: list[tuple[Side, Side]]) -> list[PairScore]:
        """Every pair with the masses of its sides."""
        return super().match([self._weighed(*pair) for pair in pairs])

    def align_sides(self, candidate: Side, reference: Side, shared: SharedMatrix | None = None) -> Alignment:
        """The same for the alignment."""
        return super().align_sides(*self._weighed(candidate, reference), shared)

    def layers(self, rows: list[Row], embedded: Mapping[str, Embedded], picks: Sequence[Sequence[int]]) -> Floats:
        """Not known: the preset reads the last layer."""
        raise SpecError(f"{self.metric}: its layers cannot be scored together; leave out the preset")

    def _weighed(self, candidate: Side, reference: Side) -> tuple[Side, Side]:
        ours, theirs = self.tables
        return _with_idf(candidate, ours), _with_idf(reference, theirs)


def _with_idf(side: Side, table: IDFTable) -> Side:
    """The side with IDF as masses; with those it has if all would weigh nothing."""
    masses = side.weights * table.weights(side.tokens.ids)
    if side.empty or not masses.any():
        return side if side.empty else replace(side, counts=side.counts | {"idf-zero": 1})
    return replace(side, weights=masses)


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
