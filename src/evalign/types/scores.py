"""Rows to judge, and their scores: Row -> Segment -> Report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evalign.errors import MissingExtraError
from evalign.types.arrays import Floats

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class Row:
    """One thing to judge. `system`, `human` and `extra` (other fields asked for) are carried along, never scored."""

    id: str
    candidate: str
    references: tuple[str, ...] = ()
    source: str | None = None
    system: str = ""
    human: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Segment:
    """The scores of one row. `counts` says what was flagged and how often; `error` why there is no score.

    `statistics` are numbers whose sums over rows give the corpus score; none where that is the mean. `reference` is the
    place of the one of several references whose score this is; None where there is one only, or where all count.
    """

    id: str
    scores: Mapping[str, float]
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    statistics: tuple[float, ...] = ()
    reference: int | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of what happened to this row."""
        return tuple(self.counts)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        plain: dict[str, Any] = {"id": self.id, "scores": dict(self.scores), "flags": list(self.flags)}
        if self.counts:
            plain["counts"] = dict(self.counts)
        if self.statistics:
            plain["statistics"] = list(self.statistics)
        if self.reference is not None:
            plain["reference"] = self.reference
        return plain | {"error": self.error} if self.error else plain


@dataclass(frozen=True)
class Report:
    """The scores of one metric over many rows, in input order."""

    metric: str
    signature: str
    fields: tuple[str, ...]
    segments: Sequence[Segment] = field(repr=False)
    pooled: Mapping[str, float] = field(default_factory=dict)  # corpus scores that are not means, as BLEU's
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    rows: Sequence[Row] = field(default=(), repr=False)  # the texts, for those who want to see them

    def __len__(self) -> int:
        return len(self.segments)

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        if name not in self.fields:
            raise KeyError(f"{self.metric} has no field {name!r}; it has {', '.join(self.fields)}")
        return np.array([segment.scores[name] for segment in self.segments], dtype=np.float64)

    def __iter__(self) -> Iterator[npt.NDArray[np.float64]]:
        """The fields' arrays, so that `P, R, F = report` works."""
        return (self[name] for name in self.fields)

    @property
    def ids(self) -> list[str]:
        """Row ids in input order."""
        return [segment.id for segment in self.segments]

    @property
    def flags(self) -> dict[str, int]:
        """How many rows carry each flag."""
        return dict(Counter(flag for segment in self.segments for flag in segment.flags))

    def mean(self, name: str) -> float:
        """Mean of one field over all rows."""
        if not self.segments:
            raise ValueError(f"no rows were scored, so {name} has no mean")
        return float(self[name].mean())

    def corpus(self, name: str) -> float:
        """The corpus score of one field: pooled over all rows where the metric does that, as BLEU, else the mean."""
        return self.pooled[name] if name in self.pooled else self.mean(name)

    def to_dict(self) -> dict[str, Any]:
        """The shape of one entry of the command line's `results`."""
        return {
            "metric": self.metric,
            "signature": self.signature,
            "n": len(self),
            "scores": {name: self.mean(name) for name in self.fields} if self.segments else {},
            **corpus_entries(self.pooled, self.intervals),
            "flags": self.flags,
            "segments": [segment.to_dict() for segment in self.segments],
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """JSON text; also written to `path` if given."""
        text = json.dumps(self.to_dict(), ensure_ascii=False)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """One self-contained interactive file that opens without any request; also written to `path` if given."""
        from evalign.render.documents import report_document
        from evalign.render.export import write_html

        return write_html(report_document(self), path)

    def _repr_html_(self) -> str:
        from evalign.render.documents import report_document
        from evalign.render.export import notebook_html
        from evalign.render.static_html import static_report

        return notebook_html(report_document(self), static_report(self))

    def to_pandas(self) -> pandas.DataFrame:
        """One line per row: id, the fields, flags."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("Report.to_pandas", "data") from error
        columns: dict[str, Any] = {"id": self.ids} | {name: self[name] for name in self.fields}
        return pandas.DataFrame(columns | {"flags": [" ".join(segment.flags) for segment in self.segments]})

    def __str__(self) -> str:
        means = "  ".join(f"{name} {self.corpus(name):.4f}" for name in self.fields) if self.segments else "no rows"
        flags = "".join(f"  {flag}: {count}" for flag, count in self.flags.items())
        return f"{self.metric}  n={len(self)}  {means}{flags}\n{self.signature}"


def corpus_entries(pooled: Mapping[str, float], intervals: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """What a result's JSON says about corpus scores that are not means; usually nothing."""
    entries: dict[str, Any] = {"corpus": dict(pooled)} if pooled else {}
    return entries | ({"intervals": {name: list(ends) for name, ends in intervals.items()}} if intervals else {})


@dataclass(frozen=True)
class LayerReport:
    """The scores of every layer of an encoder: field -> (layers, rows)."""

    metric: str
    signature: str
    layers: tuple[int, ...]
    scores: Mapping[str, Floats] = field(repr=False)

    def __getitem__(self, name: str) -> Floats:
        return self.scores[name]
