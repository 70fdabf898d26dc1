"""Metrics that match tokens: encoder options + a matching + how what tokens are worth becomes the metric's fields.

pair of texts -> Side, Side -> one similarity matrix -> Matching.solve -> Matched -> fields, Alignment

`bertscore`, `lisascore` and `moverscore` are declarations over this; one scorer serves them all.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evalign.cancellation import check_stopped
from evalign.encoders.loading import open_encoder
from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.errors import TextTooLongError
from evalign.matching.aggregate import f1, weighted_mean
from evalign.matching.arrays import index_pairs
from evalign.matching.base import Matched, Matching
from evalign.matching.batching import check_size, groups, solve_together
from evalign.matching.shared_matrix import SharedMatrix
from evalign.matching.similarity import BAND_CELLS, bands, similarity
from evalign.metrics.base import blocks
from evalign.metrics.baseline import SCALES, Baseline, Rescaling, shipped
from evalign.metrics.blas import one_blas_thread
from evalign.metrics.options import flag_or_text, option
from evalign.metrics.pairwise import greedy_scores
from evalign.metrics.rows import make_rows
from evalign.metrics.token_metric import PairScore, TokenMetric, TokenScorer, is_stream
from evalign.metrics.token_side import Side, add_counts, total_counts
from evalign.text.idf import TokenWeights
from evalign.types import Alignment, Embedded, Floats, LayerReport, Report, Row

DRAWABLE_CELLS = 4_000_000
LAYER_BLOCK = 64  # every layer of a text is held at once


@dataclass(frozen=True)
class MatchingMetric(TokenMetric):
    """A metric over one similarity matrix of token vectors."""

    aligns: ClassVar[bool] = True
    weighs_tokens: ClassVar[bool] = True
    explainer: ClassVar[str] = "matching:explain_matching"

    @property
    @abstractmethod
    def matcher(self) -> Matching:
        """The matching with its settings; settings that do not fit are an error before a model is loaded."""

    @abstractmethod
    def fields_of(self, matched: Matched, candidate: Side, reference: Side) -> Floats:
        """How what the tokens are worth becomes the metric's fields."""

    @property
    def match(self) -> str:
        """The matching in the signature, with whatever else decides the numbers of one matrix."""
        return self.matcher.name

    def matched_side(self, side: Side) -> Side:
        """A text as it is matched: its tokens and their weights, unless the metric changes them."""
        return side

    def rescaling(self) -> Rescaling | None:
        """The last step, if there is one."""
        return None

    def scorer(self, rows: Iterable[Row] | None = None, weights: TokenWeights | None = None) -> MatchingScorer:
        """Loads the encoder, the IDF table and the baseline; `weights` overrides `idf`."""
        self.matcher  # noqa: B018 (raises if its settings do not fit)
        rescaling = self.rescaling()
        memory = open_encoder(self.choice())
        weights = weights or self.corpus_weights(memory.encoder, rows)
        return MatchingScorer(self, memory, weights, rescaling, is_stream(rows))

    def score(
        self,
        candidates: Iterable[str],
        references: Iterable[str] | Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        weights: TokenWeights | None = None,
    ) -> Report:
        """As every metric; `weights` by token id override `idf`."""
        rows = make_rows(candidates, references, sources, ids)
        self.check_needs(rows)
        return self.report(self.scorer(rows, weights), rows)

    def align(self, candidate: str, reference: str) -> Alignment:
        """Who meets whom in one pair."""
        return self.scorer(make_rows([candidate], [reference])).align(candidate, reference)

    def pairwise(self, candidates: Iterable[str], references: Iterable[str]) -> dict[str, Floats]:
        """Every candidate against every reference: field -> (candidates, references), texts encoded once."""
        ours = [row.candidate for row in make_rows(candidates)]
        theirs = [row.candidate for row in make_rows(references)]
        corpus = [Row(text, text, (text,)) for text in theirs]
        scores = self.scorer(corpus).pairwise(ours, theirs)
        return {name: scores[..., place] for place, name in enumerate(self.fields)}

    def score_layers(
        self,
        candidates: Iterable[str],
        references: Iterable[str] | Iterable[Iterable[str]],
        weights: TokenWeights | None = None,
    ) -> LayerReport:
        """Every layer from one pass; layer 0 is the embeddings."""
        rows = make_rows(candidates, references)
        scorer = replace(self, layer="all").scorer(rows, weights)
        every = [(place,) for place in range(len(scorer.memory.encoder.layers))]
        parts = [np.zeros((len(every), 0, len(self.fields)))]
        for block in blocks(rows, LAYER_BLOCK):
            texts = scorer.memory.encode(text for row in block for text in (row.candidate, *row.references))
            parts.append(scorer.layers(block, texts, every))
        scores = scorer.finish_layers(np.concatenate(parts, axis=1))
        by_field = {name: scores[..., place] for place, name in enumerate(self.fields)}
        return LayerReport(str(self), str(scorer.signature), scorer.memory.encoder.layers, by_field)


