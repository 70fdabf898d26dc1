"""Records of an input file, good or bad: a stream of bytes in, one `Record` per row with its line and raw bytes out.

Unlike `data/rows.py`, whose readers end at the first bad line, a bad record says what is wrong with it and the next one
follows. A line that is longer than `LINE_BYTES` is passed over in pieces, so that memory stays bounded.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Protocol, cast

from evalign.batch.streams import COMPRESSED, open_input, reading
from evalign.data.rows import DELIMITERS
from evalign.errors import FileFormatError, MissingExtraError

LINE_BYTES = 64 * 2**20
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record starts in a file of lines: what stands before it."""

    offset: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a file as it stands there; `error` says why `value` (text, or fields by name) is no use."""

    line: int
    raw: bytes
    value: Any = None
    error: str | None = None


class Records(Protocol):
    """The records of one open file, its header if it has one, and the place where the next record starts."""

    @property
    def header(self) -> bytes:
        """The line that names the fields, if there is one."""
        ...

    @property
    def place(self) -> Place:
        """Where the next record starts."""
        ...

    def __iter__(self) -> Iterator[Record]: ...


@contextmanager
def open_records(path: str, kind: str, start: Place | None = None) -> Iterator[Records]:
    """The records of a file from a place on, which is its beginning unless it is `seekable`."""
    with reading(path), open_input(path) as stream:
        if kind == "parquet":
            yield ParquetRecords(path, stream)
            return
        lines = Lines(stream)
        header = _header(path, lines, kind) if kind in DELIMITERS else None
        if start is not None and start.offset:
            stream.seek(start.offset)
            lines.place = start
        yield SeparatedRecords(lines, kind, header) if kind in DELIMITERS else JsonRecords(lines)


def seekable(path: str, kind: str) -> bool:
    """Whether reading can start in the middle: plain files of lines."""
    return kind != "parquet" and not path.endswith(COMPRESSED)


class Lines:
    """Raw lines without their ends, no longer than `LINE_BYTES`; counts what it has read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.place, self.too_long = stream, Place(), False

    def __iter__(self) -> Iterator[bytes]:
        while raw := self.stream.readline(LINE_BYTES + 1):
            size, rest = len(raw), raw
            while not rest.endswith(b"\n") and (rest := self.stream.readline(2**20)):
                size += len(rest)
            self.too_long = size > LINE_BYTES + 1
            first = self.place.line == 0
            self.place = Place(self.place.offset + size, self.place.line + 1)
            line = raw.rstrip(b"\n").removesuffix(b"\r")
            yield line.removeprefix(BOM) if first else line

    def problem(self) -> str:
        """What to say of the line just read, if it is too long."""
        return f"the line is longer than {LINE_BYTES >> 20} MiB, the most that is read; split the text"


class JsonRecords:
    """Lines that are not blank; parsed later, by whoever wants more than to count them."""

    header = b""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    @property
    def place(self) -> Place:
        """Where the next record starts, or a blank line before it."""
        return self._lines.place

    def __iter__(self) -> Iterator[Record]:
        for raw in self._lines:
            if raw.strip():
                number = self._lines.place.line
                yield Record(number, raw, raw, self._lines.problem() if self._lines.too_long else None)


class SeparatedRecords:
    """Records of CSV and TSV, which may go over several lines. Without a header the values stay a list."""

    def __init__(self, lines: Lines, kind: str, header: Record | None) -> None:
        self._lines, self._delimiter, self._header = lines, DELIMITERS[kind], header
        self.header = b"" if header is None else header.raw

    @property
    def place(self) -> Place:
        """Where the next record starts."""
        return self._lines.place

    def __iter__(self) -> Iterator[Record]:
        csv.field_size_limit(LINE_BYTES)
        taken: list[bytes] = []
        reader = csv.reader(self._texts(taken), delimiter=self._delimiter, strict=True)
        while True:
            taken.clear()
            values, error = None, None
            try:
                values = next(reader)
            except StopIteration:
                return
            except csv.Error as problem:
                error = f"not {self._delimiter!r}-separated ({problem})"
            raw, line = b"\n".join(taken), self._lines.place.line
            if values == []:
                continue  # an empty line
            yield self._record(line, raw, values, self._lines.problem() if self._lines.too_long else error)

    def _texts(self, taken: list[bytes]) -> Iterator[str]:
        for raw in self._lines:
            taken.append(raw)
            yield raw.decode("utf-8", "surrogateescape") + "\n"

    def _record(self, line: int, raw: bytes, values: list[str] | None, error: str | None) -> Record:
        if error is None and not _is_utf8(raw):
            error = "not UTF-8"
        if error is not None or self._header is None:
            return Record(line, raw, values, error)
        names = self._header.value
        if len(values or ()) != len(names):
            return Record(line, raw, None, f"{len(values or ())} fields, the header has {len(names)}")
        return Record(line, raw, dict(zip(names, values or (), strict=True)))


class ParquetRecords:
    """Rows of a Parquet file; their raw bytes are their JSON."""

    header, place = b"", Place()

    def __init__(self, path: str, stream: IO[bytes]) -> None:
        self._path, self._stream = path, stream

    def __iter__(self) -> Iterator[Record]:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise MissingExtraError("reading Parquet", "data") from error
        number = 0
        try:
            for batch in pyarrow.parquet.ParquetFile(self._stream).iter_batches(batch_size=1024):
                for record in batch.to_pylist():
                    number += 1
                    yield Record(number, json.dumps(record, default=repr).encode(), record)
        except pyarrow.ArrowException as error:
            raise FileFormatError(f"{self._path}: not a Parquet file ({error})") from error


def fields_of(record: Record) -> Mapping[str, Any]:
    """The fields of a record by name; FileFormatError with what is wrong if it is a bad one."""
    if record.error is not None:
        raise FileFormatError(record.error)
    if not isinstance(record.value, bytes):
        return cast(Mapping[str, Any], record.value)
    try:
        fields = json.loads(record.value.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FileFormatError(f"not UTF-8 ({error.reason} at byte {error.start} of the line)") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"not JSON ({error})") from error
    if not isinstance(fields, dict):
        raise FileFormatError(f"expected a JSON object, found {type(fields).__name__}")
    return fields


def _header(path: str, lines: Lines, kind: str) -> Record | None:
    header = next(iter(SeparatedRecords(lines, kind, None)), None)
    if header is not None and header.error is not None:
        raise FileFormatError(f"{path}:{header.line}: the header cannot be read: {header.error}")
    names = [] if header is None else header.value
    if repeated := sorted(name for name in set(names) if name and names.count(name) > 1):
        raise FileFormatError(
            f"{path}: the header has {names.count(repeated[0])} fields {repeated[0]!r}: rename all but one"
        )
    return header


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
