"""Metric functions for lm-evaluation-harness: what a model generated and the task's targets in, a corpus score out.

    bertscore, bertscore_corpus = harness_metric("bertscore")   # utils.py beside the task's YAML

    metric_list:
      - metric: !function utils.bertscore
        aggregation: !function utils.bertscore_corpus
        higher_is_better: true

As for the harness's own BLEU, the first function only keeps the texts and the second scores all of them at once: texts
are encoded in batches, and pooled scores and IDF are those of the whole task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evalign.errors import InputError
from evalign.integrations.judging import errors_as, field_of, judge_of
from evalign.metrics.base import Metric

Item = tuple[Any, str]  # what the task expects, a text or several, and what was generated


def harness_metric(
    metric: str | Metric = "bertscore", field: str | None = None
) -> tuple[Callable[..., Item], Callable[[Sequence[Item]], float]]:
    """The metric function and its aggregation, for tasks of the kind `generate_until`."""
    with errors_as(ValueError):
        judge = judge_of(metric)
        shown = field_of(judge, field)

    def keep(references: Sequence[Any], predictions: Sequence[str], **_: Any) -> Item:
        return references[0], predictions[0]

    def corpus(items: Sequence[Item]) -> float:
        with errors_as(ValueError):
            if not items:
                raise InputError("no rows to judge: the task has none")
            for item in items:
                if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != 2:
                    raise InputError(SEVERAL)
            references, predictions = zip(*items, strict=True)
            return judge.score(predictions, references).corpus(shown)

    keep.__name__, corpus.__name__ = judge.name, f"{judge.name}_corpus"
    return keep, corpus


SEVERAL = (
    "the harness reduces a document with several targets to one number before it is scored; "
    "return (targets, generated) under the metric's name from the task's process_results"
)
