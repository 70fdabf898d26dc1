"""`learned(file=...)`: a small regression over other metrics, trained by `evalign train combine`.

rows -> features (one encoding pass per model) -> weighted sum -> a score on the scale that people used
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from evalign.core import Floats, Row, Segment
from evalign.core.metric import Metric, Scorer
from evalign.core.options import execution_option, option
from evalign.encoders.weights import content_digest
from evalign.errors import EvalignError, SpecError, TableError
from evalign.io.files import whole_file
from evalign.metrics.token_metric import TokenMetric
from evalign.research.learned.features import Feature, FeatureScorer, parse_features
from evalign.version import __version__

SHOWN_DIGITS = 8


@dataclass(frozen=True)
class Learned(Metric):
    """A weighted sum of other metrics' scores; bounds and worst value are those of the file's human scale."""

    name: ClassVar[str] = "learned"
    about: ClassVar[str] = "a regression over other metrics, from a file of `evalign train combine`"

    file: str = option("", "file written by `evalign train combine`")
    threads: int = execution_option(0, "threads of the encoder; 0: one per core")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.file:  # on the instance: needs and bounds depend on the file
            content = LearnedFile.load(self.file)
            parts = [feature.metric for feature in _features(self.file, content) if feature.metric is not None]
            needs = tuple(dict.fromkeys(need for part in parts for need in part.needs)) or ("references",)
            for name, value in (("bounds", (content.low, content.high)), ("worst", content.low), ("needs", needs)):
                object.__setattr__(self, name, value)

    @property
    def needs_corpus(self) -> bool:
        """Return whether one of its metrics does."""
        parts = (feature.metric for feature in _features(self.file, self.content()))
        return any(part is not None and part.needs_corpus for part in parts)

    def content(self) -> LearnedFile:
        """Return the content of the file."""
        if not self.file:
            raise SpecError('learned needs its file, as in learned(file="my.json"); train one: evalign train combine')
        return LearnedFile.load(self.file)

    def content_digests(self) -> Mapping[str, str]:
        """Return the digests of the file and of each metric in it; see `Metric.content_digests`."""
        content = self.content()
        metrics = [feature.metric for feature in _features(self.file, content) if feature.metric is not None]
        parts = {f"{metric} {name}": value for metric in metrics for name, value in metric.content_digests().items()}
        return {"file": content.digest, **parts}

    def scorer(self, rows: Iterable[Row] | None = None) -> LearnedScorer:
        """Load the metrics; raise if one of them differs from the training."""
        content = self.content()
        features = [with_threads(feature, self.threads) for feature in _features(self.file, content)]
        parts = FeatureScorer(features, rows)
        check_parts(self.file, content, parts)
        return LearnedScorer(self, content, parts)


class LearnedScorer(Scorer):
    """A learned metric with its metrics loaded."""

    def __init__(self, metric: Learned, content: LearnedFile, parts: FeatureScorer) -> None:
        self.content, self.parts = content, parts
        names = (feature.metric.name if feature.metric is not None else str(feature) for feature in parts.features)
        trained = content.trained
        whole = "\n".join(map(str, parts.whole_signatures))  # they depend on an IDF table of the rows
        digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
        settings = {
            "file": content.digest[:SHOWN_DIGITS],
            "parts": f"{'+'.join(dict.fromkeys(names))}@{digest[:SHOWN_DIGITS]}",
            "scale": f"{content.low:g} to {content.high:g}",
            "v": __version__,
        }
        self.signature = metric.signed(settings)
        if "rmse" in trained:
            self.note = (
                f"scores are on the scale of {trained.get('human', 'human')}; their error on held-out rows is "
                f"{trained['rmse']:.3g} (root mean square over {trained['rows']} rows, {trained['folds']} folds)"
            )

    def score(self, rows: list[Row]) -> list[Segment]:
        """Return the weighted sums; a row without text has the lowest score of the scale."""
        matrix = self.parts.compute(rows)
        values = self.content.predict(matrix.values).tolist()
        return [
            Segment(
                row.id, {"score": self.content.low if empty else value}, {**counts, **({"empty": 1} if empty else {})}
            )
            for row, value, counts, empty in zip(rows, values, matrix.counts, matrix.empty, strict=True)
        ]

    def features(self, row: Row) -> Floats:
        """Return the features of a row, in the order of the file's terms."""
        return np.asarray(self.parts.compute([row]).values[0])


