"""Frames and datasets: a pandas or polars frame, or a batch of Hugging Face `datasets`, in; its scores beside it out.

    scored = add_scores(frame, "bertscore", candidate="output", reference="gold")
    scored = dataset.map(batch_scorer("bertscore"), batched=True)

Neither library is imported here: a frame can only come from a program that has loaded it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from evalign.errors import InputError
from evalign.integrations.judging import errors_as, judge_of
from evalign.metrics.base import Metric

Frame = TypeVar("Frame")


def add_scores(
    frame: Frame,
    metric: str | Metric = "bertscore",
    *,
    candidate: str = "candidate",
    reference: str | Sequence[str] = "references",
    source: str | None = None,
) -> Frame:
    """A copy of the frame with a column `metric_field` for every field of the metric.

    `reference` names a column of texts, a column of lists of texts, or several columns.
    """
    given: Any = frame
    wanted = [candidate, *_names(reference), *([source] if source else [])]
    with errors_as(ValueError):
        _check_columns(list(given.columns), wanted)
        columns = {name: given[name].to_list() for name in wanted}
        scores = _scores(judge_of(metric), columns, candidate, reference, source)
    scored: Frame = given.assign(**scores) if hasattr(given, "assign") else given.with_columns(**_series(given, scores))
    return scored


def batch_scorer(
    metric: str | Metric = "bertscore",
    *,
    candidate: str = "candidate",
    reference: str | Sequence[str] = "references",
    source: str | None = None,
) -> Callable[[Mapping[str, list[Any]]], dict[str, list[float]]]:
    """A function for `Dataset.map(..., batched=True)`; metrics that count over the whole corpus are refused."""
    with errors_as(ValueError):
        judge = judge_of(metric, part="a batch")

    def scored(batch: Mapping[str, list[Any]]) -> dict[str, list[float]]:
        with errors_as(ValueError):
            _check_columns(list(batch), [candidate, *_names(reference), *([source] if source else [])])
            found = _scores(judge, batch, candidate, reference, source)
        return {name: [float(value) for value in values] for name, values in found.items()}

    return scored


def _scores(
    judge: Metric, columns: Mapping[str, list[Any]], candidate: str, reference: str | Sequence[str], source: str | None
) -> dict[str, Any]:
    names = _names(reference)
    references = columns[names[0]] if len(names) == 1 else list(zip(*(columns[name] for name in names), strict=True))
    report = judge.score(columns[candidate], references, columns[source] if source else None)
    return {f"{judge.name}_{field}": report[field] for field in report.fields}


def _names(reference: str | Sequence[str]) -> list[str]:
    return [reference] if isinstance(reference, str) else list(reference)


def _check_columns(there: list[Any], wanted: list[str]) -> None:
    for name in wanted:
        if name not in there:
            raise InputError(f"no column {name!r}; the columns are {', '.join(map(str, there))}")


def _series(frame: Any, scores: Mapping[str, Any]) -> dict[str, Any]:
    """As columns of the kind that the frame is made of."""
    make = type(frame[frame.columns[0]])
    return {name: make(name, values) for name, values in scores.items()}
