"""Batches: which sequences run together, how they are padded, and what happens when memory is short.

Results are put back by index, which is the inverse permutation (re-sorting by the forward one pairs the wrong texts, as
torchmetrics does). Attention can be masked; convolutions (ConvBERT), Fourier mixing (FNet), neighbour embeddings
(MobileBERT) and landmarks (Nyströmformer) are not, and there a padded batch would change scores: `padding_sensitive`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from evalign.errors import ModelError
from evalign.types import Floats, Ints

TOKEN_BUDGET = 512  # measured on CPU: up to here activations stay in the cache, and small batches need less padding
PROBE_TOKENS, PROBE_WIDTH = 11, 14  # longer than the kernels that are in use (ConvBERT's is 9)
PROBE_TOLERANCE = {"fp32": 1e-4, "bf16": 0.2, "fp16": 0.2}
# Known to be padding-sensitive, also where half precision or a short probe would hide it; BigBird's kind of attention
# follows from the width of a batch.
PADDING_SENSITIVE = frozenset(
    ("big_bird", "bigbird_pegasus", "convbert", "fnet", "mobilebert", "nystromformer", "yoso")
)
# torch's own error class derives from RuntimeError, and its CPU allocator raises a plain RuntimeError.
OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory",
                 "failed to allocate memory", "bad_alloc")  # fmt: skip
Result = TypeVar("Result")


def plan_batches(lengths: Sequence[int], budget: int = TOKEN_BUDGET, one_length: bool = False) -> list[list[int]]:
    """Indices by batch, longest first; rows times the longest length stays within `budget`.

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
    """(sequences, width) of ids, filled up with `pad_id`, and the mask of the real ones; as wide as the longest."""
    width = width or max(map(len, sequences))
    ids = np.full((len(sequences), width), pad_id, dtype=np.int64)
    mask = np.zeros((len(sequences), width), dtype=np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    return ids, mask


def padding_sensitive(forward: Callable[[Ints, Ints], Floats], vocabulary: int, pad_id: int, precision: str) -> bool:
    """Whether the same tokens have other vectors where padding follows them."""
    ids = np.array([[token for token in range(min(vocabulary, PROBE_TOKENS + 1)) if token != pad_id][:PROBE_TOKENS]])
    filled = np.full((1, PROBE_WIDTH), pad_id, dtype=np.int64)
    filled[:, : ids.shape[1]] = ids
    alone = forward(ids, np.ones_like(ids))
    padded = forward(filled, (np.arange(PROBE_WIDTH)[None] < ids.shape[1]).astype(np.int64))[:, :, : ids.shape[1]]
    return bool(np.linalg.norm(_unit(alone) - _unit(padded), axis=-1).max() > PROBE_TOLERANCE[precision])


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))


def out_of_memory(error: BaseException) -> bool:
    """Whether running the same thing in smaller batches may help."""
    if isinstance(error, MemoryError):
        return True
    native = isinstance(error, RuntimeError) or type(error).__module__.startswith("onnxruntime.")
    return native and any(message in str(error).lower() for message in OUT_OF_MEMORY)


def in_halves(
    run: Callable[[slice], Result], rows: slice, shrink: Callable[[], None], describe: Callable[[int], str]
) -> list[Result]:
    """What `run` gives for a batch's rows: one result for all or, where memory is short, one for each part of them.

    `shrink` is told of every halving; `describe` says on what, and with how many tokens, a single row does not fit.
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
