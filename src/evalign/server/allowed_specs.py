"""Check the metric specs of requests: spec string in, Metric or an ApiError out, before any access to the disk.

Options with free values are refused unless they are listed here as harmless, so that new options, which may name a
file, are refused by default.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from evalign.core.metric import Metric
from evalign.core.options import option_choices, option_fields
from evalign.core.registry import GROUPS, metric_class, metric_names
from evalign.core.spec import parse_spec
from evalign.errors import nearest
from evalign.matching.registry import cell_matchings
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


def allowed_metrics(specs: Iterable[str], models: Sequence[str], limit: int, plugins: bool = False) -> list[Metric]:
    """Return the metrics of all specs and groups, each once, if this server serves them all.

    Args:
        specs: Specs of metrics or groups.
        models: Models that the operator listed.
        limit: Number of metrics in one request.
        plugins: Whether metrics and matchings of other packages are served.
    """
    metrics = list(dict.fromkeys(metric for spec in specs for metric in _expanded(spec, models, plugins)))
    check_metric_count(len(metrics), limit)
    return metrics


def check_metric_count(count: int, limit: int) -> None:
    """Raise if a request names too many metrics."""
    if count > limit:
        raise ApiError(422, "too-many-metrics", f"{count} metrics; this server takes {limit} in one request")


def allowed_metric(spec: str, models: Sequence[str], plugins: bool = False) -> Metric:
    """Return the metric of a spec that is not a group."""
    metrics = _expanded(spec, models, plugins)
    if len(metrics) > 1:
        raise _refused(f"{spec} is a group of {', '.join(metric.name for metric in metrics)}; name one of them")
    return metrics[0]


def check_model(model: str, models: Sequence[str]) -> None:
    """Raise unless the operator listed the model by exactly this string: no path is looked up."""
    if model not in models:
        raise ApiError(422, "unknown-model", f"this server has no model {model[:100]!r}; it has {', '.join(models)}")


def served_options(metric_type: type[Metric]) -> list[dataclasses.Field[Any]]:
    """Return the options of a metric that requests may set."""
    return [item for item in option_fields(metric_type) if _why_refused(item) is None]


def served_choices(item: dataclasses.Field[Any], plugins: bool) -> Collection[str]:
    """Return the allowed values of an option, if they can be listed."""
    if item.name == "matching":
        return cell_matchings(plugins)
    return WORDS.get(item.name, option_choices(item))


def why_unavailable(name: str, models: Sequence[str]) -> str | None:
    """Return the reason why a server with these models cannot compute a metric, or None if it can."""
    metric_type = metric_class(name)
    fields = {item.name: item for item in dataclasses.fields(metric_type)}
    if "model" not in fields:
        reads = "file" in fields
        return f"{name} reads a file, and this server reads no files named in requests" if reads else None
    if metric_type.made_for and not served_models(metric_type, models):
        return f"{name} is made for {' and '.join(metric_type.made_for)}, and this server has neither"
    if issubclass(metric_type, TokenMetric):
        return None
    return f"{name} needs a different type of model than this server has; use the command line of evalign"


def served_models(metric_type: type[Metric], models: Sequence[str]) -> list[str]:
    """Return those of the server's models that a metric can use."""
    return [model for model in models if not metric_type.made_for or model in metric_type.made_for]


def _expanded(spec: str, models: Sequence[str], plugins: bool) -> list[Metric]:
    if "|" in spec.partition("(")[0]:
        raise _refused("write a metric's spec, such as bertscore(layer=5); signatures are not accepted here")
    name, options = parse_spec(spec)
    served = [*metric_names(plugins), *GROUPS]
    if name in metric_names() and name not in served:
        raise _refused(f"{name} comes from another package, and this server serves none: start it with `plugins`")
    if name not in served:
        raise _refused(f"unknown metric {name!r}; {nearest(name, served)}")
    return [_allowed(member, options, models, plugins) for member in GROUPS.get(name, (name,))]


def _allowed(name: str, options: dict[str, str], models: Sequence[str], plugins: bool) -> Metric:
    metric_type = metric_class(name)
    fields = {item.name: item for item in option_fields(metric_type)}
    if why := why_unavailable(name, models):
        raise _refused(why)
    for key, value in options.items():
        if key in fields:  # from_options reports unknown options
            _check_option(name, fields[key], value, plugins)
    if "model" in fields:
        check_model(options.get("model", str(fields["model"].default)), models)
    return metric_type.from_options(options, name)


def _check_option(name: str, item: dataclasses.Field[Any], value: str, plugins: bool) -> None:
    if why := _why_refused(item):
        raise _refused(f"{name}: {item.name}={value[:60]}: {why}")
    if item.name in WORDS and value not in WORDS[item.name]:
        raise _refused(f"{name}: {item.name}={value[:60]}: on a server this is {' or '.join(WORDS[item.name])}")
    if item.name == "matching" and value in option_choices(item) and value not in served_choices(item, plugins):
        raise _refused(f"{name}: matching={value}: it comes from another package, and this server serves none")
    if value in DOWNLOADING.get(item.name, ()):
        raise _refused(f"{name}: {item.name}={value}: it needs a download, which a server does not do")
    if item.name in FREE and not FREE_VALUE.fullmatch(value):
        raise _refused(f"{name}: {item.name}={value[:60]!r}: expected a number or plain words")
    low, high = BOUNDS.get(item.name, NUMBERS)
    number = _number(value)
    if number is not None and not low <= number <= high:
        raise _refused(f"{name}: {item.name}={value[:60]}: expected a number from {low:g} to {high:g}")


def _why_refused(item: dataclasses.Field[Any]) -> str | None:
    if item.name in OPERATOR_OPTIONS:
        return "this is set by the operator"
    if isinstance(item.default, bool | int | float) or option_choices(item):
        return None
    if item.name == "model" or item.name in WORDS or item.name in FREE:
        return None
    return "this option is not available on a server"


def _number(value: str) -> float | None:
    """Return a text as a number; infinity, which is out of all bounds, for infinities and NaN."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else math.inf


def _refused(message: str) -> ApiError:
    return ApiError(422, "bad-metric", message)
