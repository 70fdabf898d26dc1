"""Which layer, or which average of neighbouring layers, agrees best with people: one encoding pass, cross-validated.

The agreement of the best of many layers on the rows it was chosen on is too high. So documents are split into folds,
and each fold is scored with the layer that was chosen on the others. In: rated rows and choices of layers. Out: the
choice on all rows, and the agreement of the held-out scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalign.errors import InputError, SpecError, UndefinedStatisticError
from evalign.metrics.token_metric import TokenMetric
from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import FEWEST_ROWS, Estimate
from evalign.stats.levels import Rated, agreement_by
from evalign.tuning.grid import Setting, grid_scores
from evalign.types import Floats, Ints, Row

DEFAULT_FOLDS = 5


@dataclass(frozen=True, eq=False)
class RatedRows:
    """Rows and their ratings; agreement is averaged over groups, and a document stays in one fold."""

    rows: Sequence[Row]
    human: Floats
    groups: Sequence[str]
    documents: Sequence[str]

    def part(self, places: Ints) -> RatedRows:
        """Some of the rows."""
        rows, groups, documents = (
            [values[place] for place in places] for values in (self.rows, self.groups, self.documents)
        )
        return RatedRows(rows, np.asarray(self.human)[places], groups, documents)


@dataclass(frozen=True)
class Search:
    """How choices of layers are compared: the correlation, the number of folds, and resamples for intervals."""

    statistic: str = "pearson"
    folds: int = DEFAULT_FOLDS
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise SpecError(f"folds={self.folds}: expected at least 2")


@dataclass(frozen=True, eq=False)
class TunedLayers:
    """Agreement of every choice on all rows, the best choice, and the agreement on held-out rows."""

    choices: dict[str, Estimate]  # best first
    best: str
    held_out: Estimate  # of every fold's scores with the layers chosen on the others
    chosen: tuple[str, ...]  # fold by fold
    statistic: str


def tune_layers(
    metric: TokenMetric,
    rated: RatedRows,
    choices: Sequence[str],
    search: Search | None = None,
    advance: Callable[[int], Any] = lambda _: None,
) -> TunedLayers:
    """Scores all choices in one pass and compares them by the mean agreement over groups."""
    if len(rated.rows) < FEWEST_ROWS:
        raise InputError(f"tuning needs at least {FEWEST_ROWS} rated rows, found {len(rated.rows)}")
    (scores,) = grid_scores([Setting(metric, tuple(choices))], rated.rows, advance)
    return choose(rated, dict(zip(choices, scores[..., -1], strict=True)), search)


def choose(rated: RatedRows, scores: dict[str, Floats], search: Search | None = None) -> TunedLayers:
    """The same from scores, given as choice -> one score per row."""
    search = search or Search()

    def agreement(data: RatedRows, values: Floats, resampling: Resampling | None = None) -> Estimate:
        columns = Rated(values, data.human, data.documents)
        return agreement_by(columns, data.groups, search.statistic, resampling=resampling).mean

    estimates = {choice: agreement(rated, values, search.resampling) for choice, values in scores.items()}
    if all(estimate.value is None for estimate in estimates.values()):
        why = next((flag for estimate in estimates.values() for flag in estimate.flags), "too few rows")
        raise UndefinedStatisticError(f"no choice of layers has a {search.statistic} with people: {why}")
    best_first = sorted(estimates, key=lambda choice: -_or_worst(estimates[choice]))
    fold_of_row = document_folds(rated.documents, search.folds, search.resampling.seed)
    joined, chosen = np.empty(len(rated.rows)), []
    for fold in range(int(fold_of_row.max()) + 1):
        others, own = np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold)
        part = rated.part(others)
        trained = {choice: _or_worst(agreement(part, values[others])) for choice, values in scores.items()}
        chosen.append(max(trained, key=lambda choice: trained[choice]))
        training, held_out = scores[chosen[-1]][others], scores[chosen[-1]][own]
        # Scores of different layers have different scales: they are standardised by the rows not held out.
        joined[own] = (held_out - training.mean()) / (training.std() or 1)
    ordered = {choice: estimates[choice] for choice in best_first}
    reached = agreement(rated, joined, search.resampling)
    return TunedLayers(ordered, best_first[0], reached, tuple(chosen), search.statistic)


def document_folds(documents: Sequence[str], folds: int, seed: int) -> Ints:
    """The fold of every row: whole documents, shuffled by the seed, in folds of nearly equal size."""
    names = sorted(set(documents))
    if len(names) < 2:
        raise UndefinedStatisticError("cross-validation needs rows of at least two documents")
    order = np.random.default_rng(seed).permutation(len(names))
    fold = {names[place]: number % min(folds, len(names)) for number, place in enumerate(order)}
    return np.array([fold[document] for document in documents])


def _or_worst(estimate: Estimate) -> float:
    return -np.inf if estimate.value is None else estimate.value
