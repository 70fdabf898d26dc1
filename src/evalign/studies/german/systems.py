"""What the German summaries study compares: metrics by the names of its tables, and their scores on the judged rows.

In: `JudgedRows` and systems. Out: `Scored`, one score per row, from 0 to 1 where the metric has such a scale. Rows are
scored in blocks, each a step that is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalign.encoders.loading import FAKE, EncoderChoice, default_layer, open_encoder
from evalign.encoders.locating import locate
from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.errors import EvalignError
from evalign.metrics.base import Metric, Scorer, blocks
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.lstm import LSTM
from evalign.metrics.registry import metric
from evalign.metrics.sentence_vectors import SBert
from evalign.metrics.token_metric import TokenMetric, TokenScorer
from evalign.studies.german.data import JudgedRows, texts_of
from evalign.studies.model_identity import model_identity
from evalign.studies.step_cache import Steps, digest_of
from evalign.types import Floats, Row

BLOCK = 50  # rows to a step: what a kill may cost
RECIPE = 1  # raised when the same metrics give other numbers
POOLINGS = ("cls", "mean", "max")
BERTSCORE, TUNED, LSTM_NAME = "BERTScore", "BERTScore, fine-tuned", "LSTM"
LEXICAL = {
    "BLEU": "bleu",
    "ROUGE-1": "rouge1",
    "ROUGE-2": "rouge2",
    "ROUGE-L": "rougeL",
    "METEOR": "meteor(language={language})",
}


def pooled(pooling: str, tuned: bool = False) -> str:
    """The name of Sentence-BERT with a pooling."""
    return f"Sentence-BERT, {pooling}" + (", fine-tuned" if tuned else "")


def weighted(name: str) -> str:
    """The name of a metric with IDF."""
    return f"{name} + IDF"


@dataclass(frozen=True)
class System:
    """One line of a table: the metric's name there, the model's, and the metric itself."""

    name: str
    model: str
    metric: Metric

    @property
    def label(self) -> str:
        """Both names."""
        return f"{self.name} ({self.model})" if self.model else self.name


@dataclass(frozen=True, eq=False)
class Scored:
    """A system's scores, one per judged row, and how often each flag was raised."""

    system: System
    signature: str
    scores: Floats
    flags: Mapping[str, int]

    @property
    def label(self) -> str:
        """The names of metric and model."""
        return self.system.label


@dataclass(frozen=True)
class Options:
    """What decides the metrics: the language of METEOR, the layer of BERTScore (None: the tuned one), threads."""

    language: str = "de"
    layer: str | None = None
    threads: int = 0


def lexical_systems(options: Options) -> list[System]:
    """The metrics that compare words."""
    return [System(name, "", metric(spec.format(language=options.language))) for name, spec in LEXICAL.items()]


def model_systems(model: str, shown: str, judged: JudgedRows, options: Options) -> list[System]:
    """Everything that an encoder as it came is used for."""
    sberts = [
        System(pooled(pooling), shown, SBert(model=model, pooling=pooling, threads=options.threads))
        for pooling in POOLINGS
    ]
    return sberts + _bertscores(BERTSCORE, model, shown, judged, options)


def tuned_systems(model: str, shown: str, judged: JudgedRows, options: Options) -> list[System]:
    """The same for an encoder that was fine-tuned with mean pooling."""
    sbert = System(pooled("mean", tuned=True), shown, SBert(model=model, threads=options.threads))
    return [sbert, *_bertscores(TUNED, model, shown, judged, options)]


def lstm_system(file: str) -> System:
    """The baseline from before transformers."""
    return System(LSTM_NAME, "", LSTM(file=file))


def score_systems(
    systems: Iterable[System], judged: JudgedRows, steps: Steps, advance: Callable[[int], Any] = lambda _: None
) -> tuple[list[Scored], list[str]]:
    """Scores of all rows, and sentences about systems that have none.

    Stored blocks are not scored again, and if all are stored, no model is loaded. A block's texts are encoded once for
    all systems with the same encoder, whatever came before: a run that goes on after a kill sees the same batches.
    """
    scorings = [_Scoring(system, judged) for system in systems]
    for rows in blocks(judged.rows, BLOCK):
        memories: dict[EncoderChoice, EmbeddingMemory] = {}
        for scoring in scorings:
            if not scoring.error:
                scoring.add(rows, memories, steps)
            advance(len(rows))
    missing = [f"{scoring.system.label}: {scoring.error}" for scoring in scorings if scoring.error]
    return [scoring.result() for scoring in scorings if not scoring.error], missing


