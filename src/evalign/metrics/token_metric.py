"""What all token-matching metrics share: encoder options, IDF weights, several references.

rows -> embedded texts -> (matching: the metric's own) -> precision, recall, F1 -> Segment
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from evalign.cancellation import check_stopped
from evalign.encoders.adapter import read_adapter
from evalign.encoders.base import Encoder, Reading
from evalign.encoders.batching import TOKEN_BUDGET
from evalign.encoders.loading import ARITHMETICS, BACKENDS, EncoderChoice, open_encoder
from evalign.encoders.pinned_models import KNOWN
from evalign.encoders.shipped_adapters import MODELS, SHIPPED, shipped
from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.encoders.windows import POLICIES
from evalign.errors import SpecError
from evalign.matching.ties import on_grid
from evalign.metrics.base import Metric, Scorer
from evalign.metrics.blas import one_blas_thread
from evalign.metrics.corpus_idf import CORPUS_IDF, corpus_texts, count_idf
from evalign.metrics.options import execution_option, number_or_text, option
from evalign.metrics.signature import Signature
from evalign.metrics.token_side import Side, add_counts, total_counts
from evalign.text.idf import IDFTable, TokenWeights
from evalign.types import Bools, Embedded, Floats, Row, Segment, Tokens
from evalign.version import __version__

MULTIREF = ("max-f1", "mean", "per-field-max")


@dataclass(frozen=True)
class TokenMetric(Metric):
    """A metric over one similarity matrix of token vectors."""

    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    former_options: ClassVar[Mapping[str, str]] = {"precision": "arithmetic"}
    weighs_tokens: ClassVar[bool] = False  # whether an adapter's token importance counts

    model: str = option("minilm", "a known model, a directory, or a hub name")
    layer: int | str | None = option(
        None, "a layer, or several as in 4+6, whose similarities are averaged", parse=number_or_text
    )
    idf: str = option("no", "no, references, sources, or a table saved by `evalign idf fit`")
    specials: str = option("keep", "whether tokens may match special tokens", ("keep", "drop"))
    multiref: str = option("max-f1", "how several references become one score", MULTIREF)
    overlong: str = option("window", "what happens to a text longer than the model reads", POLICIES)
    max_length: int = option(0, "a lower limit than the model's, special tokens included; 0: the model's")
    arithmetic: str = option("fp32", "arithmetic of the encoder", ARITHMETICS)
    adapter: str = option("", "evalign, or a folder that `evalign train --adapter` made for the model")
    backend: str = execution_option("auto", "what runs the encoder", BACKENDS)
    device: str = execution_option("cpu", "cpu, cuda, mps: other than cpu needs backend=torch")
    threads: int = execution_option(0, "threads of the encoder; 0: one per core")
    token_budget: int = execution_option(TOKEN_BUDGET, "tokens per batch")

    @property
    def adapter_folder(self) -> str:
        """Where the adapter is; empty if there is none."""
        return shipped(self.model) if self.adapter == SHIPPED else self.adapter

    def choice(self) -> EncoderChoice:
        """The encoder this metric asks for."""
        if self.max_length < 0 or not 0 <= self.threads <= 1024 or self.token_budget < 1:
            raise SpecError("expected max_length from 0, threads from 0 to 1024, and token_budget from 1")
        reading = Reading(self.overlong, token_budget=self.token_budget)
        if self.max_length:
            reading = replace(reading, max_length=self.max_length)
        layer = None if self.layer is None else str(self.layer)
        return EncoderChoice(
            self.model, layer, self.arithmetic, self.backend, self.device, reading, self.threads, self.adapter_folder
        )

    @abstractmethod
    def scorer(self, rows: Iterable[Row] | None = None, weights: TokenWeights | None = None) -> TokenScorer:
        """Loads the encoder and the tables; `weights` override `idf`."""

    @property
    def needs_corpus(self) -> bool:
        """IDF from the rows themselves needs all of them first."""
        return self.idf in CORPUS_IDF

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """Rebuilds the metric; its model must be found here, and must be the same weights."""
        said = dict(signature.settings)
        label, _, digest = said.get("model", "").partition("@")
        adapter = SHIPPED if digest.partition("+")[2] in _shipped_names(label) else ""
        if "+adapter@" in digest and not adapter:
            raise SpecError(f"{signature}: its adapter is needed too; write the spec with adapter=")
        idf = said.get("idf", "no").partition("@")[0]
        base = said.get("base", "no")
        rescaling = {} if base == "no" else cls.baseline_options(base, said.get("model", ""))
        if idf not in ("no", *CORPUS_IDF) or (base != "no" and not rescaling):
            raise SpecError(
                f"{signature}: its IDF or baseline file is needed too; write the spec with idf= and rescale="
            )
        model = next((known.name for known in KNOWN.values() if known.label == label), label)
        options = {"model": model, "layer": said.get("layer"), "idf": idf, "arithmetic": said.get("prec", "fp32")}
        options |= {key: said[key] for key in ("specials", "multiref", "overlong", "compat") if key in said}
        options |= {key: said[short] for short, key in (("max", "max_length"),) if short in said}
        options |= {"adapter": adapter} if adapter else {}
        options |= rescaling | cls.match_options(said.get("match", ""))
        metric = cls.from_options({key: value for key, value in options.items() if value is not None})
        present = open_encoder(metric.choice()).encoder.name
        if present != said.get("model"):
            raise SpecError(f"the signature pins {label}@{digest}, but what is found here is {present}")
        return metric

    @classmethod
    def baseline_options(cls, base: str, model: str) -> dict[str, str]:
        """The options that a signature's `base` stands for, if it can be told here."""
        return {}

    @classmethod
    def match_options(cls, match: str) -> dict[str, str]:
        """The options that a signature's `match` stands for."""
        return {"matching": match.partition(",")[0]}

    def corpus_weights(self, encoder: Encoder, rows: Iterable[Row] | None) -> TokenWeights | None:
        """The IDF table asked for: counted over the rows to be scored, or read from a file."""
        if self.idf == "no":
            return None
        if self.idf not in CORPUS_IDF:
            table = IDFTable.load(self.idf)
            table.check(encoder.tokenizer_fingerprint)
            return table
        if rows is None or not getattr(rows, "rereadable", True):
            raise SpecError(
                f"{self}: idf={self.idf} needs all rows before the first, and a stream can be read only once; "
                "fit a table first (evalign idf fit) and pass idf=FILE"
            )
        return count_idf(encoder, corpus_texts(rows, self.idf))

    def weighted(self, tokens: Tokens, special_ids: Collection[int], by_table: bool) -> Bools:
        """The tokens that may weigh something: all but special ones, also where a text spells one out."""
        own = ~tokens.special
        for special_id in special_ids:  # two or three; np.isin is slower
            own &= tokens.ids != special_id
        return own

    def signature(self, encoder: Encoder, weights: TokenWeights | None, match: str, base: str) -> Signature:
        """What decides the numbers, in the order every token metric shows it."""
        settings = {
            "model": encoder.name,
            "layer": "all" if self.layer == "all" else "+".join(map(str, encoder.layers)),
            "match": match,
            "specials": self.specials,
            "idf": "no" if weights is None else f"{self.idf if self.idf in CORPUS_IDF else 'table'}@{weights.digest}",
            "base": base,
            "multiref": self.multiref,
            "overlong": self.overlong,
            **({"max": str(self.max_length)} if self.max_length else {}),
            "prec": encoder.precision,
            "v": __version__,
        }
        return Signature(self.name, settings)


