"""Metric: a small frozen value that prints as its spec, and makes a scorer.

    metric (a value: options) --scorer(corpus)--> Scorer (loaded, signed) --score(rows)--> [Segment]

`Metric.score` is that path for lists in memory; the command line runs the same one over a stream.
"""

from __future__ import annotations

import dataclasses
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from evalign.core import Report, Row, Segment
from evalign.core.options import coerced, option_fields, with_options, written
from evalign.core.rows import make_rows
from evalign.core.scoring import StreamOptions, score_stream
from evalign.core.scoring import blocks as blocks  # metrics take blocks of rows from here
from evalign.core.spec import Signature, format_spec, parse_spec
from evalign.core.totals import Corpus as Corpus
from evalign.core.totals import Result, Totals
from evalign.errors import LengthMismatchError, SpecError, nearest

UNPINNED = ("nrefs", "spec", "v", "version")  # entries of a signature that may differ where a metric is rebuilt


class Scorer(ABC):
    """A metric ready to run: weights loaded, tables read."""

    signature: Signature
    note: str = ""  # a sentence that a user should read once, such as what to install for better scores

    @abstractmethod
    def score(self, rows: list[Row]) -> list[Segment]:
        """Return one segment per row, in order."""

    def search_steps(self, candidate: str, reference: str) -> int:
        """Return the steps that the search for one pair takes at most; 0 if the work follows from the words."""
        return 0

    def settle(self) -> None:
        """Allocate the memory of a long stream at its start; called before the second block is scored."""
        return


