"""Rated pairs for training: read from rows or files, with ratings mapped to similarities; split into train and dev.

Pairs that share a text stay on one side of the split, or the dev score would be too high.

`read_pairs` reads rows of one scale. `read_files` reads several files, each with its own scale and weight, and
standardises the ratings per file (mean 0, deviation 1, clipped to ±3), so that z-scores, MQM and similarities from 0 to
5 can be mixed. A file with the fields `better` and `worse` instead of a candidate and a rating gives ordered pairs.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from evalign.core import Floats, Ints, Row
from evalign.errors import FileFormatError, InputError, SpecError, UndefinedStatisticError
from evalign.io.records import DELIMITERS, BadRecord, read_lines, read_records, read_values
from evalign.io.rows import REFERENCE_FIELDS, Columns, RowSource, TableFile
from evalign.io.streams import STDIN, rereadable, shown
from evalign.stats.estimate import MIN_ROWS
from evalign.training.plan import DEFAULT_MAPPING

SPLIT_STREAM = 1  # of the seed; batches use a different stream
MAX_DEVIATIONS = 3.0  # limit of standardised ratings: ratings of one person are noisy, and MQM has a long tail
ORDERED_FIELDS = ("better", "worse")


@dataclass(frozen=True, slots=True)
class RatedPair:
    """Two texts and their target similarity; the fields after `row` are for adapters only."""

    first: str
    second: str
    similarity: float
    row: str  # id of its row
    more_references: tuple[str, ...] = ()  # the pair's score is that of the best-scoring reference
    worse: str = ""  # a text that people rated worse than the first, instead of a rating
    weight: float = 1.0
    file: int = 0  # index of its file; the loss fits one offset per file

    @property
    def texts(self) -> tuple[str, ...]:
        """Return all texts of the pair."""
        return (self.first, self.second, *self.more_references, *((self.worse,) if self.worse else ()))

    @property
    def references(self) -> tuple[str, ...]:
        """Return the texts that the first is compared with."""
        return (self.second, *self.more_references)


@dataclass(frozen=True)
class RatedPairs:
    """Rated pairs, the mapping from ratings to similarities, and counts of rows left out by reason."""

    pairs: Sequence[RatedPair]
    mapping: str
    left_out: Mapping[str, int]


def read_pairs(source: RowSource, mapping: str = DEFAULT_MAPPING, aspect: str | None = None) -> RatedPairs:
    """Return one pair per reference of every rated row.

    Args:
        source: Rows with a human score.
        mapping: Mapping from ratings to similarities; a rating that it does not cover is an error.
        aspect: Which of several named ratings to use.
    """
    left_out: Counter[str] = Counter()
    rated: list[tuple[Row, float]] = []
    names: dict[Any, None] = {}
    for row in source:
        rating = rating_of(row, aspect)
        if rating is None:
            left_out["no human score"] += 1
        elif not row.references:
            raise InputError(f"row {row.id} has no reference: training compares the candidate with it")
        else:
            rated.append((row, rating))
            left_out["empty text"] += len(row.references) - len(_nonempty_references(row))
        names |= dict.fromkeys(row.human) if isinstance(row.human, Mapping) else {}
    if not rated:
        named = f" named {aspect}, only {', '.join(map(str, names))}" if aspect and names else ""
        raise InputError(f"there are no ratings{named}: the human field must hold numbers (`human_field`, `aspect`)")
    if (count := sum(len(_nonempty_references(row)) for row, _ in rated)) < 2:
        raise InputError(f"training needs at least two rated pairs of texts, found {count}")
    similarity_of = parse_mapping(mapping, (rating for _, rating in rated))
    pairs = []
    for row, rating in rated:
        try:
            similarity = similarity_of(rating)
        except InputError as error:
            raise InputError(f"row {row.id}: {error}") from None
        pairs += [RatedPair(row.candidate, reference, similarity, row.id) for reference in _nonempty_references(row)]
    if len({pair.similarity for pair in pairs}) == 1:
        raise InputError("all ratings have the same similarity: nothing can be learned from constant ratings")
    return RatedPairs(tuple(pairs), str(similarity_of), dict(+left_out))


def split(pairs: Sequence[RatedPair], share: float, seed: int) -> tuple[list[RatedPair], list[RatedPair]]:
    """Split pairs into train and dev; groups of pairs are drawn for dev until it has its share."""
    if share == 0:
        return list(pairs), []
    groups = text_groups(pairs)
    dev_size = max(MIN_ROWS, round(share * len(pairs)))
    sizes = np.bincount(groups)
    dev_groups, size = set(), 0
    for group in np.random.default_rng([seed, SPLIT_STREAM]).permutation(len(sizes)):
        if size + sizes[group] <= dev_size:
            dev_groups.add(group)
            size += sizes[group]
    dev = [pair for pair, group in zip(pairs, groups, strict=True) if group in dev_groups]
    train = [pair for pair, group in zip(pairs, groups, strict=True) if group not in dev_groups]
    if len(dev) < MIN_ROWS or len(train) < 2:
        raise InputError(
            f"{len(pairs)} rated pairs cannot be split: {len(train)} to train on, {len(dev)} for dev, which needs "
            f"{MIN_ROWS} that share no text with the training pairs; give more pairs, or `dev=0` to train without"
        )
    if any(len({pair.similarity for pair in side}) == 1 and not side[0].worse for side in (dev, train)):
        raise UndefinedStatisticError("all ratings on one side of the split are equal: try another `seed` or `dev`")
    return train, dev


def text_groups(pairs: Sequence[RatedPair]) -> Ints:
    """Return a group number per pair: the connected components of pairs that share a text."""
    node: dict[str, int] = {}
    for pair in pairs:
        for text in pair.texts:
            node.setdefault(text, len(node))
    joined = np.array([(node[pair.first], node[text]) for pair in pairs for text in pair.texts[1:]])
    graph = sparse.coo_matrix((np.ones(len(joined)), joined.T), shape=(len(node), len(node)))
    _, groups = sparse.csgraph.connected_components(graph, directed=False)
    return np.asarray(groups[[node[pair.first] for pair in pairs]], dtype=np.int64)


def targets(pairs: Sequence[RatedPair]) -> Floats:
    """Return the similarities of pairs."""
    return np.array([pair.similarity for pair in pairs], dtype=np.float64)


def rating_of(row: Row, aspect: str | None) -> float | None:
    """Return the row's human score of an aspect as a number; None if it is missing or NaN."""
    value = row.human
    named = isinstance(value, Mapping)
    if isinstance(value, Mapping):
        if value and aspect is None:
            raise InputError(
                f"row {row.id} has ratings named {', '.join(map(str, value))}: choose one of them with `aspect`"
            )
        value = value.get(aspect)
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise FileFormatError(f"row {row.id}: the human score is {str(value)[:40]!r}, expected a number") from None
    if np.isnan(number):  # a missing number in tables
        return None
    if aspect is not None and not named:
        raise InputError(f"`aspect={aspect}`: row {row.id} has one rating without a name")
    if np.isinf(number):
        raise FileFormatError(f"row {row.id}: the human score is {number}, expected a finite number")
    return number


