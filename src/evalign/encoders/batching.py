"""Groups sequences of similar length, so that little of a batch is padding.

In: the lengths. Out: lists of indices; results are put back by index, which is the inverse
permutation (re-sorting by the forward one pairs the wrong texts, as torchmetrics does).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalign.types import Ints

TOKEN_BUDGET = 512  # measured on CPU: up to here activations stay in the cache, and small batches need less padding


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
