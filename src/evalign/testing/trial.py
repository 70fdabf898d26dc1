"""Metric under test: scores rows as asked, without caches, and describes where two runs differ. And its sample rows."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from evalign.core import Report, Row, Segment
from evalign.core.metric import Metric, Scorer
from evalign.core.scoring import blocks
from evalign.encoders.loading import EmbeddingMemory

MAX_SHOWN_CHARS = 60  # of a text in a message


class LawBroken(AssertionError):  # noqa: N818 - read aloud, it says what happened
    """A metric broke a law: `law`, `metric`, `rows` (a minimal set) and `detail`."""

    def __init__(self, law: str, about: str, metric: Metric, rows: Sequence[Row], detail: str) -> None:
        self.law, self.metric, self.rows, self.detail = law, metric, tuple(rows), detail
        listing = "".join(f"\n  {_shown(row)}" for row in rows)
        super().__init__(f"{metric} breaks the law {law!r}: {about}\n{detail}{listing}")


@dataclass(frozen=True)
class Counterexample:
    """Rows that break a law, and the reason."""

    rows: Sequence[Row]
    detail: str


class ScoringFailed(Exception):  # noqa: N818
    """Scoring of these rows failed; `__cause__` is the exception, if there was one."""

    def __init__(self, rows: Sequence[Row], detail: str) -> None:
        super().__init__(detail)
        self.rows = tuple(rows)


@dataclass(frozen=True)
class MetricTrial:
    """A metric under test, with its tolerance and the length of a long text in characters."""

    metric: Metric
    tolerance: float = 1e-5
    long_text: int = 100_000

    @cached_property
    def rows(self) -> list[Row]:
        """Sample rows, with the inputs that this metric needs and nothing else."""
        return [self.fit(row) for row in make_rows()]

    @cached_property
    def scorer(self) -> Scorer:
        """Scorer, loaded once. Tables are always counted from the sample, so they cannot make a difference."""
        return self.metric.scorer(self.rows)

    @property
    def compares(self) -> bool:
        """True if the metric reads references."""
        return "references" in self.metric.needs

    @property
    def rescaled(self) -> bool:
        """True if a baseline moves scores out of their bounds, as the signature says."""
        return self.scorer.signature.settings.get("base", "no") != "no"

    def fit(self, row: Row) -> Row:
        """Remove the inputs that the metric does not need; add a source if it needs one."""
        source = (row.source or "The source says something else.") if "sources" in self.metric.needs else None
        return replace(row, references=row.references if self.compares else (), source=source)

    def pair(self, candidate: str, reference: str, name: str = "1") -> Row:
        """Return a row of one candidate and one reference."""
        return self.fit(Row(name, candidate, (reference,)))

    def score(self, rows: Iterable[Row], call: int = 512, use_cache: bool = False) -> list[Segment]:
        """Score in calls of `call` rows; cached vectors of another call would hide effects of batches."""
        scored: list[Segment] = []
        for block in blocks(rows, call):
            if not use_cache:
                self._forget()
            try:
                segments = self.metric.report(self.scorer, block).segments
            except Exception as error:
                raise ScoringFailed(block, f"scoring raised {error!r}") from error
            ids, scored_ids = [row.id for row in block], [segment.id for segment in segments]
            if ids != scored_ids:
                raise ScoringFailed(block, f"rows {ids} came back as {scored_ids}")
            scored.extend(segments)
        return scored

    def report(self, rows: Sequence[Row]) -> Report:
        """Score by the public function."""
        references = [row.references for row in rows] if self.compares else None
        sources = [str(row.source) for row in rows] if "sources" in self.metric.needs else None
        try:
            return self.metric.score([row.candidate for row in rows], references, sources)
        except Exception as error:
            raise ScoringFailed(rows, f"scoring raised {error!r}") from error

    def main(self, rows: Iterable[Row]) -> list[float]:
        """Return the metric's main field, negated where lower is better, so that more is always better."""
        sign = 1 if self.metric.higher_is_better else -1
        return [sign * float(segment.scores[self.metric.main]) for segment in self.score(rows)]

    def unsound(self, segment: Segment) -> str:
        """Describe the problem of a segment: a field that is missing or not a finite number; empty if there is none."""
        if set(segment.scores) != set(self.metric.fields):
            return f"row {segment.id} has the fields {sorted(segment.scores)}, not {sorted(self.metric.fields)}"
        for name, value in segment.scores.items():
            if not isinstance(value, (int, float)) or not math.isfinite(value):
                return f"{name} of row {segment.id} is {value!r}, not a finite number"
        return ""

    def difference(self, first: Sequence[Segment], second: Sequence[Segment]) -> str:
        """Describe how two runs over the same rows disagree; empty if they agree."""
        for left, right in zip(first, second, strict=True):
            if problem := self.unsound(left) or self.unsound(right):
                return problem
            for name in self.metric.fields:
                if abs(left.scores[name] - right.scores[name]) > self.tolerance:
                    return (
                        f"{name} of row {left.id} is {left.scores[name]} in one run, {right.scores[name]} in the other"
                    )
            if dict(left.counts) != dict(right.counts):
                return f"flags of row {left.id} are {dict(left.counts)} in one run, {dict(right.counts)} in the other"
        return ""

    def smallest(self, failed: ScoringFailed) -> Counterexample:
        """Return a minimal set of the rows that fails again, if they fail in a plain call."""

        def fails(rows: list[Row]) -> str:
            try:
                self.score(rows)
            except ScoringFailed as failure:
                return str(failure)
            return ""

        rows = list(failed.rows)
        return minimal(rows, fails) if fails(rows) else Counterexample(rows, str(failed))

    def _forget(self) -> None:
        for name, value in vars(self.scorer).items():
            if isinstance(value, EmbeddingMemory):
                setattr(self.scorer, name, type(value)(value.encoder))


