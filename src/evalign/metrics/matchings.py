"""One pair under every matching of the same similarity matrix, from one encoding.

In: a token metric and two texts. Out: the metric's own Alignment first, then greedy, every assignment and transport
with the same encoder options; those that cannot be made are named with the reason.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from evalign.errors import EvalignError, SpecError
from evalign.matching.methods import MATCHINGS
from evalign.metrics.base import Metric
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.lisascore import LiSAScore
from evalign.metrics.moverscore import MoverScore
from evalign.metrics.prf import PRFMetric
from evalign.metrics.tokens import TokenMetric
from evalign.text.idf import TokenWeights
from evalign.types import Alignment, Row

MatchingMetric = PRFMetric | MoverScore
TRANSPORT = "transport"
EVERY = (*MATCHINGS, TRANSPORT)
TRANSPORT_CELLS = 1_000_000  # exact transport of 1,000 x 1,000 tokens takes some ten seconds


@dataclass(frozen=True)
class EveryMatching:
    """Alignments by name, the metric's own first, and the sentences about those left out."""

    alignments: Mapping[str, Alignment]
    skipped: Mapping[str, str] = field(default_factory=dict)


def align_every(metric: Metric, candidate: str, reference: str, weights: TokenWeights | None = None) -> EveryMatching:
    """The pair under the metric's own matching and under all others; `weights` override the metric's IDF."""
    metric = matching_metric(metric)
    own = own_matching(metric)
    first = _aligned(metric, candidate, reference, weights)
    alignments, skipped = {own: first}, {}
    for name in EVERY:
        if name == own:
            continue
        if name == TRANSPORT and first.similarity.size > TRANSPORT_CELLS:
            skipped[name] = f"{' x '.join(map(str, first.similarity.shape))} tokens are too many to transport here"
            continue
        try:
            other = _aligned(with_matching(metric, name), candidate, reference, weights)
        except EvalignError as error:
            skipped[name] = str(error)
            continue
        if other.similarity.shape == first.similarity.shape:
            alignments[name] = other
        else:
            skipped[name] = f"it matches tokens, and {metric} matches n-grams"
    return EveryMatching(alignments, skipped)


def align_own(metric: Metric, candidate: str, reference: str, weights: TokenWeights | None = None) -> EveryMatching:
    """The pair under the metric's own matching alone."""
    metric = matching_metric(metric)
    return EveryMatching({own_matching(metric): _aligned(metric, candidate, reference, weights)})


def matching_metric(metric: Metric) -> MatchingMetric:
    """The metric itself, if it matches tokens."""
    if not isinstance(metric, PRFMetric | MoverScore):
        raise SpecError(f"{metric.name} does not match tokens; try bertscore, lisascore or moverscore")
    return metric


def own_matching(metric: MatchingMetric) -> str:
    """What the metric's matching is called here."""
    if isinstance(metric, MoverScore):
        return TRANSPORT
    return metric.method if isinstance(metric, LiSAScore) else str(getattr(metric, "matching", "greedy"))


def with_matching(metric: MatchingMetric, matching: str) -> MatchingMetric:
    """The metric of that matching with the same encoder, weights and, for all but transport, rescaling."""
    common = PRFMetric if isinstance(metric, PRFMetric) and matching != TRANSPORT else TokenMetric
    shared = {item.name: getattr(metric, item.name) for item in dataclasses.fields(common)}
    return MoverScore(**shared) if matching == TRANSPORT else BERTScore(**shared, matching=matching)


def _aligned(metric: MatchingMetric, candidate: str, reference: str, weights: TokenWeights | None) -> Alignment:
    corpus = [Row("1", candidate, (reference,))] if metric.needs_corpus and weights is None else None
    scorer = metric.scorer(corpus, weights)
    scorer.memory.encode([candidate, reference], keep=[candidate, reference])  # the next matching finds them there
    return scorer.align(candidate, reference)
