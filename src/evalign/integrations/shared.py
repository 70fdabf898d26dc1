"""Shared parts of the integrations: a metric from its spec, and errors as types of the calling library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evalign.core.metric import Metric
from evalign.core.registry import as_metric
from evalign.errors import EvalignError, InputError


@contextmanager
def errors_as(error_type: Callable[[str], Exception]) -> Iterator[None]:
    """Convert errors of evalign inside the block to `error_type`, with the same message."""
    try:
        yield
    except EvalignError as error:
        raise error_type(str(error)) from error


def resolved(metric: str | Metric, part: str | None = None) -> Metric:
    """Return the metric of a spec.

    Args:
        metric: Spec or metric.
        part: Description of one call's rows if it sees only a part; metrics that count IDF over all rows then raise.
    """
    result = as_metric(metric)
    if part and result.needs_corpus:
        raise InputError(f"{result}: counts IDF over the whole corpus, and {part} is only a part; give idf=FILE")
    return result


def reads_sources(metric: Metric) -> bool:
    """Return whether the metric reads source texts."""
    return "sources" in metric.needs or getattr(metric, "idf", None) == "sources"


def field_of(metric: Metric, field: str | None) -> str:
    """Return the field, by default the metric's main field; raise InputError if the metric lacks it."""
    if field is not None and field not in metric.fields:
        raise InputError(f"field: {metric} has {', '.join(metric.fields)}, not {field!r}")
    return field or metric.main
