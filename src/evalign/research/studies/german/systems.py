"""Systems of the German summaries study by the names of its tables: metrics, scores and published numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalign.core import Floats, Row
from evalign.core.metric import Metric, Scorer
from evalign.core.registry import metric
from evalign.core.scoring import blocks
from evalign.encoders.adapter import SHIPPED_DIGESTS, read_adapter
from evalign.encoders.fake import LAYERS
from evalign.encoders.families import depth
from evalign.encoders.loading import (
    FAKE,
    EmbeddingMemory,
    EncoderSpec,
    check_layers,
    default_layer,
    open_encoder,
    parse_layers,
)
from evalign.encoders.weights import KNOWN, locate
from evalign.errors import EvalignError, LayerError
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.evalign import Evalign
from evalign.metrics.lisascore import LiSAScore
from evalign.metrics.moverscore import MoverScore
from evalign.metrics.sentence_vectors import SBert
from evalign.metrics.token_metric import TokenMetric, TokenScorer
from evalign.research.lstm.metric import LSTM
from evalign.research.studies.german.data import JudgedRows, texts_of
from evalign.research.studies.inputs import Steps, digest_of, model_identity, model_pin

ROWS_PER_STEP = 50  # lost at most when the run is killed
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
class MetricOptions:
    """Options of the metrics: language of METEOR, layer whose tokens are matched, threads.

    The layer is `last`, as in the paper, `tuned` (evalign's default for the model), a choice such as `4` or `4+6`, or
    `all`: the last in the tables, and a table of BERTScore over all layers.
    """

    lang: str = "de"
    layer: str = LAST
    threads: int = 0

    def __post_init__(self) -> None:
        if self.layer not in (LAST, TUNED_LAYER, ALL):
            try:
                parse_layers(self.layer)
            except LayerError as error:
                raise LayerError(f"`layer={self.layer[:40]}`: expected last, tuned, all, a layer from 0 up, or several "
                                 "as in 4+6") from error  # fmt: skip


def lexical_systems(options: MetricOptions) -> list[System]:
    """The metrics that compare words."""
    return [System(name, "", metric(spec.format(language=options.lang))) for name, spec in LEXICAL.items()]


def model_systems(model: str, display_name: str, judged: JudgedRows, options: MetricOptions) -> list[System]:
    """Return all systems of an encoder without fine-tuning."""
    sberts = [
        System(pooled(pooling), display_name, SBert(model=model, pooling=pooling, threads=options.threads))
        for pooling in POOLINGS
    ]
    read: dict[str, Any] = {"model": model, "layer": matched_layer(model, options), "threads": options.threads}
    systems = [System(LISASCORE, display_name, LiSAScore(**read)), System(MOVERSCORE, display_name, MoverScore(**read))]
    adapted = [name for name in SHIPPED_DIGESTS if model_pin(model) == KNOWN[name].pinned]
    systems += [System(EVALIGN, display_name, Evalign(model=name, threads=options.threads)) for name in adapted]
    return [*sberts, *_bertscores(BERTSCORE, model, display_name, judged, options), *systems]


def tuned_systems(model: str, display_name: str, judged: JudgedRows, options: MetricOptions) -> list[System]:
    """The same for an encoder that was fine-tuned with mean pooling."""
    sbert = System(pooled("mean", tuned=True), display_name, SBert(model=model, threads=options.threads))
    return [sbert, *_bertscores(TUNED, model, display_name, judged, options)]


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
    for rows in blocks(judged.rows, ROWS_PER_STEP):
        memories: dict[EncoderSpec, EmbeddingMemory] = {}
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

    def add(self, rows: list[Row], memories: dict[EncoderSpec, EmbeddingMemory], steps: Steps) -> None:
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

    def _score(self, rows: list[Row], memories: dict[EncoderSpec, EmbeddingMemory]) -> dict[str, Any]:
        scorer = self._scorer
        if isinstance(scorer, TokenScorer):
            choice = scorer.metric.encoder_spec()
            if choice not in memories:
                memories[choice] = EmbeddingMemory(scorer.cache.encoder)
                texts = list(dict.fromkeys(text for row in rows for text in (row.candidate, *row.references)))
                memories[choice].encode(texts, keep=texts)
            scorer.cache = memories[choice]
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


def matched_layer(model: str, options: MetricOptions) -> str:
    """The layer of the options for this model; an error if the model does not have it."""
    fake = model == FAKE
    config = {} if fake else locate(model).config()
    deepest = LAYERS if fake else depth(config)
    if options.layer == TUNED_LAYER:
        return "2" if fake else default_layer(locate(model), config)
    layer = LAST if options.layer == ALL else options.layer
    if deepest is not None:
        check_layers(parse_layers(layer), deepest)
    return layer


def cased(model: str, options: MetricOptions) -> bool:
    """Return whether the model's tokenizer is case-sensitive."""
    encoder = open_encoder(EncoderSpec(model, matched_layer(model, options), threads=options.threads)).encoder
    capital, small = (tokens.ids.tolist() for tokens in encoder.tokenize(["Das Haus", "das haus"]))
    return bool(capital != small)


def seen_share(judged: JudgedRows, model: str, options: MetricOptions) -> float:
    """The part of the references' tokens that occur in some text that IDF was counted over; others weigh alike."""
    encoder = open_encoder(EncoderSpec(model, matched_layer(model, options), threads=options.threads)).encoder
    counted = {token for tokens in encoder.tokenize(list(judged.counted_texts)) for token in tokens.ids.tolist()}
    reference_tokens = [
        token
        for tokens in encoder.tokenize([row.references[0] for row in judged.rows])
        for token in tokens.ids[~tokens.special].tolist()
    ]
    return sum(token in counted for token in reference_tokens) / max(1, len(reference_tokens))


def _bertscores(name: str, model: str, display_name: str, judged: JudgedRows, options: MetricOptions) -> list[System]:
    plain = BERTScore(model=model, layer=matched_layer(model, options), threads=options.threads)
    idf = [System(weighted(name), display_name, replace(plain, idf=judged.idf))] if judged.counted else []
    return [System(name, display_name, plain), *idf]


# What the paper printed: its models, Tables 3 and 4, and its corpus.
SBERT_TUNED, TUNED_IDF = pooled("mean", tuned=True), weighted(TUNED)
TABLE3_COLUMNS = (SBERT_TUNED, BERTSCORE, weighted(BERTSCORE), TUNED_IDF)
GERMAN = (
    "bert-base-german-cased",
    "dbmdz/bert-base-german-europeana-uncased",
    "dbmdz/bert-base-german-uncased",
    "severinsimmler/literary-german-bert",
    "severinsimmler/german-press-bert",
)
# The error of GermEval-2020 task 3, lower is better: by model, in the order of TABLE3_COLUMNS.
TABLE3 = dict(
    zip(
        (name.rpartition("/")[2] for name in GERMAN),
        (
            (37.2916, 35.6950, 35.3121, 31.9925),
            (35.2817, 32.9403, 32.2169, 32.0194),
            (42.7792, 34.1719, 33.4136, 40.5780),
            (36.5822, 44.7441, 43.2454, 35.5773),
            (36.5098, 33.1080, 32.2967, 35.3199),
        ),
        strict=True,
    )
)
TABLE4 = {"BLEU": 41.4299, "ROUGE-1": 42.6328, "ROUGE-2": 55.7044, "ROUGE-L": 43.7750, "METEOR": 48.0823}
ROWS, SOURCE_TEXTS = 216, 24  # of the task's own data
# Section 4.1, least, mean and greatest: characters of the sources; the other texts as a share of their source.
CORPUS = {
    "rows": "216",
    "sources": "24",
    "candidates to a source": "9",
    "characters of a source": "2,000 / 5,800 / 12,000",
    "characters of a reference": "–",
    "characters of a candidate": "–",
    "reference, share of its source": "3 / 6 / 13 %",
    "candidate, share of its source": "0.6 / 6 / 21 %",
    "texts in lower case": "100 %",
}


def published_error(model: str, system: str) -> float | None:
    """The paper's Table 3 for a model by its shown name, and a system by its name in our tables."""
    row = TABLE3.get(model.partition("@")[0].rpartition("/")[2])
    return None if row is None else dict(zip(TABLE3_COLUMNS, row, strict=True)).get(system)
