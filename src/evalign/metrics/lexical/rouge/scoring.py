"""From readings to scores: the two ways, the paper's and the script's, in which ROUGE turns hits into P, R and F.

row --reader--> readings --metric--> hits per reference --rule for several references--> Segment
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from evalign.errors import TextTooLongError
from evalign.metrics.base import Scorer
from evalign.metrics.lexical.rouge.bootstrap import rounded
from evalign.metrics.lexical.rouge.options import RougeOptions
from evalign.metrics.lexical.rouge.reading import Reading, shared_reader
from evalign.stats.ties import merged
from evalign.types import Floats, Row, Segment

Value = TypeVar("Value")
Scored = tuple[Floats, Iterable[tuple[float, ...]]]  # (precision, recall and F; row), statistics per row


class Counts(NamedTuple):
    """What the script counts against one reference; `score` decides which reference is best."""

    model: float
    peer: float
    hit: float
    score: float


class Countable(Protocol):
    """What one ROUGE metric adds to the shared path."""

    @property
    def shortest(self) -> int:
        """Words that a text needs to have anything to count."""
        ...

    def pairs(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> tuple[Floats, Floats]:
        """Precision and recall of many pairs, in the paper's way."""
        ...

    def many_counts(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> list[Counts]:
        """The script's counts of many pairs."""
        ...

    def ratio(self, hit: float, total: float) -> float:
        """Hits of a total as the script prints it."""
        ...


@dataclass(frozen=True)
class Block:
    """Rows as readings: one candidate each, all references end to end, and how many each row has."""

    candidates: list[Reading]
    references: list[Reading]
    counts: list[int]

    @property
    def single(self) -> bool:
        """Whether every row has one reference."""
        return self.counts.count(1) == len(self.counts)

    @property
    def paired(self) -> list[Reading]:
        """The candidate of each reference."""
        if self.single:
            return self.candidates
        return [own for own, count in zip(self.candidates, self.counts, strict=True) for _ in range(count)]

    def by_row(self, values: list[Value]) -> Iterator[Sequence[Value]]:
        """What belongs to references, row by row."""
        if self.single:
            return zip(values, strict=True)
        rest = iter(values)
        return (list(islice(rest, count)) for count in self.counts)


class RougeScorer(Scorer):
    """A ROUGE metric with its reader."""

    def __init__(self, metric: RougeOptions, counting: Countable) -> None:
        self.signature = metric.signature()
        self._reader = shared_reader(metric.reading())
        self._counting = counting
        self._alpha = metric.precision_weight
        self._rule = metric.rule
        self._merges = metric.tokens != "ascii"  # rouge-score lets the last bit decide, and its numbers are promised
        self._way = self._by_paper if metric.mode == "paper" else self._by_script

    def score(self, rows: list[Row]) -> list[Segment]:
        """One segment per row, in order."""
        candidates = [row.candidate for row in rows]
        references = list(chain.from_iterable(row.references for row in rows))
        try:
            reading = self._reader.read([*candidates, *references]).__getitem__
        except TextTooLongError:  # too many different words for one reading
            if len(rows) < 2:
                raise
            return [segment for row in rows for segment in self.score([row])]
        block = Block(
            list(map(reading, candidates)), list(map(reading, references)), [len(row.references) for row in rows]
        )
        columns, statistics = self._way(block)
        flags = map(_flags, block.candidates, block.by_row(block.references), repeat(self._counting.shortest))
        return [
            Segment(row.id, {"precision": p, "recall": r, "f1": f}, found, None, sums)
            for row, p, r, f, found, sums in zip(rows, *columns.tolist(), flags, statistics, strict=False)
        ]

    def _by_paper(self, block: Block) -> Scored:
        precision, recall = self._counting.pairs(block.paired, block.references)
        columns = np.array([precision, recall, f_measure(precision, recall, self._alpha)])
        if not block.single:
            columns = self._settled(columns, block.counts)
        return columns, repeat(())

    def _settled(self, columns: Floats, counts: list[int]) -> Floats:
        """One column per row: the mean of its references, or the first one with the best F."""
        starts = np.cumsum([0, *counts[:-1]])
        if self._rule == "mean":
            return np.asarray(np.add.reduceat(columns, starts, axis=1) / counts)
        f = merged(columns[2]) if self._merges else columns[2]
        best = [start + int(f[start : start + count].argmax()) for start, count in zip(starts, counts, strict=True)]
        return np.asarray(columns[:, best])

    def _by_script(self, block: Block) -> Scored:
        """Rounded at every step, as the script does."""
        ratio, sums, columns = self._counting.ratio, [], []
        for several in block.by_row(self._counting.many_counts(block.paired, block.references)):
            found = [max(several, key=lambda counts: counts.score)] if self._rule == "best" else several
            model, peer, hit, _ = map(sum, zip(*found, strict=True))
            sums.append((model, peer, hit))
            columns.append((rounded(ratio(hit, peer)) if peer else 0.0, rounded(ratio(hit, model)) if model else 0.0))
        precision, recall = np.array(columns).reshape(-1, 2).T
        f = [rounded(value) for value in f_measure(precision, recall, self._alpha)]
        return np.array([precision, recall, f]), sums


def f_measure(precision: Floats, recall: Floats, alpha: float | None) -> Floats:
    """PR / ((1 - alpha) P + alpha R), or without alpha, by beta = P/R: RP (R² + P²) / (R³ + P³); 0 where undefined."""
    if alpha is None:
        above, below = recall * precision * (recall**2 + precision**2), recall**3 + precision**3
    else:
        above, below = precision * recall, (1 - alpha) * precision + alpha * recall
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 0))


def _flags(candidate: Reading, references: Sequence[Reading], shortest: int) -> dict[str, int]:
    """What a user should know about how these texts were read."""
    dropped = candidate.dropped
    without, longest = 0, 0
    for reference in references:
        length = len(reference.letters)
        if not length:
            without += 1
        elif length > longest:
            longest = length
        dropped += reference.dropped
    flags = {}
    words = len(candidate.letters)
    if not words or not longest:
        flags["empty"] = 1
    elif words < shortest or longest < shortest:
        flags["too-short"] = 1
    if without and longest:
        flags["empty-reference"] = without
    if dropped:
        flags["truncated"] = dropped
    return flags
