"""The file behind `learned(file=...)`: a linear model over features, signed by the sha256 of its content.

    score = intercept + sum_i weight_i (x_i - mean_i) / scale_i, held within the scale people used

Nothing in it is executed. A file whose content was changed by hand no longer fits its sha256 and is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evalign.atomic_files import whole_file
from evalign.encoders.digest import content_digest
from evalign.errors import EvalignError, TableError
from evalign.types import Floats

FORMAT = "evalign-learned"
VERSION = 1
LARGEST = 1e100  # of any number: weights by scales by features stay far from overflow
REACHED = ("rmse", "rows", "folds")  # what `trained` says of agreement: all of it, or nothing


@dataclass(frozen=True)
class Term:
    """One feature with its weight per standard deviation, and the signature it had when it was weighed."""

    feature: str
    signature: str
    mean: float
    scale: float
    weight: float


@dataclass(frozen=True)
class LearnedFile:
    """A model over features; `low` and `high` are the ends of the scale people used, `trained` says on what."""

    terms: tuple[Term, ...]
    intercept: float
    low: float
    high: float
    trained: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> dict[str, Any]:
        """What is signed."""
        return {
            "terms": [vars(term) for term in self.terms],
            "intercept": float(self.intercept),
            "low": float(self.low),
            "high": float(self.high),
            "trained": dict(self.trained),
        }

    @property
    def digest(self) -> str:
        """The sha256 of the content in its one canonical form."""
        return content_digest(self.content)

    def predict(self, values: Floats) -> Floats:
        """(rows, features) -> (rows,), on the scale people used."""
        return np.asarray(np.clip(self.intercept + self.added(values).sum(axis=-1), self.low, self.high))

    def added(self, values: Floats) -> Floats:
        """What every feature adds to the intercept, in the shape of the values."""
        means, scales, weights = (
            np.array([getattr(t, name) for t in self.terms]) for name in ("mean", "scale", "weight")
        )
        return np.asarray((values - means) * (weights / scales))

    def save(self, path: str | Path) -> None:
        """Writes JSON, whole or not at all."""
        plain = {"format": FORMAT, "version": VERSION, "sha256": self.digest, "content": self.content}
        with whole_file(Path(path)) as stream:
            json.dump(plain, stream, indent=1, allow_nan=False)
            stream.write("\n")

    @classmethod
    def load(cls, path: str | Path) -> LearnedFile:
        """Reads what `save` wrote."""
        try:
            raw = Path(path).read_bytes()
        except OSError as error:
            raise TableError(
                f"file={path}: no learned metric there ({error.strerror}); make one: evalign train --combine"
            ) from error
        return cls.parse(str(path), raw)

    @classmethod
    def parse(cls, name: str, raw: bytes) -> LearnedFile:
        """From the content of a file; refuses what is damaged, unsigned or of another format."""
        try:
            plain = json.loads(raw)
            if plain["format"] != FORMAT or plain["version"] != VERSION:
                raise TableError(
                    f"{name}: format {plain['format']!r} version {plain['version']!r}, expected {FORMAT!r} {VERSION}"
                )
            said = plain["content"]
            terms = tuple(
                Term(
                    str(term["feature"]),
                    str(term["signature"]),
                    *(_number(term[key]) for key in ("mean", "scale", "weight")),
                )
                for term in said["terms"]
            )
            intercept, low, high = (_number(said[key]) for key in ("intercept", "low", "high"))
            content = cls(terms, intercept, low, high, _trained(said["trained"]))
            fits = content_digest(said) == plain["sha256"]
        except EvalignError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            raise TableError(f"{name}: not a learned metric ({error!r}); make one: evalign train --combine") from error
        if not fits:
            raise TableError(f"{name}: its content does not fit its sha256: it was changed or damaged; train it again")
        if not content.terms or content.low >= content.high or any(t.scale < 1 / LARGEST for t in terms):
            raise TableError(
                f"{name}: expected terms whose scale is at least {1 / LARGEST:g}, and low below high; train it again"
            )
        return content


def _number(value: Any) -> float:
    number = float(value)
    if not abs(number) <= LARGEST:
        raise ValueError(f"{value!r} is no number up to {LARGEST:g}")
    return number


def _trained(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"trained is {type(value).__name__}, expected an object")
    if REACHED[0] in value:
        for name in REACHED:
            if type(value[name]) not in (int, float):
                raise TypeError(f"trained says {name} {value[name]!r}, expected a number")
            _number(value[name])
    return dict(value)
