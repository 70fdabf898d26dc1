"""One pair under every matching: one encoding and one similarity matrix, each matching solved once.

In: a metric that matches tokens and two texts. Out: the metric's own Alignment first, then greedy, every assignment and
transport with the same encoder options; those that cannot be made are named with the reason.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from evalign.errors import EvalignError, InputError, SpecError
from evalign.matching.registry import TRANSPORT, every_name
from evalign.matching.shared_matrix import SharedMatrix
from evalign.metrics.base import Metric
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.matching_metric import MatchingMetric, MatchingScorer, PRFMetric
from evalign.metrics.moverscore import MoverScore
from evalign.metrics.token_metric import TokenMetric
from evalign.text.idf import TokenWeights
from evalign.types import Alignment, Embedded, Row

TRANSPORT_CELLS = 1_000_000  # exact transport of 1,000 x 1,000 tokens takes some ten seconds


@dataclass(frozen=True)
class EveryMatching:
    """Alignments by name, the metric's own first, and the sentences about those left out."""

    alignments: Mapping[str, Alignment]
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def own(self) -> Alignment:
        """The one of the metric itself."""
        return next(iter(self.alignments.values()))


def align_every(
    metric: Metric, candidate: str, reference: str, weights: TokenWeights | None = None, others: bool = True
) -> EveryMatching:
    """The pair under the metric's own matching and, unless `others` is false, under all others.

    `weights` override the metric's IDF.
    """
    metric = matching_metric(metric)
    scorer = metric.scorer([Row("1", candidate, (reference,))], weights)
    texts = scorer.memory.encode([candidate, reference], keep=[candidate, reference])  # people look at a pair again
    pair = texts[candidate], texts[reference]
    own = scorer.align_sides(scorer.side(pair[0]), scorer.side(pair[1]))
    alignments, skipped = {metric.matcher.kind: own}, {}
    shared = SharedMatrix(own.similarity)
    for name in every_name() if others else ():
        if name == metric.matcher.kind:
            continue
        try:
            alignments[name] = _aligned(with_matching(metric, name), scorer, pair, shared)
        except EvalignError as error:
            skipped[name] = str(error)
    return EveryMatching(alignments, skipped)


def matching_metric(metric: Metric) -> MatchingMetric:
    """The metric itself, if it matches tokens."""
    if not isinstance(metric, MatchingMetric):  # `aligns`, and a type checker knows it
        raise SpecError(f"{metric.name} does not match tokens; try bertscore, lisascore or moverscore")
    return metric


def check_not_empty(alignment: Alignment) -> Alignment:
    """The alignment, or an error if a text has nothing to match."""
    for name, side in (("candidate", alignment.candidate), ("reference", alignment.reference)):
        if side.empty:
            raise InputError(f"the {name} is empty, so there is nothing to match")
    return alignment


def with_matching(metric: MatchingMetric, matching: str) -> MatchingMetric:
    """The metric of that matching with the same encoder, weights and, for all but transport, rescaling."""
    common = PRFMetric if isinstance(metric, PRFMetric) and matching != TRANSPORT else TokenMetric
    shared = {item.name: getattr(metric, item.name) for item in dataclasses.fields(common)}
    return MoverScore(**shared) if matching == TRANSPORT else BERTScore(**shared, matching=matching)


def _aligned(
    metric: MatchingMetric, first: MatchingScorer, pair: tuple[Embedded, Embedded], shared: SharedMatrix
) -> Alignment:
    """The same two encoded texts under another matching of the same matrix."""
    shape = " x ".join(map(str, shared.similarity.shape))
    if metric.matcher.kind == TRANSPORT and shared.similarity.size > TRANSPORT_CELLS:
        raise SpecError(f"{shape} tokens are too many to transport here")
    scorer = MatchingScorer(metric, first.memory, first.weights, metric.rescaling())
    sides = scorer.side(pair[0]), scorer.side(pair[1])
    if (len(sides[0].tokens), len(sides[1].tokens)) != shared.similarity.shape:
        raise SpecError(f"it matches tokens, and {first.metric} matches n-grams")
    return scorer.align_sides(*sides, shared)