@dataclass(frozen=True)
class PRFMetric(MatchingMetric):
    """A matching scored by what both sides' tokens are worth: precision, recall, F1; they can be rescaled."""

    rescale: bool | str = option(
        False, "true: by the baseline that ships with the model; or a baseline file; or false", parse=flag_or_text
    )
    scale: str = option("linear", "with rescale: unrelated text to 0, or the share of it that scores less", SCALES)

    def fields_of(self, matched: Matched, candidate: Side, reference: Side) -> Floats:
        """Weighted means of both sides' values, and their harmonic mean."""
        return prf_of(matched, candidate, reference)

    def rescaling(self) -> Rescaling | None:
        """What `rescale` and `scale` ask for; a file is read here."""
        if self.rescale is False:
            return None
        return Rescaling(None if self.rescale is True else Baseline.load(self.rescale), self.scale)

    @classmethod
    def baseline_options(cls, base: str, model: str) -> dict[str, str]:
        """The options behind a signature's `base`; none if it is no baseline that ships."""
        digest, _, scale = base.partition(",")
        ours = any(baseline.digest == digest and key[0] == model for key, baseline in shipped().items())
        return {"rescale": "true", "scale": scale or "linear"} if ours else {}


class MatchingScorer(TokenScorer):
    """A matching metric with its encoder loaded."""

    metric: MatchingMetric

    def __init__(
        self,
        metric: MatchingMetric,
        memory: EmbeddingMemory,
        weights: TokenWeights | None,
        rescaling: Rescaling | None = None,
        streaming: bool = False,
    ) -> None:
        super().__init__(metric, memory, weights, streaming)
        self.matcher = metric.matcher
        encoder = memory.encoder
        self.rescaling = rescaling and rescaling.fitting(encoder, metric.match, metric.specials, metric.layer == "all")
        base = "no" if self.rescaling is None else self.rescaling.name
        self.signature = metric.signature(encoder, weights, metric.match, base)

    def side(self, embedded: Embedded) -> Side:
        """A text as the metric matches it."""
        return self.metric.matched_side(super().side(embedded))

    def match(self, pairs: list[tuple[Side, Side]]) -> list[PairScore]:
        """Pairs of similar size are solved together where that is faster."""
        if not self.matcher.padded:
            return super().match(pairs)
        worst = np.full(len(self.metric.fields), self.metric.worst)
        scores: list[PairScore] = [(worst, {})] * len(pairs)
        real = [place for place, sides in enumerate(pairs) if not any(side.empty for side in sides)]
        shapes = [(len(pairs[place][0].tokens), len(pairs[place][1].tokens)) for place in real]
        for shape in shapes:
            check_size(self.matcher, *shape)
        for group in groups(shapes):
            check_stopped()
            places = [real[index] for index in group]
            matrices = [similarity(pairs[place][0].embedded, pairs[place][1].embedded) for place in places]
            weights = [(pairs[place][0].weights, pairs[place][1].weights) for place in places]
            for place, matched in zip(places, solve_together(self.matcher, matrices, weights), strict=True):
                scores[place] = self.metric.fields_of(matched, *pairs[place]), matched.counts
        return scores

    def pair(self, candidate: Side, reference: Side) -> PairScore:
        """The fields of two texts that are not empty, and what there is to report about the matching."""
        matched = self._matched(candidate, reference)
        return self.metric.fields_of(matched, candidate, reference), matched.counts

    def _matched(self, candidate: Side, reference: Side) -> Matched:
        """From one matrix; in bands if its values are maxima and the texts are so long that it would not fit."""
        check_size(self.matcher, len(candidate.tokens), len(reference.tokens))
        weights = candidate.weights, reference.weights
        if not self.matcher.separable or len(candidate.tokens) * len(reference.tokens) <= BAND_CELLS:
            return self.matcher.solve(similarity(candidate.embedded, reference.embedded), weights)
        parts = [self.matcher.solve(band) for band in bands(candidate.embedded, reference.embedded)]
        rows = np.concatenate([part.candidate_values for part in parts])
        return replace(
            parts[0], candidate_values=rows, reference_values=np.max([part.reference_values for part in parts], axis=0)
        )

    def finish(self, scores: Floats) -> Floats:
        """Rescales with the baseline, if there is one."""
        return scores if self.rescaling is None else self.rescaling.rescaled(scores)

    def finish_layers(self, scores: Floats) -> Floats:
        """Rescales (layers, rows, fields), every layer with its own baseline."""
        if self.rescaling is None:
            return scores
        return np.stack([self.rescaling.rescaled(layer, place) for place, layer in enumerate(scores)])

    def layers(self, rows: list[Row], embedded: Mapping[str, Embedded], picks: Sequence[Sequence[int]]) -> Floats:
        """As every token metric, with one matrix product per pair for all picks; before `finish`."""
        sides = self.weigh(embedded)
        with one_blas_thread():
            return np.stack([self._layers(row, sides, picks) for row in rows], axis=1)

    def pairwise(self, candidates: list[str], references: list[str]) -> Floats:
        """(candidates, references, fields); for maxima, one matrix product per candidate and band of references."""
        sides = self.sides([*candidates, *references])
        with one_blas_thread():
            if self.matcher.separable and isinstance(self.metric, PRFMetric):
                own, others = ([sides[text] for text in texts] for texts in (candidates, references))
                return self.finish(greedy_scores(own, others, self.metric.worst))
            matched = self.match([(sides[own], sides[other]) for own in candidates for other in references])
        shape = (len(candidates), len(references), len(self.metric.fields))
        return self.finish(np.array([scores for scores, _ in matched]).reshape(shape))

    def align(self, candidate: str, reference: str) -> Alignment:
        """The whole matrix and the chosen cells."""
        sides = self.sides([candidate, reference])
        return self.align_sides(sides[candidate], sides[reference])

    def align_sides(self, candidate: Side, reference: Side, shared: SharedMatrix | None = None) -> Alignment:
        """The alignment of two texts that are encoded; `shared` if their similarity is known already."""
        rows, columns = len(candidate.tokens), len(reference.tokens)
        if rows * columns > DRAWABLE_CELLS:
            raise TextTooLongError(f"{rows} x {columns} tokens are too many to show; align shorter pieces")
        shared = shared or SharedMatrix(similarity(candidate.embedded, reference.embedded))
        cells, masses, notes = np.zeros((0, 2), dtype=np.int64), None, {}
        scores = np.full(len(self.metric.fields), self.metric.worst)
        if not (candidate.empty or reference.empty):
            matched = shared.solve(self.matcher, (candidate.weights, reference.weights))
            cells, notes = index_pairs(matched.cells), matched.counts
            masses = None if matched.masses is None else matched.masses[tuple(cells.T)]
            scores = self.metric.fields_of(matched, candidate, reference)
        scale = [side.weights.sum() if masses is not None else 1.0 for side in (candidate, reference)]
        return Alignment(
            candidate=candidate.tokens,
            reference=reference.tokens,
            similarity=shared.similarity,
            candidate_weights=candidate.weights / scale[0],
            reference_weights=reference.weights / scale[1],
            cells=cells,
            matching=self.metric.match,
            scores=dict(zip(self.metric.fields, self.finish(scores).tolist(), strict=True)),
            signature=str(self.signature),
            counts=add_counts(total_counts(candidate, reference), notes),
            masses=masses,
        )

    def _layers(self, row: Row, sides: dict[str, Side], picks: Sequence[Sequence[int]]) -> Floats:
        """(picks, fields) of one row."""
        candidate = sides[row.candidate]
        per_reference = []
        for text in row.references:
            reference = sides[text]
            if candidate.empty or reference.empty:
                per_reference.append(np.full((len(picks), len(self.metric.fields)), self.metric.worst))
                continue
            stack = similarity(candidate.embedded, reference.embedded, per_layer=True)
            matrices = (stack[pick[0]] if len(pick) == 1 else stack[list(pick)].mean(axis=0) for pick in picks)
            weights = candidate.weights, reference.weights
            solved = [self.matcher.solve(matrix, weights) for matrix in matrices]
            per_reference.append(np.stack([self.metric.fields_of(matched, candidate, reference) for matched in solved]))
        return np.stack([self.combine(scores) for scores in np.stack(per_reference, axis=1)])


def prf_of(matched: Matched, candidate: Side, reference: Side) -> Floats:
    """Weighted means of what the tokens of both sides are worth, and their harmonic mean."""
    precision = weighted_mean(matched.candidate_values, candidate.weights)
    return prf(precision, weighted_mean(matched.reference_values, reference.weights))


def prf(precision: Floats, recall: Floats) -> Floats:
    """The three fields in the last axis."""
    return np.stack([precision, recall, f1(precision, recall)], axis=-1)
