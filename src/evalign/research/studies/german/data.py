"""The rated texts of the German summaries study: which rows are judged, on which scale, and what is learned from.

In: rows with references, candidate, human and perhaps source; rated pairs. Out: `JudgedRows` with the scale of their
ratings and the texts that IDF is counted over; `RatedPairs` without any judged text. Notes say what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from evalign.core import Floats, Row
from evalign.errors import EvalignError, InputError
from evalign.io.rows import Columns, InMemory
from evalign.research.studies.inputs import digest_of, draw, read_rows
from evalign.stats.estimate import MIN_ROWS
from evalign.training.rated_pairs import RatedPairs, rating_of, read_pairs, training_rows

EXAMPLE, EXAMPLE_PAIRS = "german/example.jsonl", "german/example_paraphrases.jsonl"
SOURCES, REFERENCES = "sources", "references"
DOCUMENT = "document"  # the field of `Row.extra` that says which rows share a text, and are drawn together
NO_SOURCE = (
    "BERTScore + IDF: no row of the data has a source to count IDF over; give rows with a source (or its name as "
    "`source_field`), or choose `idf=references`"
)


@dataclass(frozen=True)
class DataSet:
    """A public data set: what it is, and the ends of its scale."""

    about: str
    low: float
    high: float


NOT_GERMEVAL = "It stands in for the rated summaries of GermEval-2020 task 3, which do not come with evalign."
DATA_SETS = {
    "stsb_de_dev": DataSet(
        f"German STS-B: sentence pairs, not summaries, whose likeness people rated from 0 to 5. {NOT_GERMEVAL}", 0, 5
    ),
    "ted21_ende_mqm": DataSet(
        "TED talks of WMT21, English to German: translations, not summaries, with MQM penalties of experts from -25 to "
        f"0 (no error). {NOT_GERMEVAL}", -25, 0,
    ),
}  # fmt: skip
MADE_UP = DataSet(
    "German summaries that one person wrote and rated from 0 to 4, to show what the study does. Nothing about metrics "
    "can be learned from so few.", 0, 4,
)  # fmt: skip


@dataclass(frozen=True)
class RowChoice:
    """Selection of rows: number, seed, rating, its scale (None: from the data), and the texts for IDF."""

    rows: int = 200
    seed: int = 12345
    aspect: str | None = None
    low: float | None = None
    high: float | None = None
    idf: str = SOURCES


@dataclass(frozen=True)
class Scale:
    """The ends of the ratings' scale, and where they were taken from."""

    low: float
    high: float
    origin: str

    def __str__(self) -> str:
        share = f"rating / {self.high:g}" if self.low == 0 else f"(rating - {self.low:g}) / {self.high - self.low:g}"
        return f"{share.replace('- -', '+ ')}, the ends {self.low:g} and {self.high:g} {self.origin}"


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """The judged rows and their ratings; `counted` are rows whose texts, each once, IDF is counted over."""

    name: str
    about: str
    rows: tuple[Row, ...]
    human: Floats
    scale: Scale
    idf: str
    counted: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def shares(self) -> Floats:
        """The ratings between 0 and 1."""
        return np.asarray((self.human - self.scale.low) / (self.scale.high - self.scale.low))

    @cached_property
    def documents(self) -> list[str]:
        """Return the document of every row: its source, or its first reference."""
        return [str(row.extra[DOCUMENT]) for row in self.rows]

    @cached_property
    def counted_texts(self) -> tuple[str, ...]:
        """Whole texts, nothing cut, each once."""
        texts = (text for row in self.counted for text in (row.references if self.idf == REFERENCES else [row.source]))
        return tuple(str(text) for text in texts)

    @cached_property
    def digest(self) -> str:
        """Return the digest of all rows and ratings."""
        return digest_of([texts_of(self.rows), self.human.tolist()])


def texts_of(rows: Iterable[Row]) -> list[list[str]]:
    """Return candidate and references of every row."""
    return [[row.candidate, *row.references] for row in rows]


def read_judged(data: str | None, columns: Columns, input_format: str | None, choice: RowChoice) -> JudgedRows:
    """The rows of a file that can be judged; without a file, of the example."""
    name, rows = read_rows(data, columns, input_format, EXAMPLE)
    data_set = MADE_UP if data is None else DATA_SETS.get(Path(data).name.partition(".")[0])
    return judged_rows(name, rows, choice, data_set)


