"""N-grams of token vectors (MoverScore, Zhao et al. 2019, section 3.1): neighbours averaged by their weights.

    vector of x_i..x_{i+n-1} = sum_k idf_k / (sum_k idf_k) E_k        mass = sum_k idf_k

In: vectors (tokens, width) or (layers, tokens, width) and one weight per token. N-gram i covers the tokens
i, ..., i + n - 1; those that should not take part, such as stop words, are removed before.
"""

from __future__ import annotations

import operator

import numpy as np

from evalign.errors import InputError, SpecError
from evalign.types import Floats


def ngrams(vectors: Floats, weights: Floats, n: int) -> tuple[Floats, Floats]:
    """Vectors (..., n-grams, width) in 64 bits and masses (n-grams,).

    A text of fewer than n tokens is one n-gram. Neighbours that all weigh 0 make a plain mean of mass 0.
    """
    tokens = _check(vectors, weights)
    size = min(_check_size(n), tokens)
    count = tokens - size + 1
    windows = np.lib.stride_tricks.sliding_window_view(np.asarray(weights, dtype=np.float64), size)
    masses = windows.sum(axis=1)
    shares = np.where(masses[:, None] > 0, windows / np.where(masses > 0, masses, 1.0)[:, None], 1 / size)
    parts = (shares[:, place, None] * vectors[..., place : place + count, :] for place in range(size))
    return np.asarray(sum(parts)), masses


def cosines(candidate: Floats, reference: Floats) -> Floats:
    """(candidate n-grams, reference n-grams) in 64 bits, the mean over layers; a zero vector is like nothing."""
    ours, theirs = (_unit(np.asarray(vectors, dtype=np.float64)) for vectors in (candidate, reference))
    if ours.ndim != theirs.ndim or ours.shape[:-2] != theirs.shape[:-2] or ours.shape[-1] != theirs.shape[-1]:
        raise InputError(f"vectors of shapes {ours.shape} and {theirs.shape} do not come from the same layers")
    table = np.clip(ours @ np.swapaxes(theirs, -1, -2), -1, 1)
    return np.asarray(table.mean(axis=0) if table.ndim == 3 else table)


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def _check(vectors: Floats, weights: Floats) -> int:
    """How many tokens there are."""
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
