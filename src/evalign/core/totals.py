"""Mergeable totals of scored rows: segments in; counts, flags, means and pooled statistics out.

The report, the command line, batch jobs, the server and HTML all read their scores from `Totals`; only a `Corpus` needs
all rows. Sums are exact integers, so any split of the rows, merged in any order, gives the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from evalign.errors import InputError

if TYPE_CHECKING:
    from evalign.core.report import Segment

FRACTION_BITS = 80  # values are rounded down to multiples of 2^-80
Intervals = dict[str, tuple[float, float]]  # field -> low and high end
CorpusFormula = Callable[[Sequence[float], int], Mapping[str, float]]  # sums of statistics, rows -> field -> score


@dataclass
class ExactSum:
    """A sum and a count that merge exactly: integers add up to the same bits in every order, floats do not."""

    total: int = 0
    count: int = 0

    @classmethod
    def of(cls, value: float, count: int = 1) -> Self:
        """Return the sum of `count` values that was computed elsewhere."""
        exact = cls()
        exact.add(value)
        exact.count = count
        return exact

    def add(self, value: float) -> None:
        """Add one value, which must be finite."""
        try:
            numerator, denominator = value.as_integer_ratio()
        except (ValueError, OverflowError) as error:
            raise InputError(f"scores and statistics must be finite numbers, found {value}") from error
        self.total += (numerator << FRACTION_BITS) // denominator
        self.count += 1

    def merge(self, right: ExactSum) -> ExactSum:
        """Return the sum over both."""
        return ExactSum(self.total + right.total, self.count + right.count)

    @property
    def value(self) -> float:
        """The sum, rounded once."""
        return self.total / (1 << FRACTION_BITS)

    @property
    def mean(self) -> float:
        """The mean, rounded once; 0 without values."""
        return self.total / (self.count << FRACTION_BITS) if self.count else 0.0


@dataclass
class Totals:
    """Totals of rows under one metric: rows scored and failed, flags, sums of scores and of statistics."""

    rows: int = 0
    failed: int = 0
    flags: Counter[str] = field(default_factory=Counter)
    sums: dict[str, ExactSum] = field(default_factory=dict)  # by field
    statistics: list[ExactSum] = field(default_factory=list)
    first_error: str = field(default="", compare=False)  # why the first failed row has no score

    @classmethod
    def of(cls, segments: Iterable[Segment]) -> Self:
        """Return the totals of segments."""
        totals = cls()
        for segment in segments:
            totals.add(segment)
        return totals

    def add(self, segment: Segment) -> None:
        """Add one row; a failed row is counted and changes no sum."""
        if segment.error is not None:
            row = "" if segment.error.startswith("row ") else f"row {segment.id}: "
            self.first_error = self.first_error or f"{row}{segment.error}"
            self.failed += 1
            return
        self.rows += 1
        self.flags.update(segment.flags)
        for name, value in segment.scores.items():
            self.sums.setdefault(name, ExactSum()).add(value)
        self.statistics = self.statistics or [ExactSum() for _ in segment.statistics]
        for total, value in zip(self.statistics, segment.statistics, strict=True):
            total.add(value)

    def merge(self, right: Totals) -> Totals:
        """Return the totals over the rows of both, as a new object that shares no data with either."""
        scored = [totals for totals in (self, right) if totals.rows] or [self]
        return Totals(
            self.rows + right.rows,
            self.failed + right.failed,
            self.flags + right.flags,
            {name: _merged([totals.sums[name] for totals in scored]) for name in scored[0].sums},
            [_merged(column) for column in zip(*(totals.statistics for totals in scored), strict=True)],
            self.first_error or right.first_error,
        )

    @property
    def means(self) -> dict[str, float]:
        """Mean of each field."""
        return {name: total.mean for name, total in self.sums.items()}

    @property
    def pooled_statistics(self) -> list[float]:
        """Sum of each statistic."""
        return [total.value for total in self.statistics]

    def corpus_scores(self, formula: CorpusFormula | None) -> dict[str, float]:
        """Return the corpus scores that `formula` computes from the pooled statistics; none without rows."""
        return dict(formula(self.pooled_statistics, self.rows)) if formula is not None and self.rows else {}

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that lose no bit: integers of any size as hex."""
        return {
            "rows": self.rows,
            "failed": self.failed,
            "flags": dict(self.flags),
            "sums": {name: _encode(total) for name, total in self.sums.items()},
            "statistics": [_encode(total) for total in self.statistics],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Restore totals from `to_dict`."""
        return cls(
            plain["rows"],
            plain["failed"],
            Counter(plain["flags"]),
            {name: _decode(total) for name, total in plain["sums"].items()},
            [_decode(total) for total in plain["statistics"]],
        )


class Corpus(ABC):
    """Corpus score that cannot be computed from sums, such as ROUGE-1.5.5's: collects every scored segment."""

    @abstractmethod
    def add(self, segment: Segment) -> None:
        """Add one scored row."""

    @abstractmethod
    def scores(self) -> dict[str, float]:
        """Return field -> score of all rows added."""

    def intervals(self) -> Intervals:
        """Return field -> confidence interval, if the original program prints one."""
        return {}


@dataclass
class Result:
    """The totals of one system under one metric, with its signature; made by `Metric.result`."""

    system: str
    metric: str
    signature: str
    fields: tuple[str, ...]
    totals: Totals = field(default_factory=Totals)
    formula: CorpusFormula | None = None  # of metrics that pool statistics
    corpus: Corpus | None = None  # of metrics whose corpus score needs every row
    note: str = ""
    mean_intervals: Intervals = field(default_factory=dict)  # of `RowBootstrap`, if requested
    pooled_intervals: Intervals = field(default_factory=dict)

    def add(self, segment: Segment) -> None:
        """Add one row."""
        self.totals.add(segment)
        if self.corpus is not None and segment.error is None:
            self.corpus.add(segment)

    @property
    def n(self) -> int:
        """Rows scored."""
        return self.totals.rows

    @property
    def failed(self) -> int:
        """Rows without a score."""
        return self.totals.failed

    @property
    def first_error(self) -> str:
        """Why the first failed row has no score."""
        return self.totals.first_error

    @property
    def flags(self) -> Counter[str]:
        """Number of rows with each flag."""
        return self.totals.flags

    @property
    def scores(self) -> dict[str, float]:
        """Mean of each field."""
        return self.totals.means

    @cached_property
    def pooled(self) -> dict[str, float]:
        """Corpus scores that are not means; cached on first access, so add all rows before."""
        return self.totals.corpus_scores(self.formula) if self.corpus is None else self.corpus.scores()

    @cached_property
    def intervals(self) -> Intervals:
        """Intervals of the corpus scores: those that the original program prints, else resampled ones."""
        return (self.corpus.intervals() if self.corpus is not None else {}) or self.pooled_intervals

    def to_dict(self) -> dict[str, Any]:
        """Return one entry of `results` in every JSON document."""
        extras = {"mean_intervals": self.mean_intervals} if self.mean_intervals else {}
        extras |= corpus_entries(self.pooled, self.intervals)
        return {"system": self.system} | result_entry(self.metric, self.signature, self.totals, extras)


def result_entry(metric: str, signature: str, totals: Totals, extras: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a result; `extras` are the entries that do not follow from its totals alone."""
    entry = {"metric": metric, "signature": signature, "n": totals.rows, "scores": totals.means}
    entry |= dict(extras) | {"flags": dict(totals.flags)}
    return entry | ({"failed": totals.failed} if totals.failed else {})


def corpus_entries(pooled: Mapping[str, float], intervals: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Return the entries of a result's JSON for corpus scores that are not means; usually none."""
    entries: dict[str, Any] = {"corpus": dict(pooled)} if pooled else {}
    return entries | ({"intervals": {name: list(ends) for name, ends in intervals.items()}} if intervals else {})


def _merged(sums: Sequence[ExactSum]) -> ExactSum:
    merged = ExactSum()
    for part in sums:
        merged = merged.merge(part)
    return merged


def _encode(total: ExactSum) -> list[Any]:
    return [f"{total.total:x}", total.count]


def _decode(encoded: Sequence[Any]) -> ExactSum:
    return ExactSum(int(encoded[0], 16), encoded[1])
