"""Scores a stream of rows with several metrics at once, holding one block of rows at a time.

Segments leave as they are made; what stays is one exact sum per system, metric and field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evalign.analysis.malloc_trim import release_freed_memory
from evalign.data.rows import RowSource
from evalign.errors import InputError, SpecError
from evalign.metrics.base import Metric, Scorer, blocks
from evalign.metrics.corpus import Corpus
from evalign.stats.exact_sums import ExactSum
from evalign.types import Row, Segment, corpus_entries


@dataclass
class Result:
    """The running totals of one system under one metric."""

    system: str
    metric: str
    signature: str
    fields: tuple[str, ...]
    corpus: Corpus | None = None
    note: str = ""
    sums: dict[str, ExactSum] = field(default_factory=dict)
    flags: Counter[str] = field(default_factory=Counter)
    failed: int = 0

    def add(self, segment: Segment) -> None:
        """Takes in one row; a failed one is counted and leaves the means alone."""
        if segment.error is not None:
            self.failed += 1
            return
        self.flags.update(segment.flags)
        for name, value in segment.scores.items():
            self.sums.setdefault(name, ExactSum()).add(value)
        if self.corpus is not None:
            self.corpus.add(segment)

    @property
    def n(self) -> int:
        """Rows scored."""
        return next((total.count for total in self.sums.values()), 0)

    @property
    def scores(self) -> dict[str, float]:
        """Mean of each field."""
        return {name: total.mean for name, total in self.sums.items()}

    @cached_property
    def pooled(self) -> dict[str, float]:
        """Corpus scores that are not means; to be asked for when all rows are in."""
        return {} if self.corpus is None else self.corpus.scores()

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Confidence intervals of the corpus scores, where the original program prints them."""
        return {} if self.corpus is None else self.corpus.intervals()

    def to_dict(self) -> dict[str, Any]:
        """One entry of the command line's `results`."""
        plain = {
            "system": self.system,
            "metric": self.metric,
            "signature": self.signature,
            "n": self.n,
            "scores": self.scores,
            **corpus_entries(self.pooled, self.intervals),
            "flags": dict(self.flags),
        }
        return plain | {"failed": self.failed} if self.failed else plain


def score_source(
    source: RowSource, metrics: list[Metric], emit: Callable[[Result, Segment], None] = lambda _r, _s: None
) -> list[Result]:
    """Totals per system and metric, in order of appearance; `emit` gets every segment as it is made."""
    scorers = [(metric, str(metric), _scorer(metric, source)) for metric in metrics]
    for _, _, scorer in scorers:
        scorer.streaming = True
    results: dict[tuple[str, str], Result] = {}
    for number, block in enumerate(blocks(source)):
        for metric, spec, scorer in scorers:
            if number == 1:
                scorer.settle()
            if number == 0 and all(map(metric.lacks, block)):
                metric.check_needs(block)  # nobody has it: a wrong file, not a bad row
            for row, segment in zip(block, scored_block(metric, scorer, block), strict=True):
                key = row.system, spec
                if key not in results:
                    results[key] = Result(
                        row.system, spec, str(scorer.signature), metric.fields, metric.corpus(), scorer.note
                    )
                results[key].add(segment)
                emit(results[key], segment)
        release_freed_memory()
    signatures = {spec: str(scorer.signature) for _, spec, scorer in scorers}
    for (_, spec), result in results.items():
        result.signature = signatures[spec]  # some say how many references the rows had, known only now
    if not results:
        raise InputError("no rows to score: the input is empty")
    return list(results.values())


def scored_block(metric: Metric, scorer: Scorer, block: list[Row]) -> Iterator[Segment]:
    """A row that cannot be scored fails alone; its neighbours are scored."""
    complete = [row for row in block if metric.lacks(row) is None]
    try:
        scored = iter(scorer.score(complete))
    except InputError:
        scored = (_alone(scorer, row) for row in complete)
    for row in block:
        lacking = metric.lacks(row)
        yield next(scored) if lacking is None else Segment(row.id, {}, error=lacking)


def _scorer(metric: Metric, source: RowSource) -> Scorer:
    if not metric.needs_corpus:
        return metric.scorer()
    if not source.rereadable:
        raise SpecError(
            f"{metric}: a stream can be read only once; fit a table first (evalign idf fit) and pass idf=FILE"
        )
    return metric.scorer(source)


def _alone(scorer: Scorer, row: Row) -> Segment:
    try:
        return scorer.score([row])[0]
    except InputError as error:
        return Segment(row.id, {}, error=str(error))
