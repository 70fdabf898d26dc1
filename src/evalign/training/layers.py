"""Choice of the layers that agree best with people, by cross-validation, from one encoding pass.

The agreement of the best layers on the rows that selected them is too high. So documents are split into folds, and each
fold is scored with the layers selected on the other folds. In: rated rows and choices of layers. Out: the
choice on all rows, and the agreement of the held-out scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from evalign.core import Floats, Ints, Row
from evalign.core.scoring import blocks
from evalign.encoders.loading import check_layers, open_encoder, parse_layers
from evalign.errors import InputError, SpecError, UndefinedStatisticError
from evalign.metrics.token_metric import TokenMetric
from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import MIN_ROWS, Estimate
from evalign.stats.levels import Rated, agreement_by
from evalign.training.plan import DEFAULT_FOLDS


@dataclass(frozen=True, eq=False)
class RatedRows:
    """Rows and their ratings; agreement is averaged over groups, and a document stays in one fold."""

    rows: Sequence[Row]
    human: Floats
    groups: Sequence[str]
    documents: Sequence[str]

    def part(self, indices: Ints) -> RatedRows:
        """Return the selected rows."""
        rows, groups, documents = (
            [values[index] for index in indices] for values in (self.rows, self.groups, self.documents)
        )
        return RatedRows(rows, np.asarray(self.human)[indices], groups, documents)


@dataclass(frozen=True)
class Search:
    """Options of the comparison: correlation, number of folds, and resampling for intervals."""

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
    held_out: Estimate  # of every fold's scores with the layers selected on the other folds
    chosen: tuple[str, ...]  # fold by fold
    statistic: str


def tune_layers(
    metric: TokenMetric,
    rated: RatedRows,
    choices: Sequence[str],
    search: Search | None = None,
    advance: Callable[[int], Any] = lambda _: None,
) -> TunedLayers:
    """Score all choices of layers in one pass, and compare them by the mean agreement over groups.

    Args:
        metric: The metric; its `layer` is ignored.
        rated: Rated rows.
        choices: Choices of layers, such as `4+6`.
        search: Correlation, folds and resampling.
        advance: Called with the number of scored rows.
    """
    if len(rated.rows) < MIN_ROWS:
        raise InputError(f"tuning needs at least {MIN_ROWS} rated rows, found {len(rated.rows)}")
    (scores,) = grid_scores([Setting(metric, tuple(choices))], rated.rows, advance)
    return choose(rated, dict(zip(choices, scores[..., -1], strict=True)), search)


def choose(rated: RatedRows, scores: dict[str, Floats], search: Search | None = None) -> TunedLayers:
    """Compare choices of layers by their scores: choice -> a score per row."""
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
        train, test = np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold)
        part = rated.part(train)
        trained = {choice: _or_worst(agreement(part, values[train])) for choice, values in scores.items()}
        chosen.append(max(trained, key=lambda choice: trained[choice]))
        training, held_out = scores[chosen[-1]][train], scores[chosen[-1]][test]
        # Scores of different layers have different scales: they are standardised by the rows not held out.
        joined[test] = (held_out - training.mean()) / (training.std() or 1)
    ordered = {choice: estimates[choice] for choice in best_first}
    held_out_agreement = agreement(rated, joined, search.resampling)
    return TunedLayers(ordered, best_first[0], held_out_agreement, tuple(chosen), search.statistic)


def document_folds(documents: Sequence[str], folds: int, seed: int) -> Ints:
    """Return the fold of every row: whole documents, shuffled by the seed, in folds of nearly equal size."""
    names = sorted(set(documents))
    if len(names) < 2:
        raise UndefinedStatisticError("cross-validation needs rows of at least two documents")
    order = np.random.default_rng(seed).permutation(len(names))
    fold = {names[index]: number % min(folds, len(names)) for number, index in enumerate(order)}
    return np.array([fold[document] for document in documents])


def _or_worst(estimate: Estimate) -> float:
    return -np.inf if estimate.value is None else estimate.value


MAX_LAYERS_FOR_SETS = 8
BLOCK_ROWS = 32  # all layers of a text are in memory at once


@dataclass(frozen=True)
class Setting:
    """A metric and the choices of layers to try with it; its `layer` is ignored."""

    metric: TokenMetric
    choices: tuple[str, ...]


def depth(metric: TokenMetric) -> int:
    """Return the number of layers of a metric's model."""
    return max(open_encoder(replace(metric, layer="all").encoder_spec()).encoder.layers)


def grid_scores(
    settings: Sequence[Setting], rows: Sequence[Row], advance: Callable[[int], Any] = lambda _: None
) -> list[Floats]:
    """Return an array (choices, rows, fields) per setting; `advance` is called with the number of scored rows."""
    if len({setting.metric.model for setting in settings}) != 1:
        raise SpecError("all settings of an encoding pass must have the same model; group them by model")
    scorers = [replace(setting.metric, layer="all").scorer(rows) for setting in settings]
    memory = scorers[0].cache
    index_of = {layer: index for index, layer in enumerate(memory.encoder.layers)}
    picks = [
        [[index_of[layer] for layer in check_layers(parse_layers(choice), max(index_of))] for choice in setting.choices]
        for setting in settings
    ]
    parts: list[list[Floats]] = [[] for _ in settings]
    for block in blocks(rows, BLOCK_ROWS):
        references = [text for row in block for text in row.references]
        embedded = memory.encode([*(row.candidate for row in block), *references], keep=references)
        for part, scorer, choice in zip(parts, scorers, picks, strict=True):
            part.append(scorer.score_choices(block, embedded, choice))
        advance(len(block))
    return [
        np.concatenate(part, axis=1) if part else np.zeros((len(setting.choices), 0, len(setting.metric.fields)))
        for part, setting in zip(parts, settings, strict=True)
    ]


def layer_choices(depth: int, choice_type: str) -> tuple[str, ...]:
    """Return the `single` layers, all `runs` of neighbouring layers, or all `sets`, whose number doubles per layer."""
    layers = range(depth + 1)
    if choice_type == "sets":
        if depth > MAX_LAYERS_FOR_SETS:
            raise SpecError(f"{depth} layers have {2 ** (depth + 1) - 1} sets, too many to try; use runs")
        picks = [pick for size in layers for pick in combinations(layers, size + 1)]
    else:
        picks = [tuple(range(a, b + 1)) for a in layers for b in layers if a == b or (a < b and choice_type == "runs")]
    return tuple("+".join(map(str, pick)) for pick in picks)
