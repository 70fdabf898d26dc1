"""BERTScore (Zhang et al. 2020): every token is matched with its most similar one on the other side.

P = sum_i w_i max_j S_ij / sum w, R = sum_j v_j max_i S_ij / sum v, F1 = 2PR / (P + R), with S the
cosine of token vectors and w, v IDF weights or 1 (special tokens may be matched but weigh 0).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalign.encoders.opening import open_encoder
from evalign.matching import greedy
from evalign.matching.methods import MATCHINGS
from evalign.matching.similarity import bands
from evalign.metrics.base import option
from evalign.metrics.pairwise import packed
from evalign.metrics.prf import PRFMetric, PRFScorer
from evalign.metrics.tokens import Side
from evalign.text.idf import TokenWeights
from evalign.types import Floats, Ints, Row


@dataclass(frozen=True)
class BERTScore(PRFMetric):
    """Greedy matching of token vectors; other matchings as LiSAScore has them."""

    name: ClassVar[str] = "bertscore"
    about: ClassVar[str] = "greedy matching of contextual token vectors (Zhang et al. 2020)"

    matching: str = option("greedy", "how tokens find partners", MATCHINGS)

    def scorer(self, corpus: Iterable[Row] | None = None, weights: TokenWeights | None = None) -> PRFScorer:
        """Loads the encoder, the IDF table and the baseline; `weights` overrides `idf`."""
        baseline = self.baseline()
        memory = open_encoder(self.choice())
        weights = weights or self.corpus_weights(memory.encoder, corpus)
        if self.matching == "greedy":
            return GreedyScorer(self, memory, weights, baseline)
        from evalign.metrics.lisascore import AssignmentScorer  # needs scipy, which greedy matching does not

        return AssignmentScorer(self, memory, weights, baseline)


class GreedyScorer(PRFScorer):
    """Greedy matching with the encoder loaded."""

    @staticmethod
    def match_name(metric: BERTScore) -> str:
        """The matching in the signature."""
        return "greedy"

    def values(self, matrix: Floats, candidate: Side, reference: Side) -> tuple[Floats, Floats]:
        """Row and column maxima."""
        return greedy.values(matrix)

    def cells(self, matrix: Floats, candidate: Side, reference: Side) -> tuple[Ints, dict[str, int]]:
        """Where the maxima are."""
        return greedy.cells(matrix), {}

    def pair(self, candidate: Side, reference: Side) -> Floats:
        """Precision, recall and F1 in bands: texts of any length need only a slice of their matrix at a time."""
        rows, columns = [], np.full(len(reference.tokens), -np.inf)
        for band in bands(candidate.embedded, reference.embedded):
            best_row, best_column = greedy.values(band)
            rows.append(best_row)
            columns = np.maximum(columns, best_column)
        return self.fields((np.concatenate(rows), columns), candidate, reference)

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
