"""evalign under the names of rouge-score, as its test files call them."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import evalign
from evalign.errors import EvalignError
from evalign.stats.bootstrap import Resampling, bootstrap_mean
from evalign.text.stemming import nltk_porter
from evalign.text.words import ascii_words

NAME = "evalign_as_rouge_score"


class Score(NamedTuple):
    precision: float
    recall: float
    fmeasure: float


class AggregateScore(NamedTuple):
    low: Score
    mid: Score
    high: Score


class RougeScorer:
    """rouge-score's numbers: `tokens=ascii`, its stemmer, and sentences that are lines, or split if asked."""

    def __init__(
        self, types: Sequence[str], use_stemmer: bool = False, split_summaries: bool = False, tokenizer: Any = None
    ) -> None:
        reading = {"tokens": "ascii", "stem": "nltk-porter" if use_stemmer else "false"}
        if tokenizer is not None:
            reading["tokens"] = f"tokenizer-{id(tokenizer)}"
            evalign.register_tokenizer(reading["tokens"], tokenizer.tokenize)
        by_sentence = {"sentences": "split"} if split_summaries else {}
        try:
            self.metrics = {name: evalign.metric(_spec(name, reading, by_sentence)) for name in types}
        except EvalignError as error:
            raise ValueError(str(error)) from error

    def score(self, target: str, prediction: str) -> dict[str, Score]:
        return self.score_multi([target], prediction)

    def score_multi(self, targets: Sequence[str], prediction: str) -> dict[str, Score]:
        reports = {name: metric.score([prediction], [list(targets)]) for name, metric in self.metrics.items()}
        return {name: Score(*(float(part[0]) for part in report)) for name, report in reports.items()}


class BootstrapAggregator:
    """Means with the intervals of evalign's bootstrap."""

    def __init__(self, confidence_interval: float = 0.95, n_samples: int = 1000) -> None:
        self.resampling = Resampling(n_samples, confidence=confidence_interval)
        self.scores: dict[str, list[Score]] = defaultdict(list)

    def add_scores(self, scores: Mapping[str, Score]) -> None:
        for name, score in scores.items():
            self.scores[name].append(score)

    def aggregate(self) -> dict[str, AggregateScore]:
        aggregated = {}
        for name, scores in self.scores.items():
            means = [bootstrap_mean(column, self.resampling) for column in np.array(scores, dtype=float).T]
            bounds = ((mean.low, mean.value, mean.high) for mean in means)
            aggregated[name] = AggregateScore(*(Score(*values) for values in zip(*bounds, strict=True)))
        return aggregated


class Tokenizer:
    """rouge-score's base class."""


class DefaultTokenizer(Tokenizer):
    """The words of `tokens=ascii`, stemmed as `stem=nltk-porter` does: none of three letters or less."""

    def __init__(self, use_stemmer: bool = False) -> None:
        self.use_stemmer = use_stemmer

    def tokenize(self, text: str) -> list[str]:
        words = ascii_words(text)
        return [nltk_porter(word) if len(word) > 3 else word for word in words] if self.use_stemmer else words


def install(texts: Path) -> str:
    """Makes the stand-in importable, with test data that lies in a folder; its name."""
    files = {"TARGETS_FILE": "target.txt", "PREDICTIONS_FILE": "prediction.txt", "PYROUGE_DIR": "pyrouge_files",
             "LARGE_TARGETS_FILE": "target.txt", "LARGE_PREDICTIONS_FILE": "prediction.txt"}  # fmt: skip
    paths = {name: str(texts / file) for name, file in files.items()}
    module = ModuleType(NAME)
    module.__dict__.update(
        rouge_scorer=SimpleNamespace(RougeScorer=RougeScorer),
        scoring=SimpleNamespace(BootstrapAggregator=BootstrapAggregator, Score=Score),
        test_util=SimpleNamespace(get_text=lambda file: Path(file).read_text("utf-8"), **paths),
        tokenize=SimpleNamespace(tokenize=lambda text, stemmer: ascii_words(text)),
        tokenizers=SimpleNamespace(Tokenizer=Tokenizer, DefaultTokenizer=DefaultTokenizer),
    )
    sys.modules[NAME] = module
    return NAME


def _spec(name: str, reading: Mapping[str, str], by_sentence: Mapping[str, str]) -> str:
    options = {**reading, **(by_sentence if name == "rougeLsum" else {})}
    return f"{name}({', '.join(f'{key}={value}' for key, value in options.items())})"
