"""Any metric of evalign as a deepeval metric: a test case's outputs in, its score out.

    metric = EvalignMetric("bertscore", threshold=0.8)
    evaluate([LLMTestCase(input=..., actual_output=candidate, expected_output=reference)], [metric])

`input` is the source of metrics that read one. No language model is asked: scores are evalign's own.
"""

from __future__ import annotations

from typing import Any

from deepeval.errors import DeepEvalError, MissingTestCaseParamsError
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from evalign.integrations.judging import errors_as, field_of, judge_of
from evalign.metrics.base import Metric


class EvalignMetric(BaseMetric):  # type: ignore[misc]  # not seen by the type checker
    """Succeeds if the score is at least the threshold, for TER at most; `reason` is the signature."""

    def __init__(self, metric: str | Metric = "bertscore", threshold: float = 0.5, field: str | None = None) -> None:
        with errors_as(DeepEvalError):
            self.judge = judge_of(metric, part="a test case")
            self.field = field_of(self.judge, field)
        self.threshold = threshold
        self.verbose_mode = False

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """The score of one test case."""
        self.error = self.score = None
        try:
            with errors_as(DeepEvalError):
                report = self.judge.score(*self._texts(test_case))
        except DeepEvalError as error:
            self.error = str(error)
            raise
        self.score_breakdown = {name: float(report[name][0]) for name in report.fields}
        self.score = self.score_breakdown[self.field]
        self.reason = f"{self.field} of {report.signature}"
        self.is_successful()
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """As `measure`; nothing is waited for."""
        return self.measure(test_case)

    def is_successful(self) -> bool:
        """Whether the threshold is reached."""
        sign = 1 if self.judge.higher_is_better else -1
        reached = self.score is not None and sign * self.score >= sign * self.threshold
        self.success = reached
        return reached

    @property
    def __name__(self) -> str:
        return str(self.judge)

    def _texts(self, test_case: LLMTestCase) -> tuple[list[str], list[str] | None, list[str] | None]:
        """Candidate, reference and source; deepeval may be told to skip test cases where one is missing."""
        wanted = ["actual_output", *(["expected_output"] if "references" in self.judge.needs else [])]
        for name in wanted:
            if getattr(test_case, name) is None:
                raise MissingTestCaseParamsError(f"{name}: expected a string, found None; {self.judge} needs it")
        reference = test_case.expected_output
        return [test_case.actual_output], None if reference is None else [reference], [test_case.input]
