"""Train `learned`: named features of rated rows in, a file with their weights and the error on held-out rows out.

    rows -> features, one encoding pass per model -> standardise -> ridge, strength by cross-validation -> file

Rows that share a text stay in one fold, so that no text is predicted by weights that were fitted on it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from evalign.core import Floats, Ints, Row
from evalign.core.metric import Metric
from evalign.core.registry import metric
from evalign.encoders.loading import FAKE
from evalign.errors import InputError, SpecError, UndefinedStatisticError
from evalign.metrics.token_metric import TokenMetric
from evalign.metrics.weighting import CORPUS_IDF
from evalign.research.learned.features import (
    ALL_FIELDS,
    FEATURE_PATTERN,
    Feature,
    FeatureScorer,
    fields_of,
    parse_features,
)
from evalign.research.learned.metric import LearnedFile, Term
from evalign.stats.correlation import pearson, spearman
from evalign.training.layers import RatedRows, depth, document_folds
from evalign.training.plan import DEFAULT_FOLDS
from evalign.training.rated_pairs import RatedPair, text_groups
from evalign.version import __version__

BLOCK_ROWS = 256
RUN_TIME = ("backend", "device", "threads", "token_budget")  # options that do not change the scores
PATHS = {"model": os.path.isdir, "file": os.path.exists, "idf": os.path.exists, "adapter": os.path.isdir}
NO_PATHS = (FAKE, "no", *CORPUS_IDF)  # values of these options that are keywords even if a file has that name


@dataclass(frozen=True)
class Combination:
    """Options of the training.

    Args:
        folds: Folds of the cross-validation.
        seed: Seed of the folds.
        nonnegative: Whether to allow no negative weights.
        scale: Minimum and maximum of the human scale; by default those of the ratings.
        human: Name of the ratings.
    """

    folds: int = DEFAULT_FOLDS
    seed: int = 12345
    nonnegative: bool = False
    scale: tuple[float, float] | None = None
    human: str = "human"


@dataclass(frozen=True)
class PredictionQuality:
    """Errors of predictions, and their correlations with ratings."""

    rmse: float
    mae: float
    pearson: float
    spearman: float


@dataclass(frozen=True, eq=False)
class Combined:
    """The file, its quality on held-out rows, and that of the best single feature."""

    file: LearnedFile
    held_out: PredictionQuality
    single: PredictionQuality
    single_feature: str
    left_out: Mapping[str, int]


def expand_features(specs: Iterable[str]) -> list[Feature]:
    """Return the features of specs, each once; `layers(bertscore)` is all fields of all layers of bertscore."""
    features: list[Feature] = []
    for spec in specs:
        parts = FEATURE_PATTERN.fullmatch(spec)
        if parts is None or not parts["spec"].strip().startswith("layers("):
            features += parse_features(spec)
            continue
        inner = metric(parts["spec"].strip().removeprefix("layers(").removesuffix(")"))
        if not isinstance(inner, TokenMetric):
            raise SpecError(f"feature {spec!r}: {inner.name} has no layers")
        for layer in range(depth(inner) + 1):
            features += fields_of(replace(inner, layer=str(layer)), parts["field"] or ALL_FIELDS)
    if not features:
        raise SpecError("no features to combine: name some, as in bertscore.f1, chrf or layers(bertscore)")
    return list(dict.fromkeys(features))


def sharing_text(rows: Sequence[Row]) -> list[str]:
    """Return a label per row, equal for rows that share a source, candidate or reference, to keep them in one fold."""
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
    """Compute the features of all rows, then train.

    Args:
        rated: Rated rows.
        features: Features to combine.
        plan: Folds, seed, sign of the weights and human scale.
        advance: Called with the number of rows whose features are computed.
    """
    plan = plan or Combination()
    check_ratings(rated, plan)
    scorer = FeatureScorer(features, rated.rows)
    values, problems = compute_features(scorer, rated.rows, advance)
    scored = np.flatnonzero(np.isfinite(values).all(axis=1))
    if not len(scored):
        raise InputError(f"no row could be scored: {'; '.join(problems)}")
    return replace(train(rated.part(scored), values[scored], scorer, plan), left_out=dict(problems))


def train(rated: RatedRows, values: Floats, scorer: FeatureScorer, plan: Combination) -> Combined:
    """Train on computed features (rows, features)."""
    check_ratings(rated, plan)
    human = np.asarray(rated.human, dtype=np.float64)
    folds = document_folds(rated.documents, plan.folds, plan.seed)
    signs = np.array([float(feature.sign) for feature in scorer.features])
    data = RatedFeatures(values, human, signs, folds)
    penalty = best_penalty(data, Penalty(nonnegative=plan.nonnegative))
    line = fit(data, penalty)
    low, high = plan.scale or data.ends()
    held_out_quality = _quality(held_out(data, penalty, plan.scale, nested=True), human)
    single, alone = _best_single(data, plan)
    features = _with_fixed_options(scorer)
    trained: dict[str, Any] = {
        "evalign": __version__,
        "human": plan.human,
        "rows": len(human),
        "documents": len(set(rated.documents)),
        "folds": plan.folds,
        "seed": plan.seed,
        "strength": penalty.strength,
        "nonnegative": plan.nonnegative,
        **{name: round(value, 6) for name, value in vars(held_out_quality).items()},
    }
    terms = tuple(
        Term(str(feature), signature, *(float(number) for number in numbers))
        for feature, signature, *numbers in zip(
            features, scorer.signatures, line.means, line.scales, line.weights, strict=True
        )
    )
    return Combined(
        LearnedFile(terms, line.intercept, low, high, trained), held_out_quality, alone, str(features[single]), {}
    )


def compute_features(
    scorer: FeatureScorer, rows: Sequence[Row], advance: Callable[[int], Any] = lambda _: None
) -> tuple[Floats, Counter[str]]:
    """Return features (rows, features), NaN where a row cannot be scored, and counts of the reasons."""
    metrics = list(dict.fromkeys(feature.metric for feature in scorer.features if feature.metric is not None))
    parts: list[Floats] = []
    problems: Counter[str] = Counter()
    for start in range(0, len(rows), BLOCK_ROWS):
        block = list(rows[start : start + BLOCK_ROWS])
        values = np.full((len(block), len(scorer.features)), np.nan)
        complete = [index for index, row in enumerate(block) if not any(used.lacks(row) for used in metrics)]
        problems["nothing to compare with"] += len(block) - len(complete)
        try:
            values[complete] = scorer.compute([block[index] for index in complete]).values
        except InputError:
            for index in complete:
                try:
                    values[index] = scorer.compute([block[index]]).values[0]
                except InputError as error:
                    problems[str(error)[:80]] += 1
        parts.append(values)
        advance(len(block))
    return np.concatenate(parts), +problems


def check_ratings(rated: RatedRows, plan: Combination) -> None:
    """Raise for constant ratings, too few documents, and invalid folds or scales."""
    if plan.folds < MIN_FOLDS:
        raise SpecError(
            f"folds={plan.folds}: expected at least {MIN_FOLDS}: one to predict, the others to select the penalty"
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


def _best_single(data: RatedFeatures, plan: Combination) -> tuple[int, PredictionQuality]:
    """Return the best single feature and its quality; it is selected on all rows, which favours it."""
    agreements = []
    for column in range(data.features.shape[1]):
        alone = replace(data, features=data.features[:, [column]], signs=np.ones(1))
        agreements.append(_quality(held_out(alone, Penalty(1e-6), plan.scale), data.ratings))
    best = min(range(len(agreements)), key=lambda column: agreements[column].rmse)
    return best, agreements[best]


def _quality(predicted: Floats, human: Floats) -> PredictionQuality:
    error = predicted - human
    varied = np.ptp(predicted) > 0
    return PredictionQuality(
        float(np.sqrt((error**2).mean())), float(np.abs(error).mean()),
        pearson(predicted, human) if varied else 0.0, spearman(predicted, human) if varied else 0.0,
    )  # fmt: skip


def _with_fixed_options(scorer: FeatureScorer) -> list[Feature]:
    """Return the features with explicit layers and absolute paths, independent of defaults and the current folder."""
    features = []
    for feature in scorer.features:
        used = feature.metric
        if used is not None:
            layer = {"layer": scorer.layers_of(used)} if isinstance(used, TokenMetric) else {}
            feature = replace(feature, metric=replace(used, **_fixed_options(used), **layer))
        features.append(feature)
    return features


def _fixed_options(metric: Metric) -> dict[str, Any]:
    """Return options to replace, so that the metric is the same on every machine and in every folder."""
    changed: dict[str, Any] = {}
    for item in fields(metric):
        value = getattr(metric, item.name)
        if item.name in RUN_TIME:
            changed[item.name] = item.default
        elif item.name in PATHS and value not in NO_PATHS and PATHS[item.name](value):
            changed[item.name] = os.path.abspath(value)
    return changed


UNBOUNDED = (-np.inf, np.inf)
MIN_FOLDS = 3  # one is predicted, the others select the strength
STRENGTHS = tuple(float(10.0**power) for power in np.arange(-4, 1.5, 0.5))  # shrinkage per row

Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class RatedFeatures:
    """Features (rows, features), the rating and the fold of every row, and the sign (1 or -1) of every feature."""

    features: Floats
    ratings: Floats
    signs: Floats
    folds: Ints

    def part(self, rows: Ints) -> RatedFeatures:
        """Return the selected rows."""
        return replace(self, features=self.features[rows], ratings=self.ratings[rows], folds=self.folds[rows])

    def ends(self) -> Ends:
        """Return the minimum and maximum rating."""
        return float(self.ratings.min()), float(self.ratings.max())

    def splits(self) -> Iterator[tuple[Ints, RatedFeatures]]:
        """Yield for every fold its rows, and the data without them."""
        for fold in np.unique(self.folds):
            yield np.flatnonzero(self.folds == fold), self.part(np.flatnonzero(self.folds != fold))


@dataclass(frozen=True)
class Penalty:
    """Ridge penalty; with `nonnegative`, a weight must have the sign of its feature."""

    strength: float = 0.1
    nonnegative: bool = False


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Linear model y = intercept + sum_i weights_i (x_i - means_i) / scales_i."""

    intercept: float
    means: Floats
    scales: Floats
    weights: Floats

    def __call__(self, features: Floats) -> Floats:
        """Return predictions (rows,) of features (rows, features)."""
        return np.asarray(self.intercept + ((features - self.means) / self.scales) @ self.weights)


