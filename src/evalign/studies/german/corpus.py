"""The corpus as section 4.1 of the German summaries paper describes it: judged rows in, counts and lengths out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalign.render.study.page import Numbers, Plate, StudyTable
from evalign.studies.german.data import JudgedRows
from evalign.studies.german.published import CORPUS, ROWS, SOURCE_TEXTS
from evalign.studies.wording import percent
from evalign.types import Row


@dataclass(frozen=True)
class Spread:
    """The least, the mean and the greatest of some numbers."""

    least: float
    mean: float
    greatest: float


@dataclass(frozen=True)
class Corpus:
    """Counts and lengths; None where no row has a source. Shares are of the characters of the text's own source."""

    rows: int
    sources: int
    candidates: Spread | None  # of one source
    characters: Spread | None  # of the sources, each once
    reference_characters: Spread | None  # each once
    candidate_characters: Spread | None
    reference_share: Spread | None  # each reference of a source once
    candidate_share: Spread | None
    lower: float  # the part of all texts without any capital letter

    @property
    def of_the_task(self) -> bool:
        """Whether it has the rows and sources of GermEval-2020 task 3."""
        return (self.rows, self.sources) == (ROWS, SOURCE_TEXTS)


def describe(judged: JudgedRows) -> Corpus:
    """The statistics of the judged rows."""
    sourced = [(row, row.source) for row in judged.rows if row.source and row.source.strip()]
    counts = Counter(source for _, source in sourced)
    references = {(source, text) for row, source in sourced for text in row.references}
    texts = {text for row in judged.rows for text in (row.candidate, *row.references, row.source or "") if text.strip()}
    return Corpus(
        len(judged.rows),
        len(counts),
        _spread(list(counts.values())),
        _spread([len(source) for source in counts]),
        _spread([len(text) for text in {text for row in judged.rows for text in row.references}]),
        _spread([len(row.candidate) for row in judged.rows]),
        _spread([len(text) / len(source) for source, text in references]),
        _spread([len(row.candidate) / len(source) for row, source in sourced]),
        sum(not any(char.isupper() for char in text) for text in texts) / max(1, len(texts)),
    )


def corpus_plate(judged: JudgedRows) -> Plate:
    """The statistics beside the paper's."""
    corpus = describe(judged)
    values = (
        str(corpus.rows),
        str(corpus.sources),
        _whole(corpus.candidates),
        _whole(corpus.characters),
        _whole(corpus.reference_characters),
        _whole(corpus.candidate_characters),
        _shares(corpus.reference_share),
        _shares(corpus.candidate_share),
        percent(corpus.lower),
    )
    lines = tuple((name, ours, told) for (name, told), ours in zip(CORPUS.items(), values, strict=True))
    table = StudyTable("Section 4.1: least / mean / greatest", ("", "here", "as the paper says"), lines)
    spreads = (corpus.candidates, corpus.characters, corpus.reference_characters, corpus.candidate_characters,
               corpus.reference_share, corpus.candidate_share)  # fmt: skip
    numbers = [("rows", corpus.rows), ("sources", corpus.sources), ("texts in lower case", corpus.lower)]
    numbers += [
        (f"{name}, {end}", getattr(spread, end))
        for name, spread in zip(list(CORPUS)[2:-1], spreads, strict=True)
        if spread is not None
        for end in ("least", "mean", "greatest")
    ]
    return Plate("corpus", "The corpus", said=_said(judged.rows, corpus), tables=(table,),
                 numbers=Numbers(("what", "value"), numbers))  # fmt: skip


def _said(rows: Sequence[Row], corpus: Corpus) -> tuple[str, ...]:
    sentences = ["Lengths are characters. Sources and their references are counted once, candidates row by row."]
    lacking = sum(not (row.source and row.source.strip()) for row in rows)
    if lacking:
        sentences.append(f"{lacking} of {len(rows)} rows have no source; they are left out of all lines about sources.")
    if not corpus.of_the_task:
        sentences.append(
            "These rows are not the task's own, by their number and that of their sources: the paper had others."
        )
    return tuple(sentences)


def _spread(numbers: Sequence[float]) -> Spread | None:
    return Spread(min(numbers), float(np.mean(numbers)), max(numbers)) if numbers else None


def _whole(spread: Spread | None) -> str:
    if spread is None:
        return "–"
    ends = f"{spread.least:,.0f}", f"{spread.mean:,.1f}".removesuffix(".0"), f"{spread.greatest:,.0f}"
    return ends[0] if spread.least == spread.greatest else " / ".join(ends)


def _shares(spread: Spread | None) -> str:
    if spread is None:
        return "–"
    return " / ".join(f"{100 * share:.3g}" for share in (spread.least, spread.mean, spread.greatest)) + " %"
