"""What an encoder is, and everything that all of them share: texts in, `Embedded` out.

A backend only gives `forward(ids, mask)`. Deduplication, windows, batches by length and putting the results back in
order are done here, once, for every backend.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from evalign.cancellation import check_stopped
from evalign.encoders.batching import TOKEN_BUDGET, pad, plan_batches
from evalign.encoders.tokenizer import Tokenizer
from evalign.encoders.windows import Window, cut, plan_windows
from evalign.errors import ModelError, TextTooLongError
from evalign.types import Embedded, Floats, Ints, Tokens

SETTLE_TOKENS = 512


class Encoder(Protocol):
    """Texts to token vectors. `layers` are those in `Embedded.vectors`, in that order."""

    name: str  # as signatures show it: weights and the start of their digest
    precision: str
    layers: tuple[int, ...]
    tokenizer_fingerprint: str  # of the vocabulary that an IDF table must have been counted with
    special_ids: frozenset[int]  # of the tokens put around every text; they weigh nothing

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text as `encode` will read them, without running the model."""

    def encode(self, texts: Sequence[str], pad_to: int | None = None) -> list[Embedded]:
        """Vectors of each text; with `pad_to`, of its padding tokens too."""

    def settle(self) -> None:
        """Takes the memory that a long job will need, at its start."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts are read: the limit in tokens, special ones included, and what happens beyond it."""

    overlong: str = "window"
    max_length: int = sys.maxsize
    token_budget: int = TOKEN_BUDGET
    profile: str = "no"  # or how a peer reads (peer_profile.py)

    def within(self, positions: int, tokenizer: Tokenizer) -> Reading:
        """Lowers the limit to what the position table and the tokenizer's own setting allow."""
        limit = min(self.max_length, positions, tokenizer.max_length or sys.maxsize)
        if limit <= tokenizer.frame_length:
            raise ModelError(f"max_length={limit} leaves no room beside {tokenizer.frame_length} special tokens")
        return replace(self, max_length=limit)


class BatchingEncoder(ABC):
    """An encoder without its model: tokens, windows, batches, and the order of the results."""

    def __init__(
        self, name: str, tokenizer: Tokenizer, layers: tuple[int, ...], reading: Reading, pad_id: int, precision: str
    ) -> None:
        self.name, self.precision = name, precision
        self.tokenizer, self.layers, self.reading, self.pad_id = tokenizer, layers, reading, pad_id
        self.tokenizer_fingerprint, self.special_ids = tokenizer.fingerprint, tokenizer.special_ids
        self.one_length = False  # whether padding would change a vector, so that a batch must not have any
        self.real_tokens = 0  # what benchmarks report: tokens of texts,
        self.padded_tokens = 0  # and tokens the model was run on

    @abstractmethod
    def forward(self, ids: Ints, mask: Ints) -> Floats:
        """(layers, batch, tokens, width) of a padded batch."""

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text; over-long ones cut or flagged as `overlong` says."""
        return [self._fit(tokens) for tokens in self.tokenizer(texts)]

    def encode(self, texts: Sequence[str], pad_to: int | None = None) -> list[Embedded]:
        """Vectors of each text: each distinct text is run once, beside texts of similar length.

        `pad_to` is for the study of padding: it also gives the vectors of padding tokens, with the attention mask on.
        """
        tokens = {read.text: read for read in self.tokenize(list(dict.fromkeys(texts)))}
        longest = max(map(len, tokens.values()), default=0)
        if pad_to is not None and not longest <= pad_to <= self.reading.max_length:
            raise ValueError(f"pad_to={pad_to} must lie between {longest} and {self.reading.max_length} tokens")
        windows = {text: self._windows(read) for text, read in tokens.items()}
        ids = [self._ids(tokens[text], window) for text in tokens for window in windows[text]]
        parts = iter(self._run(ids, pad_to))
        embedded = {}
        for text, read in tokens.items():
            vectors = self._stitch([next(parts) for _ in windows[text]], windows[text])
            embedded[text] = Embedded(read if pad_to is None else self._with_pads(read, pad_to), vectors)
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
        stop = len(tokens) - len(self.tokenizer.suffix_ids)
        excess = len(tokens) - self.tokenizer.frame_length - windows[0].stop
        return cut(tokens, range(stop - excess, stop)) if excess else tokens

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

    def _run(self, sequences: Sequence[Sequence[int]], width: int | None) -> list[Floats]:
        """Vectors of each sequence, in the order given; with `width`, all padded to that many tokens."""
        results: dict[int, Floats] = {}
        lengths = [width or len(sequence) for sequence in sequences]
        for batch in plan_batches(lengths, self.reading.token_budget, self.one_length):
            ids, mask = pad([sequences[index] for index in batch], self.pad_id, width)
            check_stopped()
            vectors = self.forward(ids, mask)
            if not np.isfinite(vectors[:, mask > 0]).all():
                raise ModelError(f"{self.name} gave NaN or infinite vectors; damaged weights, or use arithmetic=fp32")
            self.real_tokens += int(mask.sum())
            self.padded_tokens += mask.size
            for place, index in enumerate(batch):
                results[index] = vectors[:, place, : lengths[index]].copy()
        return [results[index] for index in range(len(sequences))]

    def _stitch(self, parts: list[Floats], windows: list[Window]) -> Floats:
        """The vectors of a text from those of its windows, each token from the window that keeps it."""
        if len(parts) == 1:
            return parts[0]
        first, last = len(self.tokenizer.prefix_ids), parts[-1].shape[1] - len(self.tokenizer.suffix_ids)
        middle = [
            part[:, first + window.keep_start - window.start : first + window.keep_stop - window.start]
            for part, window in zip(parts, windows, strict=True)
        ]
        return np.concatenate([parts[0][:, :first], *middle, parts[-1][:, last:]], axis=1)

    def _with_pads(self, tokens: Tokens, width: int) -> Tokens:
        extra = width - len(tokens)
        return replace(
            tokens,
            pieces=tokens.pieces + (self.tokenizer.piece(self.pad_id),) * extra,
            ids=np.concatenate([tokens.ids, np.full(extra, self.pad_id)]),
            offsets=np.concatenate([tokens.offsets, np.zeros((extra, 2), dtype=np.int32)]),
            special=np.concatenate([tokens.special, np.ones(extra, dtype=bool)]),
        )