def minimal(rows: Sequence[Row], describe: Callable[[list[Row]], str]) -> Counterexample:
    """Drop rows as long as `describe` returns a problem for the rest."""
    remaining, detail = list(rows), describe(list(rows))
    for row in rows:
        without = [candidate for candidate in remaining if candidate is not row]
        if without and (problem := describe(without)):
            remaining, detail = without, problem
    return Counterexample(remaining, detail)


def _shown(row: Row) -> str:
    sides = [("candidate", row.candidate), *(("reference", text) for text in row.references)]
    if row.source is not None:
        sides.append(("source", row.source))
    return f"row {row.id}: " + ", ".join(f"{side} {_short(text)}" for side, text in sides)


def _short(text: str) -> str:
    return ascii(text) if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]!a}... ({len(text)} characters)"


SENTENCES = """\
The ferry crossed the bay at dawn, and gulls followed it for an hour.
She repaired the old clock with a needle, a magnet and a great deal of patience.
Economists disagree about the cause.
Rain is expected over the northern provinces until Thursday evening.
Why did nobody read the manual?
The committee postponed its decision because two members were ill.
Small boats are cheaper to keep than large ones, but they are slower in bad weather.
He never answered.
Photosynthesis turns light, water and carbon dioxide into sugar and oxygen.
Three of the five suspects were released without charge on Monday.
A quiet street, a green door, no name on the bell.
The new bridge carries forty thousand vehicles a day, twice as many as the engineers had assumed.
Bread was baked here until 1987.
Investigators found that the pump had failed hours before the alarm was raised.
Children under twelve travel free of charge!
The translation is faithful, although the rhythm of the original is lost.""".splitlines()

WORDS = ("harbour", "economics", "violin", "granite", "Thursday", "photosynthesis", "bread", "lightning")

# Words per text. A tuple is a row with several references.
CANDIDATE_LENGTHS = (3, 150, 25, 70, 1, 110, 12, 45, 2)
REFERENCE_LENGTHS = ((90,), (2,), (130,), (9, 100), (60,), (3,), (50, 1, 30), (20,), (5,))

STRANGE = {
    "empty": "",
    "spaces": " \t\n\u00a0\u2003 ",
    "zero width": "\u200b\u200d\ufeff",
    "punctuation": "?!... --- ,;:",
    "lone surrogate": "a \ud800 lone\udfff surrogate \ud83d",
    "NUL": "zero\x00byte\x00",
    "control": "\x01\x1b[31m\x7f\x85\u2028",
    "joined emoji": "👩‍👩‍👧‍👦 family 🏳️‍🌈 flag 👍🏽",
    "right to left": "\u202eשלום עולם\u202c مرحبا بالعالم",
    "combining": "Z\u0335\u0321\u0322a\u0300\u0301\u0302l\u0334g\u0489o" + "\u0301" * 50,
    "no spaces": "これは分かち書きのない文です。这也是一句话。",
    "private use": "\ue000\U0010ffff\ufffe",
    "spelt special tokens": "[CLS] </s> <s> [SEP] [PAD] <unk> [MASK]",
    "format": "%s {0} ${HOME} \\n | key:value",
}


def make_text(words: int, seed: int = 0) -> str:
    """Return `words` words of English sentences in an order that depends on `seed`."""
    order = random.Random(seed)
    selected: list[str] = []
    while len(selected) < words:
        selected.extend(order.choice(SENTENCES).split())
    return " ".join(selected[:words])


def make_rows() -> list[Row]:
    """Return sample rows; one text is both a candidate and another row's reference, and one pair is equal."""
    rows = []
    for index, (words, reference_words) in enumerate(zip(CANDIDATE_LENGTHS, REFERENCE_LENGTHS, strict=True)):
        seed = 100 * index
        references = tuple(make_text(count, seed + number) for number, count in enumerate(reference_words, start=1))
        rows.append(Row(str(index), make_text(words, seed), references, make_text(words // 2 + 8, seed + 50)))
    repeated = rows[2].references[0]
    shared = Row("shared", repeated, (make_text(35, 7),), make_text(30, 8))
    equal = Row("equal", rows[7].candidate, (rows[7].candidate,), make_text(30, 9))
    return [*rows, shared, equal]
