"""bert_score's function `score` and class `BERTScorer`: their arguments and numbers, with arrays.

    from evalign.compat.bert_score import BERTScorer, score

A scorer is the metric `bertscore(compat=bert-score)`, or `compat=bert-score-fast` for its fast tokenizer, with the
settings of bert_score: texts truncated at the model's limit, the maximum over references taken per field.
docs/compat.md lists what differs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from evalign.core import Floats, LayerReport, Report
from evalign.core.installed import version_of
from evalign.encoders.loading import open_encoder
from evalign.encoders.weights import KNOWN, LANGUAGE_MODELS, OTHER_LANGUAGES, tuned_layers
from evalign.errors import InputError, LayerError
from evalign.metrics.baseline import published_baseline
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.weighting import count_idf
from evalign.text.idf import FixedWeights, TokenWeights

PEER_VERSION = "0.3.12"  # what bert-score 0.3.13, whose numbers these are, calls itself
Triple = tuple[Floats, Floats, Floats]
References = Sequence[str] | Sequence[Sequence[str]]


class ScoreHash(str):
    """bert_score's string for its settings; `signature` is evalign's, which pins the weights too."""

    signature: str

    def __new__(cls, text: str, signature: str) -> ScoreHash:
        """Return the string with the signature as an attribute."""
        score_hash = super().__new__(cls, text)
        score_hash.signature = signature
        return score_hash


class BERTScorer:
    """bert_score's scorer: the model is loaded once, IDF weights are kept from call to call.

    `batch_size`, `nthreads` and `verbose` are accepted and have no effect: batches are planned by tokens, no score
    depends on them. `device=None` is the cpu.
    """

    def __init__(
        self,
        model_type: str | None = None,
        num_layers: int | None = None,
        batch_size: int = 64,
        nthreads: int = 4,
        all_layers: bool = False,
        idf: bool | Mapping[int, float] = False,
        idf_sents: Sequence[str] | None = None,
        device: str | None = None,
        lang: str | None = None,
        rescale_with_baseline: bool = False,
        baseline_path: str | None = None,
        use_fast_tokenizer: bool = False,
    ) -> None:
        if model_type is None and lang is None:
            raise InputError("either lang or model_type must be given")
        if rescale_with_baseline and lang is None and baseline_path is None:
            raise InputError("rescale_with_baseline needs lang, whose baseline is taken, or baseline_path")
        self.batch_size, self.nthreads, self.all_layers = batch_size, nthreads, all_layers
        self.lang, self.idf, self.device = lang, bool(idf), device or "cpu"
        self.rescale_with_baseline, self.baseline_path = rescale_with_baseline, baseline_path
        self.use_fast_tokenizer = use_fast_tokenizer
        self.model_type = model_type or LANGUAGE_MODELS.get(str(lang).lower(), OTHER_LANGUAGES)
        layer = _layer(self.model_type, num_layers)
        self.num_layers = int(layer) if str(layer).isdecimal() else layer
        self._metric = BERTScore(
            model=self.model_type,
            layer=layer,
            compat="bert-score-fast" if use_fast_tokenizer else "bert-score",
            multiref="per-field-max",
            overlong="truncate",
            device=self.device,
            rescale=self._baseline() if rescale_with_baseline else False,
        )
        self._weights: TokenWeights | None = _fixed(idf) if isinstance(idf, Mapping) else None
        self._signature = ""
        if idf_sents is not None:
            self.compute_idf(idf_sents)

    @property
    def hash(self) -> str:
        """bert_score's own string for this setting; `hug_trans=none` where transformers is not installed."""
        parts = f"{self.model_type}_L{self.num_layers}{'_idf' if self.idf else '_no-idf'}"
        text = f"{parts}_version={PEER_VERSION}(hug_trans={version_of('transformers') or 'none'})"
        if self.rescale_with_baseline:
            text += "-rescaled" if self.baseline_path is None else "-custom-rescaled"
        return text + ("_fast-tokenizer" if self.use_fast_tokenizer else "")

    @property
    def signature(self) -> str:
        """evalign's signature of the last scores; empty before the first."""
        return self._signature

    @property
    def baseline_vals(self) -> Floats:
        """Precision, recall and F1 of unrelated text at this layer; (layers, 1, 3) with `all_layers`."""
        metric = replace(self._metric, rescale=self._baseline(), layer="all" if self.all_layers else self._metric.layer)
        rescaling = metric.scorer().rescaling
        assert rescaling is not None
        assert rescaling.baseline is not None
        rows = np.stack([rescaling.baseline.row(layer) for layer in rescaling.layers])
        return rows[:, None] if self.all_layers else rows[0]

    def compute_idf(self, sents: Sequence[str]) -> None:
        """Count IDF weights over texts, for `idf=True`; a second call replaces them with a warning."""
        if self._weights is not None:
            warnings.warn("Overwriting the previous importance weights.", stacklevel=2)
        self._weights = count_idf(open_encoder(self._metric.encoder_spec()).encoder, list(sents))

    def score(
        self,
        cands: Sequence[str],
        refs: References,
        verbose: bool = False,
        batch_size: int = 64,
        return_hash: bool = False,
    ) -> Triple | tuple[Triple, ScoreHash]:
        """Return precision, recall and F1 per pair, (layers, pairs) with `all_layers`; with the hash on request."""
        if self.idf and self._weights is None:
            raise InputError("idf=True: IDF weights are not computed; give idf_sents, or call compute_idf(texts)")
        return self._scored(self._metric, cands, refs, return_hash)

    def score_with_own_idf(
        self, cands: Sequence[str], refs: References, return_hash: bool = False
    ) -> Triple | tuple[Triple, ScoreHash]:
        """Score with IDF counted over these references, as bert_score's function does for `idf=True`."""
        return self._scored(replace(self._metric, idf="references"), cands, refs, return_hash)

    def _scored(
        self, metric: BERTScore, cands: Sequence[str], refs: References, return_hash: bool
    ) -> Triple | tuple[Triple, ScoreHash]:
        weights = self._weights if self.idf else None
        report: Report | LayerReport
        if self.all_layers:
            report = metric.score_layers(cands, refs, weights)
        else:
            report = metric.score(cands, refs, weights=weights)
        self._signature = report.signature
        if isinstance(report, Report) and report.flags.get("idf-missing"):
            rows = report.flags["idf-missing"]
            warnings.warn(f"idf: tokens of {rows} rows have no weight in it and weigh 0", stacklevel=3)
        result = report["precision"], report["recall"], report["f1"]
        return (result, ScoreHash(self.hash, report.signature)) if return_hash else result

    def plot_example(self, candidate: str, reference: str, fname: str = "") -> Any:
        """Return the similarity matrix of one pair as a figure; write it to `fname` (.png or .svg) unless empty."""
        from evalign.render.figures import save, similarity_plot

        alignment = replace(self._metric, rescale=False).align(candidate, reference)
        title = "Similarity Matrix"
        if self.rescale_with_baseline:
            base = float(self.baseline_vals.reshape(-1, 3)[-1, 2])
            alignment = replace(alignment, similarity=(alignment.similarity - base) / (1 - base))
            title += " (after Rescaling)"
        figure = similarity_plot(alignment, title)
        if fname:
            save(figure, Path(fname))
        return figure

    def __repr__(self) -> str:
        return f"BERTScorer(hash={self.hash}, batch_size={self.batch_size}, nthreads={self.nthreads})"

    def _baseline(self) -> bool | str:
        """Return the baseline to use: a file, the one that bert_score ships for the model, or evalign's (True)."""
        if self.baseline_path is not None:
            return self.baseline_path
        if self.model_type not in tuned_layers():
            return True
        return str(published_baseline(str(self.lang).lower(), self.model_type))


