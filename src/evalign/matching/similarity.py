"""Cosine similarity of two embedded texts, averaged over layers, whole or in bounded bands; and of n-grams of tokens.

Vectors have 32 bits, products are computed in 64: differences between processors are then below 1e-15, and no
selection depends on them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from evalign.core import Embedded, Floats
from evalign.errors import InputError, SpecError

BAND_CELLS = 4_000_000
GROUP_TOKENS = 4_096  # of texts whose similarity to one other is computed in one product


def similarity(candidate: Embedded, reference: Embedded, per_layer: bool = False) -> Floats:
    """Return cosines (candidate tokens, reference tokens), the mean over layers; or one matrix per layer."""
    left, right = (embedded.vectors.astype(np.float64) for embedded in (candidate, reference))
    scaled: Floats = np.matmul(left, right.transpose(0, 2, 1))
    scaled /= candidate.norms[:, :, None]
    scaled /= reference.norms[:, None, :]
    np.clip(scaled, -1, 1, out=scaled)  # rounding may step over the ends
    if per_layer:
        return scaled
    return np.asarray(scaled[0] if len(scaled) == 1 else scaled.mean(axis=0))


def bands(candidate: Embedded, reference: Embedded) -> Iterator[Floats]:
    """Yield the same matrix in bands of candidate tokens, for texts whose whole matrix would not fit in memory."""
    height = max(1, BAND_CELLS // max(1, len(reference.tokens)))
    if len(candidate.tokens) <= height:
        yield similarity(candidate, reference)
        return
    for start in range(0, len(candidate.tokens), height):
        within = (np.arange(len(candidate.tokens)) // height) == start // height
        yield similarity(candidate.keep(within), reference)


def similarity_to_all(candidate: Embedded, references: Sequence[Embedded]) -> Iterator[Floats]:
    """Yield the similarity of one text to each of several; one matrix product serves many short texts."""
    for group in _groups_of_tokens(references):
        vectors = np.concatenate([reference.vectors for reference in group], axis=1)
        joined = replace(group[0], vectors=vectors) if len(group) > 1 else group[0]
        matrix = similarity(candidate, joined)
        ends = np.cumsum([reference.vectors.shape[1] for reference in group])
        yield from np.split(matrix, ends[:-1], axis=1)


def _groups_of_tokens(texts: Sequence[Embedded]) -> Iterator[list[Embedded]]:
    """Group neighbours so that a group has at most GROUP_TOKENS tokens, or one text."""
    group: list[Embedded] = []
    for text in texts:
        if group and sum(text_in_group.vectors.shape[1] for text_in_group in [*group, text]) > GROUP_TOKENS:
            yield group
            group = []
        group.append(text)
    if group:
        yield group


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit numpy's BLAS to one thread inside the `with` block.

    Many small matrix products take 5 to 6 times as long with threads.
    """
    return _blas().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries: once is enough


def ngrams(vectors: Floats, weights: Floats, n: int) -> tuple[Floats, Floats]:
    """Average neighbouring token vectors by their weights (MoverScore, Zhao et al. 2019, section 3.1).

        vector of x_i..x_{i+n-1} = sum_k idf_k / (sum_k idf_k) E_k        mass = sum_k idf_k

    N-gram i covers the tokens i, ..., i + n - 1. A text of fewer than n tokens is one n-gram. Neighbours that all
    weigh 0 are averaged equally and have mass 0. Remove tokens that should not take part, such as stop words, before.

    Args:
        vectors: (tokens, width) or (layers, tokens, width).
        weights: One weight per token.
        n: Tokens per n-gram.

    Returns:
        Vectors (..., n-grams, width) in 64 bits and masses (n-grams,).
    """
    tokens = _check(vectors, weights)
    size = min(_check_size(n), tokens)
    count = tokens - size + 1
    windows = np.lib.stride_tricks.sliding_window_view(np.asarray(weights, dtype=np.float64), size)
    masses = windows.sum(axis=1)
    shares = np.where(masses[:, None] > 0, windows / np.where(masses > 0, masses, 1.0)[:, None], 1 / size)
    parts = (shares[:, offset, None] * vectors[..., offset : offset + count, :] for offset in range(size))
    return np.asarray(sum(parts)), masses


def cosines(candidate: Floats, reference: Floats) -> Floats:
    """Return cosines (candidate n-grams, reference n-grams) in 64 bits, the mean over layers; 0 for a zero vector."""
    left, right = (_unit(np.asarray(vectors, dtype=np.float64)) for vectors in (candidate, reference))
    if left.ndim != right.ndim or left.shape[:-2] != right.shape[:-2] or left.shape[-1] != right.shape[-1]:
        raise InputError(f"vectors of shapes {left.shape} and {right.shape} do not come from the same layers")
    table = np.clip(left @ np.swapaxes(right, -1, -2), -1, 1)
    return np.asarray(table.mean(axis=0) if table.ndim == 3 else table)


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def _check(vectors: Floats, weights: Floats) -> int:
    """Check shapes and values, and return the number of tokens."""
    if vectors.ndim not in (2, 3) or weights.shape != vectors.shape[-2:-1]:
        raise InputError(
            "expected vectors (tokens, width) or (layers, tokens, width) and one weight per token, "
            f"got shapes {vectors.shape} and {weights.shape}"
        )
    if not weights.size:
        raise InputError("a text without tokens has no n-grams")
    if not (np.isfinite(vectors).all() and np.isfinite(weights).all()):
        raise InputError("vectors or weights hold NaN or infinite values")
    if weights.min() < 0:
        raise InputError(f"weights: expected no negative ones, got {weights.min():g}")
    return len(weights)


def _check_size(n: int) -> int:
    try:
        size = operator.index(n)
    except TypeError:
        size = 0
    if size < 1:
        raise SpecError(f"n={n!r}: expected the number of tokens in an n-gram, a whole number from 1")
    return size
