"""Trains `learned`: named features of rated rows in, a file with their weights out, and the error on held-out rows.

    rows -> features, each model encoding once -> standardise -> ridge, its strength by cross-validation -> file

Rows that share a text stay in one fold, so that no text is predicted by weights that were fitted on it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from evalign.encoders.loading import FAKE
from evalign.errors import InputError, SpecError, UndefinedStatisticError
from evalign.metrics.base import Metric
from evalign.metrics.corpus_idf import CORPUS_IDF
from evalign.metrics.features import EVERY_FIELD, WRITTEN, Feature, FeatureScorer, fields_of, parse_features
from evalign.metrics.learned_file import LearnedFile, Term
from evalign.metrics.registry import metric
from evalign.metrics.token_metric import TokenMetric
from evalign.stats.correlation import pearson, spearman
from evalign.tuning.grid import depth
from evalign.tuning.layers import DEFAULT_FOLDS, RatedRows, document_folds
from evalign.tuning.rated_pairs import RatedPair, text_groups
from evalign.tuning.ridge import FEWEST_FOLDS, Penalty, RatedFeatures, best_penalty, fit, held_out
from evalign.types import Floats, Row
from evalign.version import __version__

BLOCK_ROWS = 256
RUN_TIME = ("backend", "device", "threads", "token_budget")  # options that say how to compute, not what
PATHS = {"model": os.path.isdir, "file": os.path.exists, "idf": os.path.exists, "adapter": os.path.isdir}
NO_PATHS = (FAKE, "no", *CORPUS_IDF)  # values of these options that are words even where a file has that name


@dataclass(frozen=True)
class Combination:
    """How to train: folds, seed, whether weights must not be negative, and the ends of the human scale if known."""

    folds: int = DEFAULT_FOLDS
    seed: int = 12345
    nonnegative: bool = False
    scale: tuple[float, float] | None = None
    human: str = "human"


@dataclass(frozen=True)
class Agreement:
    """How far predictions lie from people."""

    rmse: float
    mae: float
    pearson: float
    spearman: float


@dataclass(frozen=True, eq=False)
class Combined:
    """The file, its agreement on held-out rows, and that of the best single feature."""

    file: LearnedFile
    held_out: Agreement
    single: Agreement
    single_feature: str
    left_out: Mapping[str, int]


def expand_features(specs: Iterable[str]) -> list[Feature]:
    """Features from specs, each once; `layers(bertscore)` is every field of every layer, `layers(bertscore).f1` one."""
    features: list[Feature] = []
    for spec in specs:
        parts = WRITTEN.fullmatch(spec)
        if parts is None or not parts["spec"].strip().startswith("layers("):
            features += parse_features(spec)
            continue
        inner = metric(parts["spec"].strip().removeprefix("layers(").removesuffix(")"))
        if not isinstance(inner, TokenMetric):
            raise SpecError(f"feature {spec!r}: {inner.name} has no layers")
        for layer in range(depth(inner) + 1):
            features += fields_of(replace(inner, layer=str(layer)), parts["field"] or EVERY_FIELD)
    if not features:
        raise SpecError("nothing to combine: name features, as in bertscore.f1, chrf or layers(bertscore)")
    return list(dict.fromkeys(features))


def sharing_text(rows: Sequence[Row]) -> list[str]:
    """A label per row, the same for rows that share a source, candidate or reference: they stay in one fold."""
    pairs: list[RatedPair] = []
    firsts: list[int] = []
    for row in rows:
        texts = [text for text in (row.candidate, *row.references, row.source or "") if text.strip()] or [""]
        firsts.append(len(pairs))
        pairs += [RatedPair(texts[0], text, 0.0, row.id) for text in texts]
    return [str(group) for group in text_groups(pairs)[firsts]] if pairs else []


def combine(
    rated: RatedRows,
    features: Sequence[Feature],
    plan: Combination | None = None,
    advance: Callable[[int], Any] = lambda _: None,
) -> Combined:
    """Computes the features of every row once, then trains."""
    plan = plan or Combination()
    check_ratings(rated, plan)
    scorer = FeatureScorer(features, rated.rows)
    values, problems = look_at(scorer, rated.rows, advance)
    scored = np.flatnonzero(np.isfinite(values).all(axis=1))
    if not len(scored):
        raise InputError(f"no row could be scored: {'; '.join(problems)}")
    return replace(train(rated.part(scored), values[scored], scorer, plan), left_out=dict(problems))


def train(rated: RatedRows, values: Floats, scorer: FeatureScorer, plan: Combination) -> Combined:
    """The same from the rows' features, (rows, features)."""
    check_ratings(rated, plan)
    human = np.asarray(rated.human, dtype=np.float64)
    folds = document_folds(rated.documents, plan.folds, plan.seed)
    signs = np.array([float(feature.sign) for feature in scorer.features])
    data = RatedFeatures(values, human, signs, folds)
    penalty = best_penalty(data, Penalty(nonnegative=plan.nonnegative))
    line = fit(data, penalty)
    low, high = plan.scale or data.ends()
    reached = _agreement(held_out(data, penalty, plan.scale, nested=True), human)
    single, alone = _best_single(data, plan)
    features = _settled(scorer)
    trained: dict[str, Any] = {
        "evalign": __version__,
        "human": plan.human,
        "rows": len(human),
        "documents": len(set(rated.documents)),
        "folds": plan.folds,
        "seed": plan.seed,
        "strength": penalty.strength,
        "nonnegative": plan.nonnegative,
        **{name: round(value, 6) for name, value in vars(reached).items()},
    }
    terms = tuple(
        Term(str(feature), signature, *(float(number) for number in numbers))
        for feature, signature, *numbers in zip(
            features, scorer.signatures, line.means, line.scales, line.weights, strict=True
        )
    )
    return Combined(LearnedFile(terms, line.intercept, low, high, trained), reached, alone, str(features[single]), {})


