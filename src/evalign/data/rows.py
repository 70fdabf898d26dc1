"""Rows from files: parallel text files, JSONL, CSV, TSV, Parquet; one at a time, never the whole file.

A `RowSource` can be walked again and again unless it is standard input.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

from evalign.data.text_lines import STDIN, check_readable, count_lines, read_lines, rereadable, shown
from evalign.errors import FileFormatError, LengthMismatchError, MissingExtraError, nearest
from evalign.types import Row

REFERENCE_FIELDS = ("references", "reference")  # where none are named
FORMATS = ("jsonl", "csv", "tsv", "parquet")  # the keys of READERS
DELIMITERS = {"csv": ",", "tsv": "\t"}


class RowSource(Protocol):
    """Something that gives rows."""

    @property
    def rereadable(self) -> bool:
        """Whether a second walk gives the same rows."""

    def __iter__(self) -> Iterator[Row]: ...

    def count(self) -> int | None:
        """How many rows there are, if that is cheap to tell."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which fields of a table hold what; several reference fields make several references."""

    candidate: str = "candidate"
    references: tuple[str, ...] = ()  # () means `references`, or `reference`
    source: str = "source"
    id: str = "id"
    system: str = "system"
    human: str = "human"
    extra: tuple[str, ...] = ()  # fields that are carried along, such as the language pair

    @property
    def names(self) -> frozenset[str]:
        """Every field that is read."""
        references = self.references or REFERENCE_FIELDS
        return frozenset((self.candidate, *references, self.source, self.id, self.system, self.human, *self.extra))


@dataclass(frozen=True)
class InMemory:
    """Rows in memory as a source."""

    rows: Sequence[Row]
    rereadable: bool = True

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def count(self) -> int | None:
        """How many."""
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class TextFiles:
    """Line i of the candidate file against line i of every reference file."""

    candidates: str
    references: tuple[str, ...]
    sources: str | None
    system: str

    def __post_init__(self) -> None:
        for path in self._paths:
            check_readable(path)
        if self._paths.count(STDIN) > 1:
            raise FileFormatError("standard input can be only one of the files")

    @property
    def _paths(self) -> tuple[str, ...]:
        return (self.candidates, *self.references, *([self.sources] if self.sources else []))

    @property
    def rereadable(self) -> bool:
        """Whether all files can be read twice."""
        return all(map(rereadable, self._paths))

    def count(self) -> int | None:
        """Lines of the candidate file."""
        return count_lines(self.candidates)

    def __iter__(self) -> Iterator[Row]:
        columns = [read_lines(path) for path in self._paths]
        number = 0
        for number, lines in enumerate(zip_longest(*columns), 1):
            if None in lines:
                raise self._unequal(number - 1, lines, columns)
            references = lines[1 : 1 + len(self.references)]
            yield Row(str(number), lines[0], references, lines[-1] if self.sources else None, self.system)

    def _unequal(self, common: int, lines: tuple[str | None, ...], columns: list[Iterator[str]]) -> Exception:
        counts = [
            common if line is None else common + 1 + sum(1 for _ in rest)
            for line, rest in zip(lines, columns, strict=True)
        ]
        told = ", ".join(f"{shown(path)} has {count} lines" for path, count in zip(self._paths, counts, strict=True))
        return LengthMismatchError(f"the files do not run in parallel: {told}")


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file with one row per line or record."""

    path: str
    columns: Columns
    format: str | None = None  # by the file's name if None; standard input is JSONL

    def __post_init__(self) -> None:
        check_readable(self.path)
        self.kind()

    @property
    def rereadable(self) -> bool:
        """Whether the file can be read twice."""
        return rereadable(self.path)

    def count(self) -> int | None:
        """Lines of the file, which is near enough for a progress bar."""
        return count_lines(self.path)

    def __iter__(self) -> Iterator[Row]:
        for number, (place, record) in enumerate(READERS[self.kind()](self.path, self.columns), 1):
            yield make_row(record, self.columns, place, str(number))

    def kind(self) -> str:
        """The format: as given, or by the file's name."""
        return "jsonl" if self.path == STDIN and self.format is None else format_of(self.path, self.format)


