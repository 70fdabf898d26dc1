"""What the number of rounds does to a recursive assignment: pairs of texts in, numbers after 0 to 20 rounds out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evalign.matching.base import Matched
from evalign.matching.similarity import similarity
from evalign.studies.lisa.matchings import ALGORITHMS, EXACT, RECURSIONS
from evalign.studies.lisa.padding import Pair, prf_of
from evalign.types import Floats

MOST_ROUNDS = 20
ROUND_FIELDS = ("total", "optimum", "twice", "f1")


def scored_by_rounds(pairs: Sequence[Pair], pad_weight: int) -> dict[str, Floats]:
    """By recursion (pairs, rounds, ROUND_FIELDS): what the selected cells add up to, each token counted once; what the
    exact assignment adds up to; how often a token is used again, per selected cell; F1.
    """
    numbers: dict[str, list[Floats]] = {name: [] for name in RECURSIONS}
    for pair in pairs:
        matrix = similarity(pair[0].embedded, pair[1].embedded)
        optimum, count = _total(ALGORITHMS[EXACT].solve(matrix)), min(matrix.shape)
        for name, matching in RECURSIONS.items():
            rounds = [
                [_total(matched), optimum, matched.notes["violations"] / count, prf_of(pair, matched, pad_weight)[2]]
                for matched in matching.by_rounds(matrix, MOST_ROUNDS)
            ]
            numbers[name].append(np.array(rounds, dtype=np.float64))
    return {name: np.stack(rounds) for name, rounds in numbers.items()}


def _total(matched: Matched) -> float:
    """Of all selected cells, a token's best one only."""
    return float(min(matched.candidate_values.sum(), matched.reference_values.sum()))
