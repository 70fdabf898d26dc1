"""Which layer, or which average of neighbouring layers, agrees best with people: one encoding pass, cross-validated.

Choosing among many layers on the same rows flatters the winner. So documents are split into folds; in each the layer
is chosen on the others and judged on the fold. What is reported is the choice on all rows and the agreement that the
procedure reached on rows it had not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalign.errors import InputError, SpecError, UndefinedStatisticError
from evalign.metrics.token_metric import TokenMetric
from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import FEWEST_ROWS, Estimate
from evalign.stats.levels import Rated, agreement_by
from evalign.tuning.grid import Setting, grid_scores
from evalign.types import Floats, Row

DEFAULT_FOLDS = 5


@dataclass(frozen=True, eq=False)
class RatedRows:
    """Rows, what people said about them, the groups agreement is averaged over, and what stays in one fold."""

    rows: Sequence[Row]
    human: Floats
    groups: Sequence[str]
    documents: Sequence[str]


@dataclass(frozen=True, eq=False)
class Tuned:
    """Agreement of every choice on all rows, the best one, and what choosing is worth on rows not seen."""

    choices: dict[str, Estimate]  # best first
    best: str
    held_out: Estimate  # of the chosen layers, fold by fold
    chosen: tuple[str, ...]  # in each fold
    statistic: str


def tune_layers(
    metric: TokenMetric,
    rated: RatedRows,
    choices: Sequence[str],
    statistic: str = "pearson",
    folds: int = DEFAULT_FOLDS,
    resampling: Resampling | None = None,
    advance: Callable[[int], Any] = lambda _: None,
) -> Tuned:
    """Scores all choices in one pass and compares them by the mean agreement over groups."""
    if len(rated.rows) < FEWEST_ROWS:
        raise InputError(f"tuning needs at least {FEWEST_ROWS} rated rows, found {len(rated.rows)}")
    if folds < 2:
        raise SpecError(f"folds={folds}: expected at least 2")
    (scores,) = grid_scores([Setting(metric, tuple(choices))], rated.rows, advance)
    return choose(rated, dict(zip(choices, scores[..., -1], strict=True)), statistic, folds, resampling)


def choose(
    rated: RatedRows,
    scores: dict[str, Floats],
    statistic: str = "pearson",
    folds: int = DEFAULT_FOLDS,
    resampling: Resampling | None = None,
) -> Tuned:
    """The same from scores that are there: choice -> one score per row."""
    resampling = resampling or Resampling()
    everything = np.arange(len(rated.rows))
    estimates = {
        choice: _agreement(rated, values, everything, statistic, resampling) for choice, values in scores.items()
    }
    if all(estimate.value is None for estimate in estimates.values()):
        why = next((flag for estimate in estimates.values() for flag in estimate.flags), "too few rows")
        raise UndefinedStatisticError(f"no choice of layers has a {statistic} with people: {why}")
    best_first = sorted(estimates, key=lambda choice: -_or_worst(estimates[choice]))
    fold_of_row = document_folds(rated.documents, folds, resampling.seed)
    pieced, chosen = np.empty(len(rated.rows)), []
    for fold in range(int(fold_of_row.max()) + 1):
        others, own = np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold)
        trained = {choice: _or_worst(_agreement(rated, values, others, statistic)) for choice, values in scores.items()}
        winner = max(trained, key=lambda choice: trained[choice])
        chosen.append(winner)
        pieced[own] = _comparable(scores[winner], others)[own]
    held_out = _agreement(rated, pieced, everything, statistic, resampling)
    ordered = {choice: estimates[choice] for choice in best_first}
    return Tuned(ordered, best_first[0], held_out, tuple(chosen), statistic)


def _agreement(
    rated: RatedRows, scores: Floats, rows: Any, statistic: str, resampling: Resampling | None = None
) -> Estimate:
    part = Rated(scores[rows], rated.human[rows], [rated.documents[row] for row in rows])
    return agreement_by(part, [rated.groups[row] for row in rows], statistic, resampling=resampling).mean


def _comparable(scores: Floats, training: Any) -> Floats:
    """Different layers live on different scales; the training rows say where each one's middle and width are."""
    width = scores[training].std()
    return np.asarray((scores - scores[training].mean()) / (width if width > 0 else 1))


def document_folds(documents: Sequence[str], folds: int, seed: int) -> Any:
    """Whole documents, shuffled by the seed, dealt out to folds of nearly equal size."""
    names = sorted(set(documents))
    if len(names) < 2:
        raise UndefinedStatisticError("cross-validation needs rows of at least two documents")
    order = np.random.default_rng(seed).permutation(len(names))
    fold = {names[place]: number % min(folds, len(names)) for number, place in enumerate(order)}
    return np.array([fold[document] for document in documents])


def _or_worst(estimate: Estimate) -> float:
    return -np.inf if estimate.value is None else estimate.value
