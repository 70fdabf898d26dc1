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
    "sbert": "evalign.metrics.sentence_vectors:SBert",
    "endtoken": "evalign.metrics.sentence_vectors:EndToken",
    "bartscore": "evalign.metrics.bartscore:BARTScore",
    "lstm": "evalign.metrics.lstm:LSTM",
    "rouge1": "evalign.metrics.lexical.rouge.metrics:Rouge1",
    "rouge2": "evalign.metrics.lexical.rouge.metrics:Rouge2",
    "rouge3": "evalign.metrics.lexical.rouge.metrics:Rouge3",
    "rouge4": "evalign.metrics.lexical.rouge.metrics:Rouge4",
    "rouge5": "evalign.metrics.lexical.rouge.metrics:Rouge5",
    "rouge6": "evalign.metrics.lexical.rouge.metrics:Rouge6",
    "rouge7": "evalign.metrics.lexical.rouge.metrics:Rouge7",
    "rouge8": "evalign.metrics.lexical.rouge.metrics:Rouge8",
    "rouge9": "evalign.metrics.lexical.rouge.metrics:Rouge9",
    "rougeL": "evalign.metrics.lexical.rouge.metrics:RougeL",
    "rougeLsum": "evalign.metrics.lexical.rouge.metrics:RougeLsum",
    "rougeMEAD": "evalign.metrics.lexical.rouge.metrics:RougeMEAD",
    "rougeW": "evalign.metrics.lexical.rouge.metrics:RougeW",
    "rougeS": "evalign.metrics.lexical.rouge.metrics:RougeS",
    "rougeSU": "evalign.metrics.lexical.rouge.metrics:RougeSU",
    "bleu": "evalign.metrics.lexical.bleu:BLEU",
    "chrf": "evalign.metrics.lexical.chrf:ChrF",
    "ter": "evalign.metrics.lexical.ter:TER",
    "sari": "evalign.metrics.lexical.sari:SARI",
    "fkgl": "evalign.metrics.lexical.readability:FKGL",
    "smog": "evalign.metrics.lexical.readability:SMOG",
    "meteor": "evalign.metrics.lexical.meteor.metric:Meteor",
    "learned": "evalign.metrics.learned:Learned",
    "evalign": "evalign.metrics.evalign_metric:Recipe",
}

GROUPS = {"rouge": ("rouge1", "rouge2", "rougeL", "rougeLsum")}


def expand(spec: str) -> list[Metric]:
    """The metric of a spec, or all metrics of a group such as `rouge(stem=true)`."""
    name, options = parse_spec(spec) if not _is_signature(spec) else ("", {})
    if name not in GROUPS:
        return [metric(spec)]
    return [metric_class(member).from_options(options) for member in GROUPS[name]]


def metric(spec: str) -> Metric:
    """`bertscore`, `bertscore(layer=5, idf=references)`, or the signature of a score."""
    if _is_signature(spec):
        signature = Signature.parse(spec)
        return metric_class(signature.name).from_signature(signature)
    name, options = parse_spec(spec)
    return metric_class(name).from_options(options)


def metric_class(name: str) -> type[Metric]:
    """The class behind a name."""
    if name in GROUPS:
        raise SpecError(f"{name} stands for {', '.join(GROUPS[name])}; name one of them")
    if name not in METRICS:
        raise SpecError(f"unknown metric {name!r}; {nearest(name, METRICS)}")
    module, _, attribute = METRICS[name].partition(":")
    found: type[Metric] = getattr(import_module(module), attribute)
    return found


def _is_signature(spec: str) -> bool:
    return "|" in spec.partition("(")[0]
