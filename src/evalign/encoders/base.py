"""Encoders: texts in, token vectors (`Embedded`) out. Windows of over-long texts, batches, padding, order of results.

A backend subclasses `BatchingEncoder` and runs padded batches. Results are put back by index, the inverse permutation
(re-sorting by the forward one pairs the wrong texts, as torchmetrics does). Attention can be masked; convolutions
(ConvBERT), Fourier mixing (FNet), neighbour embeddings (MobileBERT) and landmarks (Nyströmformer) cannot, and padding
would change their vectors: `padding_sensitive` detects them.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np

from evalign.core import Embedded, Floats, Ints, Tokens
from evalign.core.scoring import check_stopped
from evalign.encoders.tokenizer import Tokenizer
from evalign.errors import ModelError, TextTooLongError

TOKEN_BUDGET = 512  # measured on CPU: up to here activations stay in the cache, and small batches need less padding
PROBE_TOKENS, PROBE_WIDTH = 11, 14  # longer than the kernels that are in use (ConvBERT's is 9)
PROBE_TOLERANCE = {"fp32": 1e-4, "bf16": 0.2, "fp16": 0.2}
# Known to be padding-sensitive, even where half precision or a short probe would hide it; BigBird's attention depends
# on the width of a batch.
PADDING_SENSITIVE = frozenset(
    ("big_bird", "bigbird_pegasus", "convbert", "fnet", "mobilebert", "nystromformer", "yoso")
)
# torch's error class derives from RuntimeError, and its CPU allocator raises a plain RuntimeError.
OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory",
                 "failed to allocate memory", "bad_alloc")  # fmt: skip
Result = TypeVar("Result")


def plan_batches(lengths: Sequence[int], budget: int = TOKEN_BUDGET, one_length: bool = False) -> list[list[int]]:
    """Return indices by batch, longest first; rows times the longest length is at most `budget`.

    With `one_length` a batch holds sequences of one length only, so that none is padded.
    """
    batches: list[list[int]] = []
    room = 0
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if room == 0 or (one_length and lengths[index] != lengths[batches[-1][0]]):
            batches.append([])
            room = max(1, budget // max(1, lengths[index]))
        batches[-1].append(index)
        room -= 1
    return batches


def pad(sequences: Sequence[Sequence[int]], pad_id: int, width: int | None = None) -> tuple[Ints, Ints]:
    """Pad ids to (sequences, width) with `pad_id`, the longest by default; return ids and the mask of real ones."""
    width = width or max(map(len, sequences))
    ids = np.full((len(sequences), width), pad_id, dtype=np.int64)
    mask = np.zeros((len(sequences), width), dtype=np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    return ids, mask


def padding_sensitive(forward: Callable[[Ints, Ints], Floats], vocabulary: int, pad_id: int, precision: str) -> bool:
    """Return whether padding after the tokens changes their vectors."""
    ids = np.array([[token for token in range(min(vocabulary, PROBE_TOKENS + 1)) if token != pad_id][:PROBE_TOKENS]])
    filled = np.full((1, PROBE_WIDTH), pad_id, dtype=np.int64)
    filled[:, : ids.shape[1]] = ids
    alone = forward(ids, np.ones_like(ids))
    padded = forward(filled, (np.arange(PROBE_WIDTH)[None] < ids.shape[1]).astype(np.int64))[:, :, : ids.shape[1]]
    return bool(np.linalg.norm(_unit(alone) - _unit(padded), axis=-1).max() > PROBE_TOLERANCE[precision])


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error may be avoided by smaller batches."""
    if isinstance(error, MemoryError):
        return True
    native = isinstance(error, RuntimeError) or type(error).__module__.startswith("onnxruntime.")
    return native and any(message in str(error).lower() for message in OUT_OF_MEMORY)


def in_halves(
    run: Callable[[slice], Result], rows: slice, shrink: Callable[[], None], describe: Callable[[int], str]
) -> list[Result]:
    """Run a batch; where memory is short, run its halves instead, recursively.

    Args:
        run: Runs some rows of the batch.
        rows: Rows to run.
        shrink: Called at every halving.
        describe: Describes a single row that does not fit, for the error.

    Returns:
        One result for all rows, or one for each part.
    """
    try:
        return [run(rows)]
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        if rows.stop - rows.start == 1:
            advice = "lower max_length, use a smaller model, or another device"
            raise ModelError(f"out of memory on {describe(rows.start)}; {advice}") from error
    shrink()
    middle = (rows.start + rows.stop) // 2
    halves = slice(rows.start, middle), slice(middle, rows.stop)
    return [result for half in halves for result in in_halves(run, half, shrink, describe)]


POLICIES = ("window", "truncate", "error")


@dataclass(frozen=True, slots=True)
class Window:
    """A window of tokens [start, stop), of which [keep_start, keep_stop) are used; special tokens not counted."""

    start: int
    stop: int
    keep_start: int
    keep_stop: int


