"""The pre-transformer baseline: cosine of two sentence vectors of a bidirectional LSTM (`evalign train lstm`).

Scoring needs no torch: the file has all weights, and numpy runs the cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from evalign.core import Floats, Row, Segment
from evalign.core.installed import processor
from evalign.core.metric import Metric, Scorer
from evalign.core.options import option
from evalign.errors import SpecError
from evalign.matching.similarity import one_blas_thread
from evalign.research.lstm.encoder import (
    HOW_TO_TRAIN,
    LSTMModel,
    Trace,
    load_lstm,
    sentence_vectors,
    split_words,
    trace,
)
from evalign.version import __version__


@dataclass(frozen=True)
class LSTM(Metric):
    """Cosine of the sentence vectors of a trained bidirectional LSTM."""

    name: ClassVar[str] = "lstm"
    about: ClassVar[str] = "cosine of sentence vectors of a bidirectional LSTM (Hochreiter & Schmidhuber 1997)"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    file: str = option("", "folder written by `evalign train lstm`, or the .safetensors file in it")
    multiref: str = option("best", "how several references become one score", ("best", "mean"))

    def scorer(self, rows: Iterable[Row] | None = None) -> LSTMScorer:
        """Return a scorer with the file loaded."""
        return LSTMScorer(self, *self._load())

    def content_digests(self) -> Mapping[str, str]:
        """Return the settings of the signature and the processor; see `Metric.content_digests`."""
        return {"processor": processor(), **super().content_digests()}

    def trace(self, text: str) -> Trace:
        """Return every gate at every word of a text."""
        return trace(self._load()[0], text)

    def _load(self) -> tuple[LSTMModel, str]:
        if not self.file:
            raise SpecError(f"lstm needs a trained file, as in lstm(file=FILE); {HOW_TO_TRAIN}")
        return load_lstm(self.file)

    @property
    def label(self) -> str:
        """Return the name of the file or folder, for signatures."""
        return Path(self.file).resolve().name


class LSTMScorer(Scorer):
    """The metric with its file loaded."""

    def __init__(self, metric: LSTM, model: LSTMModel, digest: str) -> None:
        self.metric = metric
        self.model = model
        settings = {"file": f"{metric.label}@{digest[:8]}", "pool": model.pooling, "multiref": metric.multiref}
        self.signature = metric.signed(settings | {"v": __version__})

    def score(self, rows: list[Row]) -> list[Segment]:
        """Score rows; every distinct text of the block is encoded once."""
        texts = list(dict.fromkeys(text for row in rows for text in (row.candidate, *row.references)))
        words = {text: split_words(text) for text in texts}
        with one_blas_thread():
            pooled = sentence_vectors(self.model, list(words.values())).astype(np.float64)
        lengths = np.linalg.norm(pooled, axis=-1, keepdims=True)
        vectors = dict(zip(texts, pooled / np.where(lengths > 0, lengths, 1), strict=True))
        return [self._segment(row, words, vectors) for row in rows]

    def _segment(self, row: Row, words: dict[str, list[str]], vectors: dict[str, Floats]) -> Segment:
        values = [
            float(np.clip(vectors[row.candidate] @ vectors[text], -1, 1))
            if words[row.candidate] and words[text]
            else self.metric.worst
            for text in row.references
        ]
        combined = max(values) if self.metric.multiref == "best" else sum(values) / len(values)
        counts: Counter[str] = Counter()
        for text in {row.candidate, *row.references}:
            unknown = sum(not self.model.words.knows(word) for word in words[text])
            counts.update({"empty": int(not words[text]), "unknown-token": unknown})
        return Segment(row.id, {"score": combined}, {name: count for name, count in counts.items() if count})