class _Scoring:
    """The blocks of one system that were scored so far."""

    def __init__(self, system: System, judged: JudgedRows) -> None:
        self.system, self.judged = system, judged
        self.error = ""
        self._blocks: list[dict[str, Any]] = []

    def add(self, rows: list[Row], memories: dict[EncoderChoice, EmbeddingMemory], steps: Steps) -> None:
        """The next block, from its step or scored now."""
        try:
            key = {"study": "german", "recipe": RECIPE, **self._identity, "texts": digest_of(texts_of(rows))}
            self._blocks.append(steps.values(key, lambda: self._score(rows, memories)))
        except EvalignError as error:
            self.error = str(error)

    def result(self) -> Scored:
        """All blocks together; a score from 0 to 100 becomes one from 0 to 1."""
        scores = np.array([value for block in self._blocks for value in block["scores"]])
        flags: Counter[str] = sum((Counter(block["flags"]) for block in self._blocks), Counter())
        most = max(1.0, self.system.metric.bounds[1])
        return Scored(self.system, self._blocks[0]["signature"], scores / most, dict(flags))

    def _score(self, rows: list[Row], memories: dict[EncoderChoice, EmbeddingMemory]) -> dict[str, Any]:
        scorer = self._scorer
        if isinstance(scorer, TokenScorer):
            choice = scorer.metric.choice()
            if choice not in memories:
                memories[choice] = EmbeddingMemory(scorer.memory.encoder)
                texts = list(dict.fromkeys(text for row in rows for text in (row.candidate, *row.references)))
                memories[choice].encode(texts, keep=texts)
            scorer.memory = memories[choice]
        segments = scorer.score(rows)
        flags: Counter[str] = sum((Counter(segment.flags) for segment in segments), Counter())
        return {
            "scores": [float(segment.scores[self.system.metric.main]) for segment in segments],
            "flags": dict(flags),
            "signature": str(scorer.signature),
        }

    @cached_property
    def _scorer(self) -> Scorer:
        metric = self.system.metric
        return metric.scorer(self.judged.counted)

    @cached_property
    def _identity(self) -> dict[str, Any]:
        """A metric with a model is known without loading it; others say in their signature which data they found."""
        used = self.system.metric
        if not isinstance(used, TokenMetric):
            return {"metric": str(self._scorer.signature)}
        named = {"metric": str(replace(used, model="", threads=0)), "model": model_identity(used.model)}
        return named | ({"idf": digest_of(self.judged.counted_texts)} if used.needs_corpus else {})


def bertscore_layer(model: str, options: Options) -> str:
    """The layer of the options, else evalign's default for this model."""
    if options.layer is not None:
        return options.layer
    if model == FAKE:
        return "2"
    located = locate(model)
    return default_layer(located, located.config())


def seen_share(judged: JudgedRows, model: str, options: Options) -> float:
    """The part of the references' tokens that occur in some text that IDF was counted over; others weigh alike."""
    encoder = open_encoder(EncoderChoice(model, bertscore_layer(model, options), threads=options.threads)).encoder
    counted = {token for tokens in encoder.tokenize(list(judged.counted_texts)) for token in tokens.ids.tolist()}
    own = [
        token
        for tokens in encoder.tokenize([row.references[0] for row in judged.rows])
        for token in tokens.ids[~tokens.special].tolist()
    ]
    return sum(token in counted for token in own) / max(1, len(own))


def _bertscores(name: str, model: str, shown: str, judged: JudgedRows, options: Options) -> list[System]:
    plain = BERTScore(model=model, layer=bertscore_layer(model, options), threads=options.threads)
    idf = [System(weighted(name), shown, replace(plain, idf=judged.idf))] if judged.counted else []
    return [System(name, shown, plain), *idf]
