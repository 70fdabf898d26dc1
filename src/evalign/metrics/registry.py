"""Every metric by name. Modules are named, not imported: a metric costs nothing until it is used."""

from __future__ import annotations

from importlib import import_module

from evalign.errors import SpecError, nearest
from evalign.metrics.base import Metric
from evalign.metrics.signature import Signature
from evalign.metrics.spec import parse_spec

METRICS = {
    "bertscore": "evalign.metrics.bertscore:BERTScore",
    "lisascore": "evalign.metrics.lisascore:LiSAScore",
    "moverscore": "evalign.metrics.moverscore:MoverScore",
    "sbert": "evalign.metrics.vectors:SBert",
    "endtoken": "evalign.metrics.vectors:EndToken",
}


def metric(spec: str) -> Metric:
    """`bertscore`, `bertscore(layer=5, idf=references)`, or the signature of a score."""
    if "|" in spec.partition("(")[0]:
        signature = Signature.parse(spec)
        return metric_class(signature.name).from_signature(signature)
    name, options = parse_spec(spec)
    return metric_class(name).from_options(options)


def metric_class(name: str) -> type[Metric]:
    """The class behind a name."""
    if name not in METRICS:
        raise SpecError(f"unknown metric {name!r}; {nearest(name, METRICS)}")
    module, _, attribute = METRICS[name].partition(":")
    found: type[Metric] = getattr(import_module(module), attribute)
    return found
