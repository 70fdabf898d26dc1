"""Rows to score and their scores: Row -> Segment -> Report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evalign.core.tokens import Floats
from evalign.core.totals import Totals, corpus_entries, result_entry
from evalign.errors import InputError, MissingExtraError, UndefinedStatisticError

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class Row:
    """A candidate with its references and source; `system`, `human` and `extra` (more fields) are never scored."""

    id: str
    candidate: str
    references: tuple[str, ...] = ()
    source: str | None = None
    system: str = ""
    human: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    line: int = field(default=0, compare=False, repr=False)  # where the row ends in its file; 0: not from a file


@dataclass(frozen=True, slots=True)
class BadRow:
    """A record of a file that is no row: the line where it ends, and the reason."""

    line: int
    error: str


@dataclass(frozen=True, slots=True)
class Segment:
    """The scores of one row. `counts` has the number of times each flag applies; `error` is why there is no score.

    `statistics` are numbers whose sums over rows give the corpus score; empty where that is the mean. `reference` is
    the index of the reference that was selected; None with a single reference, or where all of them count.
    """

    id: str
    scores: Mapping[str, float]
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    statistics: tuple[float, ...] = ()
    reference: int | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the flags of this row."""
        return tuple(self.counts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        plain: dict[str, Any] = {"id": self.id, "scores": dict(self.scores), "flags": list(self.flags)}
        if self.counts:
            plain["counts"] = dict(self.counts)
        if self.statistics:
            plain["statistics"] = list(self.statistics)
        if self.reference is not None:
            plain["reference"] = self.reference
        return plain | {"error": self.error} if self.error else plain


def decimals(bounds: tuple[float, float]) -> int:
    """Return how many decimals of a metric's scores are printed: of those with the same digits on every processor.

    Scores up to 1 have four and percentages two; 32 bits, in which models compute, have about seven digits.
    """
    low, high = bounds
    if high >= 10:
        return 2
    return 4 if high == 1 or high - low <= 2 else 3


@dataclass(frozen=True)
class Report:
    """The scores of one metric over many rows, in input order."""

    metric: str
    signature: str
    fields: tuple[str, ...]
    segments: Sequence[Segment] = field(repr=False)
    pooled: Mapping[str, float] = field(default_factory=dict)  # corpus scores that are not means, as BLEU's
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    rows: Sequence[Row] = field(default=(), repr=False)  # the texts, if the metric's `score` made the report
    bounds: tuple[float, float] = (0.0, 1.0)  # lowest and highest score that the metric can give

    def __len__(self) -> int:
        return len(self.segments)

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        self._check_field(name)
        return np.array([segment.scores[name] for segment in self.segments], dtype=np.float64)

    def __iter__(self) -> Iterator[npt.NDArray[np.float64]]:
        """Iterate over the fields' arrays, so that `P, R, F = report` works.

        Raises InputError for a metric with a single field.
        """
        if len(self.fields) == 1:
            raise InputError(
                f"{self.metric} has one field: report[{self.main!r}] has each row's, report.score that of the corpus"
            )
        return (self[name] for name in self.fields)

    @property
    def main(self) -> str:
        """Name of the main field, which rankings and comparisons use."""
        return self.fields[-1]

    @property
    def score(self) -> float:
        """Corpus score of the main field."""
        return self.corpus(self.main)

    @property
    def ids(self) -> list[str]:
        """Row ids in input order."""
        return [segment.id for segment in self.segments]

    @cached_property
    def totals(self) -> Totals:
        """Mergeable totals of all rows."""
        return Totals.of(self.segments)

    @property
    def flags(self) -> dict[str, int]:
        """Number of rows with each flag."""
        return dict(self.totals.flags)

    def mean(self, name: str) -> float:
        """Return the mean of one field over all rows."""
        self._check_field(name)
        if name not in self.totals.sums:
            raise UndefinedStatisticError(f"{self.metric}: no rows were scored, so {name} has no mean")
        return self.totals.sums[name].mean

    def corpus(self, name: str) -> float:
        """Return the corpus score of one field: pooled over all rows if the metric pools, as BLEU, else the mean."""
        return self.pooled[name] if name in self.pooled else self.mean(name)

    def result_entry(self) -> dict[str, Any]:
        """Return the totals as an entry of the command line's `results`."""
        return result_entry(self.metric, self.signature, self.totals, corpus_entries(self.pooled, self.intervals))

    def to_dict(self) -> dict[str, Any]:
        """Return `result_entry` with the scores of every row."""
        return self.result_entry() | {"segments": [segment.to_dict() for segment in self.segments]}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return JSON text, and write it to `path` unless that is None."""
        text = json.dumps(self.to_dict(), ensure_ascii=False)
        if path is not None:
            from evalign.render.documents import write_text

            write_text(text, path)
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a self-contained interactive page, and write it to `path` unless that is None."""
        from evalign.render.documents import report_document
        from evalign.render.export import write_html

        return write_html(report_document(self), path)

    def _repr_html_(self) -> str:
        from evalign.render.documents import report_document
        from evalign.render.export import notebook_html
        from evalign.render.static_html import static_report

        return notebook_html(report_document(self), static_report(self))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with one line per row: id, the fields, flags."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("Report.to_pandas", "data") from error
        columns: dict[str, Any] = {"id": self.ids} | {name: self[name] for name in self.fields}
        return pandas.DataFrame(columns | {"flags": [" ".join(segment.flags) for segment in self.segments]})

    def _check_field(self, name: str) -> None:
        if name not in self.fields:
            raise KeyError(f"{self.metric} has no field {name!r}; it has {', '.join(self.fields)}")

    def __str__(self) -> str:
        digits = decimals(self.bounds)
        scored = self.pooled or self.totals.sums
        means = "  ".join(f"{name} {self.corpus(name):.{digits}f}" for name in self.fields) if scored else "no scores"
        flags = "".join(f"  {flag}: {count}" for flag, count in self.flags.items())
        return f"{self.metric}  n={len(self)}  {means if self.segments else 'no rows'}{flags}\n{self.signature}"


@dataclass(frozen=True)
class LayerReport:
    """The scores of every layer of an encoder: field -> (layers, rows)."""

    metric: str
    signature: str
    layers: tuple[int, ...]
    scores: Mapping[str, Floats] = field(repr=False)

    def __getitem__(self, name: str) -> Floats:
        return self.scores[name]