def plan_windows(count: int, room: int, policy: str) -> list[Window]:
    """Return windows for `count` tokens into a model with room for `room` of them, special tokens not counted."""
    if count <= room:
        return [Window(0, count, 0, count)]
    if policy == "truncate":
        return [Window(0, room, 0, room)]
    if policy == "error":
        raise TextTooLongError(
            f"a text has {count} tokens and the model reads {room}; shorten it, or use overlong=window or truncate"
        )
    stride = max(1, room // 2)
    starts = [*range(0, count - room, stride), count - room]
    # Borders are in the middle of overlaps: there a token is equally far from the end of one window and from the start
    # of the next.
    borders = [0, *((left + room + right) // 2 for left, right in pairwise(starts)), count]
    return [
        Window(start, start + room, keep_start, keep_stop)
        for start, keep_start, keep_stop in zip(starts, borders[:-1], borders[1:], strict=True)
    ]


def cut(tokens: Tokens, positions: Sequence[int] | Ints) -> Tokens:
    """Return the text without the tokens at these positions, which are counted as dropped."""
    selected = np.ones(len(tokens), dtype=bool)
    selected[positions] = False
    return replace(tokens.keep(selected), dropped=len(positions))


SETTLE_TOKENS = 512


class Encoder(Protocol):
    """Texts to token vectors. `layers` are those in `Embedded.vectors`, in that order."""

    name: str  # in signatures: weights and the start of their digest
    precision: str
    layers: tuple[int, ...]
    tokenizer_fingerprint: str  # of the vocabulary that an IDF table must have been counted with
    special_ids: frozenset[int]  # of the tokens put around every text; they weigh nothing

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text as `encode` reads them, without running the model."""

    def encode(self, texts: Sequence[str], pad_to: int | None = None) -> list[Embedded]:
        """Return the vectors of each text; with `pad_to`, of its padding tokens too."""

    def settle(self) -> None:
        """Allocate the memory that a long job needs, at its start."""


@dataclass(frozen=True, slots=True)
class EncodeOptions:
    """Options of encoding.

    Attributes:
        overlong: Policy for texts beyond the limit: window, truncate or error.
        max_length: Limit in tokens, special ones included.
        token_budget: Tokens per batch.
        profile: Tokenizer behaviour of a peer (`tokenizer.PROFILES`), or no.
    """

    overlong: str = "window"
    max_length: int = sys.maxsize
    token_budget: int = TOKEN_BUDGET
    profile: str = "no"

    def within(self, positions: int, tokenizer: Tokenizer) -> EncodeOptions:
        """Lower the limit to that of the position table and of the tokenizer's settings."""
        limit = min(self.max_length, positions, tokenizer.max_length or sys.maxsize)
        if limit <= tokenizer.frame_length:
            raise ModelError(f"max_length={limit} leaves no room beside {tokenizer.frame_length} special tokens")
        return replace(self, max_length=limit)


class BatchingEncoder(ABC):
    """Base of encoders: tokens, windows, batches and the order of results; a subclass runs the model."""

    def __init__(
        self,
        name: str,
        tokenizer: Tokenizer,
        layers: tuple[int, ...],
        reading: EncodeOptions,
        pad_id: int,
        precision: str,
    ) -> None:
        self.name, self.precision = name, precision
        self.tokenizer, self.layers, self.reading, self.pad_id = tokenizer, layers, reading, pad_id
        self.tokenizer_fingerprint, self.special_ids = tokenizer.fingerprint, tokenizer.special_ids
        self.one_length = False  # true if padding changes vectors, so that a batch must not have any
        self.real_tokens = 0  # for benchmarks: tokens of texts
        self.padded_tokens = 0  # for benchmarks: tokens the model was run on

    @abstractmethod
    def forward(self, ids: Ints, mask: Ints) -> Floats:
        """Return (layers, batch, tokens, width) of a padded batch."""

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text; over-long ones cut or flagged as `overlong` says."""
        return [self._fit(tokens) for tokens in self.tokenizer(texts)]

    def encode(self, texts: Sequence[str], pad_to: int | None = None) -> list[Embedded]:
        """Return the vectors of each text; each distinct text is run once, in a batch of similar lengths.

        `pad_to` is for the study of padding: it also returns the vectors of padding tokens, with the attention mask
        on.
        """
        tokens = {read_tokens.text: read_tokens for read_tokens in self.tokenize(list(dict.fromkeys(texts)))}
        longest = max(map(len, tokens.values()), default=0)
        if pad_to is not None and not longest <= pad_to <= self.reading.max_length:
            raise ValueError(f"pad_to={pad_to} must lie between {longest} and {self.reading.max_length} tokens")
        windows = {text: self._windows(read_tokens) for text, read_tokens in tokens.items()}
        ids = [self._ids(tokens[text], window) for text in tokens for window in windows[text]]
        parts = iter(self._run(ids, pad_to))
        embedded = {}
        for text, read_tokens in tokens.items():
            vectors = self._stitch([next(parts) for _ in windows[text]], windows[text])
            embedded[text] = Embedded(read_tokens if pad_to is None else self._with_pads(read_tokens, pad_to), vectors)
        return [embedded[text] for text in texts]

    def settle(self) -> None:
        """Run the longest possible sequences, of ids from all over the vocabulary.

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
            return replace(tokens, window_starts=tuple(first + window.keep_start for window in windows[1:]))
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
        """Return the vectors of each sequence in order; with `width`, all are padded to that many tokens."""
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
            for row, index in enumerate(batch):
                results[index] = vectors[:, row, : lengths[index]].copy()
        return [results[index] for index in range(len(sequences))]

    def _stitch(self, parts: list[Floats], windows: list[Window]) -> Floats:
        """Join the vectors of a text's windows; each token from the window that keeps it."""
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
