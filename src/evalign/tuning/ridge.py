"""Ridge regression on standardised features, with free or non-negative weights, its strength by cross-validation.

Pure functions: `RatedFeatures` and a `Penalty` in, a `Line` or predictions out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evalign.types import Floats, Ints

UNBOUNDED = (-np.inf, np.inf)
FEWEST_FOLDS = 3  # one is predicted, and the strength is chosen by the others
STRENGTHS = tuple(float(10.0**power) for power in np.arange(-4, 1.5, 0.5))  # shrinkage per row

Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class RatedFeatures:
    """Features (rows, features), the rating and the fold of every row, and the sign (1 or -1) of every feature."""

    features: Floats
    ratings: Floats
    signs: Floats
    folds: Ints

    def part(self, rows: Ints) -> RatedFeatures:
        """Some of the rows."""
        return replace(self, features=self.features[rows], ratings=self.ratings[rows], folds=self.folds[rows])

    def ends(self) -> Ends:
        """The lowest and the highest rating."""
        return float(self.ratings.min()), float(self.ratings.max())

    def splits(self) -> Iterator[tuple[Ints, RatedFeatures]]:
        """For every fold, its rows and the data without them."""
        for fold in np.unique(self.folds):
            yield np.flatnonzero(self.folds == fold), self.part(np.flatnonzero(self.folds != fold))


@dataclass(frozen=True)
class Penalty:
    """How much weights are shrunk, and whether none may go against its feature's sign."""

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


def fit(data: RatedFeatures, penalty: Penalty) -> Line:
    """min |y - Zw|^2 / n + strength |w|^2 over standardised Z; a constant feature has weight 0."""
    features, ratings, signs = data.features, data.ratings, data.signs
    means, scales = features.mean(axis=0), features.std(axis=0)
    constant = scales <= 1e-12 * np.maximum(1, np.abs(means))
    scales = np.where(constant, 1.0, scales)
    standard = np.where(constant, 0.0, (features - means) / scales)
    centred = ratings - ratings.mean()
    inner = standard.T @ standard / len(ratings) + penalty.strength * np.eye(features.shape[1])
    outer = standard.T @ centred / len(ratings)
    if penalty.nonnegative:
        from scipy.optimize import nnls

        root = np.linalg.cholesky(inner * np.outer(signs, signs)).T  # |root w - b|^2 is the same function of w
        weights = nnls(root, np.linalg.solve(root.T, outer * signs))[0] * signs
    else:
        weights = np.linalg.solve(inner, outer)
    return Line(float(ratings.mean()), means, scales, weights)


def held_out(data: RatedFeatures, penalty: Penalty, ends: Ends | None = None, nested: bool = False) -> Floats:
    """For every row, the prediction of a line fitted without its fold, within `ends` or those of the ratings fitted.

    If `nested`, the strength, too, is chosen without the fold that is predicted, which needs FEWEST_FOLDS folds.
    """
    predicted = np.empty(len(data.ratings))
    for rows, others in data.splits():
        line = fit(others, best_penalty(others, penalty) if nested else penalty)
        predicted[rows] = np.clip(line(data.features[rows]), *(ends or others.ends()))
    return predicted


def best_penalty(data: RatedFeatures, penalty: Penalty) -> Penalty:
    """The penalty whose strength has the smallest held-out squared error."""

    def error(strength: float) -> float:
        predicted = held_out(data, replace(penalty, strength=strength), UNBOUNDED)
        return float(((predicted - data.ratings) ** 2).mean())

    return replace(penalty, strength=min(STRENGTHS, key=error))
