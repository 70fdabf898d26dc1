"""The gate for metric specs: what a stranger may ask this machine for, decided before anything touches the disk.

spec string -> Metric, or an ApiError. Free-form options are refused unless they are known to be harmless, so that an
option added tomorrow that names a file stays shut until somebody opens it here.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from evalign.errors import nearest
from evalign.metrics.base import Metric
from evalign.metrics.registry import GROUPS, METRICS, metric_class
from evalign.metrics.spec import parse_spec
from evalign.metrics.token_metric import TokenMetric
from evalign.server.errors import ApiError

OPERATORS = ("threads", "device", "backend", "token_budget", "max_length")  # the machine's business, not the asker's
WORDS = {"idf": ("no", "references", "sources"), "rescale": ("true", "false"), "precision": ("fp32", "int8")}
DOWNLOADING = {"tokenize": ("spm", "flores101", "flores200", "spBLEU-1K")}  # sacrebleu fetches their models
FREE = {"layer", "modules", "alpha", "beta", "gamma", "delta", "weights", "skip", "smooth_value"}
FREE_VALUE = re.compile(r"[\w.+/-]{1,60}", re.ASCII)
BOUNDS = {
    "ngram": (1, 8), "max_ngram_order": (1, 12), "char_order": (1, 24), "word_order": (0, 12), "beam": (1, 100),
    "limit": (1, 10_000), "eps": (1e-3, 1), "regularization": (0.01, 100), "fraction": (0, 1), "penalty": (0, 1e6),
    "weight": (1, 10), "alpha": (0, 1),
}  # fmt: skip
NUMBERS = (-1_000_000, 1_000_000)


def allowed_metrics(specs: Iterable[str], models: Sequence[str], most: int) -> list[Metric]:
    """The metrics of all specs and groups, each once, if this server serves them all."""
    found = list(dict.fromkeys(one for spec in specs for one in _expanded(spec, models)))
    if len(found) > most:
        raise ApiError(422, "too-many-metrics", f"{len(found)} metrics; this server takes {most} in one request")
    return found


def allowed_metric(spec: str, models: Sequence[str]) -> Metric:
    """The metric of a spec that stands for one."""
    found = _expanded(spec, models)
    if len(found) > 1:
        raise _refused(f"{spec} stands for {', '.join(one.name for one in found)}; name one of them")
    return found[0]


def check_model(model: str, models: Sequence[str]) -> None:
    """Only what the operator listed, by the very same string: nothing is looked for."""
    if model not in models:
        raise ApiError(422, "unknown-model", f"this server has no model {model[:100]!r}; it has {', '.join(models)}")


def served_options(kind: type[Metric]) -> list[dataclasses.Field[Any]]:
    """The options of a metric that may be given here."""
    return [item for item in dataclasses.fields(kind) if _why_closed(item) is None]


def why_unavailable(name: str, models: Sequence[str]) -> str | None:
    """A sentence about a metric that a server with these models cannot compute; None if it can."""
    kind = metric_class(name)
    fields = {item.name: item for item in dataclasses.fields(kind)}
    if "model" not in fields:
        reads = "file" in fields
        return f"{name} reads a file, and this server reads none that is named in a request" if reads else None
    if issubclass(kind, TokenMetric) or served_models(fields["model"], models):
        return None
    if known := fields["model"].metadata["choices"]:
        return f"{name} is made for {' and '.join(known)}, and this server has neither"
    return f"{name} needs another kind of model than this server has; use evalign's command line for it"


def served_models(item: dataclasses.Field[Any], models: Sequence[str]) -> list[str]:
    """Of the server's models those that an option `model` names; none if it names none."""
    return [model for model in models if model in item.metadata["choices"]]


def _expanded(spec: str, models: Sequence[str]) -> list[Metric]:
    if "|" in spec.partition("(")[0]:
        raise _refused("write a metric's spec, such as bertscore(layer=5); signatures are not read here")
    name, options = parse_spec(spec)
    if name not in METRICS and name not in GROUPS:
        raise _refused(f"unknown metric {name!r}; {nearest(name, [*METRICS, *GROUPS])}")
    return [_made(member, options, models) for member in GROUPS.get(name, (name,))]


def _made(name: str, options: dict[str, str], models: Sequence[str]) -> Metric:
    kind = metric_class(name)
    fields = {item.name: item for item in dataclasses.fields(kind)}
    if why := why_unavailable(name, models):
        raise _refused(why)
    for key, value in options.items():
        if key in fields:  # unknown ones are named by from_options
            _check_option(name, fields[key], value)
    if "model" in fields:
        check_model(options.get("model", str(fields["model"].default)), models)
    return kind.from_options(options)


def _check_option(name: str, item: dataclasses.Field[Any], value: str) -> None:
    if why := _why_closed(item):
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


def _why_closed(item: dataclasses.Field[Any]) -> str | None:
    if item.name in OPERATORS:
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
