"""`assert_quality` for pytest: texts in; a failure that shows the worst pairs with their alignments out.

    def test_translations(assert_quality):
        assert_quality(candidates, references, metric="bertscore", at_least=0.8)

pytest finds the fixture by itself where evalign is installed; outside of tests import the function.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # every run of pytest reads this file: nothing is loaded before it is used
    from evalign.metrics.base import Metric
    from evalign.types import Report, Row


def assert_quality(
    candidates: Iterable[str],
    references: Iterable[str] | Iterable[Iterable[str]],
    *,
    metric: str | Metric = "evalign",
    at_least: float,
    every: bool = False,
    worst: int = 3,
) -> Report:
    """Fails unless the corpus score (with `every`, each pair's) is at least, or for TER at most, `at_least`.

    The failure shows the `worst` pairs. What is returned is the report of all scores.
    """
    __tracebackhide__ = True
    from evalign.errors import InputError
    from evalign.metrics.registry import metric as metric_of

    judge = metric_of(metric) if isinstance(metric, str) else metric
    report = judge.score(candidates, references)
    if not report.rows:
        raise InputError("no pairs to judge: candidates and references are empty")
    sign = 1 if judge.higher_is_better else -1
    scores = report[judge.main]
    judged = min(sign * scores) * sign if every else report.corpus(judge.main)
    if not sign * judged >= sign * at_least:
        raise AssertionError(_failure(judge, report, float(judged), at_least, every, worst))
    return report


@pytest.fixture(name="assert_quality")
def assert_quality_fixture() -> object:
    """The function above."""
    return assert_quality


def _failure(judge: Metric, report: Report, judged: float, at_least: float, every: bool, worst: int) -> str:
    """What was wanted and found, then the worst pairs, worst first."""
    limit = "at least" if judge.higher_is_better else "at most"
    what = "the worst pair has" if every else f"{len(report.rows)} pairs have"
    scores = report[judge.main]
    order = (scores if judge.higher_is_better else -scores).argsort(kind="stable")[:worst]
    shown = [_pair(judge, report.rows[place], float(scores[place]), place) for place in order]
    lines = [f"{what} {judge} {judged:.4f}, expected {limit} {at_least:g}", *shown, report.signature]
    return "\n\n".join(lines)


def _pair(judge: Metric, row: Row, score: float, place: int) -> str:
    """A pair's texts, and who meets whom where the metric matches tokens."""
    from evalign.metrics.matching_metric import MatchingMetric
    from evalign.render.terminal import alignment_text

    texts = "\n".join(f"  reference: {reference}" for reference in row.references)
    said = f"pair {place}: {score:.4f}\n  candidate: {row.candidate}\n{texts}"
    if not isinstance(judge, MatchingMetric) or not row.references or not row.candidate.strip():
        return said
    reference = max(row.references, key=lambda text: judge.score([row.candidate], [text])[judge.main][0])
    return f"{said}\n{alignment_text(judge.align(row.candidate, reference))}"
