"""All candidates against all references: the references' tokens side by side in one matrix.

One product per candidate gives its similarity to every token of many references at once; maxima
and sums over each reference's stretch of columns then give all their scores together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evalign.matching.aggregate import f1
from evalign.metrics.token_side import Side
from evalign.types import Floats, Ints

BAND_TOKENS = 16_384  # tokens of references held side by side


@dataclass(frozen=True, eq=False)
class Band:
    """References from `first` on: unit vectors (layers, tokens, width) and where each reference starts."""

    first: int
    vectors: Floats
    weights: Floats  # per token, each reference's summing to 1
    starts: Ints

    def scores(self, candidate: Side) -> Floats:
        """(references, 3): greedy precision, recall and F1 against each reference of the band."""
        own = _unit(candidate)
        similarity = np.clip(np.matmul(own, self.vectors.transpose(0, 2, 1)), -1, 1).mean(axis=0)
        shares = candidate.weights / candidate.weights.sum()
        precision = shares @ np.maximum.reduceat(similarity, self.starts, axis=1)
        recall = np.add.reduceat(similarity.max(axis=0) * self.weights, self.starts)
        return np.stack([precision, recall, f1(precision, recall)], axis=-1)


def greedy_scores(candidates: Sequence[Side], references: Sequence[Side], worst: float) -> Floats:
    """(candidates, references, 3): greedy precision, recall and F1; `worst` where a text is empty."""
    scores = np.full((len(candidates), len(references), 3), worst)
    real = [place for place, side in enumerate(references) if not side.empty]
    for band in packed([references[place] for place in real]):
        columns = real[band.first : band.first + len(band.starts)]
        for place, side in enumerate(candidates):
            if not side.empty:
                scores[place, columns] = band.scores(side)
    return scores


def packed(references: Sequence[Side]) -> Iterator[Band]:
    """Bands of references in order; none of them may be empty."""
    first = 0
    while first < len(references):
        last, tokens = first, 0
        while last < len(references) and (last == first or tokens + len(references[last].tokens) <= BAND_TOKENS):
            tokens += len(references[last].tokens)
            last += 1
        group = references[first:last]
        lengths = [len(side.tokens) for side in group]
        yield Band(
            first,
            np.concatenate([_unit(side) for side in group], axis=1),
            np.concatenate([side.weights / side.weights.sum() for side in group]),
            np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64),
        )
        first = last


def _unit(side: Side) -> Floats:
    return np.asarray(side.embedded.vectors / side.embedded.norms[:, :, None].astype(np.float32))
