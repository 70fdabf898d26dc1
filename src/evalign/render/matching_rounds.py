"""The rounds of a recursive matching: an Alignment in, the cells selected after 0, 1, 2, ... rounds out."""

from __future__ import annotations

import numpy as np

from evalign.errors import SpecError
from evalign.matching.assignment.recursion import SHORTER, Recursion
from evalign.matching.registry import parse
from evalign.types import Alignment

FOLLOWED_CELLS = 20_000  # of the largest matrix whose rounds a page can show: some 140 x 140 tokens
FOLLOWED_ROUNDS = 30


def rounds_of(alignment: Alignment) -> list[list[list[int]]]:
    """By round, cells (candidate token, reference token), the last being the alignment's own.

    Nothing where there are no rounds, too many, or where the result was repaired after them.
    """
    settings = [part for part in alignment.matching.split(",") if not part.startswith("denominator=")]
    try:
        matching = parse(",".join(settings))
    except SpecError:  # a matching of somebody's own
        return []
    size = alignment.similarity.size
    if not isinstance(matching, Recursion) or matching.strict or not 0 < size <= FOLLOWED_CELLS:
        return []
    rounds = matching.own_constants[1]
    rounds = min(alignment.similarity.shape) if rounds == SHORTER else rounds
    if not 0 < rounds <= FOLLOWED_ROUNDS:
        return []
    weights = alignment.candidate_weights, alignment.reference_weights
    return [
        np.argwhere(matched.cells).tolist() for matched in matching.by_rounds(alignment.similarity, rounds, weights)
    ]
