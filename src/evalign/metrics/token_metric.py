"""Token metrics: a pipeline of values, and one scorer that runs every pipeline.

    rows -> encode -> weigh -> similarity -> solve -> reduce -> choose the reference -> rescale -> Segment

A metric (`TokenMetric`) keeps flat options, which a spec prints, and declares its `pipeline()`. BERTScore, LiSAScore,
MoverScore, evalign, Sentence-BERT and end-token similarity are such declarations; `TokenScorer` knows only pipelines.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple, TypeGuard

import numpy as np

from evalign.core import Alignment, Embedded, Floats, LayerReport, Report, Row, Segment
from evalign.core.alignment import Opposite
from evalign.core.metric import Metric, Scorer, blocks, check_settings
from evalign.core.options import execution_option, number_or_text, option
from evalign.core.rows import make_rows
from evalign.core.scoring import check_stopped
from evalign.core.spec import Signature
from evalign.encoders.adapter import SHIPPED, shipped
from evalign.encoders.base import POLICIES, TOKEN_BUDGET, EncodeOptions, Encoder
from evalign.encoders.loading import ARITHMETICS, BACKENDS, EmbeddingMemory, EncoderSpec, encoder_content, open_encoder
from evalign.errors import SpecError, TextTooLongError
from evalign.matching.arrays import index_pairs
from evalign.matching.base import Matching, MatchResult, SharedMatrix, groups, solve_together
from evalign.matching.similarity import BAND_CELLS, bands, one_blas_thread, similarity, similarity_to_all
from evalign.metrics.baseline import Baseline, Rescaling
from evalign.metrics.reduction import MULTIREF, MultiReference, Reduction
from evalign.metrics.weighting import (
    CORPUS_IDF,
    SIDES,
    Weigher,
    WeightedText,
    Weighting,
    add_counts,
    total_counts,
)
from evalign.text.idf import IDFTable, TokenWeights
from evalign.text.polarity import opposites
from evalign.version import __version__

MAX_ALIGNMENT_CELLS = 4_000_000
LAYER_BLOCK_ROWS = 64  # all layers of a text are held at once
RESCALE_HELP = "true: by the baseline that ships with the model; or a baseline file; or false"
SCALE_HELP = "with rescale: unrelated text to 0, or the share of it that scores less"


@dataclass(frozen=True)
class TokenPipeline:
    """Stages of a token metric, as values.

    `match` names the matching in signatures, with the settings of other stages that decide the numbers of one matrix.
    """

    encoder: EncoderSpec
    matching: Matching
    reduction: Reduction
    match: str
    weighting: Weighting = field(default_factory=Weighting)
    rescaling: Rescaling | None = None
    references: MultiReference = field(default_factory=MultiReference)


@dataclass(frozen=True)
class TokenMetric(Metric):
    """Base of metrics over one similarity matrix of token vectors."""

    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    aligns: ClassVar[bool] = True
    encodes: ClassVar[bool] = True

    model: str = option("minilm", "a known model, a directory, or a hub name")
    layer: int | str | None = option(
        None, "a layer, or several as in 4+6, whose similarities are averaged", parse=number_or_text
    )
    idf: str = option("no", "no, references, sources, or a table saved by `evalign fit idf`")
    specials: str = option("keep", "whether tokens may match special tokens", ("keep", "drop"))
    multiref: str = option("best", "how several references become one score", MULTIREF)
    overlong: str = option("window", "what happens to a text longer than the model reads", POLICIES)
    max_length: int = option(0, "a lower limit than the model's, special tokens included; 0: the model's")
    arithmetic: str = option("fp32", "arithmetic of the encoder", ARITHMETICS)
    adapter: str = option("", "evalign, or a folder that `evalign train adapter` made for the model")
    backend: str = execution_option("auto", "what runs the encoder", BACKENDS)
    device: str = execution_option("cpu", "cpu, cuda, mps: other than cpu needs backend=torch")
    threads: int = execution_option(0, "threads of the encoder; 0: one per core")
    token_budget: int = execution_option(TOKEN_BUDGET, "tokens per batch")

    def __post_init__(self) -> None:
        super().__post_init__()
        if getattr(self, "rescale", False) is not False:  # on the instance: unrelated text may score far below 0
            bounds = (-math.inf, 1.0) if getattr(self, "scale", "") == "linear" else (0.0, 1.0)
            object.__setattr__(self, "bounds", bounds)

    def check_signature(self, signature: Signature) -> None:
        """Raise SpecError if the signature does not describe this metric; an IDF table of other rows may differ."""
        without_corpus = replace(self, idf="no") if self.idf in CORPUS_IDF else self
        if self.idf != SIDES:
            check_settings(signature, without_corpus.scorer().signature, {"idf"} if self.needs_corpus else set())

    @abstractmethod
    def pipeline(self) -> TokenPipeline:
        """Return the stages that the options describe; options that do not fit raise before a model is loaded."""

    @property
    def adapter_folder(self) -> str:
        """Folder of the adapter; empty if there is none."""
        return shipped(self.model) if self.adapter == SHIPPED else self.adapter

    @property
    def needs_corpus(self) -> bool:
        """True if IDF is counted over the rows themselves, which needs all of them first."""
        return self.idf in (*CORPUS_IDF, SIDES)

    def content_digests(self) -> Mapping[str, str]:
        """Return the digests of model, adapter, IDF table and baseline; see `Metric.content_digests`."""
        pipeline = self.pipeline()
        content = encoder_content(pipeline.encoder)
        if self.idf not in ("no", SIDES, *CORPUS_IDF):
            content["idf"] = IDFTable.load(self.idf).digest
        if pipeline.rescaling is not None and pipeline.rescaling.baseline is not None:
            content["base"] = pipeline.rescaling.name
        return content

    def encoder_spec(self) -> EncoderSpec:
        """Return the encoder that the options describe."""
        if self.max_length < 0 or not 0 <= self.threads <= 1024 or self.token_budget < 1:
            raise SpecError("expected max_length from 0, threads from 0 to 1024, and token_budget from 1")
        reading = EncodeOptions(self.overlong, token_budget=self.token_budget)
        if self.max_length:
            reading = replace(reading, max_length=self.max_length)
        layer = None if self.layer is None else str(self.layer)
        return EncoderSpec(
            self.model, layer, self.arithmetic, self.backend, self.device, reading, self.threads, self.adapter_folder
        )

    def weighting(self) -> Weighting:
        """Return the weighting that the options of all token metrics describe."""
        return Weighting(self.idf, self.specials, adapter=self.adapter_folder)

    def scorer(self, rows: Iterable[Row] | None = None, weights: TokenWeights | None = None) -> TokenScorer:
        """Load the encoder, the IDF table and the baseline.

        Args:
            rows: Rows to be scored; read only if the metric needs all of them first.
            weights: Token weights that replace `idf`.
        """
        pipeline = self.pipeline()
        cache = open_encoder(pipeline.encoder)
        weigher = pipeline.weighting.load(cache.encoder, rows, weights)
        return TokenScorer(self, pipeline, cache, weigher, streaming=is_stream(rows))

    def score(
        self,
        candidates: Iterable[str],
        references: Iterable[str] | Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        weights: TokenWeights | None = None,
    ) -> Report:
        """Score lists in memory, as every metric does; `weights` by token id replace `idf`."""
        rows = make_rows(candidates, references, sources, ids)
        self.check_needs(rows)
        return self.report(self.scorer(rows, weights), rows)

    def align(self, candidate: str, reference: str) -> Alignment:
        """Return the matched tokens of one pair."""
        if not self.aligns:
            raise SpecError(f"{self.name} does not match tokens; try bertscore, lisascore or moverscore")
        return self.scorer(make_rows([candidate], [reference])).align(candidate, reference)

    def pairwise(self, candidates: Iterable[str], references: Iterable[str]) -> dict[str, Floats]:
        """Score all candidates against all references: field -> (candidates, references); texts are encoded once."""
        candidate_texts = [row.candidate for row in make_rows(candidates)]
        reference_texts = [row.candidate for row in make_rows(references)]
        corpus = [Row(text, text, (text,)) for text in reference_texts]
        scores = self.scorer(corpus).pairwise(candidate_texts, reference_texts)
        return {name: scores[..., index] for index, name in enumerate(self.fields)}

    def score_layers(
        self,
        candidates: Iterable[str],
        references: Iterable[str] | Iterable[Iterable[str]],
        weights: TokenWeights | None = None,
    ) -> LayerReport:
        """Score with each layer of the encoder, from one pass; layer 0 is the embeddings."""
        rows = make_rows(candidates, references)
        scorer = replace(self, layer="all").scorer(rows, weights)
        layers = scorer.cache.encoder.layers
        parts = [np.zeros((len(layers), 0, len(self.fields)))]
        for block in blocks(rows, LAYER_BLOCK_ROWS):
            texts = scorer.cache.encode(text for row in block for text in (row.candidate, *row.references))
            parts.append(scorer.score_choices(block, texts, [(index,) for index in range(len(layers))]))
        scores = scorer.rescale_layers(np.concatenate(parts, axis=1))
        by_field = {name: scores[..., index] for index, name in enumerate(self.fields)}
        return LayerReport(str(self), str(scorer.signature), layers, by_field)

    def rescaling_of(self, rescale: bool | str, scale: str) -> Rescaling | None:
        """Return the rescaling that the options `rescale` and `scale` describe; a file is read here."""
        if rescale is False:
            return None
        return Rescaling(None if rescale is True else Baseline.load(rescale), scale)


class PairScore(NamedTuple):
    """Fields of one pair before several references are combined, counts of the matching, and number of opposites."""

    fields: Floats
    counts: Mapping[str, int]
    opposites: int = 0


Pair = tuple[WeightedText, WeightedText]


class TokenScorer(Scorer):
    """Run a pipeline over rows: encode and weigh each text once, solve and reduce each pair."""

    def __init__(
        self, metric: TokenMetric, pipeline: TokenPipeline, cache: EmbeddingMemory, weigher: Weigher, *,
        streaming: bool = False,
    ) -> None:  # fmt: skip
        self.metric, self.pipeline, self.cache, self.weigher = metric, pipeline, cache, weigher
        self.streaming = streaming  # most texts never return: cache references only when they come a second time
        rescaling, all_layers = pipeline.rescaling, metric.layer == "all"
        self.rescaling = rescaling and rescaling.fitting(cache.encoder, pipeline.match, metric.specials, all_layers)
        self.signature = self._signature(cache.encoder)

    def score(self, rows: list[Row]) -> list[Segment]:
        """Return one segment per row, in order."""
        references = list(dict.fromkeys(text for row in rows for text in row.references))
        texts = [*(row.candidate for row in rows), *references]
        embedded = self.cache.encode(texts, references, at_once=not self.streaming)
        weighted = self.weigher.weigh_sides(embedded)
        with one_blas_thread():
            scores = iter(self.score_pairs(_pairs(rows, *weighted)))
        return [self._segment(row, weighted, [next(scores) for _ in row.references]) for row in rows]

    def settle(self) -> None:
        """Take the memory that a long job needs; the encoder's is all there is."""
        self.cache.encoder.settle()

    def score_pairs(self, pairs: Sequence[Pair]) -> list[PairScore]:
        """Return the fields of each pair; pairs with an empty text get the metric's worst value."""
        worst = PairScore(np.full(len(self.metric.fields), self.metric.worst), {})
        scores = [worst] * len(pairs)
        for index, result in self._solve(pairs):
            opposites_of_pair = self._opposites(*pairs[index], result)
            scores[index] = PairScore(
                self.pipeline.reduction.reduce(result, *pairs[index]), result.counts, len(opposites_of_pair)
            )
        return scores

    def score_choices(
        self, rows: Sequence[Row], embedded: Mapping[str, Embedded], choices: Sequence[Sequence[int]]
    ) -> Floats:
        """Score rows with several choices of layers from one encoding, without rescaling: (choices, rows, fields).

        Args:
            rows: Rows to score.
            embedded: Vectors of their texts in all layers.
            choices: Indices of the encoder's `layers` whose similarities are averaged.
        """
        weighted = self.weigher.weigh_sides(embedded)
        with one_blas_thread():
            return np.stack([self._score_row_choices(row, weighted, choices) for row in rows], axis=1)

    def pairwise(self, candidates: list[str], references: list[str]) -> Floats:
        """Score all candidates against all references: (candidates, references, fields)."""
        left, right = self.weigher.weigh_sides(self.cache.encode([*candidates, *references], references))
        scores = np.full((len(candidates), len(references), len(self.metric.fields)), self.metric.worst)
        columns = [index for index, text in enumerate(references) if not right[text].empty]
        texts = [right[references[index]] for index in columns]
        with one_blas_thread():
            for row, text in enumerate(candidates):
                if not left[text].empty:
                    scores[row, columns] = self._score_against(left[text], texts)
        return self.rescale(scores)

    def weigh(self, texts: Iterable[str]) -> tuple[dict[str, WeightedText], dict[str, WeightedText]]:
        """Encode and weigh texts as candidates and as references."""
        return self.weigher.weigh_sides(self.cache.encode(texts))

    def align(self, candidate: str, reference: str) -> Alignment:
        """Return the matched tokens of one pair."""
        left, right = self.weigh([candidate, reference])
        return self.align_texts(left[candidate], right[reference])

    def align_texts(
        self, candidate: WeightedText, reference: WeightedText, shared: SharedMatrix | None = None
    ) -> Alignment:
        """Align two weighted texts; pass `shared` if their similarity has been computed already."""
        rows, columns = len(candidate.tokens), len(reference.tokens)
        if rows * columns > MAX_ALIGNMENT_CELLS:
            raise TextTooLongError(f"{rows} x {columns} tokens are too many to show; align shorter pieces")
        shared = shared or SharedMatrix(similarity(candidate.embedded, reference.embedded))
        if candidate.empty or reference.empty:
            result = _unmatched(shared.similarity)
            fields = np.full(len(self.metric.fields), self.metric.worst)
        else:
            result = self.pipeline.matching.solve_shared(shared, (candidate.weights, reference.weights))
            fields = self.pipeline.reduction.reduce(result, candidate, reference)
        opposites_of_pair = self._opposites(candidate, reference, result)
        cells = index_pairs(result.cells)
        transport = result.masses is not None  # its weights are shares of 1
        return Alignment(
            candidate=candidate.tokens,
            reference=reference.tokens,
            similarity=shared.similarity,
            candidate_weights=candidate.weights / (candidate.weights.sum() if transport else 1.0),
            reference_weights=reference.weights / (reference.weights.sum() if transport else 1.0),
            candidate_values=result.candidate_values,
            reference_values=result.reference_values,
            candidate_partners=result.candidate_partners,
            reference_partners=result.reference_partners,
            cells=cells,
            matching=self.pipeline.match,
            scores=dict(zip(self.metric.fields, self.rescale(fields).tolist(), strict=True)),
            signature=str(self.signature),
            counts=add_counts(total_counts(candidate, reference), result.counts, _polarity(len(opposites_of_pair))),
            masses=None if result.masses is None else result.masses[tuple(cells.T)],
            opposites=opposites_of_pair,
        )

    def rescale(self, scores: Floats) -> Floats:
        """Rescale (..., fields) by the baseline, if there is one."""
        return scores if self.rescaling is None else self.rescaling.rescaled(scores)

    def rescale_layers(self, scores: Floats) -> Floats:
        """Rescale (layers, rows, fields), each layer by its own baseline."""
        if self.rescaling is None:
            return scores
        return np.stack([self.rescaling.rescaled(layer, index) for index, layer in enumerate(scores)])

    def _solve(self, pairs: Sequence[Pair]) -> Iterator[tuple[int, MatchResult]]:
        """Yield the index and the result of each pair without an empty text, in any order."""
        matching = self.pipeline.matching
        filled = [index for index, pair in enumerate(pairs) if not any(text.empty for text in pair)]
        if not matching.padded:
            for index in filled:
                check_stopped()
                yield index, self._solve_pair(*pairs[index])
            return
        shapes = [(len(pairs[index][0].tokens), len(pairs[index][1].tokens)) for index in filled]
        for shape in shapes:
            matching.check_size(*shape)
        for group in groups(shapes):
            check_stopped()
            members = [filled[position] for position in group]
            matrices = [similarity(pairs[index][0].embedded, pairs[index][1].embedded) for index in members]
            weights = [(pairs[index][0].weights, pairs[index][1].weights) for index in members]
            yield from zip(members, solve_together(matching, matrices, weights), strict=True)

    def _solve_pair(self, candidate: WeightedText, reference: WeightedText) -> MatchResult:
        """Solve one matrix; in bands if its values are maxima and the whole matrix would not fit into memory."""
        matching = self.pipeline.matching
        matching.check_size(len(candidate.tokens), len(reference.tokens))
        if not matching.separable or len(candidate.tokens) * len(reference.tokens) <= BAND_CELLS:
            return matching.solve(
                similarity(candidate.embedded, reference.embedded), (candidate.weights, reference.weights)
            )
        parts = [matching.solve(band) for band in bands(candidate.embedded, reference.embedded)]
        return replace(
            parts[0],
            candidate_values=np.concatenate([part.candidate_values for part in parts]),
            reference_values=np.max([part.reference_values for part in parts], axis=0),
        )

    def _opposites(self, candidate: WeightedText, reference: WeightedText, result: MatchResult) -> tuple[Opposite, ...]:
        """Return negations, antonyms and answers that only one text has; they change no score."""
        if candidate.empty or reference.empty:
            return ()
        whole = result.similarity.shape == (len(candidate.tokens), len(reference.tokens))  # not one band of it
        partners = (lambda: (result.candidate_partners, result.reference_partners)) if whole else None
        return opposites(candidate.tokens, reference.tokens, partners if self.metric.aligns else None)

    def _score_against(self, candidate: WeightedText, references: Sequence[WeightedText]) -> Floats:
        """Return (references, fields) of one candidate; none of the texts is empty."""
        check_stopped()
        matching, reduction = self.pipeline.matching, self.pipeline.reduction
        matrices = similarity_to_all(candidate.embedded, [reference.embedded for reference in references])
        rows = []
        for matrix, reference in zip(matrices, references, strict=True):
            matching.check_size(*matrix.shape)
            result = matching.solve(matrix, (candidate.weights, reference.weights))
            rows.append(reduction.reduce(result, candidate, reference))
        return np.array(rows).reshape(len(references), len(self.metric.fields))

    def _score_row_choices(
        self,
        row: Row,
        weighted: tuple[dict[str, WeightedText], dict[str, WeightedText]],
        choices: Sequence[Sequence[int]],
    ) -> Floats:
        """Return (choices, fields) of one row."""
        matching, reduction = self.pipeline.matching, self.pipeline.reduction
        by_reference = []
        for candidate, reference in _pairs([row], *weighted):
            check_stopped()
            scores = np.full((len(choices), len(self.metric.fields)), self.metric.worst)
            if not (candidate.empty or reference.empty):
                layers = similarity(candidate.embedded, reference.embedded, per_layer=True)
                for index, choice in enumerate(choices):
                    matrix = layers[choice[0]] if len(choice) == 1 else layers[list(choice)].mean(axis=0)
                    result = matching.solve(matrix, (candidate.weights, reference.weights))
                    scores[index] = reduction.reduce(result, candidate, reference)
            by_reference.append(scores)
        return np.stack([self.pipeline.references.combine(scores) for scores in np.stack(by_reference, axis=1)])

    def _segment(
        self,
        row: Row,
        weighted: tuple[dict[str, WeightedText], dict[str, WeightedText]],
        scores: Sequence[PairScore],
    ) -> Segment:
        fields = np.stack([score.fields for score in scores])
        rescaled = self.rescale(self.pipeline.references.combine(fields))
        candidates, references = weighted
        chosen = self.pipeline.references.chosen(fields)
        count = min(score.opposites for score in scores) if chosen is None else scores[chosen].opposites
        texts = total_counts(candidates[row.candidate], *(references[text] for text in row.references))
        return Segment(
            row.id,
            dict(zip(self.metric.fields, rescaled.tolist(), strict=True)),
            add_counts(texts, *(score.counts for score in scores), _polarity(count)),
            reference=chosen,
        )

    def _signature(self, encoder: Encoder) -> Signature:
        metric, reading = self.metric, self.pipeline.encoder.reading
        limited = reading.max_length != EncodeOptions().max_length
        settings = {
            "model": encoder.name,
            "layer": "all" if metric.layer == "all" else "+".join(map(str, encoder.layers)),
            "match": self.pipeline.match,
            "specials": metric.specials,
            "idf": self.weigher.idf_name,
            "base": "no" if self.rescaling is None else self.rescaling.name,
            "multiref": metric.multiref,
            "overlong": metric.overlong,
            **({"max": str(reading.max_length)} if limited else {}),
            "prec": encoder.precision,
            **({"compat": reading.profile} if reading.profile != "no" else {}),
            "v": __version__,
        }
        return metric.signed(settings)


