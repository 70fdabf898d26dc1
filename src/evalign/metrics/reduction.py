"""Reduction: from the values of matched tokens to the fields of a metric, and from several references to one score.

MatchResult, WeightedText, WeightedText --Reduction--> (fields,) --MultiReference--> (fields,)
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Protocol

import numpy as np

from evalign.core import Floats
from evalign.encoders.adapter import OutputLayer, read_adapter
from evalign.matching.base import MatchResult, f1, weighted_mean
from evalign.matching.ties import on_grid
from evalign.matching.transport import mover_score
from evalign.metrics.weighting import WeightedText

DENOMINATORS = ("own", "min", "max")
MULTIREF = ("best", "mean", "per-field-max")
REPEATED_SHARE = 0.3  # of words that a text may repeat: long texts say "the" more often than short references
WORD = re.compile(r"\w+|[^\w\s]")


class Reduction(Protocol):
    """A rule that turns one matched pair into the metric's fields."""

    fields: ClassVar[tuple[str, ...]]

    def reduce(self, result: MatchResult, candidate: WeightedText, reference: WeightedText) -> Floats:
        """Return one number per field."""


@dataclass(frozen=True)
class PRF:
    """Weighted means of the values of both sides, and their harmonic mean.

    `denominator` is the weight that a side's sum is divided by: its own, that of as many of its heaviest tokens as can
    be matched (`min`), or the larger of both sides (`max`).
    """

    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    denominator: str = "own"

    def reduce(self, result: MatchResult, candidate: WeightedText, reference: WeightedText) -> Floats:
        """Return precision, recall and F1."""
        precision = self._mean(result.candidate_values, candidate.weights, reference.weights)
        return prf(precision, self._mean(result.reference_values, reference.weights, candidate.weights))

    def divisor(self, weights: Floats, opposite: Floats) -> float:
        """Return the weight that the sum of one side is divided by; `opposite` are the weights of the other side."""
        total = float(weights.sum())
        if self.denominator == "max":
            return max(total, float(opposite.sum()))
        if self.denominator == "min":
            matchable = int((opposite > 0).sum())
            return float(np.sort(weights)[::-1][:matchable].sum())
        return total

    def _mean(self, values: Floats, weights: Floats, opposite: Floats) -> Floats:
        if self.denominator == "own":
            return weighted_mean(values, weights)
        return np.asarray(float(weights @ values) / self.divisor(weights, opposite))


@dataclass(frozen=True)
class MoverCost:
    """One score from the cost of a transport plan."""

    fields: ClassVar[tuple[str, ...]] = ("score",)
    form: str = "inverse"

    def reduce(self, result: MatchResult, candidate: WeightedText, reference: WeightedText) -> Floats:
        """Return 1 / (1 + cost), or 1 - cost."""
        assert result.cost is not None
        return np.array([mover_score(float(result.cost), self.form)])


@dataclass(frozen=True)
class AdapterOutput:
    """The output layer of an adapter: precision, recall and F1 to a score from 0 to 100, less for repeated words."""

    fields: ClassVar[tuple[str, ...]] = ("score",)
    folder: str

    @cached_property
    def output(self) -> OutputLayer:
        """Weights of precision, recall and F1."""
        return read_adapter(self.folder).output

    def reduce(self, result: MatchResult, candidate: WeightedText, reference: WeightedText) -> Floats:
        """Return the score of one pair."""
        fields = PRF().reduce(result, candidate, reference)
        share = unrepeated_share(candidate.tokens.text, reference.tokens.text)
        return self.output.percent(fields)[..., None] * share


@dataclass(frozen=True)
class Cosine:
    """The similarity of two pooled vectors."""

    fields: ClassVar[tuple[str, ...]] = ("score",)

    def reduce(self, result: MatchResult, candidate: WeightedText, reference: WeightedText) -> Floats:
        """Return the only cell of the matrix."""
        return np.asarray(result.candidate_values, dtype=np.float64)


@dataclass(frozen=True)
class MultiReference:
    """One score of several references: that of the reference with the best main field, the mean, or maxima by field."""

    rule: str = "best"

    def combine(self, scores: Floats) -> Floats:
        """Reduce (references, fields) to (fields,)."""
        if len(scores) == 1:
            return np.asarray(scores[0])
        if self.rule == "mean":
            return np.asarray(scores.mean(axis=0))
        if self.rule == "per-field-max":
            return np.asarray(scores.max(axis=0))
        return np.asarray(scores[self.best(scores)])

    def best(self, scores: Floats) -> int:
        """Return the index of the reference with the highest main field; the first if only rounding differs."""
        return int(on_grid(scores[:, -1]).argmax())

    def chosen(self, scores: Floats) -> int | None:
        """Return the index of the reference that decided the score; None if there is one only, or all count."""
        return None if len(scores) == 1 or self.rule == "mean" else self.best(scores)


def prf(precision: Floats, recall: Floats) -> Floats:
    """Stack precision, recall and F1 in the last axis."""
    return np.stack([precision, recall, f1(precision, recall)], axis=-1)


def unrepeated_share(candidate: str, reference: str) -> float:
    """Return the share of a score that is kept: 1 unless the candidate repeats words more often than the reference.

    About 1 of 200 system outputs loses anything.
    """
    counts, allowed = _word_counts(candidate), _word_counts(reference)
    surplus = sum(max(0, count - max(allowed[word], 1)) for word, count in counts.items())
    share = surplus / max(1, counts.total())
    return 1 - max(0.0, share - REPEATED_SHARE) / (1 - REPEATED_SHARE)


@lru_cache(maxsize=4096)  # a reference is compared with many candidates
def _word_counts(text: str) -> Counter[str]:
    """Count words and punctuation marks in lower case."""
    return Counter(WORD.findall(text.lower()))
