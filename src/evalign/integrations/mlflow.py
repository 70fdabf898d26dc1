"""Metrics for `mlflow.evaluate`: columns of a table in, a score per row and the corpus scores out.

    bertscore = evalign_metric("bertscore")
    mlflow.models.evaluate(data=frame, predictions="output", targets="gold", extra_metrics=[bertscore])

The column `inputs` (or the one that `col_mapping` maps to it) is the source of metrics that read one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mlflow.exceptions import MlflowException
from mlflow.metrics import MetricValue
from mlflow.metrics.base import standard_aggregations
from mlflow.models import EvaluationMetric, make_metric

from evalign.core.metric import Metric
from evalign.errors import InputError
from evalign.integrations.shared import errors_as, field_of, reads_sources, resolved


def evalign_metric(metric: str | Metric = "bertscore", field: str | None = None) -> EvaluationMetric:
    """Return an mlflow metric: a score per row, their statistics, and the corpus score of every field.

    Args:
        metric: Spec or metric.
        field: Field of the scores per row; the main field by default.
    """
    with errors_as(MlflowException.invalid_parameter_value):
        scored_metric = resolved(metric)
        chosen_field = field_of(scored_metric, field)

    def scored(
        predictions: Iterable[str],
        targets: Iterable[Any] | None = None,
        metrics: Mapping[str, MetricValue] | None = None,
        inputs: Iterable[str] | None = None,
    ) -> MetricValue:
        with errors_as(MlflowException.invalid_parameter_value):
            report = scored_metric.score(predictions, targets, inputs if reads_sources(scored_metric) else None)
            if not report.segments:
                raise InputError("no rows to score: predictions are empty")
        scores = report[chosen_field].tolist()
        corpus_scores = {name: report.corpus(name) for name in report.fields}
        return MetricValue(scores=scores, aggregate_results={**standard_aggregations(scores), **corpus_scores})

    return make_metric(
        eval_fn=scored,
        name=scored_metric.name,
        greater_is_better=scored_metric.higher_is_better,
        metric_details=str(scored_metric),
    )
