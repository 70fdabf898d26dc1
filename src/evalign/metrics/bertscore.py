"""BERTScore (Zhang et al. 2020): every token is matched with its most similar one on the other side.

P = sum_i w_i max_j S_ij / sum w, R = sum_j v_j max_i S_ij / sum v, F1 = 2PR / (P + R), with S the
cosine of token vectors and w, v IDF weights or 1 (special tokens may be matched but weigh 0).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evalign.encoders.memory import EmbeddingMemory
from evalign.encoders.opening import open_encoder
from evalign.errors import TableError, TextTooLongError
from evalign.matching import greedy
from evalign.matching.aggregate import f1, weighted_mean
from evalign.matching.similarity import bands, similarity
from evalign.metrics.base import blocks, option
from evalign.metrics.baseline import Baseline, rescale
from evalign.metrics.pairwise import packed
from evalign.metrics.rows import make_rows
from evalign.metrics.threads import one_blas_thread
from evalign.metrics.tokens import Side, TokenMetric, TokenScorer, total_counts
from evalign.text.idf import TokenWeights
from evalign.types import Alignment, Floats, LayerReport, Report, Row

DRAWABLE_CELLS = 4_000_000
LAYER_BLOCK = 64  # every layer of a text is held at once


@dataclass(frozen=True)
class BERTScore(TokenMetric):
    """Greedy matching of token vectors."""

    name: ClassVar[str] = "bertscore"
    about: ClassVar[str] = "greedy matching of contextual token vectors (Zhang et al. 2020)"

    matching: str = option("greedy", "how tokens find partners", ("greedy",))
    rescale: str = option("false", "a baseline file (LAYER,P,R,F) that maps unrelated text to 0, or false")

    def scorer(self, corpus: Iterable[Row] | None = None, weights: TokenWeights | None = None) -> GreedyScorer:
        """Loads the encoder, the IDF table and the baseline; `weights` overrides `idf`."""
        baseline = self._baseline()
        memory = open_encoder(self.choice())
        return GreedyScorer(self, memory, weights or self.corpus_weights(memory.encoder, corpus), baseline)

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
        depth = len(scorer.memory.encoder.layers)
        parts = [np.zeros((depth, 0, len(self.fields))), *(scorer.layers(block) for block in blocks(rows, LAYER_BLOCK))]
        scores = np.concatenate(parts, axis=1)
        by_field = {name: scores[..., place] for place, name in enumerate(self.fields)}
        return LayerReport(str(self), str(scorer.signature), scorer.memory.encoder.layers, by_field)

    def _baseline(self) -> Baseline | None:
        if self.rescale == "false":
            return None
        if self.rescale == "true":
            raise TableError("rescale=true: no baseline ships for this model; give a file, as in rescale=baseline.tsv")
        return Baseline.load(self.rescale)


class GreedyScorer(TokenScorer):
    """BERTScore with its encoder loaded."""

    def __init__(
        self, metric: BERTScore, memory: EmbeddingMemory, weights: TokenWeights | None, baseline: Baseline | None
    ) -> None:
        super().__init__(metric, memory, weights)
        self.baseline = baseline
        layers = [str(layer) for layer in memory.encoder.layers]
        self._choices = layers if metric.layer == "all" else ["+".join(layers)]
        self._base = None if baseline is None else np.stack([baseline.row(choice) for choice in self._choices])
        digest = "no" if baseline is None else baseline.digest
        self.signature = metric.signature(memory.encoder, weights, metric.matching, digest)

    def pair(self, candidate: Side, reference: Side) -> Floats:
        """Precision, recall and F1 of two texts that are not empty."""
        rows, columns = [], np.full(len(reference.tokens), -np.inf)
        for band in bands(candidate.embedded, reference.embedded):
            best_row, best_column = greedy.values(band)
            rows.append(best_row)
            columns = np.maximum(columns, best_column)
        return _fields(
            weighted_mean(np.concatenate(rows), candidate.weights), weighted_mean(columns, reference.weights)
        )

    def finish(self, scores: Floats) -> Floats:
        """Rescales with the baseline, if there is one."""
        return scores if self._base is None else rescale(scores, self._base[0])

    def layers(self, rows: list[Row]) -> Floats:
        """(layers, rows, fields) of a block of rows, for a scorer that was opened with every layer."""
        sides = self.sides(text for row in rows for text in (row.candidate, *row.references))
        with one_blas_thread():
            scores = np.stack([self._layers(row, sides) for row in rows], axis=1)
        return scores if self._base is None else rescale(scores, self._base[:, None])

    def pairwise(self, candidates: list[str], references: list[str]) -> Floats:
        """(candidates, references, fields); one matrix product per candidate and band of references."""
        sides = self.sides([*candidates, *references])
        scores = np.full((len(candidates), len(references), len(self.metric.fields)), self.metric.worst)
        real = [place for place, text in enumerate(references) if not sides[text].empty]
        own = [place for place, text in enumerate(candidates) if not sides[text].empty]
        for band in packed([sides[references[place]] for place in real]):
            columns = real[band.first : band.first + len(band.starts)]
            for place in own:
                scores[place, columns] = band.scores(sides[candidates[place]])
        return self.finish(scores)

    def align(self, candidate: str, reference: str) -> Alignment:
        """The whole matrix and the chosen cells."""
        sides = self.sides([candidate, reference])
        one, other = sides[candidate], sides[reference]
        if len(one.tokens) * len(other.tokens) > DRAWABLE_CELLS:
            raise TextTooLongError(
                f"{len(one.tokens)} x {len(other.tokens)} tokens are too many to show; align shorter pieces"
            )
        matrix = similarity(one.embedded, other.embedded)
        scores = self.finish(self.pair_scores(one, other))
        return Alignment(
            candidate=one.tokens,
            reference=other.tokens,
            similarity=matrix,
            candidate_weights=one.weights,
            reference_weights=other.weights,
            cells=greedy.cells(matrix[:0] if one.empty or other.empty else matrix),
            matching=self.signature.settings["match"],
            scores=dict(zip(self.metric.fields, scores.tolist(), strict=True)),
            signature=str(self.signature),
            counts=total_counts(one, other),
        )

    def _layers(self, row: Row, sides: dict[str, Side]) -> Floats:
        """(layers, fields) of one row."""
        candidate = sides[row.candidate]
        per_reference = []
        for text in row.references:
            reference = sides[text]
            if candidate.empty or reference.empty:
                per_reference.append(np.full((len(self._choices), len(self.metric.fields)), self.metric.worst))
                continue
            best_row, best_column = greedy.values(similarity(candidate.embedded, reference.embedded, per_layer=True))
            precision = weighted_mean(best_row, candidate.weights)
            per_reference.append(_fields(precision, weighted_mean(best_column, reference.weights)))
        return np.stack([self.combine(scores) for scores in np.stack(per_reference, axis=1)])


def _fields(precision: Floats, recall: Floats) -> Floats:
    return np.stack([precision, recall, f1(precision, recall)], axis=-1)