def fit(data: RatedFeatures, penalty: Penalty) -> LinearModel:
    """Minimise |y - Zw|^2 / n + strength |w|^2 over standardised Z; a constant feature has weight 0."""
    features, ratings, signs = data.features, data.ratings, data.signs
    means, scales = features.mean(axis=0), features.std(axis=0)
    constant = scales <= 1e-12 * np.maximum(1, np.abs(means))
    scales = np.where(constant, 1.0, scales)
    standard = np.where(constant, 0.0, (features - means) / scales)
    centred = ratings - ratings.mean()
    inner = standard.T @ standard / len(ratings) + penalty.strength * np.eye(features.shape[1])
    outer = standard.T @ centred / len(ratings)
    if penalty.nonnegative:
        from scipy.optimize import nnls

        root = np.linalg.cholesky(inner * np.outer(signs, signs)).T  # |root w - b|^2 is the same function of w
        weights = nnls(root, np.linalg.solve(root.T, outer * signs))[0] * signs
    else:
        weights = np.linalg.solve(inner, outer)
    return LinearModel(float(ratings.mean()), means, scales, weights)


def held_out(data: RatedFeatures, penalty: Penalty, ends: Ends | None = None, nested: bool = False) -> Floats:
    """Return predictions of models fitted without the row's fold, clipped to `ends` or to the fitted ratings.

    If `nested`, the strength is also selected without the predicted fold, which needs MIN_FOLDS folds.
    """
    predicted = np.empty(len(data.ratings))
    for rows, training in data.splits():
        line = fit(training, best_penalty(training, penalty) if nested else penalty)
        predicted[rows] = np.clip(line(data.features[rows]), *(ends or training.ends()))
    return predicted


def best_penalty(data: RatedFeatures, penalty: Penalty) -> Penalty:
    """Return the penalty whose strength has the smallest held-out squared error."""

    def error(strength: float) -> float:
        predicted = held_out(data, replace(penalty, strength=strength), UNBOUNDED)
        return float(((predicted - data.ratings) ** 2).mean())

    return replace(penalty, strength=min(STRENGTHS, key=error))
