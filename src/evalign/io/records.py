"""Records of an input file: JSONL, CSV, TSV, Parquet or text lines in, one `Record | BadRecord` per record out.

Every command reads its input here. A bad record says what is wrong with it, and the next one follows. Lines end at \\n
or \\r\\n only. A line longer than `MAX_LINE_BYTES` is skipped in pieces, so that memory stays bounded.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from evalign.errors import FileFormatError, MissingExtraError
from evalign.io.streams import COMPRESSED, STDIN, check_readable, open_input, shown

FORMATS = ("jsonl", "csv", "tsv", "parquet")  # of tables
TEXT = "text"  # one record per line, with the field `text`
DELIMITERS = {"csv": ",", "tsv": "\t"}
ENDINGS = {"json": "jsonl", "ndjson": "jsonl"}  # further endings of file names
MAX_LINE_BYTES = 64 * 2**20
TOO_LONG = f"the line is longer than {MAX_LINE_BYTES >> 20} MiB, the maximum; split the text"
BETWEEN_QUOTES = re.compile(r'([^"])[^"]+([^"])')  # of which the first and the last character are enough
SKIP_BYTES = 2**20  # read at once of a line that is too long
BATCH_ROWS = 1024  # of Parquet
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Record:
    """One record: the line where it ends (Parquet: its row number), its bytes, and its fields."""

    line: int
    raw: bytes
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BadRecord:
    """One record that cannot be read, and the reason."""

    line: int
    raw: bytes
    error: str


@dataclass(frozen=True, slots=True)
class FilePosition:
    """The start of a record in a file of lines: the bytes and lines before it."""

    offset: int = 0
    line: int = 0


class Records(Protocol):
    """The records of one open file."""

    @property
    def header(self) -> bytes:
        """The line that names the fields, or nothing."""
        ...

    @property
    def field_names(self) -> Sequence[str]:
        """The fields that the header names."""
        ...

    @property
    def position(self) -> FilePosition:
        """The start of the next record."""
        ...

    def __iter__(self) -> Iterator[Record | BadRecord]: ...


@contextmanager
def open_records(
    path: str, file_format: str, start: FilePosition | None = None, parse: bool = True
) -> Iterator[Records]:
    """Open the records of a file.

    `start` is where to begin, in a file that is `seekable`. Without `parse` the fields of JSON records stay empty, for
    callers that only count and hash.
    """
    check_readable(path)
    with open_input(path) as stream:
        if file_format == "parquet":
            yield ParquetRecords(path, stream)
            return
        lines = Lines(stream)
        header = _read_header(path, lines, file_format) if file_format in DELIMITERS else None
        if start is not None and start.offset:
            stream.seek(start.offset)
            lines.position = start
        if file_format in DELIMITERS:
            yield SeparatedRecords(lines, file_format, header)
        else:
            yield TextRecords(lines) if file_format == TEXT else JsonRecords(lines, parse)


def read_records(path: str, file_format: str) -> Iterator[Record | BadRecord]:
    """Yield the records of a file."""
    with open_records(path, file_format) as records:
        yield from records


def read_lines(path: str) -> Iterator[str]:
    """Yield the lines of a text file without their ends; an error names the file and the line."""
    for record in read_records(path, TEXT):
        if isinstance(record, BadRecord):
            raise FileFormatError(f"{location(path, record.line, TEXT)}: {record.error}")
        yield record.fields[TEXT]


def read_values(path: str, file_format: str, quoted: bool = True) -> Iterator[list[str]]:
    """Yield the values of every record of a CSV or TSV file without a header; an error names the file and the line.

    Without `quoted`, quotes are part of the text.
    """
    check_readable(path)
    with open_input(path) as stream:
        for values in _separated_values(Lines(stream), file_format, quoted):
            if isinstance(values, BadRecord):
                raise FileFormatError(f"{location(path, values.line, file_format)}: {values.error}")
            yield values.values


def format_of(path: str, chosen: str | None = None) -> str:
    """Return the format of a table: `chosen`, else by the file's name; standard input is JSONL."""
    if chosen is not None or path == STDIN:
        return chosen or "jsonl"
    if not has_format(path):
        raise FileFormatError(
            f"{path}: cannot tell its format from its name; give `input_format` ({', '.join(FORMATS)})"
        )
    return _ending(path)


