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

from evalign.encoders.adapter import read_adapter
from evalign.encoders.fake import DEPTH
from evalign.encoders.families import depth
from evalign.encoders.layers import check_layers, parse_layers
from evalign.encoders.loading import FAKE, EncoderChoice, default_layer, open_encoder
from evalign.encoders.locating import locate
from evalign.encoders.pinned_models import KNOWN
from evalign.encoders.shipped_adapters import MODELS
from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.errors import EvalignError, LayerError
from evalign.metrics.base import Metric, Scorer, blocks
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.evalign_metric import Evalign
from evalign.metrics.lisascore import LiSAScore
from evalign.metrics.lstm import LSTM
from evalign.metrics.moverscore import MoverScore
from evalign.metrics.registry import metric
from evalign.metrics.sentence_vectors import SBert
from evalign.metrics.token_metric import TokenMetric, TokenScorer
from evalign.studies.german.data import JudgedRows, texts_of
from evalign.studies.inputs import model_identity, model_pin
from evalign.studies.step_cache import Steps, digest_of
from evalign.types import Floats, Row

BLOCK = 50  # rows to a step: what a kill may cost
RECIPE = 1  # raised when the same metrics give other numbers
POOLINGS = ("cls", "mean", "max")
BERTSCORE, TUNED, LSTM_NAME = "BERTScore", "BERTScore, fine-tuned", "LSTM"
LISASCORE, MOVERSCORE, EVALIGN = "LiSAScore", "MoverScore", "evalign"
LAST, TUNED_LAYER, ALL = "last", "tuned", "all"  # the layers that have a name
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
class Scored(System):
    """A system with its scores, one per judged row, and how often each flag was raised."""

    signature: str
    scores: Floats
    flags: Mapping[str, int]


@dataclass(frozen=True)
class Options:
    """What decides the metrics: the language of METEOR, the layer whose tokens are matched, threads.

    The layer is `last`, as in the paper, `tuned` (evalign's default for the model), a choice such as `4` or `4+6`, or
    `all`: the last in the tables, and a table of BERTScore over all layers.
    """

    language: str = "de"
    layer: str = LAST
    threads: int = 0

    def __post_init__(self) -> None:
        if self.layer not in (LAST, TUNED_LAYER, ALL):
            try:
                parse_layers(self.layer)
            except LayerError as error:
                raise LayerError(f"--layer {self.layer[:40]}: expected last, tuned, all, a layer from 0 up, or several "
                                 "as in 4+6") from error  # fmt: skip


def lexical_systems(options: Options) -> list[System]:
    """The metrics that compare words."""
    return [System(name, "", metric(spec.format(language=options.language))) for name, spec in LEXICAL.items()]


def model_systems(model: str, shown: str, judged: JudgedRows, options: Options) -> list[System]:
    """Everything that an encoder as it came is used for."""
    sberts = [
        System(pooled(pooling), shown, SBert(model=model, pooling=pooling, threads=options.threads))
        for pooling in POOLINGS
    ]
    read: dict[str, Any] = {"model": model, "layer": matched_layer(model, options), "threads": options.threads}
    others = [System(LISASCORE, shown, LiSAScore(**read)), System(MOVERSCORE, shown, MoverScore(**read))]
    known = [name for name in MODELS if model_pin(model) == f"{KNOWN[name].label}@{KNOWN[name].sha256[:8]}"]
    others += [System(EVALIGN, shown, Evalign(model=name, threads=options.threads)) for name in known]
    return [*sberts, *_bertscores(BERTSCORE, model, shown, judged, options), *others]


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
        return Scored(**vars(self.system), signature=self._blocks[0]["signature"], scores=scores / most, flags=flags)

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
        return self.system.metric.scorer(self.judged.counted)

    @cached_property
    def _identity(self) -> dict[str, Any]:
        """A metric with a model is known without loading it; others say in their signature which data they found."""
        used = self.system.metric
        if not isinstance(used, TokenMetric):
            return {"metric": str(self._scorer.signature)}
        named = {"metric": str(replace(used, model="minilm")), "model": model_identity(used.model)}
        named |= {"adapter": read_adapter(used.adapter_folder).digest} if used.adapter_folder else {}
        return named | ({"idf": digest_of(self.judged.counted_texts)} if used.needs_corpus else {})


def matched_layer(model: str, options: Options) -> str:
    """The layer of the options for this model; an error if the model does not have it."""
    fake = model == FAKE
    config = {} if fake else locate(model).config()
    deepest = DEPTH if fake else depth(config)
    if options.layer == TUNED_LAYER:
        return "2" if fake else default_layer(locate(model), config)
    layer = LAST if options.layer == ALL else options.layer
    if deepest is not None:
        check_layers(parse_layers(layer), deepest)
    return layer


def cased(model: str, options: Options) -> bool:
    """Whether the model's tokenizer tells capital letters from small ones."""
    encoder = open_encoder(EncoderChoice(model, matched_layer(model, options), threads=options.threads)).encoder
    capital, small = (tokens.ids.tolist() for tokens in encoder.tokenize(["Das Haus", "das haus"]))
    return bool(capital != small)


def seen_share(judged: JudgedRows, model: str, options: Options) -> float:
    """The part of the references' tokens that occur in some text that IDF was counted over; others weigh alike."""
    encoder = open_encoder(EncoderChoice(model, matched_layer(model, options), threads=options.threads)).encoder
    counted = {token for tokens in encoder.tokenize(list(judged.counted_texts)) for token in tokens.ids.tolist()}
    own = [
        token
        for tokens in encoder.tokenize([row.references[0] for row in judged.rows])
        for token in tokens.ids[~tokens.special].tolist()
    ]
    return sum(token in counted for token in own) / max(1, len(own))


def _bertscores(name: str, model: str, shown: str, judged: JudgedRows, options: Options) -> list[System]:
    plain = BERTScore(model=model, layer=matched_layer(model, options), threads=options.threads)
    idf = [System(weighted(name), shown, replace(plain, idf=judged.idf))] if judged.counted else []
    return [System(name, shown, plain), *idf]
