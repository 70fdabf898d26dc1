"""evalign under the names of sacrebleu, as its test files call them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import evalign
from evalign.core import Report
from evalign.metrics.lexical.sacrebleu_metrics import SacrebleuScoring, engine
from evalign.stats.bootstrap import Resampling
from evalign.stats.system_tests import approximate_randomisation, paired_bootstrap

NAME = "evalign_as_sacrebleu"
References = Sequence[Sequence[str]]  # one list per place, as sacrebleu takes them


@dataclass(frozen=True)
class Score:
    """A corpus or sentence score; BLEU's has its counts."""

    score: float
    counts: list[int]
    totals: list[int]


@dataclass(frozen=True)
class Result:
    """A system of a paired test; the baseline has no p-value."""

    score: float
    p_value: float | None = None


class _Metric:
    """One of sacrebleu's classes: its arguments become evalign's options of the same names."""

    spec: str

    def __init__(self, references: References | None = None, **options: Any) -> None:
        options = {name: value for name, value in options.items() if value is not None}
        self.metric: SacrebleuScoring = _kinds()[self.spec].from_options(options)
        self.references = references

    def corpus_score(self, candidates: Sequence[str], references: References) -> Score:
        report = self.report(candidates, references)
        return _score(report.corpus("score"), np.sum([part.statistics for part in report.segments], axis=0))

    def sentence_score(self, candidate: str, references: Sequence[str]) -> Score:
        report = self.metric.score([candidate], [list(references)])
        return _score(float(report["score"][0]), np.array(report.segments[0].statistics))

    def report(self, candidates: Sequence[str], references: References) -> Report:
        return self.metric.score(list(candidates), [list(texts) for texts in zip(*references, strict=True)])


class BLEU(_Metric):
    spec = "bleu"

    @staticmethod
    def compute_bleu(correct: list[int], total: list[int], length: int, reference: int, **options: Any) -> Score:
        metric = BLEU(**options).metric
        return _score(metric.from_totals([length, reference, *correct, *total], 1)["score"], np.zeros(2))


class CHRF(_Metric):
    spec = "chrf"


class TER(_Metric):
    spec = "ter"


class TercomTokenizer:
    """The text as `ter` compares it."""

    def __init__(self, **options: bool) -> None:
        self.engine = engine(evalign.TER(**options), "sentence")

    def __call__(self, text: str) -> str:
        return self.engine.prepared(text)


class PairedTest:
    """sacrebleu's test of systems against the first one, from evalign's statistics and evalign's tests."""

    def __init__(self, named_systems: Any, metrics: Any, references: Any, test_type: str, n_samples: int) -> None:
        self.systems, self.metrics = named_systems, metrics
        self.test = {"bs": paired_bootstrap, "ar": approximate_randomisation}[test_type]
        self.samples = n_samples

    def __call__(self) -> tuple[None, dict[str, list[Any]]]:
        columns: dict[str, list[Any]] = {"System": [name for name, _ in self.systems]}
        for name, metric in self.metrics.items():
            tables = [_statistics(metric, texts) for _, texts in self.systems]

            def score(totals: Any, rows: float, of: SacrebleuScoring = metric.metric) -> float:
                return of.from_totals(list(totals), int(rows))["score"]

            found = [self.test(tables[0], table, score, Resampling(self.samples)) for table in tables[1:]]
            scores = [Result(float(one.system.value or 0), one.p_value) for one in found]
            columns[name] = [Result(float(found[0].baseline.value or 0)), *scores]
        return None, columns


def corpus_bleu(
    candidates: Sequence[str], references: References, use_effective_order: bool = False, **o: Any
) -> Score:
    return BLEU(effective_order=use_effective_order, **o).corpus_score(candidates, references)


def raw_corpus_bleu(candidates: Sequence[str], references: References, smooth_value: float | None = None) -> Score:
    """As sacrebleu documents it: no tokeniser, smoothing by a floor, effective order."""
    options = {"smooth_method": "floor", "smooth_value": smooth_value, "tokenize": "none", "force": True}
    return corpus_bleu(candidates, references, use_effective_order=True, **options)


def sentence_bleu(candidate: str, references: Sequence[str], use_effective_order: bool = True, **o: Any) -> Score:
    return BLEU(effective_order=use_effective_order, **o).sentence_score(candidate, references)


def corpus_chrf(candidates: Sequence[str], references: References, remove_whitespace: bool = True, **o: Any) -> Score:
    return CHRF(whitespace=not remove_whitespace, **o).corpus_score(candidates, references)


def sentence_chrf(candidate: str, references: Sequence[str], **options: Any) -> Score:
    return CHRF(**options).sentence_score(candidate, references)


def install() -> str:
    """Makes the stand-in importable; its name."""
    functions = (corpus_bleu, raw_corpus_bleu, sentence_bleu, corpus_chrf, sentence_chrf)
    _module(NAME, {function.__name__: function for function in functions})
    sys.modules[NAME].__dict__["compat"] = SimpleNamespace(sentence_bleu=sentence_bleu)
    _module(f"{NAME}.metrics", {"BLEU": BLEU, "CHRF": CHRF, "TER": TER})
    _module(f"{NAME}.significance", {"PairedTest": PairedTest, "Result": Result})
    _module(f"{NAME}.tokenizers", {})
    _module(f"{NAME}.tokenizers.tokenizer_ter", {"TercomTokenizer": TercomTokenizer})
    return NAME


def _module(name: str, content: dict[str, Any]) -> None:
    module = ModuleType(name)
    module.__dict__.update(content)
    sys.modules[name] = module
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, module)


def _kinds() -> dict[str, type[SacrebleuScoring]]:
    return {"bleu": evalign.BLEU, "chrf": evalign.ChrF, "ter": evalign.TER}


def _score(value: float, statistics: Any) -> Score:
    """BLEU's statistics are two lengths, the matched n-grams by order, and the counted ones."""
    orders = (len(statistics) - 2) // 2
    counts = [int(number) for number in itertools.islice(statistics, 2, None)]
    return Score(value, counts[:orders], counts[orders : 2 * orders])


def _statistics(metric: _Metric, texts: Sequence[str]) -> Any:
    assert metric.references is not None
    return np.array([segment.statistics for segment in metric.report(texts, metric.references).segments])
