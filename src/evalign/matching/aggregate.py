"""From what each token is worth to precision, recall and F1."""

from __future__ import annotations

import numpy as np

from evalign.types import Floats


def weighted_mean(values: Floats, weights: Floats) -> Floats:
    """sum(w x) / sum(w) over the last axis; equal weights if they are all zero."""
    total = weights.sum()
    if total <= 0:
        return np.asarray(values.mean(axis=-1, dtype=np.float64))
    return np.asarray(values.astype(np.float64) @ (weights / total))


def f1(precision: Floats, recall: Floats) -> Floats:
    """2PR / (P + R), and 0 unless both are positive: with mixed signs the fraction has no bounds."""
    both = (np.asarray(precision) > 0) & (np.asarray(recall) > 0)
    return np.where(both, 2 * recall * (precision / np.where(both, precision + recall, 1)), 0.0)
