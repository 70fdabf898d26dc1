"""IDF tables: the number of texts in which each token occurs, counted, merged, saved and hashed.

idf(t) = log((M + 1) / (df(t) + 1)) over M texts; an unseen token has df = 0. A table belongs to
one tokenizer and refuses another's ids.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from evalign.core import Floats, Ints
from evalign.errors import TableError
from evalign.io.files import whole_file
from evalign.io.json_shapes import has_shape
from evalign.io.records import parse_json

FORMAT = "evalign-idf-1"
SHAPE = {"format": str, "digest": str, "tokenizer": str, "documents": int, "df": {str: int}}
MAX_DOCUMENTS = 2**53  # counts up to here are exact in the arithmetic of weights


class TokenWeights(Protocol):
    """Weights by token id, named by a hash of their content."""

    @property
    def digest(self) -> str:
        """Eight hex digits that change with any weight."""

    def weights(self, ids: Ints) -> Floats:
        """Return one weight per id."""

    def missing(self, ids: Ints) -> int:
        """Count the ids that have no weight, and so weigh 0."""


@dataclass(frozen=True)
class IDFTable:
    """Document frequencies of one tokenizer's ids over `documents` texts."""

    tokenizer: str
    documents: int = 0
    frequencies: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def count(cls, tokenizer: str, texts: Iterable[Ints]) -> IDFTable:
        """Count texts of token ids; repeated texts count repeatedly."""
        documents = 0
        frequencies: Counter[int] = Counter()
        for ids in texts:
            documents += 1
            frequencies.update(set(ids.tolist()))
        return cls(tokenizer, documents, dict(frequencies))

    def merge(self, right: IDFTable) -> IDFTable:
        """Return the table of both collections, equal to one counted at once."""
        right.check(self.tokenizer)
        total = Counter(self.frequencies)
        total.update(right.frequencies)
        return IDFTable(self.tokenizer, self.documents + right.documents, dict(total))

    @property
    def digest(self) -> str:
        """Eight hex digits over tokenizer, size and counts."""
        content = json.dumps([self.tokenizer, self.documents, sorted(self.frequencies.items())])
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    def weights(self, ids: Ints) -> Floats:
        """Return log((M + 1) / (df + 1)) for each id."""
        counts = np.array([self.frequencies.get(int(token), 0) for token in ids], dtype=np.float64)
        return np.log((self.documents + 1) / (counts + 1))

    def missing(self, ids: Ints) -> int:
        """Return 0: unseen tokens get the maximum weight."""
        return 0

    def check(self, tokenizer: str) -> None:
        """Raise TableError if the table was counted with another vocabulary."""
        if self.tokenizer != tokenizer:
            raise TableError(
                "this IDF table was counted with another tokenizer; fit one with this model: evalign fit idf"
            )

    def save(self, path: str | Path) -> None:
        """Write JSON, whole or not at all."""
        with whole_file(Path(path)) as stream:
            stream.write(self.to_json())

    def to_json(self) -> str:
        """Return the content of the file."""
        plain = {"format": FORMAT, "digest": self.digest, "tokenizer": self.tokenizer, "documents": self.documents}
        return json.dumps(plain | {"df": {str(key): self.frequencies[key] for key in sorted(self.frequencies)}})

    @classmethod
    def load(cls, path: str | Path) -> IDFTable:
        """Read a file that `save` wrote."""
        try:
            return cls.parse(str(path), Path(path).read_text("utf-8"))
        except OSError as error:
            reason = error.strerror or error
            raise TableError(
                f"idf={path}: no table there ({reason}); idf is no, references, sources or a file"
            ) from error
        except UnicodeDecodeError as error:
            raise TableError(f"{path}: not an IDF table ({error}); make one with: evalign fit idf") from error

    @classmethod
    def parse(cls, name: str, text: str) -> IDFTable:
        """Parse the content of a file; a table that does not fit its digest is refused."""
        try:
            plain = parse_json(text)
            if plain["format"] != FORMAT:
                raise TableError(f"{name}: format {plain['format']!r}, expected {FORMAT!r}")
            if not has_shape(plain, SHAPE):
                raise ValueError("expected a tokenizer and counts, which are whole numbers")
            frequencies = {_token_id(token): count for token, count in plain["df"].items()}
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise TableError(f"{name}: not an IDF table ({error}); make one with: evalign fit idf") from error
        table = cls(plain["tokenizer"], plain["documents"], frequencies)
        counted = all(0 <= count <= table.documents for count in frequencies.values())
        if not (counted and 0 <= table.documents <= MAX_DOCUMENTS):
            raise TableError(f"{name}: damaged, its counts do not add up")
        if plain["digest"] != table.digest:
            raise TableError(f"{name}: changed or damaged, it does not fit its digest; fit it again: evalign fit idf")
        return table


def _token_id(token: str) -> int:
    """Return the id of a key; raise ValueError if it is written in another way than `to_json` does."""
    if not (token.isascii() and token.isdecimal()) or str(int(token)) != token:
        raise ValueError(f"{token!r:.40} is no token id")
    return int(token)


@dataclass(frozen=True)
class FixedWeights:
    """Weights of the caller by token id; ids without one weigh `default`, or count as missing and weigh 0."""

    by_id: Mapping[int, float]
    default: float | None = None

    def __post_init__(self) -> None:
        for token, weight in [*self.by_id.items(), ("default", self.default or 0.0)]:
            if not 0 <= float(weight) < math.inf:
                raise TableError(
                    f"idf: the weight of token {token} is {weight}; weights must be finite and not negative"
                )

    @property
    def digest(self) -> str:
        """Eight hex digits over the weights."""
        content = json.dumps(
            [self.default or 0.0, sorted((int(key), float(value)) for key, value in self.by_id.items())]
        )
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    def weights(self, ids: Ints) -> Floats:
        """Return one weight per id."""
        default = self.default or 0.0
        return np.array([float(self.by_id.get(int(token), default)) for token in ids])

    def missing(self, ids: Ints) -> int:
        """Count the ids that the table does not have, unless it has a default."""
        return 0 if self.default is not None else sum(int(token) not in self.by_id for token in ids)