PairScore = tuple[Floats, Mapping[str, int]]  # fields before `finish`, and what the matching has to report


def _shipped_names(label: str) -> list[str]:
    """Of the adapters that ship for the model of this label, as signatures write them."""
    return [read_adapter(shipped(model)).name for model in MODELS if KNOWN[model].label == label]


class TokenScorer(Scorer):
    """Encodes a block of rows at once, then matches pair by pair."""

    def __init__(
        self, metric: TokenMetric, memory: EmbeddingMemory, weights: TokenWeights | None, streaming: bool = False
    ) -> None:
        self.metric, self.memory, self.weights = metric, memory, weights
        self.streaming = streaming  # rows pass by in blocks and most texts never return: remember sparingly
        wanted = metric.adapter_folder if metric.weighs_tokens else ""
        self.adapter = read_adapter(wanted).reading(memory.encoder.layers) if wanted else None

    @abstractmethod
    def pair(self, candidate: Side, reference: Side) -> PairScore:
        """The metric's fields for two texts that are not empty."""

    def finish(self, scores: Floats) -> Floats:
        """A last step after several references were combined, such as rescaling."""
        return scores

    def score(self, rows: list[Row]) -> list[Segment]:
        """Matches every candidate with each of its references."""
        references = list(dict.fromkeys(text for row in rows for text in row.references))  # in one order everywhere
        sides = self.sides([*(row.candidate for row in rows), *references], keep=references)
        pairs = [(sides[row.candidate], sides[text]) for row in rows for text in row.references]
        with one_blas_thread():
            matched = iter(self.match(pairs))
        return [self._segment(row, sides, [next(matched) for _ in row.references]) for row in rows]

    def match(self, pairs: list[tuple[Side, Side]]) -> list[PairScore]:
        """Every pair's fields before `finish`, and what the matching itself has to report."""
        return [self.pair_scores(candidate, reference) for candidate, reference in pairs]

    def settle(self) -> None:
        """The encoder's memory is all there is to take."""
        self.memory.encoder.settle()

    def sides(self, texts: Iterable[str], keep: Iterable[str] = ()) -> dict[str, Side]:
        """Every distinct text, encoded and weighted once."""
        return self.weigh(self.memory.encode(texts, list(keep), at_once=not self.streaming))

    def weigh(self, embedded: Mapping[str, Embedded]) -> dict[str, Side]:
        """Encoded texts ready to be matched."""
        return {text: self.side(vectors) for text, vectors in embedded.items()}

    def layers(self, rows: list[Row], embedded: Mapping[str, Embedded], picks: Sequence[Sequence[int]]) -> Floats:
        """(picks, rows, fields): the rows' scores for several choices of layers, given every layer of every text.

        A pick holds positions in the encoder's `layers`; what each gives is the score of a metric with these layers.
        """
        sides = self.weigh(embedded)
        scores = []
        for pick in picks:
            chosen = {text: Embedded(side.tokens, side.embedded.vectors[list(pick)]) for text, side in sides.items()}
            picked = {text: replace(side, embedded=chosen[text]) for text, side in sides.items()}
            with one_blas_thread():
                pairs = [(picked[row.candidate], picked[text]) for row in rows for text in row.references]
                matched = iter(self.match(pairs))
            scores.append([self.combine(np.stack([next(matched)[0] for _ in row.references])) for row in rows])
        return np.asarray(scores, dtype=np.float64)

    def pair_scores(self, candidate: Side, reference: Side) -> PairScore:
        """The fields of one pair before `finish`; the worst value if a text has no tokens."""
        check_stopped()
        if candidate.empty or reference.empty:
            return np.full(len(self.metric.fields), self.metric.worst), {}
        return self.pair(candidate, reference)

    def combine(self, scores: Floats) -> Floats:
        """(references, fields) -> (fields,) as `multiref` says."""
        if len(scores) == 1:
            return np.asarray(scores[0])
        if self.metric.multiref == "mean":
            return np.asarray(scores.mean(axis=0))
        if self.metric.multiref == "per-field-max":
            return np.asarray(scores.max(axis=0))
        return np.asarray(scores[self.best(scores)])

    def best(self, scores: Floats) -> int:
        """The reference with the highest main field; of references that only rounding tells apart, the first."""
        return int(on_grid(scores[:, -1]).argmax())

    def _segment(self, row: Row, sides: dict[str, Side], matched: list[PairScore]) -> Segment:
        pairs = np.stack([scores for scores, _ in matched])
        values = self.finish(self.combine(pairs))
        best = self.best(pairs) if len(pairs) > 1 and self.metric.multiref != "mean" else None
        scored = dict(zip(self.metric.fields, values.tolist(), strict=True))
        texts = total_counts(sides[row.candidate], *(sides[text] for text in row.references))
        return Segment(row.id, scored, add_counts(texts, *(notes for _, notes in matched)), reference=best)

    def side(self, embedded: Embedded) -> Side:
        """One encoded text with the weights of its tokens."""
        tokens = embedded.tokens
        own = self.metric.weighted(tokens, self.memory.encoder.special_ids, self.weights is not None)
        counts = tokens.counts
        if self.weights is not None and (missing := self.weights.missing(tokens.ids[~tokens.special])):
            counts["idf-missing"] = missing
        weights = (
            own.astype(np.float64) if self.weights is None else np.where(own, self.weights.weights(tokens.ids), 0.0)
        )
        if not weights.any() and not tokens.empty:
            weights = (~tokens.special).astype(np.float64)
            counts["idf-zero"] = 1
        if self.adapter is not None:
            weights = weights * self.adapter.token_weights(embedded, self.memory.encoder.layers)
        if self.metric.specials == "drop":
            embedded, weights = embedded.keep(~tokens.special), weights[~tokens.special]
        return Side(embedded, weights, tokens.empty, counts)


def is_stream(rows: Iterable[Row] | None) -> bool:
    """Whether rows pass by, as those of a file or a request do; a list in memory may come again."""
    return rows is not None and not isinstance(rows, Sequence)
