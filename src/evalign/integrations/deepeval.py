"""Metrics for deepeval: a test case's outputs in, its score out.

    metric = EvalignDeepEvalMetric("bertscore", threshold=0.8)
    evaluate([LLMTestCase(input=..., actual_output=candidate, expected_output=reference)], [metric])

`input` is the source of metrics that read one. No language model is called: scores are evalign's own.
"""

from __future__ import annotations

from typing import Any

from deepeval.errors import DeepEvalError, MissingTestCaseParamsError
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from evalign.core.metric import Metric
from evalign.integrations.shared import errors_as, field_of, resolved


class EvalignDeepEvalMetric(BaseMetric):  # type: ignore[misc]  # not seen by the type checker
    """Metric that succeeds if the score reaches the threshold; `reason` is the signature."""

    def __init__(self, metric: str | Metric = "bertscore", threshold: float = 0.5, field: str | None = None) -> None:
        with errors_as(DeepEvalError):
            self.evalign_metric = resolved(metric, part="a test case")
            self.field = field_of(self.evalign_metric, field)
        self.threshold = threshold
        self.verbose_mode = False

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """Return the score of one test case."""
        self.error = self.score = None
        try:
            with errors_as(DeepEvalError):
                report = self.evalign_metric.score(*self._texts(test_case))
        except DeepEvalError as error:
            self.error = str(error)
            raise
        self.score_breakdown = {name: float(report[name][0]) for name in report.fields}
        self.score = self.score_breakdown[self.field]
        self.reason = f"{self.field} of {report.signature}"
        self.is_successful()
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """Call `measure`, synchronously."""
        return self.measure(test_case)

    def is_successful(self) -> bool:
        """Return whether the threshold is reached."""
        sign = 1 if self.evalign_metric.higher_is_better else -1
        reached = self.score is not None and sign * self.score >= sign * self.threshold
        self.success = reached
        return reached

    @property
    def __name__(self) -> str:
        return str(self.evalign_metric)

    def _texts(self, test_case: LLMTestCase) -> tuple[list[str], list[str] | None, list[str] | None]:
        """Return candidate, reference and source; raise deepeval's error for missing ones, which it can skip."""
        required = ["actual_output", *(["expected_output"] if "references" in self.evalign_metric.needs else [])]
        for name in required:
            if getattr(test_case, name) is None:
                reason = f"{self.evalign_metric} needs it"
                raise MissingTestCaseParamsError(f"{name}: expected a string, found None; {reason}")
        reference = test_case.expected_output
        return [test_case.actual_output], None if reference is None else [reference], [test_case.input]
