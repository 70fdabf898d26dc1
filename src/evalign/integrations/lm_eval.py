"""Metric functions for lm-evaluation-harness: generated texts and the task's targets in, a corpus score out.

    bertscore, bertscore_corpus = harness_metric("bertscore")   # in utils.py in the folder of the task's YAML

    metric_list:
      - metric: !function utils.bertscore
        aggregation: !function utils.bertscore_corpus
        higher_is_better: true

As for the harness's own BLEU, the first function only collects the texts and the second scores all of them at once:
texts are encoded in batches, and pooled scores and IDF are those of the whole task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evalign.core.metric import Metric
from evalign.errors import InputError
from evalign.integrations.shared import errors_as, field_of, resolved

Item = tuple[Any, str]  # the task's target or targets, and the generated text


def harness_metric(
    metric: str | Metric = "bertscore", field: str | None = None
) -> tuple[Callable[..., Item], Callable[[Sequence[Item]], float]]:
    """Return the metric function and its aggregation, for tasks of type `generate_until`."""
    with errors_as(ValueError):
        evalign_metric = resolved(metric)
        chosen_field = field_of(evalign_metric, field)

    def keep(references: Sequence[Any], predictions: Sequence[str], **_: Any) -> Item:
        return references[0], predictions[0]

    def corpus(items: Sequence[Item]) -> float:
        with errors_as(ValueError):
            if not items:
                raise InputError("no rows to score: the task has none")
            for item in items:
                if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != 2:
                    raise InputError(SEVERAL)
            references, predictions = zip(*items, strict=True)
            return evalign_metric.score(predictions, references).corpus(chosen_field)

    keep.__name__, corpus.__name__ = evalign_metric.name, f"{evalign_metric.name}_corpus"
    return keep, corpus


SEVERAL = (
    "the harness reduces a document with several targets to one number before it is scored; "
    "return (targets, generated) under the metric's name from the task's process_results"
)
