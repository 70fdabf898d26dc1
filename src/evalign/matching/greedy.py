"""Greedy matching (BERTScore): every token is matched with its best partner, also if that has been matched already.

A token's value is the maximum of its row or column itself, as in bert_score; the rule of `ties.py` decides which of
several equal partners is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalign.matching.arrays import Array, double, full_masks, namespace, one_hot, valid_cells
from evalign.matching.base import Masks, Matching, MatchResult, Weights
from evalign.matching.ties import best, displacement, on_grid


@dataclass(frozen=True)
class Greedy(Matching):
    """Row and column maxima."""

    key: ClassVar[str] = "greedy"
    about: ClassVar[str] = "every token takes its most similar one"
    separable: ClassVar[bool] = True

    def solve(self, similarity: Array, weights: Weights | None = None, masks: Masks | None = None) -> MatchResult:
        """Return row and column maxima; padding has the value 0."""
        xp = namespace(similarity)
        if not (similarity.shape[-1] and similarity.shape[-2]):
            return MatchResult(similarity, similarity.sum(-1), similarity.sum(-2), lambda: similarity > 0)
        if masks is None:
            rows, columns = xp.amax(similarity, axis=-1), xp.amax(similarity, axis=-2)
        else:
            real = xp.where(valid_cells(masks), similarity, -xp.inf)
            rows = xp.where(masks[0], xp.amax(real, axis=-1), 0.0)
            columns = xp.where(masks[1], xp.amax(real, axis=-2), 0.0)
        return MatchResult(similarity, rows, columns, lambda: selection(similarity, masks))


def selection(similarity: Array, masks: Masks | None = None) -> Array:
    """Select each row's and each column's best cell, as booleans."""
    if similarity.ndim == 2:
        return selection(similarity[None], masks)[0]
    xp = namespace(similarity)
    masks = masks or full_masks(similarity)
    values = xp.where(valid_cells(masks), on_grid(double(similarity)), -xp.inf)
    distance = displacement(masks)
    by_row = one_hot(best(values, distance), values.shape[2])
    by_column = one_hot(best(xp.swapaxes(values, 1, 2), xp.swapaxes(distance, 1, 2)), values.shape[1])
    return (by_row | xp.swapaxes(by_column, 1, 2)) & valid_cells(masks)
