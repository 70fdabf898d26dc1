"""What `align` and `explain` share: a metric that matches tokens, and two texts that have some."""

from __future__ import annotations

from evalign.cli.options import parse_metric
from evalign.errors import InputError
from evalign.metrics import matchings
from evalign.metrics.matchings import MatchingMetric
from evalign.types import Alignment


def matching_metric(spec: str, threads: int = 0) -> MatchingMetric:
    """A metric from a spec, if it matches tokens."""
    return matchings.matching_metric(parse_metric(spec, threads))


def aligned(metric: MatchingMetric, candidate: str, reference: str) -> Alignment:
    """The alignment of two texts that both have something to match."""
    alignment = metric.align(candidate, reference)
    for name, side in (("candidate", alignment.candidate), ("reference", alignment.reference)):
        if side.empty:
            raise InputError(f"the {name} is empty, so there is nothing to match")
    return alignment
