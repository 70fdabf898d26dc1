"""Laws of metrics: each takes a metric under test and yields counterexamples; none means that the law holds.

A new law is one function and one line of `LAWS`; tests/test_seeded_bugs.py must show a bug that it catches.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import product

import numpy as np

from evalign.core import Row, Segment
from evalign.core.metric import Metric
from evalign.core.registry import as_metric, metric, metric_class, metric_names
from evalign.core.scoring import blocks
from evalign.core.spec import Signature, parse_spec
from evalign.errors import EvalignError, SpecError, nearest
from evalign.testing.trial import (
    STRANGE,
    WORDS,
    Counterexample,
    LawBroken,
    MetricTrial,
    ScoringFailed,
    make_text,
    minimal,
)

Law = Callable[[MetricTrial], Iterator[Counterexample]]
CALLS = (1, 2, 7, 64)  # rows per call
BUDGETS = (64, 16_384)  # tokens per batch: every text alone, and all texts in one
LONG_WORDS = (100, 300)  # in one batch with these a short text is mostly padding
ROUNDING = 1e-9


def check_metric(
    metric: Metric | str, *, skip: Collection[str] = (), tolerance: float = 1e-5, long_text: int = 100_000
) -> None:
    """Raise `LawBroken` for the first law that `metric` does not obey, in the order of `LAWS`.

    Args:
        metric: Metric to test, or its spec.
        skip: Laws that cannot hold for it.
        tolerance: Maximum difference between two scores of one row.
        long_text: Characters of the longest text (a real model needs seconds for 100,000).
    """
    for name in skip:
        if name not in LAWS:
            raise SpecError(f"skip: there is no law {name!r}; {nearest(name, LAWS)}")
    tested = as_metric(metric)
    trial = MetricTrial(tested, tolerance, long_text)
    _ = trial.scorer  # a missing model is not a broken law
    for name, law in LAWS.items():
        if name in skip:
            continue
        about = str(law.__doc__).strip()
        try:
            counterexample = next(law(trial), None)
        except ScoringFailed as failed:
            smallest = trial.smallest(failed)
            raise LawBroken(name, about, tested, smallest.rows, smallest.detail) from failed.__cause__
        if counterexample is not None:
            raise LawBroken(name, about, tested, counterexample.rows, counterexample.detail)


def one_row(trial: MetricTrial) -> Iterator[Counterexample]:
    """One row gives arrays of length one, and no rows give empty ones."""
    for rows in (trial.rows[:1], []):
        report = trial.report(rows)
        for name in trial.metric.fields:
            if np.shape(report[name]) != (len(rows),):
                yield Counterexample(rows, f"{name} has shape {np.shape(report[name])}, not ({len(rows)},)")
        for segment in report.segments:
            if wrong := trial.unsound(segment):
                yield Counterexample(rows, wrong)


def row_order(trial: MetricTrial) -> Iterator[Counterexample]:
    """The score of a row does not depend on the order of the rows."""

    def shuffled(rows: list[Row], seed: int) -> list[Segment]:
        order = random.Random(seed).sample(range(len(rows)), len(rows))
        by_row = dict(zip(order, trial.score([rows[row] for row in order]), strict=True))
        return [by_row[row] for row in range(len(rows))]

    yield from _compare(trial, trial.rows, *(partial(shuffled, seed=seed) for seed in range(4)))


def padding(trial: MetricTrial) -> Iterator[Counterexample]:
    """A row has the same score alone and next to a very long one."""

    def beside(rows: list[Row], text: str) -> list[Segment]:
        long = trial.pair(text, text, "long")
        return [segment for block in blocks(rows, 4) for segment in trial.score([long, *block])[1:]]

    # Single words: where every real similarity is negative, a padded cell of 0 would win.
    short = [trial.pair(*words, "-".join(words)) for words in product(WORDS, WORDS[:3])]
    yield from _compare(trial, short, *(partial(beside, text=make_text(words)) for words in LONG_WORDS), call=1)


def batch_size(trial: MetricTrial) -> Iterator[Counterexample]:
    """The score of a row does not depend on the rows per call or the tokens per batch."""
    runs = [partial(trial.score, call=call) for call in CALLS]
    if "token_budget" in (option.name for option in fields(trial.metric)):
        variants = [replace(trial.metric, **{"token_budget": budget}) for budget in BUDGETS]
        runs += [partial(replace(trial, metric=variant).score) for variant in variants]
    yield from _compare(trial, trial.rows, *runs)


def other_rows(trial: MetricTrial) -> Iterator[Counterexample]:
    """The score of a row does not depend on the other rows."""

    def among(rows: list[Row], neighbours: list[Row]) -> list[Segment]:
        return trial.score([*neighbours, *rows, *neighbours])[len(neighbours) :][: len(rows)]

    half = len(trial.rows) // 2
    yield from _compare(trial, trial.rows[:half], partial(among, neighbours=trial.rows[half:]))
    yield from _compare(trial, trial.rows[half:], partial(among, neighbours=trial.rows[:half]))


def repetition(trial: MetricTrial) -> Iterator[Counterexample]:
    """Rows scored a second time have the same score, whatever is cached."""

    def again(rows: list[Row]) -> list[Segment]:
        trial.score(rows)
        return trial.score(rows, use_cache=True)

    yield from _compare(trial, trial.rows, again)


def identity(trial: MetricTrial) -> Iterator[Counterexample]:
    """No other text scores better against a reference than the reference itself."""
    if not trial.compares:
        return
    texts = [WORDS[0], f"{WORDS[1]} {WORDS[2]}", make_text(4, 1), make_text(30, 2), make_text(120, 3)]
    for text in texts:
        words = text.split()
        changed = [" ".join(words[::-1]), " ".join(words[1:]), f"{text} {text}", f"{text} {WORDS[3]}", text.upper()]
        rows = [trial.pair(candidate, text, str(index)) for index, candidate in enumerate([text, *changed, *texts])]
        itself, *rivals = trial.main(rows)
        for row, value in zip(rows[1:], rivals, strict=True):
            if value > itself + trial.tolerance:
                yield Counterexample(
                    [rows[0], row], f"{trial.metric.main} of the text itself is worse: {itself} and {value}"
                )


def bounds(trial: MetricTrial) -> Iterator[Counterexample]:
    """Every field of every row lies within the metric's bounds, unless a baseline rescales it."""
    low, high = trial.metric.bounds
    rows = trial.rows + [trial.pair(*words) for words in product(WORDS, WORDS)]
    for row, segment in zip(rows, trial.score(rows), strict=True):
        for name, value in segment.scores.items():
            if not trial.rescaled and not low - ROUNDING <= value <= high + ROUNDING:
                yield Counterexample([row], f"{name} is {value}, not within [{low}, {high}]")