def with_threads(feature: Feature, threads: int) -> Feature:
    """Return the feature with the number of threads of its encoder."""
    metric = feature.metric
    return replace(feature, metric=replace(metric, threads=threads)) if isinstance(metric, TokenMetric) else feature


def check_parts(name: str, content: LearnedFile, parts: FeatureScorer) -> None:
    """Raise if weights or settings of a feature differ from the training."""
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


FORMAT = "evalign-learned"
VERSION = 1
MAX_NUMBER = 1e100  # of any number, so that products of weights, scales and features cannot overflow
QUALITY_FIELDS = ("rmse", "rows", "folds")  # in `trained`: all or none


@dataclass(frozen=True)
class Term:
    """One feature with its weight per standard deviation, and its signature in training."""

    feature: str
    signature: str
    mean: float
    scale: float
    weight: float


@dataclass(frozen=True)
class LearnedFile:
    """Linear model of features; `low` and `high` are the ends of the human scale, `trained` describes the training."""

    terms: tuple[Term, ...]
    intercept: float
    low: float
    high: float
    trained: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> dict[str, Any]:
        """Return the signed content."""
        return {
            "terms": [vars(term) for term in self.terms],
            "intercept": float(self.intercept),
            "low": float(self.low),
            "high": float(self.high),
            "trained": dict(self.trained),
        }

    @property
    def digest(self) -> str:
        """Return the sha256 of the content in canonical form."""
        return content_digest(self.content)

    def predict(self, values: Floats) -> Floats:
        """Return predictions (rows,) of features (rows, features), on the human scale."""
        return np.asarray(np.clip(self.intercept + self.added(values).sum(axis=-1), self.low, self.high))

    def added(self, values: Floats) -> Floats:
        """Return the contribution of every feature to the sum, in the shape of the values."""
        means, scales, weights = (
            np.array([getattr(t, name) for t in self.terms]) for name in ("mean", "scale", "weight")
        )
        return np.asarray((values - means) * (weights / scales))

    def save(self, path: str | Path) -> None:
        """Write JSON, whole or not at all."""
        plain = {"format": FORMAT, "version": VERSION, "sha256": self.digest, "content": self.content}
        with whole_file(Path(path)) as stream:
            json.dump(plain, stream, indent=1, allow_nan=False)
            stream.write("\n")

    @classmethod
    def load(cls, path: str | Path) -> LearnedFile:
        """Read a file."""
        try:
            raw = Path(path).read_bytes()
        except OSError as error:
            raise TableError(
                f"file={path}: cannot be read as a learned metric ({error.strerror}); train one: evalign train combine"
            ) from error
        return cls.parse(str(path), raw)

    @classmethod
    def parse(cls, name: str, raw: bytes) -> LearnedFile:
        """Parse the content of a file; raise if it is damaged, unsigned or of a different format."""
        try:
            plain = json.loads(raw)
            if plain["format"] != FORMAT or plain["version"] != VERSION:
                raise TableError(
                    f"{name}: format {plain['format']!r} version {plain['version']!r}, expected {FORMAT!r} {VERSION}"
                )
            stored = plain["content"]
            terms = tuple(
                Term(
                    str(term["feature"]),
                    str(term["signature"]),
                    *(_number(term[key]) for key in ("mean", "scale", "weight")),
                )
                for term in stored["terms"]
            )
            intercept, low, high = (_number(stored[key]) for key in ("intercept", "low", "high"))
            content = cls(terms, intercept, low, high, _trained(stored["trained"]))
            fits = content_digest(stored) == plain["sha256"]
        except EvalignError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            raise TableError(f"{name}: not a learned metric ({error!r}); train one: evalign train combine") from error
        if not fits:
            raise TableError(f"{name}: its content does not fit its sha256: it was changed or damaged; train it again")
        if not content.terms or content.low >= content.high or any(t.scale < 1 / MAX_NUMBER for t in terms):
            raise TableError(
                f"{name}: expected terms whose scale is at least {1 / MAX_NUMBER:g}, and low below high; train it again"
            )
        return content


def _number(value: Any) -> float:
    number = float(value)
    if not abs(number) <= MAX_NUMBER:
        raise ValueError(f"{value!r} is not a number up to {MAX_NUMBER:g}")
    return number


def _trained(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"trained is {type(value).__name__}, expected an object")
    if QUALITY_FIELDS[0] in value:
        for name in QUALITY_FIELDS:
            if type(value[name]) not in (int, float):
                raise TypeError(f"trained says {name} {value[name]!r}, expected a number")
            _number(value[name])
    return dict(value)
