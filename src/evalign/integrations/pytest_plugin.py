"""`assert_quality` for pytest: texts in; a failure that shows the worst pairs with their alignments out.

    def test_translations(assert_quality):
        assert_quality(candidates, references, metric="bertscore", at_least=0.8)

pytest finds the fixture by itself where evalign is installed; outside of tests import the function.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # every run of pytest imports this file: load nothing before it is used
    from evalign.core import Report, Row
    from evalign.core.metric import Metric


def assert_quality(
    candidates: Iterable[str],
    references: Iterable[str] | Iterable[Iterable[str]],
    *,
    metric: str | Metric = "bertscore",
    at_least: float,
    every: bool = False,
    worst: int = 3,
) -> Report:
    """Fail unless the corpus score is good enough; the failure shows the worst pairs.

    Args:
        candidates: Texts to test.
        references: One reference per candidate, or several.
        metric: Spec or metric.
        at_least: Minimum score; the maximum for metrics where lower is better, such as TER.
        every: Require it of each pair instead of the corpus score.
        worst: Number of pairs in the failure.

    Returns:
        The report of all scores.
    """
    __tracebackhide__ = True
    from evalign.core.registry import as_metric
    from evalign.errors import InputError

    scored_metric = as_metric(metric)
    report = scored_metric.score(candidates, references)
    if not report.rows:
        raise InputError("no pairs to judge: candidates and references are empty")
    sign = 1 if scored_metric.higher_is_better else -1
    scores = report[scored_metric.main]
    score = min(sign * scores) * sign if every else report.corpus(scored_metric.main)
    if not sign * score >= sign * at_least:
        raise AssertionError(_failure(scored_metric, report, float(score), at_least, every, worst))
    return report


@pytest.fixture(name="assert_quality")
def assert_quality_fixture() -> object:
    """Return `assert_quality`."""
    return assert_quality


def _failure(metric: Metric, report: Report, score: float, at_least: float, of_each_pair: bool, worst: int) -> str:
    """Return the message: expected and actual score, then the worst pairs, worst first."""
    limit = "at least" if metric.higher_is_better else "at most"
    subject = "the worst pair has" if of_each_pair else f"{len(report.rows)} pairs have"
    scores = report[metric.main]
    order = (scores if metric.higher_is_better else -scores).argsort(kind="stable")[:worst]
    pairs = [_pair(metric, report.rows[index], float(scores[index]), index) for index in order]
    lines = [f"{subject} {metric} {score:.4f}, expected {limit} {at_least:g}", *pairs, report.signature]
    return "\n\n".join(lines)


def _pair(metric: Metric, row: Row, score: float, index: int) -> str:
    """Describe a pair's texts, and its alignment if the metric matches tokens."""
    from evalign.metrics.token_metric import TokenMetric
    from evalign.render.terminal import alignment_text

    texts = "\n".join(f"  reference: {reference}" for reference in row.references)
    description = f"pair {index}: {score:.4f}\n  candidate: {row.candidate}\n{texts}"
    if not isinstance(metric, TokenMetric) or not row.references or not row.candidate.strip():
        return description
    reference = max(row.references, key=lambda text: metric.score([row.candidate], [text])[metric.main][0])
    return f"{description}\n{alignment_text(metric.align(row.candidate, reference))}"
