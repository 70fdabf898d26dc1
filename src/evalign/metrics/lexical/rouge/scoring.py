"""From rows to segments: what a ROUGE metric counts, and how hits become P, R and F in the paper and in the script.

row --reader--> readings --metric--> hits per reference --rule for several references--> Segment
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, islice, repeat
from typing import ClassVar, TypeVar

import numpy as np

from evalign.errors import TextTooLongError
from evalign.metrics.base import Scorer
from evalign.metrics.corpus import Corpus
from evalign.metrics.lexical.rouge.bootstrap import Bootstrap
from evalign.metrics.lexical.rouge.formula import Counts, f_measure, rounded
from evalign.metrics.lexical.rouge.options import RougeOptions
from evalign.metrics.lexical.rouge.reading import Reading, shared_reader
from evalign.stats.estimate import merged
from evalign.types import Floats, Row, Segment

Value = TypeVar("Value")
Scored = tuple[Floats, Iterable[tuple[float, ...]]]  # (precision, recall and F; row), statistics per row


@dataclass(frozen=True)
class Rouge(RougeOptions):
    """A ROUGE metric: what it counts in a pair of texts."""

    by_sentence: ClassVar[bool] = False  # whether texts of one sentence leave nothing to this metric

    @property
    def shortest(self) -> int:
        """Words that a text needs to have anything to count."""
        return 1

    def scorer(self, rows: Iterable[Row] | None = None) -> RougeScorer:
        """Ready at once; word lists are read if the options need them."""
        return RougeScorer(self)

    def corpus(self) -> Corpus | None:
        """The script resamples; the paper's corpus score is the mean."""
        return Bootstrap(self.alpha) if self.mode == "rouge155" else None

    def pairs(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> tuple[Floats, Floats]:
        """Precision and recall of many pairs in the paper's way; 0 where a text is empty."""
        values = [
            self.pair(candidate, reference) if candidate.letters and reference.letters else (0.0, 0.0)
            for candidate, reference in zip(candidates, references, strict=True)
        ]
        precision, recall = np.array(values).reshape(-1, 2).T
        return precision, recall

    def pair(self, candidate: Reading, reference: Reading) -> tuple[float, float]:
        """Precision and recall of texts that are not empty."""
        model, peer, hit, _ = self.counts(candidate, reference)
        return hit / peer if peer else 0.0, hit / model if model else 0.0

    def units(self, reading: Reading) -> int:
        """What a text has to be found in the other: the whole of which precision and recall are shares."""
        return len(reading.letters)

    def many_counts(self, candidates: Sequence[Reading], references: Sequence[Reading]) -> list[Counts]:
        """The script's counts of many pairs."""
        return list(map(self.counts, candidates, references))

    @abstractmethod
    def counts(self, candidate: Reading, reference: Reading) -> Counts:
        """The script's counts of one pair."""

    def ratio(self, hit: float, total: float) -> float:
        """Hits of a total as the script prints it."""
        return hit / total


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
    def starts(self) -> list[int]:
        """The place of each row's first reference."""
        return list(accumulate(self.counts[:-1], initial=0))

    @property
    def paired(self) -> list[Reading]:
        """The candidate of each reference."""
        return list(chain.from_iterable(map(repeat, self.candidates, self.counts)))

    def by_row(self, values: Iterable[Value]) -> Iterator[list[Value]]:
        """Values of all references as one list per row."""
        remaining = iter(values)
        return (list(islice(remaining, count)) for count in self.counts)


class RougeScorer(Scorer):
    """A ROUGE metric with its reader."""

    def __init__(self, metric: Rouge) -> None:
        self.metric = metric
        self.signature = metric.signature()
        self._reader = shared_reader(metric.reading())
        self._alpha = metric.precision_weight
        self._score_block = self._by_paper if metric.mode == "paper" else self._by_script

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
        columns, statistics = self._score_block(block)
        flags = map(_flags, block.candidates, block.by_row(block.references), repeat(self.metric))
        return [
            Segment(row.id, {"precision": p, "recall": r, "f1": f}, counts, None, sums)
            for row, p, r, f, counts, sums in zip(rows, *columns.tolist(), flags, statistics, strict=False)
        ]

    def _by_paper(self, block: Block) -> Scored:
        precision, recall = self.metric.pairs(block.paired, block.references)
        columns = np.array([precision, recall, f_measure(precision, recall, self._alpha)])
        if not block.single:
            columns = RULES[self.metric.rule](self.metric, columns, block)
        return columns, repeat(())

    def _by_script(self, block: Block) -> Scored:
        """Rounded at every step, as the script does."""
        ratio, sums, columns = self.metric.ratio, [], []
        for counts in block.by_row(self.metric.many_counts(block.paired, block.references)):
            scored = [max(counts, key=lambda pair: pair.score)] if self.metric.rule == "best" else counts
            model, peer, hit, _ = map(sum, zip(*scored, strict=True))
            sums.append((model, peer, hit))
            columns.append((rounded(ratio(hit, peer)) if peer else 0.0, rounded(ratio(hit, model)) if model else 0.0))
        precision, recall = np.array(columns).reshape(-1, 2).T
        f = [rounded(value) for value in f_measure(precision, recall, self._alpha)]
        return np.array([precision, recall, f]), sums


def _mean(metric: Rouge, columns: Floats, block: Block) -> Floats:
    """The mean of each row's references."""
    return np.asarray(np.add.reduceat(columns, block.starts, axis=1) / block.counts)


def _pooled(metric: Rouge, columns: Floats, block: Block) -> Floats:
    """Hits in all references by units of all references (Lin 2004, equation 1); the candidate's count once for each."""
    precision, _, _ = _mean(metric, columns, block)
    units = np.array([metric.units(reading) for reading in block.references], dtype=np.float64)
    hits, totals = (np.add.reduceat(values, block.starts) for values in (columns[1] * units, units))
    recall = np.divide(hits, totals, out=np.zeros_like(hits), where=totals > 0)
    return np.array([precision, recall, f_measure(precision, recall, metric.precision_weight)])


def _best(metric: Rouge, columns: Floats, block: Block, field: int) -> Floats:
    """Each row's first reference with the best value of a field."""
    # With tokens=ascii the last bit decides, as in rouge-score, whose numbers are promised.
    values = columns[field] if metric.tokens == "ascii" else merged(columns[field])
    ends = (start + count for start, count in zip(block.starts, block.counts, strict=True))
    best = [start + int(values[start:end].argmax()) for start, end in zip(block.starts, ends, strict=True)]
    return np.asarray(columns[:, best])


RULES: dict[str, Callable[[Rouge, Floats, Block], Floats]] = {  # multiref of mode=paper
    "best": partial(_best, field=2),
    "max-recall": partial(_best, field=1),
    "mean": _mean,
    "average": _pooled,
}


def _flags(candidate: Reading, references: Sequence[Reading], metric: Rouge) -> dict[str, int]:
    """What a user should know about how these texts were read."""
    shortest = metric.shortest
    words, dropped = len(candidate.letters), candidate.dropped
    empty_references, longest = 0, 0
    for reference in references:
        length = len(reference.letters)
        if not length:
            empty_references += 1
        elif length > longest:
            longest = length
        dropped += reference.dropped
    flags = {}
    if not words or not longest:
        flags["empty"] = 1
    elif words < shortest or longest < shortest:
        flags["too-short"] = 1
    elif metric.by_sentence and not any(len(reading.sentences) > 1 for reading in (candidate, *references)):
        flags["one-sentence"] = 1
    if empty_references and longest:
        flags["empty-reference"] = empty_references
    if dropped:
        flags["truncated"] = dropped
    return flags