def judged_rows(name: str, rows: Sequence[Row], choice: RowChoice, data_set: DataSet | None = None) -> JudgedRows:
    """Return a random sample of the rated rows; IDF is counted over all rows."""
    if choice.rows < MIN_ROWS:
        raise InputError(f"`sample_rows={choice.rows}`: the study needs at least {MIN_ROWS} rows")
    if not rows:
        raise InputError(f"{name}: there are no rows in it")
    left_out: Counter[str] = Counter()
    usable = [(row, rating) for row in rows if (rating := _usable(row, choice.aspect, left_out)) is not None]
    if not usable and left_out["no human score"] == len(rows):
        raise InputError(
            f"{name}: no row has a human score to compare with; name its field with `human_field`, one of several "
            "ratings with `aspect`"
        )
    if len(usable) < MIN_ROWS:
        raise InputError(f"{name}: the study needs at least {MIN_ROWS} rated rows with a reference, found "
                         f"{len(usable)} of {len(rows)}")  # fmt: skip
    scale = _scale(usable, choice, data_set)
    drawn = draw(usable, choice.rows, choice.seed)
    notes = [f"{count} rows left out: {why}" for why, count in left_out.items()]
    if len(drawn) < len(usable):
        notes.append(f"{len(drawn)} of {len(usable)} rated rows, drawn at random (seed {choice.seed})")
    counted = _counted(rows, choice.idf)
    lacking = sum(not (row.source and row.source.strip()) for row in rows)
    if choice.idf == SOURCES and 0 < lacking < len(rows):
        notes.append(f"{lacking} of {len(rows)} rows have no source; IDF was counted over those of the others")
    return JudgedRows(
        name,
        data_set.about if data_set else "rows of that file.",
        tuple(replace(row, extra={DOCUMENT: _document(row)}) for row, _ in drawn),
        np.array([rating for _, rating in drawn]),
        scale,
        choice.idf,
        counted,
        tuple(notes),
        () if counted else (NO_SOURCE,),
    )


def training_pairs(train: str | None, mapping: str, judged: JudgedRows) -> RatedPairs:
    """Rated pairs to learn from, without those that share a text with a judged row; without a file, the example's."""
    if train is None:
        name, rows = read_rows(None, Columns(), None, EXAMPLE_PAIRS)
    else:
        name, rows = Path(train).name, list(training_rows(train, Columns()))
    try:
        rated = read_pairs(InMemory(rows), mapping)
    except EvalignError as error:
        raise type(error)(f"`train={name}`: {error} (`mapping` is {mapping})") from error
    seen = {_normalised(text) for row in judged.rows for text in (row.candidate, *row.references, row.source or "")}
    unseen = [pair for pair in rated.pairs if not {_normalised(pair.first), _normalised(pair.second)} & seen]
    if len({pair.similarity for pair in unseen}) < 2:
        raise InputError(
            f"`train={name}`: {len(unseen)} of {len(rated.pairs)} pairs share no text with the judged rows; give pairs "
            "that are not judged, with different ratings"
        )
    shared = Counter({"a text of theirs is judged here": len(rated.pairs) - len(unseen)})
    return RatedPairs(tuple(unseen), rated.mapping, {**rated.left_out, **(+shared)})


def _usable(row: Row, aspect: str | None, left_out: Counter[str]) -> float | None:
    rating = rating_of(row, aspect)
    if rating is None:
        left_out["no human score"] += 1
    elif not any(text.strip() for text in row.references):
        left_out["no reference"] += 1
        return None
    return rating


def _scale(usable: Sequence[tuple[Row, float]], choice: RowChoice, data_set: DataSet | None) -> Scale:
    """As chosen, else that of the data set, else from the ratings; a rating outside it is an error."""
    ratings = [rating for _, rating in usable]
    least = min(ratings)
    low, high, origin = min(0.0, least), max(ratings), "are those of the ratings found (`human_min`, `human_max`)"
    if data_set is not None:
        low, high, origin = data_set.low, data_set.high, "are those of the data set"
    if choice.low is not None or choice.high is not None:
        low = choice.low if choice.low is not None else low if data_set or least < 0 else 0.0
        high, origin = choice.high if choice.high is not None else high, "as given"
    if not low < high:
        raise InputError(f"the scale of the ratings runs from {low:g} to {high:g}: give `human_min` below `human_max`")
    for row, rating in usable:
        if not low <= rating <= high:
            raise InputError(
                f"row {row.id}: its rating {rating:g} lies outside the scale from {low:g} to {high:g}; give the ends "
                "of the scale as `human_min` and `human_max`"
            )
    return Scale(low, high, origin)


def _counted(rows: Iterable[Row], idf: str) -> tuple[Row, ...]:
    """One row for every distinct text: a document with nine summaries is one document."""
    texts = (text for row in rows for text in (row.references if idf == REFERENCES else [row.source or ""]))
    distinct = enumerate(dict.fromkeys(text for text in texts if text.strip()))
    if idf == REFERENCES:
        return tuple(Row(str(number), "", (text,)) for number, text in distinct)
    return tuple(Row(str(number), "", (), text) for number, text in distinct)


def _document(row: Row) -> str:
    return row.source if row.source and row.source.strip() else row.references[0]


def _normalised(text: str) -> str:
    return " ".join(text.split()).casefold()
