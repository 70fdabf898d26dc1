"""Scores of the same pairs with and without padding tokens, and after every number of rounds of a recursion.

In: pairs of texts with vectors, their tokens marked as text, padding or neither. Out: precision, recall and F1 per pair
for every treatment of padding (masked, or match targets that weigh 0 or 1), and the `PARTS` that explain them; the
`ROUND_FIELDS` after 0 to 20 rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalign.encoders.base import Encoder
from evalign.matching.aggregate import f1, weighted_mean
from evalign.matching.base import Matched, Matching
from evalign.matching.batching import solve_all
from evalign.matching.similarity import similarity
from evalign.studies.lisa.matchings import ALGORITHMS, EXACT, RECURSIONS
from evalign.types import Bools, Embedded, Floats

NONE, MASKED, TARGETS = "none", "masked", "targets"
PARTS = ("text_value", "pad_value", "text_to_pad", "text_unmatched", "pad_unmatched", "pad_share")
MOST_ROUNDS = 20
ROUND_FIELDS = ("total", "optimum", "twice", "f1")


@dataclass(frozen=True, order=True)
class Padding:
    """How padding is treated: to which width, whether pads may be matched, and what they weigh."""

    width: int = 0
    pads: str = NONE
    weight: int = 0

    def __str__(self) -> str:
        if self.pads == NONE:
            return "no padding"
        return f"{self.width}, pads masked" if self.pads == MASKED else f"{self.width}, pads weigh {self.weight}"


PLAIN = Padding()


@dataclass(frozen=True, eq=False)
class Side:
    """A text with its vectors; content tokens weigh 1, special tokens nothing, as in `bertscore`."""

    embedded: Embedded
    content: Bools
    pads: Bools

    @classmethod
    def of(cls, embedded: Embedded, encoder: Encoder, real: int | None = None) -> Side:
        """From vectors whose tokens after the first `real` are padding; None means that there is no padding."""
        tokens = embedded.tokens
        pads = np.arange(len(tokens)) >= (len(tokens) if real is None else real)
        own = ~tokens.special & ~np.isin(tokens.ids, list(encoder.special_ids))
        return cls(embedded, (own if own.any() else ~tokens.special) & ~pads, pads)

    @property
    def unpadded(self) -> Side:
        """The same text with its padding masked, which is the same as cut off."""
        real = ~self.pads
        return Side(self.embedded.keep(real), self.content[real], self.pads[real])

    def first(self, width: int) -> Side:
        """The same text padded to no more than `width`; pads are not seen, so that its vectors stay what they were."""
        within = np.arange(len(self.pads)) < width
        return Side(self.embedded.keep(within), self.content[within], self.pads[within])


Pair = tuple[Side, Side]


def matrices_of(pairs: Sequence[Pair]) -> list[Floats]:
    """The similarity matrix of every pair."""
    return [similarity(candidate.embedded, reference.embedded) for candidate, reference in pairs]


def score(
    matching: Matching, pairs: Sequence[Pair], matrices: Sequence[Floats], weights: Sequence[int] = (0,)
) -> tuple[Floats, Floats]:
    """(weights, pairs, 3) precision, recall and F1 with pads of each weight; (pairs, parts) as `PARTS` names them."""
    scores = np.zeros((len(weights), len(pairs), 3))
    parts = np.zeros((len(pairs), len(PARTS)))
    solved = solve_all(matching, matrices)
    for place, (pair, matrix, matched) in enumerate(zip(pairs, matrices, solved, strict=True)):
        for row, weight in enumerate(weights):
            scores[row, place] = prf_of(pair, matched, weight)
        if pair[0].pads.any() or pair[1].pads.any():
            parts[place] = _parts(pair, matrix, matched)
    return scores, parts


def prf_of(pair: Pair, matched: Matched, pad_weight: int) -> Floats:
    """Precision, recall and F1 of one pair, with pads of that weight."""
    if not (pair[0].content.any() and pair[1].content.any()):
        return np.zeros(3)  # an empty text: the worst value
    precision, recall = (
        weighted_mean(values, side.content + pad_weight * side.pads.astype(np.float64))
        for values, side in zip((matched.candidate_values, matched.reference_values), pair, strict=True)
    )
    return np.array([precision, recall, f1(precision, recall)])


def _parts(pair: Pair, matrix: Floats, matched: Matched) -> Floats:
    """The values of text and padding tokens of both sides, and how many are matched with a pad or not at all."""
    chosen = np.where(matched.cells, matrix, -np.inf)
    values = np.concatenate([matched.candidate_values, matched.reference_values])
    used = np.concatenate([matched.cells.any(axis=1), matched.cells.any(axis=0)])
    to_pad = np.concatenate([pair[1].pads[chosen.argmax(axis=1)], pair[0].pads[chosen.argmax(axis=0)]]) & used
    text = np.concatenate([pair[0].content, pair[1].content])
    pads = np.concatenate([pair[0].pads, pair[1].pads])
    return np.array([
        _mean(values[text]), _mean(values[pads]), _mean(to_pad[text]), _mean(~used[text]), _mean(~used[pads]),
        pads.sum() / max(1, (pads | text).sum()),
    ])  # fmt: skip


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0


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
