"""Frames and datasets: a pandas or polars frame, or a batch of Hugging Face `datasets`, in; the same with scores out.

    scored = add_scores(frame, "bertscore", candidate="output", reference="gold")
    scored = dataset.map(batch_scorer("bertscore"), batched=True)

Neither library is imported here: a frame can only come from a program that has loaded it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from evalign.core.metric import Metric
from evalign.errors import InputError
from evalign.integrations.shared import errors_as, resolved

Frame = TypeVar("Frame")


def add_scores(
    frame: Frame,
    metric: str | Metric = "bertscore",
    *,
    candidate: str = "candidate",
    reference: str | Sequence[str] = "references",
    source: str | None = None,
) -> Frame:
    """Return a copy of the frame with a column `metric_field` for every field of the metric.

    Args:
        frame: pandas or polars frame.
        metric: Spec or metric.
        candidate: Column of candidates.
        reference: Column of texts, column of lists of texts, or several columns.
        source: Column of sources.
    """
    table: Any = frame
    names = [candidate, *_names(reference), *([source] if source else [])]
    with errors_as(ValueError):
        _check_columns(list(table.columns), names)
        columns = {name: table[name].to_list() for name in names}
        scores = _scores(resolved(metric), columns, candidate, reference, source)
    scored: Frame = table.assign(**scores) if hasattr(table, "assign") else table.with_columns(**_series(table, scores))
    return scored


def batch_scorer(
    metric: str | Metric = "bertscore",
    *,
    candidate: str = "candidate",
    reference: str | Sequence[str] = "references",
    source: str | None = None,
) -> Callable[[Mapping[str, list[Any]]], dict[str, list[float]]]:
    """Return a function for `Dataset.map(..., batched=True)`; metrics that count over the whole corpus raise."""
    with errors_as(ValueError):
        scored_metric = resolved(metric, part="a batch")

    def scored(batch: Mapping[str, list[Any]]) -> dict[str, list[float]]:
        with errors_as(ValueError):
            _check_columns(list(batch), [candidate, *_names(reference), *([source] if source else [])])
            scores = _scores(scored_metric, batch, candidate, reference, source)
        return {name: [float(value) for value in values] for name, values in scores.items()}

    return scored


def _scores(
    metric: Metric, columns: Mapping[str, list[Any]], candidate: str, reference: str | Sequence[str], source: str | None
) -> dict[str, Any]:
    names = _names(reference)
    references = columns[names[0]] if len(names) == 1 else list(zip(*(columns[name] for name in names), strict=True))
    report = metric.score(columns[candidate], references, columns[source] if source else None)
    return {f"{metric.name}_{field}": report[field] for field in report.fields}


def _names(reference: str | Sequence[str]) -> list[str]:
    return [reference] if isinstance(reference, str) else list(reference)


def _check_columns(available: list[Any], required: list[str]) -> None:
    for name in required:
        if name not in available:
            raise InputError(f"no column {name!r}; the columns are {', '.join(map(str, available))}")


def _series(frame: Any, scores: Mapping[str, Any]) -> dict[str, Any]:
    """Convert columns to the type of the frame's columns."""
    make = type(frame[frame.columns[0]])
    return {name: make(name, values) for name, values in scores.items()}
