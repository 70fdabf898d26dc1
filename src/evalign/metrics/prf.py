"""Metrics that turn one similarity matrix into precision, recall and F1: BERTScore and LiSAScore.

What differs between them is which cells are selected; a scorer says that in `values` and `cells`. Baselines,
alignments, all layers at once and all-against-all are the same for every way of matching.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalign.encoders.memory import EmbeddingMemory
from evalign.errors import TableError, TextTooLongError
from evalign.matching.aggregate import f1, weighted_mean
from evalign.matching.similarity import similarity
from evalign.metrics.base import blocks, option
from evalign.metrics.baseline import SCALES, Baseline, layer_name, shipped
from evalign.metrics.rows import make_rows
from evalign.metrics.threads import one_blas_thread
from evalign.metrics.tokens import Side, TokenMetric, TokenScorer, add_counts, total_counts
from evalign.text.idf import TokenWeights
from evalign.types import Alignment, Embedded, Floats, Ints, LayerReport, Report, Row

DRAWABLE_CELLS = 4_000_000
LAYER_BLOCK = 64  # every layer of a text is held at once


@dataclass(frozen=True)
class PRFMetric(TokenMetric):
    """A matching of tokens, scored by what both sides' tokens are worth."""

    rescale: str = option("false", "true: by the baseline that ships with the model; or a baseline file; or false")
    scale: str = option("linear", "with rescale: unrelated text to 0, or the share of it that scores less", SCALES)

    @abstractmethod
    def scorer(self, corpus: Iterable[Row] | None = None, weights: TokenWeights | None = None) -> PRFScorer:
        """Loads the encoder, the IDF table and the baseline; `weights` overrides `idf`."""

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
        return self.report(self.scorer(rows if self.needs_corpus else None, weights), rows)

    def align(self, candidate: str, reference: str) -> Alignment:
        """Who meets whom in one pair."""
        rows = make_rows([candidate], [reference])
        return self.scorer(rows if self.needs_corpus else None).align(candidate, reference)

    def pairwise(self, candidates: Iterable[str], references: Iterable[str]) -> dict[str, Floats]:
        """Every candidate against every reference: field -> (candidates, references), texts encoded once."""
        ours = [row.candidate for row in make_rows(candidates)]
        theirs = [row.candidate for row in make_rows(references)]
        corpus = [Row(text, text, (text,)) for text in theirs]
        scores = self.scorer(corpus if self.needs_corpus else None).pairwise(ours, theirs)
        return {name: scores[..., place] for place, name in enumerate(self.fields)}

    def score_layers(
        self,
        candidates: Iterable[str],
        references: Iterable[str] | Iterable[Iterable[str]],
        weights: TokenWeights | None = None,
    ) -> LayerReport:
        """Every layer from one pass; layer 0 is the embeddings."""
        rows = make_rows(candidates, references)
        scorer = replace(self, layer="all").scorer(rows if self.needs_corpus else None, weights)
        every = [(place,) for place in range(len(scorer.memory.encoder.layers))]
        parts = [np.zeros((len(every), 0, len(self.fields)))]
        for block in blocks(rows, LAYER_BLOCK):
            texts = scorer.memory.encode(text for row in block for text in (row.candidate, *row.references))
            parts.append(scorer.layers(block, texts, every))
        scores = scorer.finish_layers(np.concatenate(parts, axis=1))
        by_field = {name: scores[..., place] for place, name in enumerate(self.fields)}
        return LayerReport(str(self), str(scorer.signature), scorer.memory.encoder.layers, by_field)

    def baseline(self) -> Baseline | None:
        """The file that `rescale` names."""
        return None if self.rescale in ("false", "true") else Baseline.load(self.rescale)

    @classmethod
    def baseline_options(cls, base: str, model: str) -> dict[str, str]:
        """The options behind a signature's `base`; none if it is no baseline that ships."""
        digest, _, scale = base.partition(",")
        ours = any(one.digest == digest and key[0] == model for key, one in shipped().items())
        return {"rescale": "true", "scale": scale or "linear"} if ours else {}


