"""What an encoder is, and everything that all of them share: texts in, `Embedded` out.

A backend only gives `forward(ids, mask)`. Deduplication, windows, batches by length and putting
the results back in order are done here, once, for every backend.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from evalign.cancellation import check_stopped
from evalign.encoders.batching import TOKEN_BUDGET, pad, plan_batches
from evalign.encoders.tokenizer import Tokenizer
from evalign.encoders.windows import Window, plan_windows
from evalign.errors import ModelError, TextTooLongError
from evalign.types import Embedded, Ints, Tokens

SETTLE_TOKENS = 512


class Encoder(Protocol):
    """Texts to token vectors. `layers` are those in `Embedded.vectors`, in that order."""

    name: str  # as signatures show it: weights and the start of their digest
    precision: str
    layers: tuple[int, ...]

    @property
    def tokenizer_fingerprint(self) -> str:
        """Which vocabulary an IDF table must have been counted with."""
        ...

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of the tokens put around every text; they weigh nothing."""
        ...

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text as `encode` will read them, without running the model."""
        ...

    def encode(self, texts: Sequence[str], pad_to: int | None = None) -> list[Embedded]:
        """Vectors of each text; with `pad_to`, of its padding tokens too."""
        ...

    def settle(self) -> None:
        """Takes the memory that a long job will need, at its start."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts are read: the limit in tokens, special ones included, and what happens beyond it."""

    overlong: str = "window"
    max_length: int = sys.maxsize
    token_budget: int = TOKEN_BUDGET

    def within(self, positions: int, tokenizer: Tokenizer) -> Reading:
        """Lowers the limit to what the position table and the tokenizer's own setting allow."""
        limit = min(self.max_length, positions, tokenizer.max_length or sys.maxsize)
        if limit <= tokenizer.frame_length:
            raise ModelError(f"max_length={limit} leaves no room beside {tokenizer.frame_length} special tokens")
        return replace(self, max_length=limit)