def empty(trial: MetricTrial) -> Iterator[Counterexample]:
    """A text without content on either side has the worst score and the flag `empty`; no other text has the flag."""
    filled = make_text(8)
    empty_pairs = [("", filled), (" \n\t", filled)]
    if trial.compares:
        empty_pairs += [(filled, ""), (filled, " \n"), ("", ""), (" ", "")]
    for candidate, reference in empty_pairs:
        row = trial.pair(candidate, reference)
        (segment,) = trial.score([row])
        if wrong := trial.unsound(segment):
            yield Counterexample([row], wrong)
        elif "empty" not in segment.flags:
            yield Counterexample([row], f"the flags are {list(segment.flags)}, without 'empty'")
        elif not trial.rescaled and any(value != trial.metric.worst for value in segment.scores.values()):
            yield Counterexample([row], f"{dict(segment.scores)} instead of the worst value {trial.metric.worst}")
    for count in range(1, 5):  # bert_score takes any text of two tokens for an empty one
        row = trial.pair(" ".join(WORDS[:count]), " ".join(WORDS[:count]))
        if "empty" in trial.score([row])[0].flags:
            yield Counterexample([row], f"{count} words are flagged 'empty'")


def unicode(trial: MetricTrial) -> Iterator[Counterexample]:
    """Any string on any side gives finite scores or an EvalignError, never another exception."""
    ordinary = make_text(6)
    long = [make_text(trial.long_text // 5)[: trial.long_text], "x" * trial.long_text]
    for text in (*STRANGE.values(), *long):
        pairs = [(ordinary, text), (text, ordinary)] + ([(text, text)] if len(text) < 1000 else [])
        for candidate, reference in pairs if trial.compares else pairs[1:]:
            row = trial.pair(candidate, reference)
            if "sources" in trial.metric.needs and candidate == text:
                row = replace(row, source=text)
            try:
                (segment,) = trial.score([row], use_cache=True)
            except ScoringFailed as failed:
                if not isinstance(failed.__cause__, EvalignError):
                    raise
            else:
                if wrong := trial.unsound(segment):
                    yield Counterexample([row], wrong)


def whole_text(trial: MetricTrial) -> Iterator[Counterexample]:
    """Text added to the end of a long text changes the score, or the row is flagged `truncated`."""
    head = make_text(trial.long_text // 10)[: trial.long_text // 2]
    tail = " ".join(WORDS) + "."
    rows = [trial.pair(head, tail, "head"), trial.pair(f"{head} {tail}", tail, "head and tail")]
    try:
        head_only, with_tail = trial.score(rows)
    except ScoringFailed as failed:
        if not isinstance(failed.__cause__, EvalignError):  # refusing the text with an error is allowed
            raise
        return
    if head_only.scores == with_tail.scores and "truncated" not in with_tail.flags:
        yield Counterexample(rows, f"both give {dict(head_only.scores)} with the flags {list(with_tail.flags)}")


def spec(trial: MetricTrial) -> Iterator[Counterexample]:
    """The metric prints as a spec that parses to an equal one, and so does its signature."""
    tested = trial.metric
    name, options = parse_spec(str(tested))
    parsed_metrics: list[Metric] = [type(tested).from_options(options, name)]
    if name in metric_names() and metric_class(name) is type(tested):
        parsed_metrics.append(metric(str(tested)))
    if name != tested.name or any(again != tested or hash(again) != hash(tested) for again in parsed_metrics):
        yield Counterexample([], f"{tested!r} prints as {str(tested)!r}, which parses to {parsed_metrics[-1]!r}")
    signature = trial.scorer.signature
    if Signature.parse(str(signature)) != signature or str(Signature.parse(str(signature))) != str(signature):
        yield Counterexample([], f"{signature!r} prints as {str(signature)!r}, which parses to another")


LAWS: dict[str, Law] = {
    "one-row": one_row,
    "row-order": row_order,
    "padding": padding,
    "batch-size": batch_size,
    "other-rows": other_rows,
    "repetition": repetition,
    "identity": identity,
    "bounds": bounds,
    "empty": empty,
    "unicode": unicode,
    "whole-text": whole_text,
    "spec": spec,
}


def _compare(
    trial: MetricTrial, rows: Sequence[Row], *runs: Callable[[list[Row]], list[Segment]], call: int = 512
) -> Iterator[Counterexample]:
    """Yield a minimal counterexample if rows score differently in one of these runs than in plain calls."""

    def problem(rows_left: list[Row], run: Callable[[list[Row]], list[Segment]]) -> str:
        return trial.difference(trial.score(rows_left, call), run(rows_left))

    plain = trial.score(rows, call)
    for run in runs:
        if trial.difference(plain, run(list(rows))):
            yield minimal(rows, partial(problem, run=run))
