"""What a metric is: a small frozen value that prints as its spec, and makes a scorer.

    metric (a value: options) --scorer(corpus)--> Scorer (loaded, signed) --score(rows)--> [Segment]

`Metric.score` is that path for lists in memory; the command line runs the same one over a stream.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Self, TypeVar

from evalign.cancellation import check_stopped
from evalign.errors import InputError, LengthMismatchError, SpecError, nearest
from evalign.malloc_trim import release_freed_memory
from evalign.metrics.corpus import Corpus, Pooled
from evalign.metrics.options import MetricType, coerced, option_fields, written
from evalign.metrics.rows import make_rows
from evalign.metrics.signature import Signature
from evalign.metrics.spec import format_spec
from evalign.types import Report, Row, Segment

BLOCK_ROWS = 1024  # fixed, so that the batches a row meets do not depend on shards or workers
Item = TypeVar("Item")


class Scorer(ABC):
    """A metric ready to run: weights loaded, tables read."""

    signature: Signature
    note: str = ""  # a sentence that a user should read once, such as what to install for better scores

    @abstractmethod
    def score(self, rows: list[Row]) -> list[Segment]:
        """One segment per row, in order."""

    def settle(self) -> None:
        """Called once when a stream turns out to be long, so that its memory is taken at the start."""
        return


@dataclass(frozen=True)
class Metric(ABC, metaclass=MetricType):
    """Base of all metrics. Subclasses are frozen dataclasses whose fields are made by `option`."""

    name: ClassVar[str]
    about: ClassVar[str]
    fields: ClassVar[tuple[str, ...]] = ("score",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    worst: ClassVar[float] = 0.0  # of a row without text
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("references",)
    aligns: ClassVar[bool] = False  # whether it matches tokens and shows which (`MatchingMetric.align`)
    pools: ClassVar[bool] = False  # whether the corpus score comes from sums of `Segment.statistics` (`from_totals`)
    explainer: ClassVar[str]  # what draws its arithmetic for one pair: module:function in evalign.render.explain
    made_for: ClassVar[tuple[str, ...]] = ()  # models it is limited to, unless a file of another is given; (): any
    former_options: ClassVar[Mapping[str, str]] = {}  # old name -> name, still read everywhere

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            object.__setattr__(self, item.name, coerced(item, getattr(self, item.name)))

    @property
    def main(self) -> str:
        """The field that stands for the metric in rankings and comparisons: the last one."""
        return self.fields[-1]

    @abstractmethod
    def scorer(self, rows: Iterable[Row] | None = None) -> Scorer:
        """Loads what is needed. `rows` are those to be scored; only a metric that must see all first reads them."""

    def corpus(self) -> Corpus | None:
        """What computes the score of all rows together, if that is not the mean."""
        return Pooled(self) if self.pools else None

    def from_totals(self, totals: Sequence[float], rows: int) -> Mapping[str, float]:
        """Field -> corpus score, from the sums of the rows' statistics (`pools`)."""
        raise SpecError(f"{self.name} does not pool statistics: its corpus score is no function of their sums")

    @property
    def needs_corpus(self) -> bool:
        """Whether all rows must be seen once before the first is scored."""
        return False

    @classmethod
    def fields_in_name(cls, name: str) -> dict[str, Any]:
        """Fields that a spec sets by its name: none, but `rouge2` is RougeN with n=2."""
        return {}

    @classmethod
    def from_options(cls, options: Mapping[str, Any], name: str = "") -> Self:
        """From a parsed spec; unknown options are named together with the nearest known ones."""
        known = [item.name for item in option_fields(cls)]
        options = cls.current_names(options)
        for key in options:
            if key not in known:
                raise SpecError(f"{name or cls.name} has no option {key!r}; {nearest(key, known)}")
        if options.get("layer") == "all":
            raise SpecError("layer=all is no single score; Python's score_layers gives every layer")
        return cls(**cls.fields_in_name(name), **options)

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
        return self.report(self.scorer(rows), rows)

    def report(self, scorer: Scorer, rows: Sequence[Row]) -> Report:
        """Runs a scorer over rows in memory; a row that cannot be scored is an error."""
        scored = score_blocks([(self, scorer)], rows, failed_alone=False)
        segments = [segment for _, _, block in scored for segment in block]
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
            item.name: written(getattr(self, item.name))
            for item in option_fields(self)
            if item.compare and getattr(self, item.name) != item.default
        }
        return format_spec(self.name, changed)


@dataclass(frozen=True)
class RowMetric(Metric):
    """A metric that loads nothing and scores every row by itself."""

    @abstractmethod
    def signature(self) -> Signature:
        """What decides the numbers."""

    @abstractmethod
    def segment(self, row: Row) -> Segment:
        """The scores of one row."""

    def scorer(self, rows: Iterable[Row] | None = None) -> RowScorer:
        """Ready at once."""
        return RowScorer(self)


class RowScorer(Scorer):
    """The scorer of a `RowMetric`."""

    def __init__(self, metric: RowMetric) -> None:
        self.metric, self.signature = metric, metric.signature()

    def score(self, rows: list[Row]) -> list[Segment]:
        """One segment per row, in order."""
        return [self.metric.segment(row) for row in rows]


Ready = tuple[Metric, Scorer]  # a metric and the scorer it made


def score_blocks(
    ready: Sequence[Ready], rows: Iterable[Row], size: int = BLOCK_ROWS, failed_alone: bool = True
) -> Iterator[tuple[Ready, list[Row], list[Segment]]]:
    """Scores rows block by block with several metrics: every block and its segments, metric by metric.

    The one loop behind lists in memory, files, and requests. A row that cannot be scored fails alone, and its segment
    says why; with `failed_alone=False` the error is raised.
    """
    for number, block in enumerate(blocks(rows, size)):
        if number and number * size % BLOCK_ROWS == 0:
            release_freed_memory()
        for metric, scorer in ready:
            check_stopped()
            if number == 1:
                scorer.settle()
            if number == 0 and all(map(metric.lacks, block)):
                metric.check_needs(block)  # nobody has it: a wrong file, not a bad row
            yield (metric, scorer), block, score_block(metric, scorer, block) if failed_alone else scorer.score(block)


def score_block(metric: Metric, scorer: Scorer, block: list[Row]) -> list[Segment]:
    """One segment per row; rows that lack something or break the scorer have an error instead of scores."""
    complete = [row for row in block if metric.lacks(row) is None]
    try:
        scored = iter(scorer.score(complete))
    except InputError:
        scored = (_scored_alone(scorer, row) for row in complete)
    lacking = {place: metric.lacks(row) for place, row in enumerate(block)}
    return [
        Segment(row.id, {}, error=lacking[place]) if lacking[place] else next(scored) for place, row in enumerate(block)
    ]


def _scored_alone(scorer: Scorer, row: Row) -> Segment:
    try:
        return scorer.score([row])[0]
    except InputError as error:
        return Segment(row.id, {}, error=str(error))


def blocks(items: Iterable[Item], size: int = BLOCK_ROWS) -> Iterator[list[Item]]:
    """Lists of `size` items, the last one shorter."""
    stream = iter(items)
    while block := list(islice(stream, size)):
        yield block
