"""Whether padding changes a model's vectors: a forward function in, the largest change of a token vector out.

Attention can be masked; convolutions (ConvBERT), Fourier mixing (FNet), neighbour embeddings (MobileBERT) and landmarks
(Nyströmformer) are not, and there a score would depend on the batch it was computed in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evalign.types import Floats, Ints

TOKENS, WIDTH = 11, 14  # longer than the kernels that are in use (ConvBERT's is 9)
TOLERANCE = {"fp32": 1e-4, "bf16": 0.2, "fp16": 0.2}
# Known to be padding-sensitive, also where half precision or a short probe would hide it; BigBird's kind of attention
# follows from the width of a batch.
PADDING_SENSITIVE = frozenset(
    ("big_bird", "bigbird_pegasus", "convbert", "fnet", "mobilebert", "nystromformer", "yoso")
)


def padding_sensitive(forward: Callable[[Ints, Ints], Floats], vocabulary: int, pad_id: int, precision: str) -> bool:
    """Whether the same tokens have other vectors where padding follows them."""
    ids = np.array([[token for token in range(min(vocabulary, TOKENS + 1)) if token != pad_id][:TOKENS]])
    filled = np.full((1, WIDTH), pad_id, dtype=np.int64)
    filled[:, : ids.shape[1]] = ids
    alone = forward(ids, np.ones_like(ids))
    padded = forward(filled, (np.arange(WIDTH)[None] < ids.shape[1]).astype(np.int64))[:, :, : ids.shape[1]]
    return bool(np.linalg.norm(_unit(alone) - _unit(padded), axis=-1).max() > TOLERANCE[precision])


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))
