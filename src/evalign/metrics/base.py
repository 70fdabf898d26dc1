"""What a metric is: a small frozen value that prints as its spec, and makes a scorer.

    metric (a value: options) --scorer(corpus)--> Scorer (loaded, signed) --score(rows)--> [Segment]

`Metric.score` is that path for lists in memory; the command line runs the same one over a stream.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar, Self, TypeVar

from evalign.errors import LengthMismatchError, SpecError, nearest
from evalign.metrics.corpus import Corpus
from evalign.metrics.rows import make_rows
from evalign.metrics.signature import Signature
from evalign.metrics.spec import format_spec
from evalign.types import Report, Row, Segment

BLOCK_ROWS = 1024  # fixed, so that the batches a row meets do not depend on shards or workers
Item = TypeVar("Item")


def option(default: Any, about: str, choices: Collection[str] = ()) -> Any:
    """A metric's option: its default, one line of help and, if they are few, the values it takes."""
    return field(default=default, metadata={"about": about, "choices": choices})


class Scorer(ABC):
    """A metric ready to run: weights loaded, tables read."""

    signature: Signature
    note: str = ""  # a sentence that a user should read once, such as what to install for better scores
    streaming: bool = False  # rows pass by in blocks and most never return: remember sparingly

    @abstractmethod
    def score(self, rows: list[Row]) -> list[Segment]:
        """One segment per row, in order."""

    def settle(self) -> None:
        """Called once when a stream turns out to be long, so that its memory is taken at the start."""
        return


@dataclass(frozen=True)
class Metric(ABC):
    """Base of all metrics. Subclasses are frozen dataclasses whose fields are made by `option`."""

    name: ClassVar[str]
    about: ClassVar[str]
    fields: ClassVar[tuple[str, ...]]
    bounds: ClassVar[tuple[float, float]]
    worst: ClassVar[float]
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("references",)

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            object.__setattr__(self, item.name, _coerce(item, getattr(self, item.name)))

    @abstractmethod
    def scorer(self, corpus: Iterable[Row] | None = None) -> Scorer:
        """Loads what is needed. `corpus` is read only if `needs_corpus`."""

    def corpus(self) -> Corpus | None:
        """What computes the score of all rows together, if that is not the mean."""
        return None

    @property
    def needs_corpus(self) -> bool:
        """Whether all rows must be seen once before the first is scored."""
        return False

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """From a parsed spec; unknown options are named together with the nearest known ones."""
        known = [item.name for item in dataclasses.fields(cls)]
        for key in options:
            if key not in known:
                raise SpecError(f"{cls.name} has no option {key!r}; {nearest(key, known)}")
        if options.get("layer") == "all":
            raise SpecError("layer=all is no single score; Python's score_layers gives every layer")
        return cls(**options)

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """The metric whose numbers carry this signature."""
        raise SpecError(f"{cls.name} cannot be rebuilt from a signature; write its spec")

    def score(
        self,
        candidates: Iterable[str],
        references: Iterable[str] | Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
    ) -> Report:
        """Scores lists in memory; `references` holds one text or several per candidate."""
        rows = make_rows(candidates, references, sources, ids)
        self.check_needs(rows)
        return self.report(self.scorer(rows if self.needs_corpus else None), rows)

    def report(self, scorer: Scorer, rows: Iterable[Row]) -> Report:
        """Runs a scorer over rows, block by block."""
        rows = list(rows)
        segments = [segment for block in blocks(rows) for segment in scorer.score(block)]
        report = Report(str(self), str(scorer.signature), self.fields, segments, rows=rows)
        corpus = self.corpus()
        if corpus is None:
            return report
        for segment in segments:
            corpus.add(segment)
        return replace(report, pooled=corpus.scores(), intervals=corpus.intervals())

    def check_needs(self, rows: Iterable[Row]) -> None:
        """Raises for the first row without what the metric compares with."""
        for row in rows:
            if lacking := self.lacks(row):
                raise LengthMismatchError(lacking)

    def lacks(self, row: Row) -> str | None:
        """What is missing in a row, in a sentence."""
        if "references" in self.needs and not row.references:
            return f"row {row.id}: {self.name} needs references, and this row has none"
        if "sources" in self.needs and row.source is None:
            return f"row {row.id}: {self.name} needs a source, and this row has none"
        return None

    def __str__(self) -> str:
        changed = {
            item.name: _text(getattr(self, item.name))
            for item in dataclasses.fields(self)
            if getattr(self, item.name) != item.default
        }
        return format_spec(self.name, changed)


def blocks(items: Iterable[Item], size: int = BLOCK_ROWS) -> Iterator[list[Item]]:
    """Lists of `size` items, the last one shorter."""
    stream = iter(items)
    while block := list(islice(stream, size)):
        yield block


def _coerce(item: dataclasses.Field[Any], value: Any) -> Any:
    """Spec strings and Python values alike become what the option's default is an example of."""
    choices = item.metadata.get("choices", ())
    if isinstance(item.default, bool):
        if str(value).lower() not in ("true", "false"):
            raise SpecError(f"{item.name}={value}: expected true or false")
        return str(value).lower() == "true"
    if isinstance(item.default, (int, float)):
        try:
            return type(item.default)(str(value))
        except ValueError:
            raise SpecError(
                f"{item.name}={value}: expected {'a whole number' if isinstance(item.default, int) else 'a number'}"
            ) from None
    value = None if value is None else _text(value)
    if choices and value not in choices:
        raise SpecError(f"{item.name}={value}: {nearest(str(value), choices)}")
    return value


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
