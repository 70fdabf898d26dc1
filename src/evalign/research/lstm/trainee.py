"""A bidirectional LSTM as a `Trainee`: training texts and settings in, the file that `lstm(file=...)` scores with out.

The cell is that of `research/lstm/encoder.py`; here its arrays are torch parameters, and dropout is added.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from evalign.core import Floats
from evalign.encoders.safetensors_headers import TensorLocation, tensor_locations
from evalign.encoders.tokenizer import Tokenizer
from evalign.encoders.weights import file_digest, locate
from evalign.errors import InputError, SpecError, UnsupportedModelError, nearest
from evalign.research.lstm.encoder import (
    FILE_NAME,
    GATES,
    POOLINGS,
    CellWeights,
    LSTMModel,
    WordRows,
    save_lstm,
    split_words,
    word_vectors,
)
from evalign.training.trainee import CosineObjective, Objective, torch
from evalign.version import __version__


@dataclass(frozen=True)
class LSTMSettings:
    """Settings that decide an untrained encoder, besides the texts. docs/lstm.md explains the defaults."""

    width: int = 128  # of a word's vector, at most that of the start model
    size: int = 128  # of the cell state, per direction
    pooling: str = "mean"
    buckets: int = 4096  # rows for the letter groups of unknown words
    start: str = "minilm"  # origin of the word vectors: a model, or `random`
    learn_words: bool = False  # train word vectors too; random vectors are always trained
    dropout: float = 0.2  # of word vectors in training
    seed: int = 12345

    def __post_init__(self) -> None:
        if self.pooling not in POOLINGS:
            raise SpecError(f"unknown pooling {self.pooling!r}; {nearest(self.pooling, POOLINGS)}")
        for name, least in (("width", 1), ("size", 1), ("buckets", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise SpecError(f"{name} must be at least {least}, but is {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise SpecError(f"dropout must be at least 0 and below 1, but is {self.dropout}")


class LSTMTrainee(torch.nn.Module):
    """An untrained encoder with the vocabulary of `texts`; the same texts and settings give the same encoder."""

    def __init__(self, texts: Iterable[str], settings: LSTMSettings | None = None) -> None:
        super().__init__()
        settings = settings or LSTMSettings()
        if settings.start != RANDOM:
            settings = replace(settings, width=min(settings.width, word_width(settings.start)))
        self.settings = settings
        texts = sorted(set(texts))
        if not any(split_words(text) for text in texts):
            raise InputError("the training texts have no words to learn from")
        if settings.start == RANDOM:
            origin = {"start": RANDOM}
            self.words, table = random_start(texts, settings.width, settings.buckets, settings.seed)
        else:
            self.words, table = model_start(texts, settings.width, settings.buckets, settings.start)
            located = locate(settings.start)
            tokenizer = file_digest(located.directory / "tokenizer.json")[:8]
            origin = {"start": located.pinned, "tokenizer": tokenizer}
        self.table = torch.from_numpy(table)
        if settings.learn_words or settings.start == RANDOM:
            self.table = torch.nn.Parameter(self.table)
        self.from_word, self.from_hidden, self.bias = _untrained(settings)
        digest = hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
        self._training: dict[str, object] = asdict(settings) | origin | {"texts": len(texts), "sha256": digest}
        self.name = "lstm|" + "|".join(f"{key}:{value}" for key, value in self._training.items())

    def vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Return sentence vectors (texts, 2 size), with dropout in training mode."""
        vectors, lengths = word_vectors(self.table, self.words, [split_words(text) for text in texts])
        vectors = torch.nn.functional.dropout(vectors, self.settings.dropout, self.training)
        return torch.as_tensor(self._model().pooled_states(vectors, lengths))

    def state(self) -> dict[str, torch.Tensor]:
        """Return the trained tensors by name; word vectors only if they are trained."""
        return dict(self.named_parameters())

    def objective(self, loss: str) -> Objective:
        """Return the objective on the cosines of pairs."""
        return CosineObjective.named(self, loss)

    def save(self, path: Path, record: Mapping[str, Any] | None = None) -> None:
        """Write the file for `lstm(file=...)` into a folder, or to a file path."""
        save_lstm(self._model(), path / FILE_NAME if path.is_dir() else path)

    def _model(self) -> LSTMModel:
        weights = CellWeights(self.from_word, self.from_hidden, self.bias)
        training = self._training | {"evalign": __version__, "torch": str(torch.__version__)}
        return LSTMModel(self.words, self.table, weights, self.settings.pooling, training)


