"""Trains `learned`: named features of rated rows in, a signed file out, with the error on rows that were not seen.

    rows -> features, each model encoding once -> standardise -> ridge, its strength by cross-validation -> file

Rows that share a text stay in one fold, so that no text is judged by weights that saw it elsewhere.
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
from evalign.metrics.features import EVERY_FIELD, WRITTEN, Feature, FeatureScorer, fields_of, parse_features
from evalign.metrics.learned_file import LearnedFile, Term
from evalign.metrics.registry import metric
from evalign.metrics.token_metric import CORPUS_IDF, TokenMetric
from evalign.stats.correlation import pearson, spearman
from evalign.tuning.grid import depth
from evalign.tuning.layers import DEFAULT_FOLDS, RatedRows, document_folds
from evalign.tuning.rated_pairs import RatedPair, text_groups
from evalign.tuning.ridge import FEWEST_FOLDS, Shape, best_shape, ends_of, fit, held_out, honest
from evalign.types import Floats, Row
from evalign.version import __version__

BLOCK_ROWS = 256
RUN_TIME = ("backend", "device", "threads", "token_budget")  # options that say how to compute, not what
PATHS = {"model": os.path.isdir, "file": os.path.exists, "idf": os.path.exists}
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
    """The file, how it does on rows not seen, and how the best single feature does there."""

    file: LearnedFile
    held_out: Agreement
    single: Agreement
    single_feature: str
    left_out: Mapping[str, int]


def expand_features(specs: Iterable[str]) -> list[Feature]:
    """Written features, each once; `layers(bertscore)` is every layer's every field, `layers(bertscore).f1` one."""
    found: list[Feature] = []
    for spec in specs:
        given = WRITTEN.fullmatch(spec)
        if given is None or not given["spec"].strip().startswith("layers("):
            found += parse_features(spec)
            continue
        inner = metric(given["spec"].strip().removeprefix("layers(").removesuffix(")"))
        if not isinstance(inner, TokenMetric):
            raise SpecError(f"feature {spec!r}: {inner.name} has no layers")
        for layer in range(depth(inner) + 1):
            found += fields_of(replace(inner, layer=str(layer)), given["field"] or EVERY_FIELD)
    if not found:
        raise SpecError("nothing to combine: name features, as in bertscore.f1, chrf or layers(bertscore)")
    return list(dict.fromkeys(found))


def sharing_text(rows: Sequence[Row]) -> list[str]:
    """What must stay in one fold: a label that rows have in common if they share a source, candidate or reference."""
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
    """Looks at every row once, then trains."""
    plan = plan or Combination()
    check_ratings(rated, plan)
    scorer = FeatureScorer(features, rated.rows if any(_needs_corpus(one) for one in features) else None)
    values, problems = look_at(scorer, rated.rows, advance)
    kept = np.flatnonzero(np.isfinite(values).all(axis=1))
    if len(kept) < len(rated.rows):
        places = kept.tolist()
        rows = [rated.rows[place] for place in places]
        groups, documents = ([labels[place] for place in places] for labels in (rated.groups, rated.documents))
        rated = RatedRows(rows, np.asarray(rated.human)[kept], groups, documents)
        if not rows:
            raise InputError(f"no row could be scored: {'; '.join(problems)}")
    return replace(train(rated, values[kept], scorer, plan), left_out=dict(problems))


def train(rated: RatedRows, values: Floats, scorer: FeatureScorer, plan: Combination) -> Combined:
    """The same from features that are there, (rows, features)."""
    check_ratings(rated, plan)
    human = np.asarray(rated.human, dtype=np.float64)
    folds = document_folds(rated.documents, plan.folds, plan.seed)
    signs = np.array([float(one.sign) for one in scorer.features])
    shape = best_shape(values, human, signs, folds, Shape(nonnegative=plan.nonnegative))
    line = fit(values, human, signs, shape)
    low, high = plan.scale or ends_of(human)
    reached = _agreement(honest(values, human, signs, folds, shape, plan.scale), human)
    single, alone = _best_single(values, human, folds, plan)
    features = _settled(scorer)
    trained: dict[str, Any] = {
        "evalign": __version__,
        "human": plan.human,
        "rows": len(human),
        "documents": len(set(rated.documents)),
        "folds": plan.folds,
        "seed": plan.seed,
        "strength": shape.strength,
        "nonnegative": plan.nonnegative,
        **{name: round(value, 6) for name, value in vars(reached).items()},
    }
    terms = tuple(
        Term(str(one), signature, *(float(number) for number in numbers))
        for one, signature, *numbers in zip(
            features, scorer.signatures, line.means, line.scales, line.weights, strict=True
        )
    )
    return Combined(LearnedFile(terms, line.intercept, low, high, trained), reached, alone, str(features[single]), {})


def look_at(
    scorer: FeatureScorer, rows: Sequence[Row], advance: Callable[[int], Any] = lambda _: None
) -> tuple[Floats, Counter[str]]:
    """(rows, features), NaN where a row cannot be scored; why, and how often."""
    metrics = list(dict.fromkeys(one.metric for one in scorer.features if one.metric is not None))
    parts: list[Floats] = []
    problems: Counter[str] = Counter()
    for start in range(0, len(rows), BLOCK_ROWS):
        block = list(rows[start : start + BLOCK_ROWS])
        values = np.full((len(block), len(scorer.features)), np.nan)
        complete = [place for place, row in enumerate(block) if not any(one.lacks(row) for one in metrics)]
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
    """Raises for ratings that nothing can be learned from, and for plans that cannot be followed."""
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


def _best_single(values: Floats, human: Floats, folds: Any, plan: Combination) -> tuple[int, Agreement]:
    """The feature that alone, as a line, predicts best; it is chosen on all rows, which favours it."""
    ones, found = np.ones(1), []
    for column in range(values.shape[1]):
        predicted = held_out(values[:, [column]], human, ones, folds, Shape(1e-6), plan.scale)
        found.append((float(((predicted - human) ** 2).mean()), column, predicted))
    _, best, predicted = min(found, key=lambda one: one[:2])
    return best, _agreement(predicted, human)


def _agreement(predicted: Floats, human: Floats) -> Agreement:
    error = predicted - human
    varied = np.ptp(predicted) > 0
    return Agreement(
        float(np.sqrt((error**2).mean())), float(np.abs(error).mean()),
        pearson(predicted, human) if varied else 0.0, spearman(predicted, human) if varied else 0.0,
    )  # fmt: skip


def _settled(scorer: FeatureScorer) -> list[Feature]:
    """The features with layers and paths written out: neither a new default nor another folder changes a file."""
    settled = []
    for one in scorer.features:
        if one.metric is not None:
            layer = {"layer": scorer.layers_of(one.metric)} if isinstance(one.metric, TokenMetric) else {}
            one = replace(one, metric=replace(one.metric, **_lasting(one.metric), **layer))
        settled.append(one)
    return settled


def _lasting(metric: Metric) -> dict[str, Any]:
    """Options that mean the same on another machine's processor and, for files of this one, in another folder."""
    changed: dict[str, Any] = {}
    for item in fields(metric):
        value = getattr(metric, item.name)
        if item.name in RUN_TIME:
            changed[item.name] = item.default
        elif item.name in PATHS and value not in NO_PATHS and PATHS[item.name](value):
            changed[item.name] = os.path.abspath(value)
    return changed


def _needs_corpus(one: Feature) -> bool:
    return one.metric is not None and one.metric.needs_corpus
