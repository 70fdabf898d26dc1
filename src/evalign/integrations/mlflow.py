"""Any metric of evalign for `mlflow.evaluate`: columns of a table in, a score per row and the corpus scores out.

    bertscore = evalign_metric("bertscore")
    mlflow.models.evaluate(data=frame, predictions="output", targets="gold", extra_metrics=[bertscore])

The column `inputs` (or what `col_mapping` names so) is the source of metrics that read one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mlflow.exceptions import MlflowException
from mlflow.metrics import MetricValue
from mlflow.metrics.base import standard_aggregations
from mlflow.models import EvaluationMetric, make_metric

from evalign.errors import InputError
from evalign.integrations.judging import errors_as, field_of, judge_of, reads_sources
from evalign.metrics.base import Metric


def evalign_metric(metric: str | Metric = "bertscore", field: str | None = None) -> EvaluationMetric:
    """A score per row, of the main field unless one is named, their statistics, and the corpus score of every field."""
    with errors_as(MlflowException.invalid_parameter_value):
        judge = judge_of(metric)
        shown = field_of(judge, field)

    def scored(
        predictions: Iterable[str],
        targets: Iterable[Any] | None = None,
        metrics: Mapping[str, MetricValue] | None = None,
        inputs: Iterable[str] | None = None,
    ) -> MetricValue:
        with errors_as(MlflowException.invalid_parameter_value):
            report = judge.score(predictions, targets, inputs if reads_sources(judge) else None)
            if not report.segments:
                raise InputError("no rows to judge: predictions are empty")
        scores = report[shown].tolist()
        whole = {name: report.corpus(name) for name in report.fields}
        return MetricValue(scores=scores, aggregate_results={**standard_aggregations(scores), **whole})

    return make_metric(
        eval_fn=scored,
        name=judge.name,
        greater_is_better=judge.higher_is_better,
        metric_details=str(judge),
    )
