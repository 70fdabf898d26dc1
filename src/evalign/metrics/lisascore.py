"""LiSAScore (Mander & Phillips): linear sum assignment instead of greedy matching.

a_i = S of candidate token i's selected cell or 0, b_j likewise; P = sum w_i a_i / sum w, R = sum v_j b_j / sum v.
No token is matched twice, so repeated and padded text gains nothing: P <= k/n and R <= k/m with k = min(n, m).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalign.encoders.memory import EmbeddingMemory
from evalign.encoders.opening import open_encoder
from evalign.errors import TextTooLongError
from evalign.matching.assignment import Assigner, cell_values
from evalign.matching.methods import METHODS, PRESETS
from evalign.matching.similarity import similarity
from evalign.metrics.base import option
from evalign.metrics.baseline import Baseline
from evalign.metrics.prf import PRFMetric, PRFScorer, prf
from evalign.metrics.tokens import Matched, Side
from evalign.stopping import check_stopped
from evalign.text.idf import TokenWeights
from evalign.types import Floats, Ints, Row

DENOMINATORS = ("own", "min", "max")
OBJECTIVES = ("similarity", "weighted")
BATCH_CELLS = 250_000  # of padded matrices assigned at once
MATRIX_CELLS = 16_000_000  # an assignment needs its whole matrix


@dataclass(frozen=True)
class LiSAScore(PRFMetric):
    """Linear sum assignment of token vectors."""

    name: ClassVar[str] = "lisascore"
    about: ClassVar[str] = "linear sum assignment of contextual token vectors (Mander & Phillips)"

    method: str = option("exact", "how the assignment is found", METHODS)
    preset: str = option("paper", "constants of the recursive methods", PRESETS)
    strict: bool = option(False, "repair the results of methods that use a token twice")
    denominator: str = option("own", "divide by each side's own weight, or by the smaller or larger one", DENOMINATORS)
    objective: str = option("similarity", "maximise similarity, or similarity weighted by IDF", OBJECTIVES)
    eps: float = option(0.01, "smallest bid of method=auction")

    @classmethod
    def match_options(cls, match: str) -> dict[str, str]:
        """The options behind a signature's `match`, which `AssignmentScorer.match_name` wrote."""
        method, *rest = match.split(",")
        options = {"method": method}
        for part in rest:
            key, equals, value = part.partition("=")
            named = {"strict": ("strict", "true"), "weighted": ("objective", "weighted")}
            options |= {key: value} if equals else dict([named.get(part, ("preset", part))])
        return options

    def assigner(self) -> Assigner:
        """The method with its settings."""
        return Assigner(self.method, self.preset, self.strict, self.eps)

    def scorer(self, corpus: Iterable[Row] | None = None, weights: TokenWeights | None = None) -> AssignmentScorer:
        """Loads the encoder, the IDF table and the baseline; `weights` overrides `idf`."""
        self.assigner()  # settings that do not fit are said before a model is loaded
        baseline = self.baseline()
        memory = open_encoder(self.choice())
        return AssignmentScorer(self, memory, weights or self.corpus_weights(memory.encoder, corpus), baseline)