def digest(pairs: Sequence[RatedPair]) -> str:
    """Return the sha256 of all fields that affect training: not the row ids."""
    plain = RatedPair("", "", 0.0, "")
    contents = [
        [pair.first, pair.second, pair.similarity]
        + [
            value
            for name in ("more_references", "worse", "weight", "file")
            if (value := getattr(pair, name)) != getattr(plain, name)
        ]
        for pair in pairs
    ]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()


def _nonempty_references(row: Row) -> list[str]:
    """Return the references that are not empty, if the candidate is not empty."""
    return [reference for reference in row.references if row.candidate.strip() and reference.strip()]


NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"

LINEAR_MAPPING = re.compile(rf"linear\(\s*({NUMBER})\s*,\s*({NUMBER})\s*\)")

TABLE_ENTRY = re.compile(rf"({NUMBER})\s*=\s*({NUMBER})")

MAPPING_SYNTAX = "opusparcus, linear, linear(low,high), a table as in 1=0.1,2=0.4,3=0.9, or a file with such a table"


@dataclass(frozen=True, slots=True)
class Linear:
    """Linear mapping of `low` to 0 and `high` to 1; `low` > `high` if lower ratings are better."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if self.low == self.high or not math.isfinite(self.high - self.low):
            raise SpecError(f"{self}: low and high must be two different numbers")

    def __call__(self, rating: float) -> float:
        """Return (rating - low) / (high - low)."""
        if not min(self.low, self.high) <= rating <= max(self.low, self.high):
            raise InputError(f"rating {rating:g} lies outside {self}")
        return (rating - self.low) / (self.high - self.low)

    def __str__(self) -> str:
        return f"linear({self.low:g},{self.high:g})"


@dataclass(frozen=True, slots=True)
class Table:
    """Table of ratings and their similarities."""

    entries: tuple[tuple[float, float], ...]
    name: str = ""

    def __post_init__(self) -> None:
        ratings = [rating for rating, _ in self.entries]
        if len(ratings) < 2 or len(set(ratings)) < len(ratings):
            raise SpecError(f"mapping {self}: a table needs at least two ratings, each named once")
        if any(not -1 <= similarity <= 1 for _, similarity in self.entries):
            raise SpecError(f"mapping {self}: similarities must lie between -1 and 1, as cosines do")

    def __call__(self, rating: float) -> float:
        """Return the similarity of a rating in the table, without interpolation."""
        for entry, similarity in self.entries:
            if rating == entry:
                return similarity
        ratings = ", ".join(f"{entry:g}" for entry, _ in self.entries)
        raise InputError(f"rating {rating:g} is not in the mapping, which has {ratings}")

    def __str__(self) -> str:
        return self.name or ",".join(f"{rating:g}={similarity:g}" for rating, similarity in self.entries)


# Paraphrase ratings of Opusparcus, as the German summaries study maps them.
OPUSPARCUS = Table(((1, 0.05), (1.5, 0.1), (2, 0.2), (2.5, 0.3), (3, 0.5), (3.5, 0.7), (4, 0.85)), "opusparcus")

RatingMapping = Linear | Table


def parse_mapping(text: str, ratings: Iterable[float]) -> RatingMapping:
    """Parse a mapping; `linear` without numbers uses the minimum and maximum of the ratings."""
    text = text.strip()
    if text == OPUSPARCUS.name:
        return OPUSPARCUS
    if text == "linear":
        values = list(ratings)
        if not values:
            raise InputError("mapping linear: there are no ratings to take its ends from")
        if min(values) == max(values):
            raise InputError(f"all ratings are {values[0]:g}: nothing can be learned from constant ratings")
        return Linear(min(values), max(values))
    if line := LINEAR_MAPPING.fullmatch(text):
        return Linear(float(line[1]), float(line[2]))
    if "=" not in text and os.path.isfile(text):  # Path.is_file raises for names that are too long
        try:
            entries = Path(text).read_text("utf-8")
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{text}: cannot be read as a table of ratings ({error})") from error
    else:
        entries = text
    parts = [part.strip() for part in re.split(r"[,\n]", entries) if part.strip()]
    matched = [TABLE_ENTRY.fullmatch(part) for part in parts]
    if not parts or None in matched:
        raise SpecError(f"mapping {text[:60]!r}: expected {MAPPING_SYNTAX}")
    return Table(tuple((float(entry[1]), float(entry[2])) for entry in matched if entry))


FIELDS = ("id", "text", "text", "rating")


@dataclass(frozen=True)
class HeaderlessPairs:
    """A file of four columns without a header."""

    path: str
    file_format: str

    def __iter__(self) -> Iterator[Row]:
        for number, values in enumerate(_values(self.path, self.file_format), 1):
            if len(values) != len(FIELDS) or not _is_number(values[-1]):
                raise FileFormatError(
                    f"{shown(self.path)}, record {number}: expected {', '.join(FIELDS)} as in the first, found "
                    f"{len(values)} fields" + (f", the last {values[-1][:40]!r}" if values else "")
                )
            name, first, second, rating = values
            yield Row(name or str(number), first, (second,), human=float(rating))


def training_rows(path: str, columns: Columns, input_format: str | None = None) -> Iterable[Row]:
    """Return the rows of a table to train on; four columns of which the last is a number need no header."""
    table = TableFile(path, columns, input_format)
    file_format = table.file_format()
    if path == STDIN or file_format not in DELIMITERS:
        return table
    first = next(_values(path, file_format), [])
    if len(first) == len(FIELDS) and _is_number(first[-1]):
        return HeaderlessPairs(path, file_format)
    wanted = columns.references or REFERENCE_FIELDS
    header = {field.strip('"') for field in first}
    if first and (columns.candidate not in header or not set(wanted) & header):
        raise FileFormatError(
            f"{shown(path)}: expected a header with {columns.candidate}, {wanted[-1]} and {columns.human}, or four "
            f"columns without a header ({', '.join(FIELDS)}); its first line has {len(first)} fields"
        )
    return table


def _values(path: str, file_format: str) -> Iterator[list[str]]:
    """Yield the values of every record; quotes of TSV are part of the text."""
    return read_values(path, file_format, quoted=file_format != "tsv")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_files(
    paths: Sequence[str], weights: Sequence[float], columns: Columns, input_format: str | None, aspect: str | None
) -> RatedPairs:
    """Read the pairs of several files, each with its own scale.

    Args:
        paths: Files of rated or ordered pairs.
        weights: Weight of each file; empty: 1 each.
        columns: Names of the fields.
        input_format: Format of the files; by default their suffix.
        aspect: Which of several named ratings to use.
    """
    weights = list(weights) or [1.0] * len(paths)
    if len(weights) != len(paths) or not all(0 < weight < np.inf for weight in weights):
        raise SpecError(f"`weights`: expected {len(paths)} positive numbers, one per file, got {len(weights)}")
    pairs: list[RatedPair] = []
    notes, left_out = [], Counter[str]()
    for number, (path, weight) in enumerate(zip(paths, weights, strict=True)):
        read = _ordered_pairs if _is_ordered(path, columns, input_format) else _standardised_pairs
        file_pairs, scale = read(path, columns, input_format, aspect, left_out)
        pairs += [replace(pair, weight=weight, file=number) for pair in file_pairs]
        notes.append(
            f"{shown(path)}: {len(file_pairs)} pairs, {scale}, weight {weight:g}, sha256 {digest(file_pairs)[:8]}"
        )
    if len(pairs) < 2:
        raise InputError(f"training needs at least two rated pairs of texts, found {len(pairs)}")
    return RatedPairs(tuple(pairs), "; ".join(notes), dict(+left_out))


def read_anchors(path: str | None) -> list[str]:
    """Read the texts of a file, one per line, without empty lines."""
    texts = [line for line in read_lines(path) if line.strip()] if path else []
    if path and not texts:
        raise InputError(f"{shown(path)}: there is no anchor text, expected a text per line")
    return texts


def _is_ordered(path: str, columns: Columns, input_format: str | None) -> bool:
    """Return whether the first record has the fields of an ordered pair."""
    table = TableFile(path, columns, input_format)
    if not rereadable(path):
        return False
    first = next(read_records(path, table.file_format()), None)
    return first is not None and not isinstance(first, BadRecord) and set(ORDERED_FIELDS) <= set(first.fields)


def _ordered_pairs(
    path: str, columns: Columns, input_format: str | None, _: str | None, left_out: Counter[str]
) -> tuple[list[RatedPair], str]:
    better, worse = ORDERED_FIELDS
    pairs = []
    for row in TableFile(path, replace(columns, candidate=better, extra=(worse,)), input_format):
        references, worse_text = _compared_references(row, left_out), str(row.extra[worse])
        if not worse_text.strip():
            left_out["empty text"] += 1
        elif references and worse_text != row.candidate:
            pairs.append(RatedPair(row.candidate, references[0], 1.0, row.id, references[1:], worse_text))
    return pairs, "better and worse"


def _standardised_pairs(
    path: str, columns: Columns, input_format: str | None, aspect: str | None, left_out: Counter[str]
) -> tuple[list[RatedPair], str]:
    rated = [(row, rating, references) for row, rating in _ratings(training_rows(path, columns, input_format), aspect,
                                                                  left_out)
             if (references := _compared_references(row, left_out))]  # fmt: skip
    values = np.array([rating for _, rating, _ in rated])
    if not len(values):
        raise InputError(
            f"{shown(path)}: there are no ratings; the human field must hold numbers (`human_field`, `aspect`), or the "
            "file the fields better and worse"
        )
    mean, deviation = float(values.mean()), float(values.std())
    if not deviation > 1e-9 * max(1.0, abs(mean)):
        raise InputError(f"{shown(path)}: all ratings are {mean:g}: nothing can be learned from constant ratings")
    standard = np.clip((values - mean) / deviation, -MAX_DEVIATIONS, MAX_DEVIATIONS).tolist()
    pairs = [
        RatedPair(row.candidate, references[0], score, row.id, references[1:])
        for (row, _, references), score in zip(rated, standard, strict=True)
    ]
    return pairs, f"mean {mean:.6g}, deviation {deviation:.6g}"


def _ratings(rows: Iterable[Row], aspect: str | None, left_out: Counter[str]) -> Iterable[tuple[Row, float]]:
    """Yield rated rows with their rating; the aspect is used only for rows with named ratings."""
    for row in rows:
        rating = rating_of(row, aspect if isinstance(row.human, Mapping) else None)
        if rating is None:
            left_out["no human score"] += 1
        else:
            yield row, rating


def _compared_references(row: Row, left_out: Counter[str]) -> tuple[str, ...]:
    """Return the references that are not empty, or none if the candidate is empty; count such rows in `left_out`."""
    if not row.references:
        raise InputError(f"row {row.id} has no reference: training compares the candidate with it")
    references = tuple(text for text in row.references if row.candidate.strip() and text.strip())
    left_out["empty text"] += not references
    return references