class BatchingEncoder(ABC):
    """Everything but the model itself."""

    name: str
    precision: str = "fp32"

    def __init__(self, tokenizer: Tokenizer, layers: tuple[int, ...], reading: Reading, pad_id: int) -> None:
        self.tokenizer = tokenizer
        self.layers = layers
        self.reading = reading
        self.pad_id = pad_id
        self.real_tokens = 0  # what benchmarks report: tokens of texts,
        self.padded_tokens = 0  # and tokens the model was run on

    @property
    def tokenizer_fingerprint(self) -> str:
        """Which vocabulary an IDF table must have been counted with."""
        return self.tokenizer.fingerprint

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of the tokens put around every text."""
        return self.tokenizer.special_ids

    @abstractmethod
    def forward(self, ids: Ints, mask: Ints) -> npt.NDArray[np.float32]:
        """(layers, batch, tokens, width) of a padded batch."""

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text; over-long ones cut or flagged as `overlong` says."""
        return [self._fit(tokens) for tokens in self.tokenizer(texts)]

    def encode(self, texts: Sequence[str], pad_to: int | None = None) -> list[Embedded]:
        """Each distinct text is run once; the model never sees a text beside one of unlike length."""
        distinct = list(dict.fromkeys(texts))
        tokens = self.tokenize(distinct)
        if pad_to is not None:
            return self._encode_padded(texts, dict(zip(distinct, tokens, strict=True)), pad_to)
        windows = [self._windows(one) for one in tokens]
        pieces = self._run([self._ids(one, w) for one, some in zip(tokens, windows, strict=True) for w in some])
        embedded = {}
        for text, one, some in zip(distinct, tokens, windows, strict=True):
            parts, pieces = pieces[: len(some)], pieces[len(some) :]
            embedded[text] = Embedded(one, self._stitch(parts, some))
        return [embedded[text] for text in texts]

    def settle(self) -> None:
        """Runs the longest sequences there can be, of ids from all over the vocabulary.

        Buffers then have their final size and the embedding table's pages are mapped: a job that does not fit into
        memory fails in its first minute, not after hours.
        """
        length = min(self.reading.max_length, SETTLE_TOKENS)
        ids = np.linspace(0, self.tokenizer.size - 1, 2 * length).astype(np.int64).reshape(2, length)
        for sequence in ids:
            self.forward(sequence[None], np.ones((1, length), dtype=np.int64))

    def _fit(self, tokens: Tokens) -> Tokens:
        windows = self._windows(tokens)
        if len(windows) > 1:
            first = len(self.tokenizer.prefix_ids)
            return replace(tokens, borders=tuple(first + window.keep_start for window in windows[1:]))
        excess = len(tokens) - self.tokenizer.frame_length - windows[0].stop
        if excess == 0:
            return tokens
        keep = np.ones(len(tokens), dtype=bool)
        stop = len(tokens) - len(self.tokenizer.suffix_ids)
        keep[stop - excess : stop] = False
        return replace(tokens.keep(keep), dropped=excess)

    def _windows(self, tokens: Tokens) -> list[Window]:
        frame = self.tokenizer.frame_length
        try:
            return plan_windows(len(tokens) - frame, self.reading.max_length - frame, self.reading.overlong)
        except TextTooLongError as error:
            raise TextTooLongError(f"{tokens.text[:40]!r}...: {error}") from None

    def _ids(self, tokens: Tokens, window: Window) -> list[int]:
        first = len(self.tokenizer.prefix_ids)
        content = tokens.ids[first + window.start : first + window.stop].tolist()
        return [*self.tokenizer.prefix_ids, *content, *self.tokenizer.suffix_ids]

    def _run(self, sequences: Sequence[Sequence[int]], width: int | None = None) -> list[npt.NDArray[np.float32]]:
        """Vectors of each sequence, in the order given."""
        results: dict[int, npt.NDArray[np.float32]] = {}
        lengths = [width or len(sequence) for sequence in sequences]
        for batch in plan_batches(lengths, self.reading.token_budget):
            ids, mask = pad([sequences[index] for index in batch], self.pad_id, width)
            check_stopped()
            vectors = self.forward(ids, mask)
            if not np.isfinite(vectors[:, mask > 0]).all():
                raise ModelError(f"{self.name} gave NaN or infinite vectors; damaged weights, or use precision=fp32")
            self.real_tokens += int(mask.sum())
            self.padded_tokens += mask.size
            for place, index in enumerate(batch):
                results[index] = vectors[:, place, : lengths[index]].copy()
        return [results[index] for index in range(len(sequences))]

    def _stitch(self, parts: list[npt.NDArray[np.float32]], windows: list[Window]) -> npt.NDArray[np.float32]:
        if len(parts) == 1:
            return parts[0]
        first = len(self.tokenizer.prefix_ids)
        kept = [
            part[:, first + w.keep_start - w.start : first + w.keep_stop - w.start]
            for part, w in zip(parts, windows, strict=True)
        ]
        tail = parts[-1].shape[1] - len(self.tokenizer.suffix_ids)
        return np.concatenate([parts[0][:, :first], *kept, parts[-1][:, tail:]], axis=1)

    def _encode_padded(self, texts: Sequence[str], tokens: dict[str, Tokens], width: int) -> list[Embedded]:
        """For the study of padding: the vectors that padding tokens get, attention mask kept."""
        longest = max(map(len, tokens.values()), default=0)
        if longest > width or width > self.reading.max_length:
            raise ValueError(f"pad_to={width} must lie between {longest} and {self.reading.max_length} tokens")
        vectors = self._run([one.ids.tolist() for one in tokens.values()], width)
        padded = {
            text: Embedded(self._with_pads(one, width), part)
            for (text, one), part in zip(tokens.items(), vectors, strict=True)
        }
        return [padded[text] for text in texts]

    def _with_pads(self, tokens: Tokens, width: int) -> Tokens:
        extra = width - len(tokens)
        return replace(
            tokens,
            pieces=tokens.pieces + (self.tokenizer.piece(self.pad_id),) * extra,
            ids=np.concatenate([tokens.ids, np.full(extra, self.pad_id)]),
            offsets=np.concatenate([tokens.offsets, np.zeros((extra, 2), dtype=np.int32)]),
            special=np.concatenate([tokens.special, np.ones(extra, dtype=bool)]),
        )
