"""IDF tables: in how many texts each token occurs, counted, merged, saved and hashed.

idf(t) = log((M + 1) / (df(t) + 1)) over M texts; a token never seen has df = 0. A table belongs to
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

from evalign.atomic_files import whole_file
from evalign.errors import TableError
from evalign.types import Floats, Ints

FORMAT = "evalign-idf-1"


class TokenWeights(Protocol):
    """Weights by token id, named by a hash of their content."""

    @property
    def digest(self) -> str:
        """Eight hex digits that change with any weight."""

    def weights(self, ids: Ints) -> Floats:
        """One weight per id."""

    def missing(self, ids: Ints) -> int:
        """How many of the ids have no weight, and so weigh 0."""


@dataclass(frozen=True)
class IDFTable:
    """Document frequencies of one tokenizer's ids over `documents` texts."""

    tokenizer: str
    documents: int = 0
    frequencies: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def count(cls, tokenizer: str, texts: Iterable[Ints]) -> IDFTable:
        """Counts texts given as token ids; repeated texts count as often as they come."""
        documents = 0
        frequencies: Counter[int] = Counter()
        for ids in texts:
            documents += 1
            frequencies.update(set(ids.tolist()))
        return cls(tokenizer, documents, dict(frequencies))

    def merge(self, other: IDFTable) -> IDFTable:
        """The table of both collections together, exactly as if they had been counted at once."""
        other.check(self.tokenizer)
        total = Counter(self.frequencies)
        total.update(other.frequencies)
        return IDFTable(self.tokenizer, self.documents + other.documents, dict(total))

    @property
    def digest(self) -> str:
        """Eight hex digits over tokenizer, size and counts."""
        content = json.dumps([self.tokenizer, self.documents, sorted(self.frequencies.items())])
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    def weights(self, ids: Ints) -> Floats:
        """log((M + 1) / (df + 1)) for each id."""
        counts = np.array([self.frequencies.get(int(token), 0) for token in ids], dtype=np.float64)
        return np.log((self.documents + 1) / (counts + 1))

    def missing(self, ids: Ints) -> int:
        """None: a token never seen has the greatest weight."""
        return 0

    def check(self, tokenizer: str) -> None:
        """Raises if the table was counted with another vocabulary."""
        if self.tokenizer != tokenizer:
            raise TableError(
                "this IDF table was counted with another tokenizer; fit one with this model: evalign idf fit"
            )

    def save(self, path: str | Path) -> None:
        """Writes JSON, whole or not at all."""
        with whole_file(Path(path)) as stream:
            stream.write(self.to_json())

    def to_json(self) -> str:
        """The text of the file."""
        plain = {"format": FORMAT, "tokenizer": self.tokenizer, "documents": self.documents}
        return json.dumps(plain | {"df": {str(key): self.frequencies[key] for key in sorted(self.frequencies)}})

    @classmethod
    def load(cls, path: str | Path) -> IDFTable:
        """Reads what `save` wrote."""
        try:
            plain = json.loads(Path(path).read_text("utf-8"))
            if plain["format"] != FORMAT:
                raise TableError(f"{path}: format {plain['format']!r}, expected {FORMAT!r}")
            frequencies = {int(token): int(count) for token, count in plain["df"].items()}
            table = cls(str(plain["tokenizer"]), int(plain["documents"]), frequencies)
        except OSError as error:
            reason = error.strerror or error
            raise TableError(
                f"idf={path}: no table there ({reason}); idf is no, references, sources or a file"
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise TableError(f"{path}: not an IDF table ({error}); make one with: evalign idf fit") from error
        if table.documents < 0 or any(not 0 <= count <= table.documents for count in frequencies.values()):
            raise TableError(f"{path}: damaged, its counts do not add up")
        return table


@dataclass(frozen=True)
class FixedWeights:
    """Weights from outside, by token id; ids without one weigh `default`, or count as missing and weigh 0."""

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
        """One weight per id."""
        default = self.default or 0.0
        return np.array([float(self.by_id.get(int(token), default)) for token in ids])

    def missing(self, ids: Ints) -> int:
        """Ids that the table does not know, if it has no default."""
        return 0 if self.default is not None else sum(int(token) not in self.by_id for token in ids)
