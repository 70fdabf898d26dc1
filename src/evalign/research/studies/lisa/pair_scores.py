"""Scores of the same pairs with and without padding tokens, and after every number of rounds of a recursion.

In: pairs of texts with vectors, their tokens marked as text, padding or neither. Out: precision, recall and F1 per pair
for every treatment of padding (masked, or match targets that weigh 0 or 1), and the `PARTS` that explain them; the
`ROUND_FIELDS` after 0 to 20 rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalign.core import Bools, Embedded, Floats
from evalign.encoders.base import Encoder
from evalign.matching.assignment import best_of_columns
from evalign.matching.base import Matching, MatchResult, f1, solve_all, weighted_mean
from evalign.matching.recursion import Recursion
from evalign.matching.registry import METHODS, matching_class
from evalign.matching.similarity import similarity

NONE, MASKED, TARGETS = "none", "masked", "targets"
PARTS = ("text_value", "pad_value", "text_to_pad", "text_unmatched", "pad_unmatched", "pad_share")
MAX_ROUNDS = 20
ROUND_FIELDS = ("total", "optimum", "twice", "f1")


@dataclass(frozen=True, order=True)
class Padding:
    """Treatment of padding: width, whether pads may be matched, and their weight."""

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
        ordinary = ~tokens.special & ~np.isin(tokens.ids, list(encoder.special_ids))
        return cls(embedded, (ordinary if ordinary.any() else ~tokens.special) & ~pads, pads)

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
    for index, (pair, matrix, matched) in enumerate(zip(pairs, matrices, solved, strict=True)):
        for row, weight in enumerate(weights):
            scores[row, index] = prf_of(pair, matched, weight)
        if pair[0].pads.any() or pair[1].pads.any():
            parts[index] = _parts(pair, matrix, matched)
    return scores, parts


def prf_of(pair: Pair, matched: MatchResult, pad_weight: int) -> Floats:
    """Precision, recall and F1 of one pair, with pads of that weight."""
    if not (pair[0].content.any() and pair[1].content.any()):
        return np.zeros(3)  # an empty text: the worst value
    precision, recall = (
        weighted_mean(values, side.content + pad_weight * side.pads.astype(np.float64))
        for values, side in zip((matched.candidate_values, matched.reference_values), pair, strict=True)
    )
    return np.array([precision, recall, f1(precision, recall)])


def _parts(pair: Pair, matrix: Floats, matched: MatchResult) -> Floats:
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
                for matched in matching.by_rounds(matrix, MAX_ROUNDS)
            ]
            numbers[name].append(np.array(rounds, dtype=np.float64))
    return {name: np.stack(rounds) for name, rounds in numbers.items()}


def _total(matched: MatchResult) -> float:
    """Return the sum of the selected cells, at most one per token."""
    return float(min(matched.candidate_values.sum(), matched.reference_values.sum()))


GREEDY = "greedy"
RECURSIVE = "recursive-argmax, paper"
PUBLISHED = "recursive-argmax, authors-as-published"
EXACT = "exact"
ROW_MASK = "row-mask"
MAIN_ALGORITHMS = (GREEDY, EXACT, RECURSIVE, PUBLISHED)  # of the measurements with few matchings
SLOW = (
    "auction-topk, authors",
    "auction",
)  # 0.5 to 2 seconds for 384 x 384 tokens; the other matchings take at most 0.1
FACTOR, ROUNDS = 0.8, 10  # the authors' constants


def _presets(method: str) -> dict[str, Matching]:
    matching = matching_class(method)
    if not issubclass(matching, Recursion):
        return {method: matching()}
    return {f"{method}, {preset}": matching(preset=preset) for preset in matching.constants}


ALGORITHMS: dict[str, Matching] = {GREEDY: matching_class(GREEDY)()}
ALGORITHMS |= {name: matching for method in METHODS for name, matching in _presets(method).items()}
NAMES = tuple(ALGORITHMS)
RECURSIONS: dict[str, Recursion] = {
    name: matching
    for name, matching in ALGORITHMS.items()
    if isinstance(matching, Recursion) and name not in (*SLOW, PUBLISHED, "recursive-topk, mean")
}  # whose number of rounds is varied


def published_cells(matrix: Floats) -> Bools:
    """The cells that the program selects: after its rounds, every column's best row."""
    values = np.asarray(matrix, dtype=np.float64)
    masked = np.eye(len(values), dtype=bool)[:, :, None]
    for _ in range(ROUNDS):
        by_row = np.where(masked, -np.inf, values).max(axis=0)
        by_column = np.where(masked, -np.inf, values.T).max(axis=0).T
        values = values - (by_row + by_column) / FACTOR
    return _by_column(values)


def shares(matrices: Sequence[Floats]) -> dict[str, float]:
    """Return the shares of the program's cells that the column argmax and true matchings select too."""
    published = [published_cells(matrix) for matrix in matrices]
    selections = {"every column's best row": [_by_column(matrix) for matrix in matrices]}
    for name in ("recursive-argmax, authors", "recursive-argmax, paper", EXACT):
        selections[name] = [np.asarray(ALGORITHMS[name].solve(matrix).cells) for matrix in matrices]
    total = sum(int(cells.sum()) for cells in published)
    return {
        name: sum(int((cells & chosen).sum()) for cells, chosen in zip(published, selected, strict=True)) / total
        for name, selected in selections.items()
    }


def _by_column(matrix: Floats) -> Bools:
    whole = np.ones((1, len(matrix)), dtype=bool)
    return np.asarray(best_of_columns(matrix[None], np.zeros_like(matrix)[None], (whole, whole))[0])
