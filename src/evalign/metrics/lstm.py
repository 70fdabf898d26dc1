"""The pre-transformer baseline: cosine of two sentence vectors from a bidirectional LSTM that `evalign train` made.

Scores without torch: the file holds everything, and numpy runs the cell.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from evalign.encoders.lstm.encoder import LSTMModel, Trace, sentence_vectors, trace
from evalign.encoders.lstm.file import HOW_TO_TRAIN, load_lstm
from evalign.encoders.lstm.words import split_words
from evalign.errors import SpecError
from evalign.metrics.base import Metric, Scorer
from evalign.metrics.blas import one_blas_thread
from evalign.metrics.options import option
from evalign.metrics.signature import Signature
from evalign.types import Floats, Row, Segment
from evalign.version import __version__


@dataclass(frozen=True)
class LSTM(Metric):
    """Cosine of the sentence vectors of a trained bidirectional LSTM."""

    name: ClassVar[str] = "lstm"
    about: ClassVar[str] = "cosine of sentence vectors of a bidirectional LSTM (Hochreiter & Schmidhuber 1997)"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    explainer: ClassVar[str] = "lstm:explain_lstm"

    file: str = option("", "what `evalign train --lstm` wrote: its folder, or the .safetensors file in it")
    multiref: str = option("max", "how several references become one score", ("max", "mean"))

    def scorer(self, rows: Iterable[Row] | None = None) -> LSTMScorer:
        """Reads the file."""
        return LSTMScorer(self, *self._load())

    def trace(self, text: str) -> Trace:
        """What every gate does at every word of a text."""
        return trace(self._load()[0], text)

    def _load(self) -> tuple[LSTMModel, str]:
        if not self.file:
            raise SpecError(f"lstm needs a trained file, as in lstm(file=FILE); {HOW_TO_TRAIN}")
        return load_lstm(self.file)

    @property
    def label(self) -> str:
        """The file's or folder's own name, as signatures show it."""
        return Path(self.file).resolve().name

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """Rebuilds the metric; its file must lie in the current folder, and be the same."""
        label, _, digest = signature.settings.get("file", "").rpartition("@")
        if not os.path.exists(label):
            raise SpecError(f"{signature}: {label} is not in the current folder; write the spec, lstm(file=PATH)")
        metric = cls(file=label, multiref=signature.settings.get("multiref", "max"))
        present = metric._load()[1]
        if present[:8] != digest:
            raise SpecError(f"the signature pins {label}@{digest}, but what is found here is {label}@{present[:8]}")
        return metric


class LSTMScorer(Scorer):
    """The metric with its file loaded."""

    def __init__(self, metric: LSTM, model: LSTMModel, digest: str) -> None:
        self.metric = metric
        self.model = model
        settings = {"file": f"{metric.label}@{digest[:8]}", "pool": model.pooling, "multiref": metric.multiref}
        self.signature = Signature(metric.name, settings | {"v": __version__})

    def score(self, rows: list[Row]) -> list[Segment]:
        """Every distinct text of the block is read once."""
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
        combined = max(values) if self.metric.multiref == "max" else sum(values) / len(values)
        counts: Counter[str] = Counter()
        for text in {row.candidate, *row.references}:
            unknown = sum(not self.model.words.knows(word) for word in words[text])
            counts.update({"empty": int(not words[text]), "unknown-token": unknown})
        return Segment(row.id, {"score": combined}, {name: count for name, count in counts.items() if count})
