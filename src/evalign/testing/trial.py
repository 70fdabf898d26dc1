"""A metric on trial: scores rows as asked, without help from what it remembers, and says where two ways differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.metrics.base import Metric, Scorer, blocks
from evalign.testing.sample import make_rows
from evalign.types import Report, Row, Segment

SHOWN = 60  # characters of a text in a message


class LawBroken(AssertionError):  # noqa: N818 - read aloud, it says what happened
    """A metric broke a law: `law`, `metric`, `rows` (as few as show it) and `detail`."""

    def __init__(self, law: str, about: str, metric: Metric, rows: Sequence[Row], detail: str) -> None:
        self.law, self.metric, self.rows, self.detail = law, metric, tuple(rows), detail
        shown = "".join(f"\n  {_shown(row)}" for row in rows)
        super().__init__(f"{metric} breaks the law {law!r}: {about}\n{detail}{shown}")


@dataclass(frozen=True)
class Counterexample:
    """Rows that break a law, and how."""

    rows: Sequence[Row]
    detail: str


class ScoringFailed(Exception):  # noqa: N818
    """These rows got no scores; `__cause__` is what scoring raised, if it did."""

    def __init__(self, rows: Sequence[Row], detail: str) -> None:
        super().__init__(detail)
        self.rows = tuple(rows)


@dataclass(frozen=True)
class Trial:
    """One metric, how near two scores must be to be the same, and how many characters a long text has."""

    metric: Metric
    tolerance: float = 1e-5
    long_text: int = 100_000

    @cached_property
    def rows(self) -> list[Row]:
        """The sample, with what this metric needs and nothing else."""
        return [self.fit(row) for row in make_rows()]

    @cached_property
    def scorer(self) -> Scorer:
        """Loaded once. A table counted from rows is always counted from the sample, so that it decides nothing."""
        return self.metric.scorer(self.rows)

    @property
    def compares(self) -> bool:
        """Whether there is a reference side at all."""
        return "references" in self.metric.needs

    @property
    def rescaled(self) -> bool:
        """A baseline moves scores out of their bounds; the signature says whether there is one."""
        return self.scorer.signature.settings.get("base", "no") != "no"

    def fit(self, row: Row) -> Row:
        """The row without what the metric does not need; a source is made up if it has none."""
        source = (row.source or "The source says something else.") if "sources" in self.metric.needs else None
        return replace(row, references=row.references if self.compares else (), source=source)

    def pair(self, candidate: str, reference: str, name: str = "1") -> Row:
        """A row of one candidate and one reference."""
        return self.fit(Row(name, candidate, (reference,)))

    def score(self, rows: Iterable[Row], call: int = 512, remember: bool = False) -> list[Segment]:
        """Scores in calls of `call` rows; vectors remembered from another call would hide what a batch did."""
        scored: list[Segment] = []
        for block in blocks(rows, call):
            if not remember:
                self._forget()
            try:
                segments = self.metric.report(self.scorer, block).segments
            except Exception as error:
                raise ScoringFailed(block, f"scoring raised {error!r}") from error
            ids, back = [row.id for row in block], [segment.id for segment in segments]
            if ids != back:
                raise ScoringFailed(block, f"rows {ids} came back as {back}")
            scored.extend(segments)
        return scored

    def report(self, rows: Sequence[Row]) -> Report:
        """Scores by the function that users call."""
        references = [row.references for row in rows] if self.compares else None
        sources = [str(row.source) for row in rows] if "sources" in self.metric.needs else None
        try:
            return self.metric.score([row.candidate for row in rows], references, sources)
        except Exception as error:
            raise ScoringFailed(rows, f"scoring raised {error!r}") from error

    def main(self, rows: Iterable[Row]) -> list[float]:
        """The metric's main field, negated where lower is better, so that more is always better."""
        sign = 1 if self.metric.higher_is_better else -1
        return [sign * float(segment.scores[self.metric.main]) for segment in self.score(rows)]

    def unsound(self, segment: Segment) -> str:
        """What is wrong with a segment by itself: a field that is missing or not a finite number."""
        if set(segment.scores) != set(self.metric.fields):
            return f"row {segment.id} has the fields {sorted(segment.scores)}, not {sorted(self.metric.fields)}"
        for name, value in segment.scores.items():
            if not isinstance(value, (int, float)) or not math.isfinite(value):
                return f"{name} of row {segment.id} is {value!r}, not a finite number"
        return ""

    def difference(self, first: Sequence[Segment], second: Sequence[Segment]) -> str:
        """How two ways of scoring the same rows disagree; nothing if they agree."""
        for left, right in zip(first, second, strict=True):
            if wrong := self.unsound(left) or self.unsound(right):
                return wrong
            for name in self.metric.fields:
                if abs(left.scores[name] - right.scores[name]) > self.tolerance:
                    return f"{name} of row {left.id} is {left.scores[name]} one way, {right.scores[name]} the other"
            if dict(left.counts) != dict(right.counts):
                return f"flags of row {left.id} are {dict(left.counts)} one way, {dict(right.counts)} the other"
        return ""

    def smallest(self, failed: ScoringFailed) -> Counterexample:
        """The fewest of the rows that fail again, if they do in a plain call."""

        def fails(rows: list[Row]) -> str:
            try:
                self.score(rows)
            except ScoringFailed as again:
                return str(again)
            return ""

        rows = list(failed.rows)
        return fewest(rows, fails) if fails(rows) else Counterexample(rows, str(failed))

    def _forget(self) -> None:
        for name, value in vars(self.scorer).items():
            if isinstance(value, EmbeddingMemory):
                setattr(self.scorer, name, type(value)(value.encoder))


def fewest(rows: Sequence[Row], wrong: Callable[[list[Row]], str]) -> Counterexample:
    """Drops rows as long as something stays wrong."""
    remaining, detail = list(rows), wrong(list(rows))
    for row in rows:
        without = [candidate for candidate in remaining if candidate is not row]
        if without and (still := wrong(without)):
            remaining, detail = without, still
    return Counterexample(remaining, detail)


def _shown(row: Row) -> str:
    sides = [("candidate", row.candidate), *(("reference", text) for text in row.references)]
    if row.source is not None:
        sides.append(("source", row.source))
    return f"row {row.id}: " + ", ".join(f"{side} {_short(text)}" for side, text in sides)


def _short(text: str) -> str:
    return ascii(text) if len(text) <= SHOWN else f"{text[:SHOWN]!a}... ({len(text)} characters)"
