"""Data of the task: the corpus as in section 4.1 of the paper, and the error formula that the task used.

In: rated rows, and scores of the baselines. Out: counts and lengths, compared with the paper's; the formula with the
errors nearest to the paper's Table 4. GermEval published no formula, so several are compared on the five baselines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evalign.core import Floats
from evalign.render.tables import TextTable
from evalign.research.studies.german.agreement import Verdict
from evalign.research.studies.german.data import JudgedRows
from evalign.research.studies.german.systems import CORPUS, LEXICAL, ROWS, SOURCE_TEXTS, TABLE4
from evalign.research.studies.page import UNTESTED, Numbers, Plate, percent

NAME, TITLE = "error_formula", "Which error formula the task used"
Formula = Callable[[Floats, Floats], float]  # of predictions and ratings, both as shares


class CorpusRange(NamedTuple):
    """The least, the mean and the greatest of some numbers."""

    least: float
    mean: float
    greatest: float


@dataclass(frozen=True)
class CorpusStatistics:
    """Counts and lengths; shares are of the characters of the text's own source."""

    rows: int
    sources: int
    spreads: Mapping[
        str, CorpusRange
    ]  # by the line of `published.CORPUS`; lines about sources only where there are some
    lower: float  # the part of all texts without any capital letter

    @property
    def of_the_task(self) -> bool:
        """Return whether the corpus has the rows and sources of GermEval-2020 task 3."""
        return (self.rows, self.sources) == (ROWS, SOURCE_TEXTS)


def describe(judged: JudgedRows) -> CorpusStatistics:
    """The statistics of the judged rows; sources and their references are counted once."""
    sourced = [(row, row.source) for row in judged.rows if row.source and row.source.strip()]
    counts = Counter(source for _, source in sourced)
    references = {(source, text) for row, source in sourced for text in row.references}
    texts = {text for row in judged.rows for text in (row.candidate, *row.references, row.source or "") if text.strip()}
    numbers: tuple[list[float], ...] = (
        list(counts.values()),
        [len(source) for source in counts],
        [len(text) for text in {text for row in judged.rows for text in row.references}],
        [len(row.candidate) for row in judged.rows],
        [len(text) / len(source) for source, text in references],
        [len(row.candidate) / len(source) for row, source in sourced],
    )
    spreads = {
        name: CorpusRange(min(values), float(np.mean(values)), max(values))
        for name, values in zip(list(CORPUS)[2:-1], numbers, strict=True)
        if values
    }
    lower = sum(not any(char.isupper() for char in text) for text in texts) / max(1, len(texts))
    return CorpusStatistics(len(judged.rows), len(counts), spreads, lower)


def corpus_plate(judged: JudgedRows) -> Plate:
    """Show the statistics of the corpus and those of the paper."""
    corpus = describe(judged)
    counts = {"rows": corpus.rows, "sources": corpus.sources, "texts in lower case": corpus.lower}
    measured = {name: str(value) for name, value in counts.items()} | {"texts in lower case": percent(corpus.lower)}
    measured |= {name: _range_text(spread, "share" in name) for name, spread in corpus.spreads.items()}
    lines = tuple((name, measured.get(name, "–"), published) for name, published in CORPUS.items())
    table = TextTable("Section 4.1: least / mean / greatest", ("", "here", "as the paper says"), lines)
    numbers = [*counts.items()]
    for name, spread in corpus.spreads.items():
        numbers += [(f"{name}, {end}", value) for end, value in spread._asdict().items()]
    sentences = ["Lengths are characters. Sources and their references are counted once, candidates row by row."]
    if lacking := sum(not (row.source and row.source.strip()) for row in judged.rows):
        without = f"{lacking} of {corpus.rows} rows have no source"
        sentences.append(f"{without}; they are left out of all lines about sources.")
    if not corpus.of_the_task:
        sentences.append(
            "These rows are not the task's own, by their number and that of their sources: the paper had others."
        )
    return Plate("corpus", "The corpus", sentences=tuple(sentences), tables=(table,),
                 numbers=Numbers(("what", "value"), numbers))  # fmt: skip


