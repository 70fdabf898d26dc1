"""Cosine similarity of two embedded texts, averaged over layers, whole or in bounded bands.

Vectors come in 32 bits, products are computed in 64: what is left of a processor's way of summing is then below 1e-15,
and nobody's choice depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evalign.types import Embedded, Floats

BAND_CELLS = 4_000_000


def similarity(candidate: Embedded, reference: Embedded, per_layer: bool = False) -> Floats:
    """(candidate tokens, reference tokens) cosines, the mean over layers; or one matrix per layer."""
    ours, theirs = (embedded.vectors.astype(np.float64) for embedded in (candidate, reference))
    scaled: Floats = np.matmul(ours, theirs.transpose(0, 2, 1))
    scaled /= candidate.norms[:, :, None]
    scaled /= reference.norms[:, None, :]
    np.clip(scaled, -1, 1, out=scaled)  # rounding may step over the ends
    if per_layer:
        return scaled
    return np.asarray(scaled[0] if len(scaled) == 1 else scaled.mean(axis=0))


def bands(candidate: Embedded, reference: Embedded) -> Iterator[Floats]:
    """The same matrix in bands of candidate tokens, for texts whose whole matrix would not fit in memory."""
    height = max(1, BAND_CELLS // max(1, len(reference.tokens)))
    if len(candidate.tokens) <= height:
        yield similarity(candidate, reference)
        return
    for start in range(0, len(candidate.tokens), height):
        within = (np.arange(len(candidate.tokens)) // height) == start // height
        yield similarity(candidate.keep(within), reference)
