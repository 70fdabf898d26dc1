"""Metrics by name: built in, registered by `register`, or from installed packages (entry points); and `score`.

Modules are named, not imported: a metric's module is imported when the metric is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeVar, overload

from evalign.core.metric import Metric
from evalign.core.plugins import METRICS_GROUP, is_subclass, is_third_party, load_plugin, plugins
from evalign.core.report import Report
from evalign.core.spec import NAME, Signature, parse_spec
from evalign.errors import SpecError, described, nearest

if TYPE_CHECKING:  # for the overloads of `metric`
    from evalign.metrics.bartscore import BARTScore
    from evalign.metrics.bertscore import BERTScore
    from evalign.metrics.lisascore import LiSAScore
    from evalign.metrics.moverscore import MoverScore

ROUGE = "evalign.metrics.lexical.rouge.metrics"
SACREBLEU = "evalign.metrics.lexical.sacrebleu_metrics"
BUILT_IN = {  # name -> module:class
    "bertscore": "evalign.metrics.bertscore:BERTScore",
    "lisascore": "evalign.metrics.lisascore:LiSAScore",
    "moverscore": "evalign.metrics.moverscore:MoverScore",
    "sbert": "evalign.metrics.sentence_vectors:SBert",
    "endtoken": "evalign.metrics.sentence_vectors:EndToken",
    "bartscore": "evalign.metrics.bartscore:BARTScore",
    **{f"rouge{n}": f"{ROUGE}:RougeN" for n in range(1, 10)},
    "rougeL": f"{ROUGE}:RougeL",
    "rougeLsum": f"{ROUGE}:RougeLsum",
    "rougeMEAD": f"{ROUGE}:RougeMEAD",
    "rougeW": f"{ROUGE}:RougeW",
    "rougeS": f"{ROUGE}:RougeS",
    "rougeSU": f"{ROUGE}:RougeSU",
    "lcsr": "evalign.metrics.lexical.lcsr:LCSR",
    "bleu": f"{SACREBLEU}:BLEU",
    "chrf": f"{SACREBLEU}:ChrF",
    "ter": f"{SACREBLEU}:TER",
    "gleu": "evalign.metrics.lexical.gleu:GLEU",
    "sari": "evalign.metrics.lexical.sari:SARI",
    "fkgl": "evalign.metrics.lexical.readability:FKGL",
    "smog": "evalign.metrics.lexical.readability:SMOG",
    "meteor": "evalign.metrics.lexical.meteor.metric:Meteor",
    "evalign": "evalign.metrics.evalign:Evalign",
}
PAPER_NAMES = {"clipscore": "endtoken", "sentence-bert": "sbert"}  # papers' words for metrics, for hints
GROUPS = {"rouge": ("rouge1", "rouge2", "rougeL", "rougeLsum")}

M = TypeVar("M", bound=Metric)
_registered: dict[str, type[Metric]] = {}


def register(metric_class: type[M]) -> type[M]:
    """Make a metric class usable by its `name` in specs: `score -m NAME`, `compare`, `agree`, `batch` and the rest.

    May decorate the class. An installed package can name its class in the entry-point group `evalign.metrics` instead,
    which also reaches commands in other processes.

    Args:
        metric_class: Subclass of `evalign.Metric` with a `name` that no other metric has.

    Returns:
        The class itself.
    """
    if not (isinstance(metric_class, type) and issubclass(metric_class, Metric)):
        raise SpecError(f"register expects a subclass of evalign.Metric, got {metric_class!r}")
    name = getattr(metric_class, "name", "")
    if not NAME.fullmatch(name):
        raise SpecError(f"{metric_class.__name__}.name = {name!r}: expected letters, digits, '-', '_'")
    earlier = _registered.get(name, metric_class)
    if name in BUILT_IN or name in GROUPS or earlier.__qualname__ != metric_class.__qualname__:
        raise SpecError(f"there is a metric {name!r} already; give {metric_class.__name__} another name")
    _registered[name] = metric_class
    return metric_class


def metric_names(third_party: bool = True) -> list[str]:
    """Return the names of all metrics; without `third_party`, only those that evalign itself provides."""
    added = [name for name, entry in plugins(METRICS_GROUP).items() if third_party or not is_third_party(entry)]
    return list(dict.fromkeys([*BUILT_IN, *added, *(_registered if third_party else ())]))


def expand(spec: str) -> list[Metric]:
    """Return the metric of a spec, or all metrics of a group such as `rouge(stem=true)`."""
    name, options = parse_spec(spec) if not _is_signature(spec) else ("", {})
    if name not in GROUPS:
        return [metric(spec)]
    return [metric_class(member).from_options(options, member) for member in GROUPS[name]]


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
def metric(spec: str, expected: type[M]) -> M: ...
def metric(spec: str, expected: type[Metric] = Metric) -> Metric:
    """Return the metric of a spec or of a signature.

    Args:
        spec: `bertscore`, `bertscore(layer=5, idf=references)`, or the signature of a score.
        expected: Class that the metric must have, for type checkers; another one raises SpecError.
    """
    if _is_signature(spec):
        signature = Signature.parse(spec)
        parsed = metric_class(signature.name).from_signature(signature)
    else:
        name, options = parse_spec(spec)
        parsed = metric_class(name).from_options(options, name)
    if not isinstance(parsed, expected):
        raise SpecError(f"{spec} is a {type(parsed).__name__}, expected a {expected.__name__}")
    return parsed


def as_metric(value: str | Metric) -> Metric:
    """Return a metric itself, or the metric of a spec or signature; raise SpecError for anything else."""
    if isinstance(value, str):
        return metric(value)
    if not isinstance(value, Metric):
        raise SpecError(f"metric: expected a spec such as 'bertscore(layer=5)' or a metric, found {described(value)}")
    return value


def as_metrics(values: Iterable[str | Metric], purpose: str) -> list[Metric]:
    """Return several metrics, each once; raise SpecError if there is none, or one spec where a list is expected."""
    if isinstance(values, (str, Metric)) or not isinstance(values, Iterable):
        raise SpecError(
            f"metrics: expected a list of specs or metrics, such as ['bertscore'], found {described(values)}"
        )
    parsed = list(dict.fromkeys(map(as_metric, values)))
    if not parsed:
        raise SpecError(f"no metrics: name at least one {purpose}")
    return parsed


def score(
    candidates: Iterable[str],
    references: Iterable[str] | Iterable[Iterable[str]] | None = None,
    metric: str | Metric = "bertscore",
    *,
    sources: Iterable[str] | None = None,
    ids: Iterable[str] | None = None,
) -> Report:
    """Score texts with one metric.

        >>> report = evalign.score(["a cat sat"], ["the cat sat down"])
        >>> P, R, F = report

    Args:
        candidates: Texts to score.
        references: One text per candidate, or several; None for metrics that need none.
        metric: Spec such as `bertscore(layer=5)`, a signature, or a metric.
        sources: Source text of each candidate, for metrics that read it.
        ids: Name of each row; by default its number.

    Returns:
        The scores of all rows, with the corpus score as `score`, flags and the signature.

    Raises:
        SpecError: The metric or one of its options does not exist.
        InputError: The texts are not parallel lists of strings, or lack what the metric needs.
    """
    return as_metric(metric).score(candidates, references, sources, ids)


def metric_class(name: str) -> type[Metric]:
    """Return the class of a metric by name; imports its module."""
    if name in GROUPS:
        raise SpecError(f"{name} stands for {', '.join(GROUPS[name])}; name one of them")
    if name in _registered:
        return _registered[name]
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        loaded = getattr(import_module(module), attribute)
    elif name in plugins(METRICS_GROUP):
        loaded = _load_plugin(name)
    else:
        names, hint = metric_names(), PAPER_NAMES.get(name.lower())
        raise SpecError(f"unknown metric {name!r}; {f'did you mean {hint}?' if hint else nearest(name, names)}")
    metric_type: type[Metric] = loaded
    return metric_type


def _load_plugin(name: str) -> type[Metric]:
    """Import the metric that a package declares."""
    entry = plugins(METRICS_GROUP)[name]
    loaded: type[Metric] = load_plugin(entry, "a subclass of evalign.Metric", is_subclass(Metric))
    if loaded.name != name:
        raise SpecError(f"metric {name}: {entry.value} calls itself {loaded.name!r}")
    return loaded


def _is_signature(spec: str) -> bool:
    return "|" in spec.partition("(")[0]