class AssignmentScorer(PRFScorer):
    """An assignment with the encoder loaded; serves `lisascore` and `bertscore(matching=...)`."""

    def __init__(
        self, metric: PRFMetric, memory: EmbeddingMemory, weights: TokenWeights | None, baseline: Baseline | None
    ) -> None:
        super().__init__(metric, memory, weights, baseline)
        self.settings = _settings(metric)
        self.assigner = self.settings.assigner()

    @staticmethod
    def match_name(metric: PRFMetric) -> str:
        """Method and whatever differs from the default, as in recursive-argmax,authors,strict."""
        chosen = _settings(metric)
        recursive = chosen.method.startswith(("recursive", "auction-"))
        parts = [chosen.method, *([chosen.preset] if recursive else []), *(["strict"] if chosen.strict else [])]
        parts += [f"eps={chosen.eps!r}"] if chosen.method == "auction" else []
        parts += [f"denominator={chosen.denominator}"] if chosen.denominator != "own" else []
        return ",".join(parts + (["weighted"] if chosen.objective == "weighted" else []))

    def match(self, pairs: list[tuple[Side, Side]]) -> list[Matched]:
        """Pairs of similar size are padded together and assigned at once; scipy is fastest alone."""
        if self.assigner.method == "exact":
            return super().match(pairs)
        worst = np.full(len(self.metric.fields), self.metric.worst)
        matched: list[Matched] = [(worst, {})] * len(pairs)
        real = [place for place, (one, other) in enumerate(pairs) if not (one.empty or other.empty)]
        for group in _groups([(len(pairs[i][0].tokens), len(pairs[i][1].tokens)) for i in real]):
            check_stopped()
            places = [real[index] for index in group]
            for place, result in zip(places, self._assign([pairs[place] for place in places]), strict=True):
                matched[place] = result
        return matched

    def pair(self, candidate: Side, reference: Side) -> Floats:
        """Precision, recall and F1 of two texts that are not empty."""
        _check_size(len(candidate.tokens), len(reference.tokens))
        return super().pair(candidate, reference)

    def values(self, matrix: Floats, candidate: Side, reference: Side) -> tuple[Floats, Floats]:
        """The value of each token's own cell, 0 without one."""
        return cell_values(matrix, self.assigner(self._objective(matrix, candidate, reference)).cells)

    def cells(self, matrix: Floats, candidate: Side, reference: Side) -> tuple[Ints, dict[str, int]]:
        """The selected cells, and how often the rules were broken."""
        found = self.assigner(self._objective(matrix, candidate, reference))
        return np.argwhere(found.cells), _notes(int(found.violations), bool(found.unfinished))

    def fields(self, values: tuple[Floats, Floats], candidate: Side, reference: Side) -> Floats:
        """Sums of values over the chosen denominators."""
        sums = float(candidate.weights @ values[0]), float(reference.weights @ values[1])
        totals = self._denominator(candidate.weights, reference), self._denominator(reference.weights, candidate)
        return prf(np.asarray(sums[0] / totals[0]), np.asarray(sums[1] / totals[1]))

    def _denominator(self, weights: Floats, other: Side) -> float:
        """The side's own weight; for `min` of as many of its heaviest tokens as can be matched; `max`: the larger."""
        own, theirs = float(weights.sum()), float(other.weights.sum())
        if self.settings.denominator == "max":
            return max(own, theirs)
        if self.settings.denominator == "min":
            counted = int((other.weights > 0).sum())
            return float(np.sort(weights)[::-1][:counted].sum())
        return own

    def _assign(self, pairs: list[tuple[Side, Side]]) -> Iterator[Matched]:
        matrices = [similarity(one.embedded, other.embedded) for one, other in pairs]
        rows, columns = (np.array([matrix.shape[axis] for matrix in matrices]) for axis in (0, 1))
        batch = np.zeros((len(pairs), rows.max(), columns.max()))
        for place, (matrix, (one, other)) in enumerate(zip(matrices, pairs, strict=True)):
            batch[place, : rows[place], : columns[place]] = self._objective(matrix, one, other)
        masks = np.arange(rows.max()) < rows[:, None], np.arange(columns.max()) < columns[:, None]
        found = self.assigner(batch, masks)
        for place, (matrix, (one, other)) in enumerate(zip(matrices, pairs, strict=True)):
            cells = found.cells[place, : rows[place], : columns[place]]
            notes = _notes(int(found.violations[place]), bool(found.unfinished[place]))
            yield self.fields(cell_values(matrix, cells), one, other), notes

    def _objective(self, matrix: Floats, candidate: Side, reference: Side) -> Floats:
        return objective_of(self.settings, matrix, candidate.weights, reference.weights)


def objective_of(metric: PRFMetric, matrix: Floats, ours: Floats, theirs: Floats) -> Floats:
    """What the assignment maximises: the similarity, or the similarity by the mean share of both tokens' weights.

    The shares are scaled so that the largest is 1: ties are decided on a grid made for similarities.
    """
    if _settings(metric).objective == "similarity":
        return matrix
    shares = ours[:, None] / ours.sum() + theirs[None, :] / theirs.sum()
    return np.asarray(matrix * (shares / shares.max()))


def assigner_of(metric: PRFMetric) -> Assigner:
    """The assignment that `lisascore` or `bertscore(matching=...)` uses."""
    return _settings(metric).assigner()


def _settings(metric: PRFMetric) -> LiSAScore:
    """`bertscore(matching=M)` is `lisascore(method=M)` with everything else at its default."""
    return metric if isinstance(metric, LiSAScore) else LiSAScore(method=str(getattr(metric, "matching", "exact")))


def _notes(violations: int, unfinished: bool) -> dict[str, int]:
    named = {"violations": violations, "auction-unfinished": int(unfinished)}
    return {name: count for name, count in named.items() if count}


def _check_size(rows: int, columns: int) -> None:
    if rows * columns > MATRIX_CELLS:
        raise TextTooLongError(f"{rows} x {columns} tokens are too many to assign; use bertscore")


def _groups(shapes: list[tuple[int, int]]) -> Iterator[list[int]]:
    """Indices of matrices that are padded together: neighbours in size, within BATCH_CELLS."""
    group: list[int] = []
    rows = columns = 0
    for index in sorted(range(len(shapes)), key=lambda i: shapes[i]):
        _check_size(*shapes[index])
        wider = max(rows, shapes[index][0]), max(columns, shapes[index][1])
        if group and (len(group) + 1) * wider[0] * wider[1] > BATCH_CELLS:
            yield group
            group, wider = [], shapes[index]
        group.append(index)
        rows, columns = wider
    if group:
        yield group