def look_at(
    scorer: FeatureScorer, rows: Sequence[Row], advance: Callable[[int], Any] = lambda _: None
) -> tuple[Floats, Counter[str]]:
    """Features (rows, features), NaN where a row cannot be scored; and how often each reason for that occurred."""
    metrics = list(dict.fromkeys(feature.metric for feature in scorer.features if feature.metric is not None))
    parts: list[Floats] = []
    problems: Counter[str] = Counter()
    for start in range(0, len(rows), BLOCK_ROWS):
        block = list(rows[start : start + BLOCK_ROWS])
        values = np.full((len(block), len(scorer.features)), np.nan)
        complete = [place for place, row in enumerate(block) if not any(used.lacks(row) for used in metrics)]
        problems["nothing to compare with"] += len(block) - len(complete)
        try:
            values[complete] = scorer.look([block[place] for place in complete]).values
        except InputError:
            for place in complete:
                try:
                    values[place] = scorer.look([block[place]]).values[0]
                except InputError as error:
                    problems[str(error)[:80]] += 1
        parts.append(values)
        advance(len(block))
    return np.concatenate(parts), +problems


def check_ratings(rated: RatedRows, plan: Combination) -> None:
    """Raises for constant ratings, too few documents, and folds or scales that cannot be."""
    if plan.folds < FEWEST_FOLDS:
        raise SpecError(
            f"folds={plan.folds}: expected at least {FEWEST_FOLDS}, one to judge on, others to choose the shrinkage by"
        )
    if plan.scale is not None and not (np.isfinite(plan.scale).all() and plan.scale[0] < plan.scale[1]):
        raise SpecError(f"scale {plan.scale[0]:g} to {plan.scale[1]:g}: expected two finite numbers, the lower first")
    documents = len(set(rated.documents))
    if documents < plan.folds:
        raise InputError(
            f"{plan.folds} folds need at least as many groups of rows that share no text (or documents), found "
            f"{documents} ({len(rated.rows)} rows); give more rows, or fewer folds"
        )
    human = np.asarray(rated.human, dtype=np.float64)
    if np.ptp(human) == 0:
        raise UndefinedStatisticError(
            f"every row is rated {human[0]:g}: there is nothing to learn from constant ratings"
        )
    if plan.scale is not None and (human.min() < plan.scale[0] or human.max() > plan.scale[1]):
        raise InputError(
            f"scale {plan.scale[0]:g} to {plan.scale[1]:g}: ratings run from {human.min():g} to {human.max():g}"
        )


def _best_single(data: RatedFeatures, plan: Combination) -> tuple[int, Agreement]:
    """The feature whose own line predicts best; it is chosen on all rows, which favours it."""
    agreements = []
    for column in range(data.features.shape[1]):
        alone = replace(data, features=data.features[:, [column]], signs=np.ones(1))
        agreements.append(_agreement(held_out(alone, Penalty(1e-6), plan.scale), data.ratings))
    best = min(range(len(agreements)), key=lambda column: agreements[column].rmse)
    return best, agreements[best]


def _agreement(predicted: Floats, human: Floats) -> Agreement:
    error = predicted - human
    varied = np.ptp(predicted) > 0
    return Agreement(
        float(np.sqrt((error**2).mean())), float(np.abs(error).mean()),
        pearson(predicted, human) if varied else 0.0, spearman(predicted, human) if varied else 0.0,
    )  # fmt: skip


def _settled(scorer: FeatureScorer) -> list[Feature]:
    """The features with layers and paths written out: neither a new default nor another folder changes them."""
    settled = []
    for feature in scorer.features:
        used = feature.metric
        if used is not None:
            layer = {"layer": scorer.layers_of(used)} if isinstance(used, TokenMetric) else {}
            feature = replace(feature, metric=replace(used, **_lasting(used), **layer))
        settled.append(feature)
    return settled


def _lasting(metric: Metric) -> dict[str, Any]:
    """Changed options, so that they mean the same on another processor and, for local files, in another folder."""
    changed: dict[str, Any] = {}
    for item in fields(metric):
        value = getattr(metric, item.name)
        if item.name in RUN_TIME:
            changed[item.name] = item.default
        elif item.name in PATHS and value not in NO_PATHS and PATHS[item.name](value):
            changed[item.name] = os.path.abspath(value)
    return changed