@dataclass(frozen=True)
class Metric(ABC):
    """Base of all metrics. Subclasses are frozen dataclasses whose fields are made by `option`."""

    name: ClassVar[str]
    about: ClassVar[str]
    fields: ClassVar[tuple[str, ...]] = ("score",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    worst: ClassVar[float] = 0.0  # of a row without text
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("references",)
    aligns: ClassVar[bool] = False  # whether it matches tokens and shows which (`TokenMetric.align`)
    encodes: ClassVar[bool] = False  # whether it encodes tokens, and so has a pipeline (`TokenMetric.pipeline`)
    rescales: ClassVar[bool] = False  # whether its fields can be rescaled by a baseline
    searches: ClassVar[bool] = False  # whether a pair may take far more work than its words (`Scorer.search_steps`)
    pools: ClassVar[bool] = False  # whether the corpus score comes from sums of `Segment.statistics` (`from_totals`)
    made_for: ClassVar[tuple[str, ...]] = ()  # models it is limited to, unless a file of another is given; (): any

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Append the options to the docstring, so that `help(evalign.BERTScore)` explains them."""
        super().__init_subclass__(**keywords)
        cls.__doc__ = with_options(cls)

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            object.__setattr__(self, item.name, coerced(item, getattr(self, item.name)))

    @property
    def main(self) -> str:
        """The field that rankings and comparisons use: the last one."""
        return self.fields[-1]

    @abstractmethod
    def scorer(self, rows: Iterable[Row] | None = None) -> Scorer:
        """Load models and tables. `rows` are those to be scored; only a metric with `needs_corpus` reads them."""

    def corpus(self) -> Corpus | None:
        """Return a collector of segments for a corpus score that needs every row; None if means or sums suffice."""
        return None

    def result(self, signature: str, system: str = "", totals: Totals | None = None, note: str = "") -> Result:
        """Return the result of one system, which adds up segments; `totals` are those that it starts with."""
        formula = self.from_totals if self.pools else None
        return Result(system, str(self), signature, self.fields, totals or Totals(), formula, self.corpus(), note)

    def from_totals(self, totals: Sequence[float], rows: int) -> Mapping[str, float]:
        """Return field -> corpus score, from the sums of the rows' statistics (`pools`)."""
        raise SpecError(f"{self.name} does not pool statistics: its corpus score is no function of their sums")

    @property
    def needs_corpus(self) -> bool:
        """True if all rows must be read once before the first is scored."""
        return False

    @classmethod
    def fields_in_name(cls, name: str) -> dict[str, Any]:
        """Return the fields that a spec sets by its name: none, but `rouge2` is RougeN with n=2."""
        return {}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], name: str = "") -> Self:
        """Make a metric from a parsed spec; the error of an unknown option suggests the nearest option."""
        names = [item.name for item in option_fields(cls)]
        for key in options:
            if key not in names:
                raise SpecError(f"{name or cls.name} has no option {key!r}; {nearest(key, names)}")
        if options.get("layer") == "all":
            raise SpecError("layer=all is no single score; Python's score_layers gives every layer")
        return cls(**cls.fields_in_name(name), **options)

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """Return the metric whose numbers carry this signature; what it pins must be the same here."""
        name, options = parse_spec(signature["spec"])
        metric = cls.from_options(options, name)
        metric.check_signature(signature)
        return metric

    def check_signature(self, signature: Signature) -> None:
        """Raise SpecError if the numbers of this metric would carry another signature here."""
        check_settings(signature, self.scorer().signature)

    def content_digests(self) -> Mapping[str, str]:
        """Return what decides the numbers besides the spec: files by digest; models are not loaded.

        Batch jobs store it, so that a resume on another machine, or after a file was changed, is noticed.
        """
        return self.scorer(iter(())).signature.settings

    def signed(self, settings: Mapping[str, str]) -> Signature:
        """Return the signature with these settings; the spec goes before the version."""
        *before, version = settings.items()
        return Signature(self.name, dict([*before, ("spec", self.portable_spec), version]))

    @property
    def portable_spec(self) -> str:
        """The spec without the folders of files and models on this machine: signatures pin their content."""
        return format_spec(self.name, {name: _file_name(value) for name, value in self._changed_options().items()})

    def score(
        self,
        candidates: Iterable[str],
        references: Iterable[str] | Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
    ) -> Report:
        """Score lists in memory; `references` holds one text or several per candidate."""
        rows = make_rows(candidates, references, sources, ids)
        self.check_needs(rows)
        return self.report(self.scorer(rows), rows)

    def report(self, scorer: Scorer, rows: Sequence[Row]) -> Report:
        """Score rows in memory; a row that cannot be scored is an error."""
        stream = score_stream([(self, scorer)], rows, StreamOptions(raise_errors=True))
        segments = [segment for block in stream for segment in block.segments[0]]
        result = self.result(str(scorer.signature))
        if self.pools or result.corpus is not None:
            for segment in segments:
                result.add(segment)
        return Report(
            result.metric, result.signature, self.fields, segments, result.pooled, result.intervals, rows, self.bounds
        )

    def check_needs(self, rows: Iterable[Row]) -> None:
        """Raise for the first row that lacks references or a source that the metric needs."""
        for row in rows:
            if lacking := self.lacks(row):
                raise LengthMismatchError(lacking)

    def lacks(self, row: Row) -> str | None:
        """Return a sentence about what a row lacks, or None."""
        if "references" in self.needs and not row.references:
            return f"row {row.id}: {self.name} needs references, and this row has none"
        if "sources" in self.needs and row.source is None:
            return f"row {row.id}: {self.name} needs a source, and this row has none"
        return None

    def __str__(self) -> str:
        return format_spec(self.name, self._changed_options())

    def _changed_options(self) -> dict[str, str]:
        """Return the options that differ from their defaults, as a spec writes them."""
        options = {item.name: (getattr(self, item.name), item.default) for item in option_fields(self) if item.compare}
        return {name: written(value) for name, (value, default) in options.items() if value != default}


def check_settings(expected: Signature, present: Signature, ignored: Collection[str] = ()) -> None:
    """Raise SpecError at the first setting of a signature that differs from what is present here."""
    names = dict.fromkeys([*expected.settings, *present.settings])
    for name in (name for name in names if name not in {*UNPINNED, *ignored}):
        pinned, actual = expected.settings.get(name), present.settings.get(name)
        if pinned != actual:
            raise SpecError(f"the signature pins {name}:{pinned}, but here it is {name}:{actual}")


def _file_name(value: str) -> str:
    """Return the last part of a path that exists; other values as they are."""
    return os.path.basename(os.path.normpath(value)) if os.sep in value and os.path.exists(value) else value


@dataclass(frozen=True)
class RowMetric(Metric):
    """A metric that loads nothing and scores each row independently."""

    @abstractmethod
    def signature(self) -> Signature:
        """Return the settings that decide the numbers."""

    @abstractmethod
    def segment(self, row: Row) -> Segment:
        """Return the scores of one row."""

    def scorer(self, rows: Iterable[Row] | None = None) -> RowScorer:
        """Return a scorer without loading anything."""
        return RowScorer(self)


class RowScorer(Scorer):
    """The scorer of a `RowMetric`."""

    def __init__(self, metric: RowMetric) -> None:
        self.metric, self.signature = metric, metric.signature()

    def score(self, rows: list[Row]) -> list[Segment]:
        """Return one segment per row, in order."""
        return [self.metric.segment(row) for row in rows]
