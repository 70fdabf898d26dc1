"""A bidirectional LSTM as a `Trainee`: training texts and settings in, the file that `lstm(file=...)` scores with out.

The cell is that of `encoders/lstm/cell.py`; here its arrays are torch parameters, and dropout is added.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evalign.encoders.digest import file_digest
from evalign.encoders.locating import locate
from evalign.encoders.lstm.cell import GATES, CellWeights
from evalign.encoders.lstm.encoder import POOLINGS, LSTMModel
from evalign.encoders.lstm.file import FILE_NAME, save_lstm
from evalign.encoders.lstm.words import split_words, word_vectors
from evalign.errors import InputError, SpecError, nearest
from evalign.tuning.lstm_start import RANDOM, model_start, random_start, word_width
from evalign.tuning.micro_batches import CosineObjective
from evalign.tuning.trainee import Objective, torch
from evalign.version import __version__


@dataclass(frozen=True)
class LSTMSettings:
    """Everything but the texts that decides an untrained encoder. docs/lstm.md says how the defaults were chosen."""

    width: int = 128  # of a word's vector; fewer if the model to begin with has fewer
    size: int = 128  # of the cell state, per direction
    pooling: str = "mean"
    buckets: int = 4096  # rows for the letter groups of unknown words
    start: str = "minilm"  # whose word vectors to begin with: a model, or `random`
    learn_words: bool = False  # word vectors are trained too; random ones always are
    dropout: float = 0.2  # of the numbers of word vectors, in training
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
    """An untrained encoder whose vocabulary comes from `texts`; the same texts and settings give the same one."""

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
        """(texts, 2 size), with dropout in training mode."""
        vectors, lengths = word_vectors(self.table, self.words, [split_words(text) for text in texts])
        vectors = torch.nn.functional.dropout(vectors, self.settings.dropout, self.training)
        return torch.as_tensor(self._model().pooled_states(vectors, lengths))

    def state(self) -> dict[str, torch.Tensor]:
        """What is trained, by name; word vectors only if they are."""
        return dict(self.named_parameters())

    def objective(self, loss: str) -> Objective:
        """The cosines of pairs."""
        return CosineObjective.named(self, loss)

    def save(self, path: Path, record: Mapping[str, Any] | None = None) -> None:
        """Writes the file for `lstm(file=...)` into a folder, or under a name that is not one."""
        save_lstm(self._model(), path / FILE_NAME if path.is_dir() else path)

    def _model(self) -> LSTMModel:
        weights = CellWeights(self.from_word, self.from_hidden, self.bias)
        training = self._training | {"evalign": __version__, "torch": str(torch.__version__)}
        return LSTMModel(self.words, self.table, weights, self.settings.pooling, training)


def _untrained(settings: LSTMSettings) -> list[torch.nn.Parameter]:
    """Uniform within 1/sqrt(size), as in torch; the forget gate starts open, so that early words are not lost."""
    source = torch.Generator().manual_seed(settings.seed)
    columns, bound = len(GATES) * settings.size, 1 / math.sqrt(settings.size)
    from_word, from_hidden = (
        (2 * torch.rand(2, rows, columns, generator=source) - 1) * bound for rows in (settings.width, settings.size)
    )
    bias = torch.zeros(2, columns)
    bias[:, : settings.size] = 1.0  # the first of GATES
    return [torch.nn.Parameter(tensor) for tensor in (from_word, from_hidden, bias)]
