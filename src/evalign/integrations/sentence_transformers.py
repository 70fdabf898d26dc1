"""A sentence-transformers evaluator: the agreement of a metric with people while its encoder is being trained.

    evaluator = AgreementEvaluator(candidates, references, ratings, metric="bertscore", name="dev")
    SentenceTransformerTrainer(..., evaluator=evaluator)

The model is saved to a temporary folder and read from there as evalign reads every model: the reported values are
those of `metric(model=FOLDER)` after the training.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from evalign.core.metric import Metric
from evalign.core.registry import metric_class
from evalign.core.rows import make_rows
from evalign.core.spec import parse_spec
from evalign.errors import InputError
from evalign.integrations.shared import errors_as
from evalign.stats.correlation import kendall, pearson, spearman

try:
    from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
except ImportError:  # before version 5.2
    from sentence_transformers.evaluation import SentenceEvaluator

STATISTICS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


class AgreementEvaluator(SentenceEvaluator):  # type: ignore[misc]  # not seen by the type checker
    """Correlations of a metric's scores with people's ratings; `spearman` decides which checkpoint is the best."""

    def __init__(
        self,
        candidates: Sequence[str],
        references: Sequence[str] | Sequence[Sequence[str]],
        ratings: Iterable[float],
        metric: str = "bertscore",
        name: str = "",
    ) -> None:
        super().__init__()
        self.primary_metric = "spearman"
        self.name, self.metric = name, metric
        self.candidates, self.references = candidates, references
        with errors_as(ValueError):
            self._metric("fake")  # a metric without a model fails before the training, not after its first epoch
            self.ratings = _numbers(ratings)
            rows = make_rows(candidates, references)
            if len(rows) != len(self.ratings):
                raise InputError(f"{len(rows)} candidates but {len(self.ratings)} ratings; they must run in parallel")
            if len(set(self.ratings.tolist())) < 2:
                raise InputError("ratings: expected at least two different numbers, else nothing can agree with them")

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Return the value of each statistic for the current model."""
        with TemporaryDirectory() as folder, errors_as(ValueError):
            model.save(folder, create_model_card=False)
            scored_metric = self._metric(folder)
            scores = scored_metric.score(self.candidates, self.references)[scored_metric.main]
            scores = scores if scored_metric.higher_is_better else -scores
            values = {statistic: float(value(scores, self.ratings)) for statistic, value in STATISTICS.items()}
        named: dict[str, float] = self.prefix_name_to_metrics(values, self.name)
        self.store_metrics_in_model_card_data(model, named, epoch, steps)
        return named

    def _metric(self, model: str) -> Metric:
        name, options = parse_spec(self.metric)
        return metric_class(name).from_options({**options, "model": model}, name)


def _numbers(ratings: Iterable[float]) -> npt.NDArray[np.float64]:
    try:
        numbers = np.array(list(ratings), dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise InputError("ratings: expected finite numbers")
    return numbers
