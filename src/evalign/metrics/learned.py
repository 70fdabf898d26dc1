"""`learned(file=...)`: a small regression over other metrics, trained by `evalign train --combine`.

rows -> features (one encoding pass per model) -> weighted sum -> a score on the scale that people used
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evalign.errors import EvalignError, SpecError, TableError
from evalign.metrics.base import Metric, Scorer
from evalign.metrics.features import Feature, FeatureScorer, parse_features
from evalign.metrics.learned_file import LearnedFile
from evalign.metrics.options import execution_option, option
from evalign.metrics.signature import Signature
from evalign.metrics.token_metric import TokenMetric
from evalign.types import Floats, Row, Segment
from evalign.version import __version__

SHOWN_DIGITS = 8


@dataclass(frozen=True)
class Learned(Metric):
    """A weighted sum of other metrics' scores; bounds and worst value are those of the file's human scale."""

    name: ClassVar[str] = "learned"
    about: ClassVar[str] = "a regression over other metrics, from a file that evalign train --combine made"
    explainer: ClassVar[str] = "terms:explain_weighed"

    file: str = option("", "what evalign train --combine wrote")
    threads: int = execution_option(0, "threads of the encoder; 0: one per core")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.file:  # on the value: what it needs and where it ends depends on its file
            content = LearnedFile.load(self.file)
            parts = [feature.metric for feature in _features(self.file, content) if feature.metric is not None]
            needs = tuple(dict.fromkeys(need for part in parts for need in part.needs)) or ("references",)
            for name, value in (("bounds", (content.low, content.high)), ("worst", content.low), ("needs", needs)):
                object.__setattr__(self, name, value)

    @property
    def needs_corpus(self) -> bool:
        """Whether one of its parts does."""
        parts = (feature.metric for feature in _features(self.file, self.content()))
        return any(part is not None and part.needs_corpus for part in parts)

    def content(self) -> LearnedFile:
        """What the file holds."""
        if not self.file:
            raise SpecError('learned needs its file, as in learned(file="my.json"); make one: evalign train --combine')
        return LearnedFile.load(self.file)

    def scorer(self, rows: Iterable[Row] | None = None) -> LearnedScorer:
        """Loads the parts, and refuses if one of them is no longer what it was in training."""
        content = self.content()
        features = [with_threads(feature, self.threads) for feature in _features(self.file, content)]
        parts = FeatureScorer(features, rows)
        check_parts(self.file, content, parts)
        return LearnedScorer(content, parts)


class LearnedScorer(Scorer):
    """A learned metric with its parts loaded."""

    def __init__(self, content: LearnedFile, parts: FeatureScorer) -> None:
        self.content, self.parts = content, parts
        names = (feature.metric.name if feature.metric is not None else str(feature) for feature in parts.features)
        said = content.trained
        whole = "\n".join(map(str, parts.whole_signatures))  # an IDF table counted from other rows gives others
        digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
        settings = {
            "file": content.digest[:SHOWN_DIGITS],
            "parts": f"{'+'.join(dict.fromkeys(names))}@{digest[:SHOWN_DIGITS]}",
            "scale": f"{content.low:g} to {content.high:g}",
            "v": __version__,
        }
        self.signature = Signature(Learned.name, settings)
        if "rmse" in said:
            self.note = (
                f"scores are on the scale of {said.get('human', 'human')}; on rows not trained on they were off by "
                f"{said['rmse']:.3g} (root mean square over {said['rows']} rows, {said['folds']} folds)"
            )

    def score(self, rows: list[Row]) -> list[Segment]:
        """The weighted sum; a row without text has the lowest score of the scale."""
        looked = self.parts.look(rows)
        values = self.content.predict(looked.values).tolist()
        return [
            Segment(
                row.id, {"score": self.content.low if empty else value}, {**counts, **({"empty": 1} if empty else {})}
            )
            for row, value, counts, empty in zip(rows, values, looked.counts, looked.empty, strict=True)
        ]

    def features(self, row: Row) -> Floats:
        """What the sum is made of, in the order of the file's terms."""
        return np.asarray(self.parts.look([row]).values[0])


def with_threads(feature: Feature, threads: int) -> Feature:
    """The same feature, its encoder run by so many threads."""
    metric = feature.metric
    return replace(feature, metric=replace(metric, threads=threads)) if isinstance(metric, TokenMetric) else feature


def check_parts(name: str, content: LearnedFile, parts: FeatureScorer) -> None:
    """Raises if a feature's weights or settings are not those of the training."""
    for term, present in zip(content.terms, parts.signatures, strict=True):
        if term.signature != present:
            raise TableError(
                f"{name}: {term.feature} was trained as {term.signature}, but is {present} here; "
                "get the same model, or train again"
            )


def _features(name: str, content: LearnedFile) -> list[Feature]:
    features: list[Feature] = []
    for term in content.terms:
        try:
            parsed = parse_features(term.feature)
        except EvalignError as error:
            raise TableError(f"{name}: a feature cannot be used here: {error}") from error
        if len(parsed) != 1:
            raise TableError(f"{name}: {term.feature} is {len(parsed)} features, expected one; train it again")
        features += parsed
    return features
