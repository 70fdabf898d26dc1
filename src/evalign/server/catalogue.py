"""What GET /api/metrics, /api/models and /api/about, and POST /api/specs say: what this server can do."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from evalign.encoders.fake import DEPTH as FAKE_DEPTH
from evalign.encoders.families import depth
from evalign.encoders.loading import FAKE, EncoderChoice, open_encoder
from evalign.encoders.locating import locate
from evalign.metrics.base import Metric
from evalign.metrics.options import written
from evalign.metrics.registry import METRICS, metric, metric_class
from evalign.metrics.spec import parse_spec
from evalign.metrics.token_metric import TokenMetric
from evalign.render.documents import metric_entry
from evalign.server import request_models
from evalign.server.allowed_specs import (
    BOUNDS,
    NUMBERS,
    WORDS,
    allowed_metrics,
    served_models,
    served_options,
    why_unavailable,
)
from evalign.server.request_costs import CELL_COSTS
from evalign.server.settings import Settings
from evalign.server.strict_json import DEEPEST, DIGITS
from evalign.server.trace_requests import why_no_likelihood
from evalign.version import __version__


def metrics(settings: Settings) -> dict[str, Any]:
    """Every metric with the options that may be given here; `reason` says why one is not available."""
    return {"metrics": [_metric(name, settings) for name in METRICS]}


def specs(request: request_models.SpecsRequest, settings: Settings) -> dict[str, Any]:
    """The metrics that specs stand for, each once, with what a client must know before it scores in parts."""
    return {
        "metrics": [_read(value) for value in allowed_metrics(request.metrics, settings.models, request_models.MOST)]
    }


def models(settings: Settings) -> dict[str, Any]:
    """The listed models; this loads them."""
    return {"models": [_model(name) for name in settings.models]}


def about(settings: Settings) -> dict[str, Any]:
    """Version and every limit: of what a request may ask for, of how it is written, of time and of requests at once."""
    written_limits = {
        "list_entries": request_models.MOST,
        "name_characters": request_models.LONGEST_NAME,
        "spec_characters": request_models.LONGEST_SPEC,
        "signature_characters": request_models.LONGEST_SIGNATURE,
        "specs": request_models.MOST_SPECS,
        "references": request_models.MOST_REFERENCES,
        "samples": request_models.MOST_SAMPLES,
        "comparison_rows": request_models.MOST_ROWS,
        "statistics": request_models.WIDEST,
        "nesting": DEEPEST,
        "digits": DIGITS,
    }
    names = ("deadline", "idle_seconds", "body_seconds", "body_budget", "workers", "queue", "connections")
    operation = {name: getattr(settings, name) for name in (*names, "longest_retry")}
    return {
        "evalign": __version__,
        "limits": dataclasses.asdict(settings.limits) | written_limits | operation,
        "cell_costs": CELL_COSTS,
        "likelihood": {"models": list(settings.generators), "reason": why_no_likelihood(settings)},
        "option_bounds": {name: list(ends) for name, ends in BOUNDS.items()} | {"*": list(NUMBERS)},
    }


def _metric(name: str, settings: Settings) -> dict[str, Any]:
    kind = metric_class(name)
    reason = why_unavailable(name, settings.models)
    return {
        "name": name,
        "about": metric(name).about,
        "fields": list(kind.fields),
        "needs": list(kind.needs),
        "higher_is_better": kind.higher_is_better,
        "bounds": [end if math.isfinite(end) else None for end in kind.bounds],
        "options": [_option(kind, item, settings) for item in served_options(kind)],
        "aligns": kind.aligns,
        "available": reason is None,
        "reason": reason,
    }


def _read(value: Metric) -> dict[str, Any]:
    idf = value.idf if isinstance(value, TokenMetric) and value.needs_corpus else None
    entry = metric_entry(value, "")
    del entry["signature"]  # known once rows are scored
    name, options = parse_spec(str(value))
    return entry | {"name": name, "options": options, "idf": idf, "model": getattr(value, "model", None)}


def _option(kind: type[Metric], item: dataclasses.Field[Any], settings: Settings) -> dict[str, Any]:
    choices = WORDS.get(item.name, item.metadata["choices"])
    if item.name == "model":
        choices = served_models(kind, settings.models)
    default = written(item.default) if choices and item.default is not None else item.default
    return {"name": item.name, "default": default, "about": item.metadata["about"], "choices": list(choices)}


def _model(name: str) -> dict[str, Any]:
    encoder = open_encoder(EncoderChoice(name)).encoder
    layers = FAKE_DEPTH if name == FAKE else depth(locate(name).config())
    default = "+".join(map(str, encoder.layers))
    return {"name": name, "label": encoder.name.partition("@")[0], "layers": layers, "default_layer": default}