class PRFScorer(TokenScorer):
    """A matching metric with its encoder loaded; `match_name` is how signatures call the matching."""

    def __init__(
        self, metric: PRFMetric, memory: EmbeddingMemory, weights: TokenWeights | None, baseline: Baseline | None
    ) -> None:
        super().__init__(metric, memory, weights)
        layers = memory.encoder.layers
        self._choices = [str(layer) for layer in layers] if metric.layer == "all" else [layer_name(layers)]
        match = self.match_name(metric)
        if metric.rescale == "true":
            baseline = _shipped(memory.encoder.name, match, metric.specials)
        if baseline is not None:
            _check_fits(baseline, {"model": memory.encoder.name, "match": match, "specials": metric.specials})
            for choice in self._choices:
                baseline.scaled(np.zeros(3), choice, metric.scale)  # a layer it does not know is said before any work
        self._baseline = baseline
        base = "no" if baseline is None else baseline.digest + ("" if metric.scale == "linear" else f",{metric.scale}")
        self.signature = metric.signature(memory.encoder, weights, match, base)

    @staticmethod
    @abstractmethod
    def match_name(metric: Any) -> str:
        """The matching in the signature."""

    @abstractmethod
    def values(self, matrix: Floats, candidate: Side, reference: Side) -> tuple[Floats, Floats]:
        """What each candidate token and each reference token is worth."""

    @abstractmethod
    def cells(self, matrix: Floats, candidate: Side, reference: Side) -> tuple[Ints, dict[str, int]]:
        """The selected cells as index pairs, and what there is to report about them."""

    def fields(self, values: tuple[Floats, Floats], candidate: Side, reference: Side) -> Floats:
        """Precision, recall and F1 from what the tokens are worth."""
        return prf(weighted_mean(values[0], candidate.weights), weighted_mean(values[1], reference.weights))

    def pair(self, candidate: Side, reference: Side) -> Floats:
        """Precision, recall and F1 of two texts that are not empty."""
        matrix = similarity(candidate.embedded, reference.embedded)
        return self.fields(self.values(matrix, candidate, reference), candidate, reference)

    def finish(self, scores: Floats) -> Floats:
        """Rescales with the baseline, if there is one."""
        return self._rescaled(scores, self._choices[0])

    def finish_layers(self, scores: Floats) -> Floats:
        """Rescales (layers, rows, fields), every layer with its own baseline."""
        return np.stack([self._rescaled(one, layer) for one, layer in zip(scores, self._choices, strict=True)])

    def _rescaled(self, scores: Floats, layer: str) -> Floats:
        metric: Any = self.metric
        return scores if self._baseline is None else self._baseline.scaled(scores, layer, metric.scale)

    def layers(self, rows: list[Row], embedded: Mapping[str, Embedded], picks: Sequence[Sequence[int]]) -> Floats:
        """As every token metric, with one matrix product per pair for all picks; before `finish`."""
        sides = self.weigh(embedded)
        with one_blas_thread():
            return np.stack([self._layers(row, sides, picks) for row in rows], axis=1)

    def pairwise(self, candidates: list[str], references: list[str]) -> Floats:
        """(candidates, references, fields)."""
        sides = self.sides([*candidates, *references])
        with one_blas_thread():
            matched = self.match([(sides[one], sides[other]) for one in candidates for other in references])
        shape = (len(candidates), len(references), len(self.metric.fields))
        return self.finish(np.array([scores for scores, _ in matched]).reshape(shape))

    def align(self, candidate: str, reference: str) -> Alignment:
        """The whole matrix and the chosen cells."""
        sides = self.sides([candidate, reference])
        one, other = sides[candidate], sides[reference]
        if len(one.tokens) * len(other.tokens) > DRAWABLE_CELLS:
            raise TextTooLongError(
                f"{len(one.tokens)} x {len(other.tokens)} tokens are too many to show; align shorter pieces"
            )
        matrix = similarity(one.embedded, other.embedded)
        chosen, notes = (
            (np.zeros((0, 2), dtype=np.int64), {}) if one.empty or other.empty else self.cells(matrix, one, other)
        )
        scores = self.finish(self.pair_scores(one, other))
        return Alignment(
            candidate=one.tokens,
            reference=other.tokens,
            similarity=matrix,
            candidate_weights=one.weights,
            reference_weights=other.weights,
            cells=chosen,
            matching=self.signature.settings["match"],
            scores=dict(zip(self.metric.fields, scores.tolist(), strict=True)),
            signature=str(self.signature),
            counts=add_counts(total_counts(one, other), notes),
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
            values = [self.values(matrix, candidate, reference) for matrix in matrices]
            per_reference.append(np.stack([self.fields(one, candidate, reference) for one in values]))
        return np.stack([self.combine(scores) for scores in np.stack(per_reference, axis=1)])


def _check_fits(baseline: Baseline, used: dict[str, str]) -> None:
    """A baseline that says how it was fitted is for that model and matching only."""
    for key, value in used.items():
        if baseline.provenance.get(key, value) != value:
            raise TableError(
                f"this baseline was fitted with {key} {baseline.provenance[key]}, not {value}: evalign baseline fit"
            )


def _shipped(model: str, match: str, specials: str) -> Baseline:
    if (model, match, specials) in shipped():
        return shipped()[model, match, specials]
    having = sorted({f"{name} with {matching}" for name, matching, kept in shipped() if kept == specials})
    raise TableError(
        f"rescale=true: no baseline ships for {model} with {match} and specials={specials} (there is one for "
        f"{', '.join(having) or 'nothing'}); fit one: evalign baseline fit TEXTS -o FILE, then rescale=FILE"
    )


def prf(precision: Floats, recall: Floats) -> Floats:
    """The three fields in the last axis."""
    return np.stack([precision, recall, f1(precision, recall)], axis=-1)