def has_format(path: str) -> bool:
    """Return whether the name of a file tells the format of its table."""
    return _ending(path) in FORMATS


def parse_json(text: str) -> Any:
    """Return the value of a JSON text; raise ValueError for a key that occurs twice, since one value would be lost."""
    return json.loads(text, object_pairs_hook=_distinct_keys)


def location(path: str, line: int, file_format: str) -> str:
    """Return the location of a record in messages."""
    return f"{shown(path)} row {line}" if file_format == "parquet" else f"{shown(path)}:{line}"


def seekable(path: str, file_format: str) -> bool:
    """Return whether reading can start in the middle: plain files of lines."""
    return file_format != "parquet" and not path.endswith(COMPRESSED)


class Lines:
    """Raw lines without their ends, at most `MAX_LINE_BYTES` of each; counts bytes and lines."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.position, self.error, self.lost_quotes = stream, FilePosition(), "", 0

    def __iter__(self) -> Iterator[bytes]:
        """Yield lines; `error` is set while the last one is too long, and `lost_quotes` counts those in its rest."""
        while raw := self.stream.readline(MAX_LINE_BYTES + 1):
            size, rest, self.lost_quotes = len(raw), raw, 0
            while not rest.endswith(b"\n") and (rest := self.stream.readline(SKIP_BYTES)):
                size += len(rest)
                self.lost_quotes += rest.count(b'"')
            self.error = TOO_LONG if size > MAX_LINE_BYTES + 1 else ""
            first = self.position.line == 0
            if first and raw == BOM:
                return  # an empty file
            self.position = FilePosition(self.position.offset + size, self.position.line + 1)
            line = raw.rstrip(b"\n").removesuffix(b"\r")
            yield line.removeprefix(BOM) if first else line


class LineRecords:
    """Base of records that are single lines."""

    header, field_names = b"", ()

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    @property
    def position(self) -> FilePosition:
        """The start of the next record, or of a blank line before it."""
        return self._lines.position


class TextRecords(LineRecords):
    """Lines of text, blank ones included."""

    def __iter__(self) -> Iterator[Record | BadRecord]:
        for raw in self._lines:
            line = self._lines.position.line
            text, error = ("", self._lines.error) if self._lines.error else _decode(raw)
            yield BadRecord(line, raw, error) if error else Record(line, raw, {TEXT: text})


class JsonRecords(LineRecords):
    """Lines of JSON; blank lines are skipped."""

    def __init__(self, lines: Lines, parse: bool) -> None:
        super().__init__(lines)
        self._parse = parse

    def __iter__(self) -> Iterator[Record | BadRecord]:
        for raw in self._lines:
            if not raw.strip():
                continue
            line = self._lines.position.line
            if self._lines.error:
                yield BadRecord(line, raw, self._lines.error)
            else:
                yield _parse_json(line, raw) if self._parse else Record(line, raw, {})


class SeparatedRecords:
    """Records of CSV and TSV, which may extend over several lines; empty lines are skipped."""

    def __init__(self, lines: Lines, file_format: str, header: Values | None) -> None:
        self._lines, self._file_format = lines, file_format
        self.header = b"" if header is None else header.raw
        self.field_names = [] if header is None else header.values

    @property
    def position(self) -> FilePosition:
        """The start of the next record."""
        return self._lines.position

    def __iter__(self) -> Iterator[Record | BadRecord]:
        names = self.field_names
        for record in _separated_values(self._lines, self._file_format):
            if isinstance(record, BadRecord):
                yield record
            elif len(record.values) != len(names):
                error = f"{len(record.values)} fields, the header has {len(names)}"
                yield BadRecord(record.line, record.raw, error)
            else:
                yield Record(record.line, record.raw, dict(zip(names, record.values, strict=True)))


class ParquetRecords:
    """Rows of a Parquet file; their bytes are their JSON."""

    header, field_names, position = b"", (), FilePosition()

    def __init__(self, path: str, stream: IO[bytes]) -> None:
        self._path, self._stream = path, stream

    def __iter__(self) -> Iterator[Record | BadRecord]:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise MissingExtraError("reading Parquet", "data") from error
        number = 0
        try:
            with _with_seek(self._stream) as stream:
                file = pyarrow.parquet.ParquetFile(stream)
                self._check_names(file.schema_arrow.names)
                for batch in file.iter_batches(batch_size=BATCH_ROWS):
                    for fields in batch.to_pylist():
                        number += 1
                        yield Record(number, json.dumps(fields, default=repr).encode(), fields)
                if number != file.metadata.num_rows:  # a damaged column that is shorter ends all of them
                    raise FileFormatError(
                        f"{shown(self._path)}: damaged, {number} of its {file.metadata.num_rows} rows can be read"
                    )
        except (pyarrow.ArrowException, OSError) as error:
            reason = " ".join(str(error).split())
            raise FileFormatError(f"{shown(self._path)}: not a Parquet file ({reason})") from error
        except (ValueError, OverflowError) as error:  # a text that is not UTF-8, a time after the year 9999
            after = f"a value after row {number}"
            raise FileFormatError(f"{shown(self._path)}: {after} cannot be read ({error})") from error

    def _check_names(self, names: Sequence[str]) -> None:
        """Raise if two columns have one name: the values of one would be lost."""
        if repeated := [name for name, count in Counter(names).items() if count > 1]:
            raise FileFormatError(f"{shown(self._path)}: the column {repeated[0]!r} occurs twice; rename one of them")


@dataclass(frozen=True, slots=True)
class Values:
    """The values of one record of CSV or TSV, without names."""

    line: int
    raw: bytes
    values: list[str]


def _separated_values(lines: Lines, file_format: str, quoted: bool = True) -> Iterator[Values | BadRecord]:
    csv.field_size_limit(MAX_LINE_BYTES)
    consumed: list[bytes] = []
    errors: list[str] = []  # of the lines of a record
    delimiter = DELIMITERS[file_format]
    reader = csv.reader(
        _decoded(lines, consumed, errors, delimiter),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    while True:
        consumed.clear()
        errors.clear()
        values, error = None, ""
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            error = f"not {delimiter!r}-separated ({problem})"
        if values == []:
            continue  # an empty line
        raw, line = b"\n".join(consumed), lines.position.line
        error = next(iter(errors), "") or error or _decode(raw)[1]
        yield BadRecord(line, raw, error) if error or values is None else Values(line, raw, values)


def _decoded(lines: Lines, consumed: list[bytes], errors: list[str], delimiter: str) -> Iterator[str]:
    for raw in lines:
        consumed.append(raw)
        text = raw.decode("utf-8", "surrogateescape")
        if lines.error:
            errors.append(lines.error)
            text = _shortened(text, delimiter, lines.lost_quotes)
        yield f"{text}\n"


def _shortened(text: str, delimiter: str, lost_quotes: int) -> str:
    """Return a short line for one that was cut, which ends inside or outside of quotes as the whole one does.

    Else the record would take in the lines after it, or csv would end it at a field that is too long for it, and make
    records of the rest.
    """
    return BETWEEN_QUOTES.sub(r"\1\2", text) + f'{delimiter}"' * (lost_quotes % 2)


def _read_header(path: str, lines: Lines, file_format: str) -> Values | None:
    header = next(_separated_values(lines, file_format), None)
    if isinstance(header, BadRecord):
        line = location(path, header.line, file_format)
        raise FileFormatError(f"{line}: the header cannot be read: {header.error}")
    return header


def _parse_json(line: int, raw: bytes) -> Record | BadRecord:
    text, error = _decode(raw)
    if error:
        return BadRecord(line, raw, error)
    try:
        fields = parse_json(text)
    except (ValueError, RecursionError) as problem:
        return BadRecord(line, raw, f"not JSON ({problem})")
    if not isinstance(fields, dict):
        return BadRecord(line, raw, f"expected a JSON object, found {type(fields).__name__}")
    return Record(line, raw, fields)


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {repeated!r:.80} occurs twice in an object; leave one of them")
    return fields


def _decode(raw: bytes) -> tuple[str, str]:
    """Return the text of a record and, if it is not UTF-8, the error instead."""
    try:
        return raw.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        return "", f"not UTF-8 ({error.reason} at byte {error.start} of the line)"


def _ending(path: str) -> str:
    """Return the format that the ending of a name stands for, or the ending."""
    name = path
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    suffix = Path(name).suffix.removeprefix(".")
    return ENDINGS.get(suffix, suffix)


@contextmanager
def _with_seek(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """Give the stream itself if it can be read in any order, as Parquet needs, else a temporary copy on the disk."""
    if stream.seekable():
        yield stream
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy)
        copy.seek(0)
        yield copy