@overload
def score(
    cands: Sequence[str], refs: References, *options: Any, return_hash: Literal[True], **more: Any
) -> tuple[Triple, ScoreHash]: ...
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
) -> Triple | tuple[Triple, ScoreHash]:
    """Return precision, recall and F1 per pair, (layers, pairs) with `all_layers`; with bert_score's hash on request.

    The hash has evalign's signature as `.signature`. `verbose`, `batch_size` and `nthreads` are accepted
    and change nothing: batches are planned by tokens, and no score depends on them. `device=None` is the cpu.
    """
    scorer = BERTScorer(
        model_type,
        num_layers,
        all_layers=all_layers,
        idf=idf,
        device=device,
        lang=lang,
        rescale_with_baseline=rescale_with_baseline,
        baseline_path=baseline_path,
        use_fast_tokenizer=use_fast_tokenizer,
    )
    own_idf = bool(idf) and not isinstance(idf, Mapping)
    return (scorer.score_with_own_idf if own_idf else scorer.score)(cands, refs, return_hash=return_hash)


def _layer(model: str, num_layers: int | None) -> int | str:
    """Return the layer: the argument, else that of bert_score's table or of a known model."""
    if num_layers is not None:
        return num_layers
    if model in tuned_layers():
        return tuned_layers()[model]
    if model in KNOWN:
        return KNOWN[model].layer
    raise LayerError(f"no tuned layer is known for model_type={model!r}; give num_layers")


def _fixed(table: Mapping[int, float]) -> FixedWeights:
    """Return token weights; the default of a defaultdict, as bert_score makes them, is the weight of unseen tokens."""
    make_default = getattr(table, "default_factory", None)
    return FixedWeights(dict(table), float(make_default()) if make_default else None)
