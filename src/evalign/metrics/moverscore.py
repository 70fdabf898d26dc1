"""MoverScore (Zhao et al. 2019): what it costs to carry one text's mass to the other's, token by token.

Masses are IDF weights (or equal), costs the Euclidean distance of L2-normalised vectors; score = 1 / (1 + cost), as in
the published moverscore_v2. Special tokens have no mass.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evalign.encoders.memory import EmbeddingMemory
from evalign.encoders.opening import open_encoder
from evalign.errors import SpecError, TextTooLongError
from evalign.matching import transport as carrying
from evalign.matching.ngrams import cosines, ngrams
from evalign.metrics.base import option
from evalign.metrics.rows import make_rows
from evalign.metrics.tokens import Matched, Side, TokenMetric, TokenScorer, add_counts, total_counts
from evalign.stopping import check_stopped
from evalign.text.idf import TokenWeights
from evalign.text.pieces import continues
from evalign.text.stopwords import ENGLISH
from evalign.types import Alignment, Embedded, Floats, Ints, Row, Tokens

SOLVERS = ("exact", "sinkhorn", "partial", "unbalanced")
KEEP_DROP = ("keep", "drop")
MATRIX_CELLS = 16_000_000
OWN_OPTIONS = ("transport", "cost", "form", "ngram", "stopwords", "subwords", "punctuation",
               "regularization", "fraction", "penalty")  # fmt: skip


@dataclass(frozen=True)
class MoverScore(TokenMetric):
    """Optimal transport between token (n-gram) vectors."""

    name: ClassVar[str] = "moverscore"
    about: ClassVar[str] = "optimal transport of contextual token vectors (Zhao et al. 2019)"
    fields: ClassVar[tuple[str, ...]] = ("score",)

    transport: str = option("exact", "how the mass is carried", SOLVERS)
    cost: str = option("euclidean", "distance of two tokens", tuple(carrying.COSTS))
    form: str = option("inverse", "1 / (1 + cost), or 1 - cost", carrying.FORMS)
    ngram: int = option(1, "tokens that travel together")
    stopwords: str = option("keep", "whether English function words have mass", KEEP_DROP)
    subwords: str = option("keep", "whether continuations of a word have mass", KEEP_DROP)
    punctuation: str = option("keep", "whether punctuation has mass", KEEP_DROP)
    regularization: float = option(0.05, "smoothing of transport=sinkhorn")
    fraction: float = option(0.9, "share of the mass that transport=partial carries")
    penalty: float = option(0.5, "price of a unit of mass that transport=unbalanced leaves")

    def scorer(self, corpus: Iterable[Row] | None = None, weights: TokenWeights | None = None) -> MoverScorer:
        """Loads the encoder and the IDF table; `weights` overrides `idf`."""
        memory = open_encoder(self.choice())
        return MoverScorer(self, memory, weights or self.corpus_weights(memory.encoder, corpus))

    def align(self, candidate: str, reference: str) -> Alignment:
        """The plan of one pair: cells are who sends mass to whom."""
        rows = make_rows([candidate], [reference])
        return self.scorer(rows if self.needs_corpus else None).align(candidate, reference)

    def solve(self, similarity: Floats, masses: tuple[Floats, Floats]) -> carrying.TransportPlan:
        """The plan for a matrix of cosines."""
        cost = carrying.cost_matrix(similarity, self.cost)
        if self.transport == "sinkhorn":  # smooth: nothing is chosen
            return carrying.sinkhorn(cost, *masses, self.regularization)
        deciding = carrying.deciding_cost(similarity, self.cost)
        if self.transport == "partial":
            plan = carrying.partial(deciding, *masses, self.fraction)
        elif self.transport == "unbalanced":
            plan = carrying.unbalanced(deciding, *masses, self.penalty)
        else:
            plan = carrying.exact(deciding, *masses)
        return plan.priced(cost)

    @property
    def match(self) -> str:
        """Everything that decides the plan, where other metrics name their matching."""
        own = [(key, getattr(self, key), getattr(type(self), key)) for key in OWN_OPTIONS[1:]]
        changed = [f"{key}={value}" for key, value, default in own if value != default]
        return ",".join([f"transport={self.transport}", *changed])

    @classmethod
    def match_options(cls, match: str) -> dict[str, str]:
        """The options back from a signature."""
        parts = [part.partition("=") for part in match.split(",")]
        if not all(equals for _, equals, _ in parts):
            raise SpecError(f"match:{match} is not what moverscore writes into a signature")
        return {key: value for key, _, value in parts}


class MoverScorer(TokenScorer):
    """MoverScore with its encoder loaded."""

    metric: MoverScore

    def __init__(self, metric: MoverScore, memory: EmbeddingMemory, weights: TokenWeights | None) -> None:
        super().__init__(metric, memory, weights)
        self.signature = metric.signature(memory.encoder, weights, metric.match, "no")

    def pair(self, candidate: Side, reference: Side) -> Floats:
        """The score of two texts that are not empty."""
        return self._solved(candidate, reference)[0]

    def match(self, pairs: list[tuple[Side, Side]]) -> list[Matched]:
        """With a note where a solver hit its bound."""
        worst = np.full(1, self.metric.worst)
        matched: list[Matched] = []
        for one, other in pairs:
            check_stopped()
            if one.empty or other.empty:
                matched.append((worst, {}))
                continue
            score, plan, _ = self._solved(one, other)
            matched.append((score, _notes(plan)))
        return matched

    def align(self, candidate: str, reference: str) -> Alignment:
        """Cells with mass, largest shares first to be seen in `masses`."""
        sides = self.sides([candidate, reference])
        one, other = sides[candidate], sides[reference]
        if one.empty or other.empty:
            return self._nothing(one, other)
        scores, plan, matrix = self._solved(one, other)
        masses = plan.plan.sum(1) + plan.unmatched_candidate, plan.plan.sum(0) + plan.unmatched_reference
        table = plan.plan
        grams = [_gram_tokens(self._carried(side)[0].tokens, self.metric.ngram) for side in (one, other)]
        if self.metric.ngram == 1:  # tokens stay tokens, so those without mass can be shown too
            kept = [np.flatnonzero(self._masses(side)) for side in (one, other)]
            grams = [one.tokens, other.tokens]
            matrix = cosines(one.embedded.vectors, other.embedded.vectors)
            table = _spread(table, kept, matrix.shape)
            masses = table.sum(1), table.sum(0)
            masses[0][kept[0]] += plan.unmatched_candidate
            masses[1][kept[1]] += plan.unmatched_reference
        cells = np.argwhere(table > 0)
        return Alignment(
            candidate=grams[0],
            reference=grams[1],
            similarity=matrix,
            candidate_weights=masses[0],
            reference_weights=masses[1],
            cells=cells,
            matching=self.metric.match,
            scores={"score": float(scores[0])},
            signature=str(self.signature),
            counts=add_counts(total_counts(one, other), _notes(plan)),
            masses=table[tuple(cells.T)],
        )

    def _nothing(self, one: Side, other: Side) -> Alignment:
        """An empty text has nothing to carry."""
        return Alignment(
            candidate=one.tokens,
            reference=other.tokens,
            similarity=np.zeros((len(one.tokens), len(other.tokens))),
            candidate_weights=one.weights,
            reference_weights=other.weights,
            cells=np.zeros((0, 2), dtype=np.int64),
            matching=self.metric.match,
            scores={"score": self.metric.worst},
            signature=str(self.signature),
            counts=total_counts(one, other),
            masses=np.zeros(0),
        )

    def _solved(self, one: Side, other: Side) -> tuple[Floats, carrying.TransportPlan, Floats]:
        if len(one.tokens) * len(other.tokens) > MATRIX_CELLS:
            sizes = f"{len(one.tokens)} x {len(other.tokens)}"
            raise TextTooLongError(f"{sizes} tokens are too many to transport; use greedy")
        ours, theirs = (ngrams(*self._vectors(side), self.metric.ngram) for side in (one, other))
        similarity = cosines(ours[0], theirs[0])
        plan = self.metric.solve(similarity, (ours[1], theirs[1]))
        return np.array([carrying.mover_score(plan.total, self.metric.form)]), plan, similarity

    def _vectors(self, side: Side) -> tuple[Floats, Floats]:
        embedded, masses = self._carried(side)
        return embedded.vectors, masses

    def _carried(self, side: Side) -> tuple[Embedded, Floats]:
        """The tokens that have mass."""
        masses = self._masses(side)
        return side.embedded.keep(masses > 0), masses[masses > 0]

    def _masses(self, side: Side) -> Floats:
        """Weights of the tokens that take part; if the options leave none, of all."""
        masses = side.weights * _taking_part(side.tokens, self.metric)
        return masses if masses.any() else side.weights


def _taking_part(tokens: Tokens, metric: MoverScore) -> Floats:
    """1 for tokens that have mass, 0 for those an option leaves out."""
    part = np.ones(len(tokens))
    for place, piece in enumerate(tokens.pieces):
        word = piece.lower().lstrip("▁Ġ")
        left_out = (
            (metric.stopwords == "drop" and word in ENGLISH)
            or (metric.subwords == "drop" and continues(tokens, place))
            or (metric.punctuation == "drop" and bool(word) and all(char in string.punctuation for char in word))
        )
        part[place] = 0.0 if left_out else 1.0
    return part


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


def _spread(plan: Floats, kept: list[Ints], shape: tuple[int, ...]) -> Floats:
    """A plan between the tokens that have mass, put back among all tokens."""
    table = np.zeros(shape)
    table[np.ix_(*kept)] = plan
    return table


def _notes(plan: carrying.TransportPlan) -> dict[str, int]:
    return {} if plan.converged else {"transport-unfinished": 1}