def format_of(path: str, chosen: str | None = None) -> str:
    """The format of a table: as given, or by the file's name."""
    if chosen is not None:
        return chosen
    name = Path(path.removesuffix(".gz"))
    kind = {".json": "jsonl", ".ndjson": "jsonl"}.get(name.suffix, name.suffix.removeprefix("."))
    if kind not in FORMATS:
        raise FileFormatError(
            f"{path}: cannot tell its format from its name; give --input-format ({', '.join(FORMATS)})"
        )
    return kind


Record = tuple[str, Mapping[str, Any]]  # where it stands, for messages; its fields


def _jsonl(path: str, _: Columns) -> Iterator[Record]:
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        place = f"{shown(path)}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FileFormatError(f"{place}: not JSON ({error})") from error
        if not isinstance(record, dict):
            raise FileFormatError(f"{place}: expected a JSON object, found {type(record).__name__}")
        yield place, record


def _separated(path: str, columns: Columns, delimiter: str) -> Iterator[Record]:
    csv.field_size_limit(2**31 - 1)  # the largest that every platform takes
    lines = (f"{line}\n" for line in read_lines(path))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = next(reader, None)
        if header is None:
            return
        if repeated := sorted(name for name in columns.names if header.count(name) > 1):
            raise FileFormatError(
                f"{shown(path)}: the header has {header.count(repeated[0])} fields {repeated[0]!r}: rename all but one"
            )
        for values in reader:
            place = f"{shown(path)}:{reader.line_num}"
            if len(values) != len(header):
                raise FileFormatError(f"{place}: {len(values)} fields, the header has {len(header)}")
            yield place, dict(zip(header, values, strict=True))
    except csv.Error as error:
        raise FileFormatError(f"{shown(path)}:{reader.line_num}: not {delimiter!r}-separated ({error})") from error


def _parquet(path: str, _: Columns) -> Iterator[Record]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("reading Parquet", "data") from error
    try:
        number = 0
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=1024):
            for record in batch.to_pylist():
                number += 1
                yield f"{path} row {number}", record
    except (pyarrow.ArrowException, OSError) as error:
        raise FileFormatError(f"{shown(path)}: not a Parquet file ({error})") from error


READERS: dict[str, Callable[[str, Columns], Iterator[Record]]] = {
    "jsonl": _jsonl,
    **{kind: partial(_separated, delimiter=delimiter) for kind, delimiter in DELIMITERS.items()},
    "parquet": _parquet,
}


def make_row(record: Mapping[str, Any], columns: Columns, place: str, name: str) -> Row:
    """The row of a record's fields; `place` is for messages, `name` its id if the record has none."""
    source = record.get(columns.source)
    return Row(
        id=name if record.get(columns.id) is None else str(record[columns.id]),
        candidate=_text(_field(record, columns.candidate, place), columns.candidate, place),
        references=tuple(_references(record, columns, place)),
        source=None if source is None else _text(source, columns.source, place),
        system="" if record.get(columns.system) is None else str(record[columns.system]),
        human=record.get(columns.human),
        extra={name: _field(record, name, place) for name in columns.extra},
    )


def _references(record: Mapping[str, Any], columns: Columns, place: str) -> Iterator[str]:
    names: Iterable[str] = columns.references or [name for name in REFERENCE_FIELDS if name in record]
    for name in names:
        value = _field(record, name, place)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (_text(item, name, place) for item in value)
        else:
            raise FileFormatError(f"{place}: {name} must be a text or a list of texts, found {type(value).__name__}")


def _field(record: Mapping[str, Any], name: str, place: str) -> Any:
    if name not in record:
        raise FileFormatError(f"{place}: no field {name!r}; {nearest(name, map(str, record))}")
    return record[name]


def _text(value: Any, name: str, place: str) -> str:
    if not isinstance(value, str):
        raise FileFormatError(f"{place}: {name} must be a text, found {type(value).__name__}")
    return value
