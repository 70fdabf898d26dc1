"""Handle /api/metrics, /api/models, /api/about and /api/specs: metrics, models and limits of this server."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from evalign.core.metric import Metric
from evalign.core.options import written
from evalign.core.registry import metric, metric_class, metric_names
from evalign.core.spec import parse_spec
from evalign.encoders.fake import LAYERS as FAKE_LAYERS
from evalign.encoders.families import depth
from evalign.encoders.loading import FAKE, EncoderSpec, open_encoder
from evalign.encoders.weights import locate
from evalign.metrics.token_metric import TokenMetric
from evalign.render.documents import metric_entry
from evalign.server import http_parser, schemas
from evalign.server.allowed_specs import (
    BOUNDS,
    NUMBERS,
    allowed_metrics,
    served_choices,
    served_models,
    served_options,
    why_unavailable,
)
from evalign.server.pair_requests import why_no_likelihood
from evalign.server.request_body import MAX_DIGITS, MAX_JSON_DEPTH
from evalign.server.request_costs import CELL_COSTS
from evalign.server.settings import Settings
from evalign.version import __version__

OPERATION_LIMITS = (
    "deadline", "idle_seconds", "body_seconds", "body_budget", "workers", "queue", "connections", "longest_retry",
    "client_requests", "client_rate",
)  # fmt: skip


def metrics(settings: Settings) -> dict[str, Any]:
    """Return all metrics with their allowed options; `reason` says why a metric is not available."""
    return {"metrics": [_metric(name, settings) for name in metric_names(settings.plugins)]}


def specs(request: schemas.SpecsRequest, settings: Settings) -> dict[str, Any]:
    """Return the metrics of specs and groups, each once, with the IDF table and model they need."""
    return {
        "metrics": [
            _read(value)
            for value in allowed_metrics(request.metrics, settings.models, schemas.MAX_LIST_ITEMS, settings.plugins)
        ]
    }


def models(settings: Settings) -> dict[str, Any]:
    """Load the listed models and return their entries."""
    return {"models": [_model(name) for name in settings.models]}


def about(settings: Settings) -> dict[str, Any]:
    """Return the version and all limits: of the size and syntax of a request, of time, and of concurrent requests."""
    written_limits = {
        "list_entries": schemas.MAX_LIST_ITEMS,
        "name_characters": schemas.MAX_NAME_CHARACTERS,
        "spec_characters": schemas.MAX_SPEC_CHARACTERS,
        "signature_characters": schemas.MAX_SIGNATURE_CHARACTERS,
        "specs": schemas.MAX_SPECS,
        "references": schemas.MAX_REFERENCES,
        "samples": schemas.MAX_RESAMPLES,
        "comparison_rows": schemas.MAX_COMPARED_ROWS,
        "statistics": schemas.MAX_STATISTICS,
        "nesting": MAX_JSON_DEPTH,
        "digits": MAX_DIGITS,
        "head_bytes": http_parser.MAX_HEAD_BYTES,
        "headers": http_parser.MAX_HEADERS,
        "chunks": http_parser.MAX_CHUNKS,
        "chunk_header_bytes": http_parser.MAX_FRAMING_BYTES,
    }
    operation = {name: getattr(settings, name) for name in OPERATION_LIMITS}
    return {
        "evalign": __version__,
        "limits": dataclasses.asdict(settings.limits) | written_limits | operation,
        "cell_costs": CELL_COSTS,
        "likelihood": {"models": list(settings.generators), "reason": why_no_likelihood(settings)},
        "option_bounds": {name: list(ends) for name, ends in BOUNDS.items()} | {"*": list(NUMBERS)},
    }


def _metric(name: str, settings: Settings) -> dict[str, Any]:
    metric_type = metric_class(name)
    reason = why_unavailable(name, settings.models)
    return {
        "name": name,
        "about": metric(name).about,
        "fields": list(metric_type.fields),
        "needs": list(metric_type.needs),
        "higher_is_better": metric_type.higher_is_better,
        "bounds": [end if math.isfinite(end) else None for end in metric_type.bounds],
        "options": [_option(metric_type, item, settings) for item in served_options(metric_type)],
        "aligns": metric_type.aligns,
        "available": reason is None,
        "reason": reason,
    }


def _read(value: Metric) -> dict[str, Any]:
    idf = value.idf if isinstance(value, TokenMetric) and value.needs_corpus else None
    entry = metric_entry(value, "")
    del entry["signature"]  # depends on the rows
    name, options = parse_spec(str(value))
    return entry | {"name": name, "options": options, "idf": idf, "model": getattr(value, "model", None)}


def _option(metric_type: type[Metric], item: dataclasses.Field[Any], settings: Settings) -> dict[str, Any]:
    choices = served_choices(item, settings.plugins)
    if item.name == "model":
        choices = served_models(metric_type, settings.models)
    default = written(item.default) if choices and item.default is not None else item.default
    return {"name": item.name, "default": default, "about": item.metadata["about"], "choices": list(choices)}


def _model(name: str) -> dict[str, Any]:
    encoder = open_encoder(EncoderSpec(name)).encoder
    layers = FAKE_LAYERS if name == FAKE else depth(locate(name).config())
    default = "+".join(map(str, encoder.layers))
    return {"name": name, "label": encoder.name.partition("@")[0], "layers": layers, "default_layer": default}