def _untrained(settings: LSTMSettings) -> list[torch.nn.Parameter]:
    """Return initial weights, uniform within 1/sqrt(size) as in torch; the forget gate starts open."""
    source = torch.Generator().manual_seed(settings.seed)
    columns, bound = len(GATES) * settings.size, 1 / math.sqrt(settings.size)
    from_word, from_hidden = (
        (2 * torch.rand(2, rows, columns, generator=source) - 1) * bound for rows in (settings.width, settings.size)
    )
    bias = torch.zeros(2, columns)
    bias[:, : settings.size] = 1.0  # the first of GATES
    return [torch.nn.Parameter(tensor) for tensor in (from_word, from_hidden, bias)]


RANDOM = "random"
EMBEDDINGS = "word_embeddings.weight"
MIN_WORD_COUNT = 2  # rarer words are read as unknown words, so that letter groups are trained


def random_start(texts: Iterable[str], width: int, buckets: int, seed: int) -> tuple[WordRows, Floats]:
    """Return the words that occur at least twice in the texts, with normally distributed vectors."""
    counts = Counter(word for text in texts for word in split_words(text))
    words = WordRows(tuple(sorted(word for word, count in counts.items() if count >= MIN_WORD_COUNT)), buckets)
    table = np.random.default_rng([seed, 1]).standard_normal((words.count, width), dtype=np.float32)
    return words, table


def model_start(texts: Iterable[str], width: int, buckets: int, model: str) -> tuple[WordRows, Floats]:
    """Return the words of the texts and all whole words of the model's vocabulary, with vectors.

    A word's vector is the mean of its pieces' rows in the model's embedding table, in the `width` principal
    directions of whole words; the vector of a letter group is the mean of the whole words that have it.
    """
    directory = locate(model).directory
    rows, tokenizer = _embeddings_location(directory, model).read(), Tokenizer.from_directory(directory)
    if width > rows.shape[1]:
        raise SpecError(
            f"width={width}: the word vectors of {model} have {rows.shape[1]} numbers; use at most that width"
        )
    whole = _whole_words(tokenizer)
    seen = {word for text in texts for word in split_words(text)}
    words = WordRows(tuple(sorted(seen | set(whole))), buckets)
    vectors = _piece_means(words.vocabulary, tokenizer, rows)
    row_of = {word: row for row, word in enumerate(words.vocabulary)}
    vectors = vectors @ _principal(vectors[[row_of[word] for word in whole]], width)
    table = np.concatenate([vectors, _group_means(whole, vectors[[row_of[word] for word in whole]], words)])
    return words, (table / np.sqrt((vectors**2).mean())).astype(np.float32)


def word_width(model: str) -> int:
    """Return the width of the model's word vectors."""
    return _embeddings_location(locate(model).directory, model).shape[1]


def _embeddings_location(directory: Path, model: str) -> TensorLocation:
    locations = tensor_locations(directory)
    names = [name for name in locations if name.endswith(EMBEDDINGS)]
    if len(names) != 1:
        raise UnsupportedModelError(
            f"start={model}: expected one tensor *.{EMBEDDINGS} in it, found {len(names)}; use minilm or random"
        )
    return locations[names[0]]


def _whole_words(tokenizer: Tokenizer) -> list[str]:
    """Return the pieces that are whole words, in alphabetical order."""
    pieces = {tokenizer.piece(index).lstrip("Ġ▁") for index in range(tokenizer.size)}
    return sorted(piece for piece in pieces if split_words(piece) == [piece])


def _piece_means(words: Sequence[str], tokenizer: Tokenizer, rows: Floats) -> Floats:
    means = np.zeros((len(words), rows.shape[1]))
    for index, tokens in enumerate(tokenizer(words)):
        if (pieces := tokens.ids[~tokens.special]).size:
            means[index] = rows[pieces].mean(axis=0)
    return means


def _principal(vectors: Floats, width: int) -> Floats:
    """Return the directions of largest variance (all, width); the vectors are not centred, which scored lower."""
    _, directions = np.linalg.eigh(np.cov(vectors, rowvar=False))
    return np.asarray(directions[:, ::-1][:, :width])


def _group_means(whole: Sequence[str], vectors: Floats, words: WordRows) -> Floats:
    groups = [words.group_rows(word) for word in whole]
    buckets = np.concatenate(groups) - len(words.vocabulary)
    owners = np.repeat(np.arange(len(whole)), [len(rows) for rows in groups])
    has = sparse.csr_matrix((np.ones(len(owners)), (buckets, owners)), shape=(words.buckets, len(whole)))
    return np.asarray(has @ vectors / np.maximum(has.sum(axis=1), 1))
