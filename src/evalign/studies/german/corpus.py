"""The corpus as section 4.1 of the German summaries paper describes it: judged rows in, counts and lengths out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evalign.render.study.page import Numbers, Plate, StudyTable
from evalign.studies.german.data import JudgedRows
from evalign.studies.german.published import CORPUS, ROWS, SOURCE_TEXTS
from evalign.studies.wording import percent


class Spread(NamedTuple):
    """The least, the mean and the greatest of some numbers."""

    least: float
    mean: float
    greatest: float


@dataclass(frozen=True)
class Corpus:
    """Counts and lengths; shares are of the characters of the text's own source."""

    rows: int
    sources: int
    spreads: Mapping[str, Spread]  # by the line of `published.CORPUS`; lines about sources only where there are some
    lower: float  # the part of all texts without any capital letter

    @property
    def of_the_task(self) -> bool:
        """Whether it has the rows and sources of GermEval-2020 task 3."""
        return (self.rows, self.sources) == (ROWS, SOURCE_TEXTS)


def describe(judged: JudgedRows) -> Corpus:
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
        name: Spread(min(values), float(np.mean(values)), max(values))
        for name, values in zip(list(CORPUS)[2:-1], numbers, strict=True)
        if values
    }
    lower = sum(not any(char.isupper() for char in text) for text in texts) / max(1, len(texts))
    return Corpus(len(judged.rows), len(counts), spreads, lower)


def corpus_plate(judged: JudgedRows) -> Plate:
    """The statistics beside the paper's."""
    corpus = describe(judged)
    counts = {"rows": corpus.rows, "sources": corpus.sources, "texts in lower case": corpus.lower}
    shown = {name: str(value) for name, value in counts.items()} | {"texts in lower case": percent(corpus.lower)}
    shown |= {name: _shown(spread, "share" in name) for name, spread in corpus.spreads.items()}
    lines = tuple((name, shown.get(name, "–"), told) for name, told in CORPUS.items())
    table = StudyTable("Section 4.1: least / mean / greatest", ("", "here", "as the paper says"), lines)
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
    return Plate("corpus", "The corpus", said=tuple(sentences), tables=(table,),
                 numbers=Numbers(("what", "value"), numbers))  # fmt: skip


def _shown(spread: Spread, share: bool) -> str:
    if share:
        return " / ".join(f"{100 * value:.3g}" for value in spread) + " %"
    ends = f"{spread.least:,.0f}", f"{spread.mean:,.1f}".removesuffix(".0"), f"{spread.greatest:,.0f}"
    return ends[0] if spread.least == spread.greatest else " / ".join(ends)
