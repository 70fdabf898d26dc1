"""`evalign.score`: bert_score's own function, order of arguments and numbers, with arrays for tensors.

Its profile: texts truncated at the model's limit, the maximum over references taken per field. The
one difference: bert_score lets padding (similarity 0) win over a token whose best similarity is negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from evalign.encoders.pinned_models import KNOWN, LANGUAGE_MODELS, OTHER_LANGUAGES, tuned_layers
from evalign.errors import InputError, LayerError
from evalign.metrics.bertscore import BERTScore
from evalign.text.idf import FixedWeights
from evalign.types import Floats, LayerReport, Report

Triple = tuple[Floats, Floats, Floats]
References = Sequence[str] | Sequence[Sequence[str]]


@overload
def score(
    cands: Sequence[str], refs: References, *options: Any, return_hash: Literal[True], **more: Any
) -> tuple[Triple, str]: ...
@overload
def score(
    cands: Sequence[str], refs: References, *options: Any, return_hash: Literal[False] = False, **more: Any
) -> Triple: ...
def score(  # type: ignore[misc]  # the overloads say what comes back; the options stand here, in bert_score's order
    cands: Sequence[str],
    refs: References,
    model_type: str | None = None,
    num_layers: int | None = None,
    verbose: bool = False,
    idf: bool | Mapping[int, float] = False,
    device: str | None = None,
    batch_size: int = 64,
    nthreads: int = 4,
    all_layers: bool = False,
    lang: str | None = None,
    return_hash: bool = False,
    rescale_with_baseline: bool = False,
    baseline_path: str | None = None,
    use_fast_tokenizer: bool = False,
) -> Triple | tuple[Triple, str]:
    """Precision, recall and F1 per pair, (layers, pairs) with `all_layers`; with the signature on request.

    `verbose`, `batch_size`, `nthreads` and `use_fast_tokenizer` are accepted and change nothing: batches are
    planned by tokens, and no score depends on them.
    """
    if model_type is None and lang is None:
        raise InputError("either lang or model_type must be given")
    model = model_type or LANGUAGE_MODELS.get(str(lang).lower(), OTHER_LANGUAGES)
    metric = BERTScore(
        model=model,
        layer=_layer(model, num_layers),
        idf="references" if idf and not isinstance(idf, Mapping) else "no",
        multiref="per-field-max",
        overlong="truncate",
        device=device or "cpu",
        rescale=(baseline_path or True) if rescale_with_baseline else False,
    )
    weights = _weights(idf) if isinstance(idf, Mapping) else None
    report: Report | LayerReport
    report = metric.score_layers(cands, refs, weights) if all_layers else metric.score(cands, refs, weights=weights)
    result = report["precision"], report["recall"], report["f1"]
    return (result, report.signature) if return_hash else result


def _layer(model: str, num_layers: int | None) -> int | str | None:
    """bert_score's table decides; a known model has its own; any other name needs the argument."""
    if num_layers is not None:
        return num_layers
    if model in tuned_layers():
        return tuned_layers()[model]
    if model in KNOWN:
        return KNOWN[model].layer
    raise LayerError(f"no tuned layer is known for model_type={model!r}; give num_layers")


def _weights(table: Mapping[int, float]) -> FixedWeights:
    """bert_score's own tables are defaultdicts whose default is the weight of an unseen token."""
    make_default = getattr(table, "default_factory", None)
    return FixedWeights(dict(table), float(make_default()) if make_default else 0.0)
