"""What `align` and `explain` share: a metric that matches tokens, and two texts that have some."""

from __future__ import annotations

from evalign.cli.options import parse_metric
from evalign.errors import InputError
from evalign.metrics import every_matching
from evalign.metrics.matching_metric import MatchingMetric
from evalign.types import Alignment


def matching_metric(spec: str, threads: int = 0) -> MatchingMetric:
    """A metric from a spec, if it matches tokens."""
    return every_matching.matching_metric(parse_metric(spec, threads))


def aligned(metric: MatchingMetric, candidate: str, reference: str) -> Alignment:
    """The alignment of two texts that both have something to match."""
    return check_not_empty(metric.align(candidate, reference))


def check_not_empty(alignment: Alignment) -> Alignment:
    """An error if a text has nothing to match."""
    for name, side in (("candidate", alignment.candidate), ("reference", alignment.reference)):
        if side.empty:
            raise InputError(f"the {name} is empty, so there is nothing to match")
    return alignment