def _range_text(spread: CorpusRange, share: bool) -> str:
    if share:
        return " / ".join(f"{100 * value:.3g}" for value in spread) + " %"
    ends = f"{spread.least:,.0f}", f"{spread.mean:,.1f}".removesuffix(".0"), f"{spread.greatest:,.0f}"
    return ends[0] if spread.least == spread.greatest else " / ".join(ends)


def _percent(predicted: Floats, rated: Floats) -> float:
    """The mean of |difference| / rating, over the rows whose rating is not 0."""
    above = rated > 0
    return float((np.abs(predicted - rated)[above] / rated[above]).mean())


FORMULAS: dict[str, Formula] = {
    "RMSE": lambda predicted, rated: float(np.sqrt(((predicted - rated) ** 2).mean())),
    "MAE": lambda predicted, rated: float(np.abs(predicted - rated).mean()),
    "mean percent of the rating": _percent,
    "RMSE in percent of the mean rating": lambda predicted, rated: float(
        np.sqrt(((predicted - rated) ** 2).mean()) / rated.mean()
    ),
}


@dataclass(frozen=True)
class Tried:
    """A formula on a scale: the errors of the baselines, and how far they are from the paper's on average."""

    formula: str
    scale: str
    errors: Mapping[str, float]

    @property
    def distance(self) -> float:
        """The mean absolute difference to Table 4."""
        return float(np.mean([abs(self.errors[name] - published) for name, published in TABLE4.items()]))


def scales(judged: JudgedRows) -> dict[str, Floats]:
    """The ratings as shares, by each way of reading their scale; ways that give the same shares once."""
    human, low, high = judged.human, judged.scale.low, judged.scale.high
    ways = {f"rating from {low:g} to {high:g}": judged.shares}
    if low != 0 and high > 0:
        ways[f"rating / {high:g}"] = human / high
    least, greatest = float(human.min()), float(human.max())
    if (least, greatest) != (low, high) and least < greatest:
        ways[f"rating from {least:g} to {greatest:g}, as found"] = (human - least) / (greatest - least)
    return ways


def try_formulas(verdict: Verdict, judged: JudgedRows) -> list[Tried]:
    """Every formula on every scale, the nearest first."""
    scores = {system.name: np.clip(system.scores, 0, 1) for system in verdict.systems if system.name in LEXICAL}
    if set(scores) != set(TABLE4):
        return []
    tried = [
        Tried(name, scale, {metric: 100 * formula(values, rated) for metric, values in scores.items()})
        for name, formula in FORMULAS.items()
        for scale, rated in scales(judged).items()
    ]
    return sorted(tried, key=lambda attempt: attempt.distance)


def formula_plate(verdict: Verdict, judged: JudgedRows) -> Plate:
    """The table of formulas if the data are the task's own; else it says that it cannot be tested."""
    columns = ("formula", "scale", *TABLE4, "mean distance")
    published = ("published", "–", *(f"{value:.4f}" for value in TABLE4.values()), "–")
    tried = try_formulas(verdict, judged) if describe(judged).of_the_task else []
    if not tried:
        why = (f"{UNTESTED.capitalize()}: the published baselines are about the task's own data ({ROWS} rows, "
               f"{SOURCE_TEXTS} sources), and these are others.")  # fmt: skip
        return Plate(NAME, TITLE, sentences=(why,))
    lines = [
        (attempt.formula, attempt.scale, *(f"{attempt.errors[name]:.4f}" for name in TABLE4), f"{attempt.distance:.4f}")
        for attempt in tried
    ]
    nearest = tried[0]
    sentences = (
        f"Nearest to the published errors of the five baselines: {nearest.formula}, {nearest.scale}, x 100; "
        f"{nearest.distance:.2f} away on average.",
        "Scores are clipped to 0 and 1. How the task's baselines cut words or stemmed them is not published either, so "
        "even the right formula need not give the same numbers.",
    )
    numbers = Numbers(
        columns,
        [(attempt.formula, attempt.scale, *(attempt.errors[name] for name in TABLE4), attempt.distance)
         for attempt in tried],
    )  # fmt: skip
    table = TextTable("Errors x 100 of the baselines, by formula", columns, (published, *lines), names=2)
    return Plate(NAME, TITLE, sentences=sentences, tables=(table,), numbers=numbers)
