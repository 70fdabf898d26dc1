"""Which metric specs a request may name: spec string in, Metric or an ApiError out, before anything touches the disk.

Free-form options are refused unless they are listed here as harmless, so that a new option that names a file is refused
until somebody adds it.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from evalign.errors import nearest
from evalign.metrics.base import Metric
from evalign.metrics.options import option_fields
from evalign.metrics.registry import GROUPS, METRICS, metric_class
from evalign.metrics.spec import parse_spec
from evalign.metrics.token_metric import TokenMetric
from evalign.server.errors import ApiError

OPERATOR_OPTIONS = ("threads", "device", "backend", "token_budget", "max_length")  # the operator decides
WORDS = {"idf": ("no", "references", "sources"), "rescale": ("true", "false"), "arithmetic": ("fp32", "int8")}
DOWNLOADING = {"tokenize": ("spm", "flores101", "flores200", "spBLEU-1K")}  # sacrebleu fetches their models
FREE = {"layer", "modules", "alpha", "beta", "gamma", "delta", "weights", "skip", "smooth_value"}
FREE_VALUE = re.compile(r"[\w.+/-]{1,60}", re.ASCII)
BOUNDS = {
    "ngram": (1, 8), "max_ngram_order": (1, 12), "char_order": (1, 24), "word_order": (0, 12), "beam": (1, 100),
    "limit": (1, 10_000), "eps": (1e-3, 1), "regularization": (0.01, 100), "fraction": (0, 1), "penalty": (0, 1e6),
    "weight": (1, 10), "alpha": (0, 1),
}  # fmt: skip
NUMBERS = (-1_000_000, 1_000_000)


def allowed_metrics(specs: Iterable[str], models: Sequence[str], limit: int) -> list[Metric]:
    """The metrics of all specs and groups, each once, if this server serves them all."""
    metrics = list(dict.fromkeys(metric for spec in specs for metric in _expanded(spec, models)))
    check_metric_count(len(metrics), limit)
    return metrics


def check_metric_count(count: int, limit: int) -> None:
    """Raises if one request names too many metrics."""
    if count > limit:
        raise ApiError(422, "too-many-metrics", f"{count} metrics; this server takes {limit} in one request")


def allowed_metric(spec: str, models: Sequence[str]) -> Metric:
    """The metric of a spec that stands for one."""
    metrics = _expanded(spec, models)
    if len(metrics) > 1:
        raise _refused(f"{spec} stands for {', '.join(metric.name for metric in metrics)}; name one of them")
    return metrics[0]


def check_model(model: str, models: Sequence[str]) -> None:
    """Raises unless the operator listed the model, by the very same string: nothing is looked up."""
    if model not in models:
        raise ApiError(422, "unknown-model", f"this server has no model {model[:100]!r}; it has {', '.join(models)}")


def served_options(kind: type[Metric]) -> list[dataclasses.Field[Any]]:
    """The options of a metric that may be given here."""
    return [item for item in option_fields(kind) if _why_refused(item) is None]


def why_unavailable(name: str, models: Sequence[str]) -> str | None:
    """A sentence about a metric that a server with these models cannot compute; None if it can."""
    kind = metric_class(name)
    fields = {item.name: item for item in dataclasses.fields(kind)}
    if "model" not in fields:
        reads = "file" in fields
        return f"{name} reads a file, and this server reads none that is named in a request" if reads else None
    if kind.made_for and not served_models(kind, models):
        return f"{name} is made for {' and '.join(kind.made_for)}, and this server has neither"
    if issubclass(kind, TokenMetric):
        return None
    return f"{name} needs another kind of model than this server has; use evalign's command line for it"


def served_models(kind: type[Metric], models: Sequence[str]) -> list[str]:
    """Of the server's models those that a metric can use."""
    return [model for model in models if not kind.made_for or model in kind.made_for]


def _expanded(spec: str, models: Sequence[str]) -> list[Metric]:
    if "|" in spec.partition("(")[0]:
        raise _refused("write a metric's spec, such as bertscore(layer=5); signatures are not read here")
    name, options = parse_spec(spec)
    if name not in METRICS and name not in GROUPS:
        raise _refused(f"unknown metric {name!r}; {nearest(name, [*METRICS, *GROUPS])}")
    return [_allowed(member, options, models) for member in GROUPS.get(name, (name,))]


def _allowed(name: str, options: dict[str, str], models: Sequence[str]) -> Metric:
    kind = metric_class(name)
    fields = {item.name: item for item in option_fields(kind)}
    if why := why_unavailable(name, models):
        raise _refused(why)
    options = kind.current_names(options)
    for key, value in options.items():
        if key in fields:  # unknown ones are named by from_options
            _check_option(name, fields[key], value)
    if "model" in fields:
        check_model(options.get("model", str(fields["model"].default)), models)
    return kind.from_options(options, name)


def _check_option(name: str, item: dataclasses.Field[Any], value: str) -> None:
    if why := _why_refused(item):
        raise _refused(f"{name}: {item.name}={value[:60]}: {why}")
    if item.name in WORDS and value not in WORDS[item.name]:
        raise _refused(f"{name}: {item.name}={value[:60]}: on a server this is {' or '.join(WORDS[item.name])}")
    if value in DOWNLOADING.get(item.name, ()):
        raise _refused(f"{name}: {item.name}={value}: it would have to be downloaded, which a server does not do")
    if item.name in FREE and not FREE_VALUE.fullmatch(value):
        raise _refused(f"{name}: {item.name}={value[:60]!r}: expected a number or plain words")
    low, high = BOUNDS.get(item.name, NUMBERS)
    number = _number(value)
    if number is not None and not low <= number <= high:
        raise _refused(f"{name}: {item.name}={value[:60]}: expected a number from {low:g} to {high:g}")


def _why_refused(item: dataclasses.Field[Any]) -> str | None:
    if item.name in OPERATOR_OPTIONS:
        return "this is decided by the server"
    if isinstance(item.default, bool | int | float) or item.metadata["choices"]:
        return None
    if item.name == "model" or item.name in WORDS or item.name in FREE:
        return None
    return "this option is not open on a server"


def _number(value: str) -> float | None:
    """What the text says as a number; infinities and NaN come out as out of all bounds."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else math.inf


def _refused(message: str) -> ApiError:
    return ApiError(422, "bad-metric", message)
