"""What the integrations share: a metric from its spec, and errors of the kind that the calling library raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evalign.errors import EvalignError, InputError
from evalign.metrics.base import Metric
from evalign.metrics.registry import metric as metric_of


@contextmanager
def errors_as(kind: Callable[[str], Exception]) -> Iterator[None]:
    """Errors of evalign leave the block as errors of `kind`, with the same sentence."""
    try:
        yield
    except EvalignError as error:
        raise kind(str(error)) from error


def judge_of(metric: str | Metric, part: str | None = None) -> Metric:
    """The metric of a spec; one that counts over the whole corpus is refused where only a `part` is seen at a time."""
    judge = metric_of(metric) if isinstance(metric, str) else metric
    if part and judge.needs_corpus:
        raise InputError(f"{judge}: counts IDF over the whole corpus, and {part} is only a part; give idf=FILE")
    return judge


def reads_sources(judge: Metric) -> bool:
    """Whether the metric looks at source texts."""
    return "sources" in judge.needs or getattr(judge, "idf", None) == "sources"


def field_of(judge: Metric, field: str | None) -> str:
    """The field that was asked for, else the metric's main one."""
    if field is not None and field not in judge.fields:
        raise InputError(f"field: {judge} has {', '.join(judge.fields)}, not {field!r}")
    return field or judge.main
