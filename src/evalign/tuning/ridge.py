"""Ridge regression on standardised features, with free or non-negative weights, chosen by cross-validation.

Pure functions of arrays: features (rows, features), ratings, and the fold of every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalign.types import Floats, Ints

UNBOUNDED = (-np.inf, np.inf)
FEWEST_FOLDS = 3  # one is judged, and the strength is chosen by the others
STRENGTHS = tuple(float(10.0**power) for power in np.arange(-4, 1.5, 0.5))  # shrinkage per row


Ends = tuple[float, float]


@dataclass(frozen=True)
class Shape:
    """How weights may look: how much they are shrunk, and whether more of a feature may only be better."""

    strength: float = 0.1
    nonnegative: bool = False


@dataclass(frozen=True, eq=False)
class Line:
    """y = intercept + sum_i weights_i (x_i - means_i) / scales_i."""

    intercept: float
    means: Floats
    scales: Floats
    weights: Floats

    def __call__(self, features: Floats) -> Floats:
        """(rows, features) -> (rows,)."""
        return np.asarray(self.intercept + ((features - self.means) / self.scales) @ self.weights)


def fit(features: Floats, ratings: Floats, signs: Floats, shape: Shape) -> Line:
    """min |y - Zw|^2 / n + strength |w|^2 over standardised Z; with `nonnegative` no w may go against its sign.

    A feature that is constant has weight 0.
    """
    means, scales = features.mean(axis=0), features.std(axis=0)
    constant = scales <= 1e-12 * np.maximum(1, np.abs(means))
    scales = np.where(constant, 1.0, scales)
    standard = np.where(constant, 0.0, (features - means) / scales)
    centred = ratings - ratings.mean()
    inner = standard.T @ standard / len(ratings) + shape.strength * np.eye(features.shape[1])
    outer = standard.T @ centred / len(ratings)
    if shape.nonnegative:
        from scipy.optimize import nnls

        root = np.linalg.cholesky(inner * np.outer(signs, signs)).T  # |root w - b|^2 is the same function of w
        weights = nnls(root, np.linalg.solve(root.T, outer * signs))[0] * signs
    else:
        weights = np.linalg.solve(inner, outer)
    return Line(float(ratings.mean()), means, scales, weights)


def held_out(
    features: Floats, ratings: Floats, signs: Floats, folds: Ints, shape: Shape, ends: Ends | None = None
) -> Floats:
    """What lines that never saw a row's fold predict for it, within `ends`, or those of the ratings they saw."""
    predicted = np.empty(len(ratings))
    for own, others in _splits(folds):
        line = fit(features[others], ratings[others], signs, shape)
        predicted[own] = np.clip(line(features[own]), *(ends or ends_of(ratings[others])))
    return predicted


def best_shape(
    features: Floats, ratings: Floats, signs: Floats, folds: Ints, shape: Shape, strengths: Sequence[float] = STRENGTHS
) -> Shape:
    """The strength with the smallest held-out squared error."""

    def error(strength: float) -> float:
        predicted = held_out(features, ratings, signs, folds, replace(shape, strength=strength), UNBOUNDED)
        return float(((predicted - ratings) ** 2).mean())

    return replace(shape, strength=min(strengths, key=error))


def honest(
    features: Floats, ratings: Floats, signs: Floats, folds: Ints, shape: Shape, ends: Ends | None = None
) -> Floats:
    """`held_out` in which the strength, too, was chosen without the fold that is predicted; from FEWEST_FOLDS folds."""
    predicted = np.empty(len(ratings))
    for own, others in _splits(folds):
        part = features[others], ratings[others], signs
        line = fit(*part, best_shape(*part, folds[others], shape))
        predicted[own] = np.clip(line(features[own]), *(ends or ends_of(ratings[others])))
    return predicted


def ends_of(ratings: Floats) -> Ends:
    """The lowest and the highest."""
    return float(ratings.min()), float(ratings.max())


def _splits(folds: Ints) -> Iterator[tuple[Ints, Ints]]:
    for fold in np.unique(folds):
        yield np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
