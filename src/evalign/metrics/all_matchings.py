"""One pair under all matchings: one encoding and one similarity matrix, each matching solved once.

In: a metric that matches tokens and two texts. Out: the Alignment of the metric, then greedy, all assignments and
transport with the same encoder options; those that cannot be computed are named with the reason.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from evalign.core import Alignment, Embedded, Row
from evalign.core.metric import Metric
from evalign.errors import EvalignError, InputError, SpecError
from evalign.matching.base import SharedMatrix
from evalign.matching.registry import TRANSPORT, all_matchings
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.moverscore import MoverScore
from evalign.metrics.token_metric import TokenMetric, TokenScorer, aligning_metric
from evalign.metrics.weighting import SIDES
from evalign.text.idf import TokenWeights

MAX_TRANSPORT_CELLS = 1_000_000  # exact transport of 1,000 x 1,000 tokens takes some ten seconds


@dataclass(frozen=True)
class AllMatchings:
    """Alignments by matching, that of the metric first, and the reasons for those left out."""

    alignments: Mapping[str, Alignment]
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> Alignment:
        """Alignment of the metric itself."""
        return next(iter(self.alignments.values()))


def align_all(
    metric: Metric, candidate: str, reference: str, weights: TokenWeights | None = None, only_first: bool = False
) -> AllMatchings:
    """Align one pair under the matching of the metric and, unless `only_first`, under all others.

    Args:
        metric: A metric that matches tokens.
        candidate: The text to judge.
        reference: The text to compare with.
        weights: Token weights that replace the metric's IDF.
        only_first: Skip the other matchings.
    """
    metric = aligning_metric(metric)
    scorer = metric.scorer([Row("1", candidate, (reference,))], weights)
    texts = scorer.cache.encode([candidate, reference], keep=[candidate, reference])  # users look at a pair again
    pair = texts[candidate], texts[reference]
    first = _aligned(scorer, pair, None)
    matching = scorer.pipeline.matching.key
    alignments, skipped = {matching: first}, {}
    shared = SharedMatrix(first.similarity)
    for name in () if only_first else all_matchings():
        if name == matching:
            continue
        try:
            alignments[name] = _aligned(_scorer_with(metric, name, scorer, shared), pair, shared)
        except EvalignError as error:
            skipped[name] = str(error)
    return AllMatchings(alignments, skipped)


def check_not_empty(alignment: Alignment) -> Alignment:
    """Return the alignment; raise InputError if a text has no token to match."""
    for name, tokens in (("candidate", alignment.candidate), ("reference", alignment.reference)):
        if tokens.empty:
            raise InputError(f"the {name} is empty, so there is nothing to match")
    return alignment


def with_matching(metric: TokenMetric, matching: str) -> TokenMetric:
    """Return the metric of that matching; all options stay the same that it has, too."""
    names = [item.name for item in dataclasses.fields(TokenMetric)]
    if matching != TRANSPORT:
        names += [name for name in ("rescale", "scale", "compat") if hasattr(metric, name)]
    shared = {name: getattr(metric, name) for name in names}
    if shared["idf"] == SIDES:  # counted over all rows, for moverscore only
        shared["idf"] = "no"
    return MoverScore(**shared) if matching == TRANSPORT else BERTScore(**shared, matching=matching)


def _scorer_with(metric: TokenMetric, matching: str, first: TokenScorer, shared: SharedMatrix) -> TokenScorer:
    """Return a scorer of another matching that uses the encoder and the IDF table of the first."""
    if matching == TRANSPORT and shared.similarity.size > MAX_TRANSPORT_CELLS:
        shape = " x ".join(map(str, shared.similarity.shape))
        raise SpecError(f"{shape} tokens are too many to transport here")
    metric = with_matching(metric, matching)
    pipeline = metric.pipeline()
    weigher = pipeline.weighting.load(first.cache.encoder, None, first.weigher.table)
    return TokenScorer(metric, pipeline, first.cache, weigher)


def _aligned(scorer: TokenScorer, pair: tuple[Embedded, Embedded], shared: SharedMatrix | None) -> Alignment:
    """Align two encoded texts; `shared` is the similarity of their tokens under the first matching."""
    candidate, reference = pair
    left, right = scorer.weigher.weigh_sides({"candidate": candidate, "reference": reference})
    texts = left["candidate"], right["reference"]
    if shared is not None and (len(texts[0].tokens), len(texts[1].tokens)) != shared.similarity.shape:
        raise SpecError("it matches tokens, and the metric matches n-grams")
    return scorer.align_texts(*texts, shared)
