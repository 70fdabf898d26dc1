"""Every metric by name -> the public name of its class, whose module is imported when the metric is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar, overload

import evalign
from evalign.errors import SpecError, nearest
from evalign.metrics.base import Metric
from evalign.metrics.signature import Signature
from evalign.metrics.spec import parse_spec

if TYPE_CHECKING:
    from evalign.metrics.bartscore import BARTScore
    from evalign.metrics.bertscore import BERTScore
    from evalign.metrics.lisascore import LiSAScore
    from evalign.metrics.moverscore import MoverScore

METRICS = {
    "bertscore": "BERTScore",
    "lisascore": "LiSAScore",
    "moverscore": "MoverScore",
    "sbert": "SBert",
    "endtoken": "EndToken",
    "bartscore": "BARTScore",
    "lstm": "LSTM",
    **{f"rouge{n}": "RougeN" for n in range(1, 10)},
    "rougeL": "RougeL",
    "rougeLsum": "RougeLsum",
    "rougeMEAD": "RougeMEAD",
    "rougeW": "RougeW",
    "rougeS": "RougeS",
    "rougeSU": "RougeSU",
    "lcsr": "LCSR",
    "bleu": "BLEU",
    "chrf": "ChrF",
    "ter": "TER",
    "gleu": "GLEU",
    "sari": "SARI",
    "fkgl": "FKGL",
    "smog": "SMOG",
    "meteor": "Meteor",
    "learned": "Learned",
    "evalign": "Evalign",
}

PAPER_NAMES = {"clipscore": "endtoken", "sentence-bert": "sbert"}  # papers' words for metrics, for hints
GROUPS = {"rouge": ("rouge1", "rouge2", "rougeL", "rougeLsum")}


def expand(spec: str) -> list[Metric]:
    """The metric of a spec, or all metrics of a group such as `rouge(stem=true)`."""
    name, options = parse_spec(spec) if not _is_signature(spec) else ("", {})
    if name not in GROUPS:
        return [metric(spec)]
    return [metric_class(member).from_options(options, member) for member in GROUPS[name]]


M = TypeVar("M", bound=Metric)


@overload
def metric(spec: Literal["bertscore"]) -> BERTScore: ...
@overload
def metric(spec: Literal["lisascore"]) -> LiSAScore: ...
@overload
def metric(spec: Literal["moverscore"]) -> MoverScore: ...
@overload
def metric(spec: Literal["bartscore"]) -> BARTScore: ...
@overload
def metric(spec: str) -> Metric: ...
@overload
def metric(spec: str, kind: type[M]) -> M: ...
def metric(spec: str, kind: type[Metric] = Metric) -> Metric:
    """`bertscore`, `bertscore(layer=5, idf=references)`, or the signature of a score.

    `kind` tells a type checker which metric it is, and so that it can `align`; another one is an error.
    """
    if _is_signature(spec):
        signature = Signature.parse(spec)
        parsed = metric_class(signature.name).from_signature(signature)
    else:
        name, options = parse_spec(spec)
        parsed = metric_class(name).from_options(options, name)
    if not isinstance(parsed, kind):
        raise SpecError(f"{spec} is a {type(parsed).__name__}, expected a {kind.__name__}")
    return parsed


def metric_class(name: str) -> type[Metric]:
    """The class behind a name."""
    if name in GROUPS:
        raise SpecError(f"{name} stands for {', '.join(GROUPS[name])}; name one of them")
    if name not in METRICS:
        meant = PAPER_NAMES.get(name.lower())
        raise SpecError(f"unknown metric {name!r}; {f'did you mean {meant}?' if meant else nearest(name, METRICS)}")
    kind: type[Metric] = getattr(evalign, METRICS[name])
    return kind


def _is_signature(spec: str) -> bool:
    return "|" in spec.partition("(")[0]