def is_token_metric(metric: Metric) -> TypeGuard[TokenMetric]:
    """Return whether a metric encodes tokens, and so has a pipeline."""
    return metric.encodes


def aligning_metric(metric: Metric) -> TokenMetric:
    """Return the metric itself if it matches tokens; raise SpecError otherwise."""
    if not (metric.aligns and is_token_metric(metric)):
        raise SpecError(f"{metric.name} does not match tokens; try bertscore, lisascore or moverscore")
    return metric


def is_stream(rows: Iterable[Row] | None) -> bool:
    """Return whether rows pass by only once, as those of a file or a request do."""
    return rows is not None and not isinstance(rows, Sequence)


def _pairs(
    rows: Sequence[Row], candidates: Mapping[str, WeightedText], references: Mapping[str, WeightedText]
) -> list[Pair]:
    """Return each candidate with each of its references, row by row."""
    return [(candidates[row.candidate], references[text]) for row in rows for text in row.references]


def _polarity(count: int) -> dict[str, int]:
    return {"polarity": count} if count else {}


def _unmatched(matrix: Floats) -> MatchResult:
    """Return the result for a pair with an empty text: no token is matched."""
    return MatchResult(
        matrix, np.zeros(matrix.shape[0]), np.zeros(matrix.shape[1]), lambda: np.zeros(matrix.shape, dtype=bool)
    )
