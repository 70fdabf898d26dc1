"""The shards of a job, defined by its input: files, patterns, folders and URLs in, files and shards with hashes out.

A shard is a range of records of one file, whole blocks of `BLOCK_ROWS`, with the hash of their bytes. Planning reads
all files once; the same input always gives the same plan.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalign.core import Row
from evalign.core.report import BadRow
from evalign.core.scoring import BLOCK_ROWS
from evalign.errors import FileFormatError, InputError, SpecError
from evalign.io.records import ENDINGS, FORMATS, BadRecord, FilePosition, Record, format_of, open_records, seekable
from evalign.io.rows import Columns, check_fields, row_of
from evalign.io.streams import COMPRESSED, fsspec_of, is_remote, read_errors, remote_errors

TABLE_ENDINGS = tuple(f".{name}{packed}" for name in (*FORMATS, *ENDINGS) for packed in ("", *COMPRESSED))


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of the job: its format (`kind`), and the hash of its records, decompressed."""

    path: str
    kind: str  # named so in job.json
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Shard:
    """Records `first` to `first + rows` of a file, which begin at `start`; `prefix` precedes numbers used as ids."""

    number: int
    path: str
    file_format: str
    prefix: str
    first: int
    rows: int
    sha256: str
    start: FilePosition

    def __str__(self) -> str:
        """Return the range of its rows, for messages."""
        return f"{self.path}: rows {self.first + 1} to {self.first + self.rows}"


@dataclass(frozen=True)
class Plan:
    """All files and all shards, in input order."""

    files: tuple[InputFile, ...]
    shards: tuple[Shard, ...]

    @property
    def rows(self) -> int:
        """Number of records in all files."""
        return sum(file.rows for file in self.files)


def find_files(patterns: Sequence[str], input_format: str | None = None) -> list[tuple[str, str]]:
    """Return (path, format) of every file, each once, in order; files of a pattern or folder are sorted by name."""
    paths = dict.fromkeys(path for pattern in patterns for path in _matching(pattern))
    return [(path, format_of(path, input_format)) for path in paths]


def make_plan(
    files: Sequence[tuple[str, str]],
    shard_rows: int,
    advance: Callable[[int], Any] = lambda _: None,
    columns: Columns | None = None,
) -> Plan:
    """Read all files once and divide them into shards.

    `advance` is called with the number of rows of each shard; `columns` are the fields that headers must name once.
    """
    if shard_rows < BLOCK_ROWS or shard_rows % BLOCK_ROWS:
        raise SpecError(
            f"`shard_rows={shard_rows}`: expected a multiple of {BLOCK_ROWS}, the rows that are scored at once"
        )
    planned: list[InputFile] = []
    shards: list[Shard] = []
    for (path, file_format), prefix in zip(files, _prefixes([path for path, _ in files]), strict=True):
        whole = hashlib.sha256()
        unplanned = Shard(0, path, file_format, prefix, 0, 0, "", FilePosition())
        for shard in _file_shards(unplanned, shard_rows, whole, columns or Columns()):
            shards.append(replace(shard, number=len(shards)))
            advance(shard.rows)
        rows = sum(shard.rows for shard in shards if shard.path == path)
        planned.append(InputFile(path, file_format, rows, whole.hexdigest()))
    if not shards:
        raise InputError("no rows to score: the input is empty")
    return Plan(tuple(planned), tuple(shards))


class ShardReader:
    """Reader of shards; in a file that is not seekable, reading continues where the last shard ended."""

    def __init__(self) -> None:
        self._path, self._next, self._header = "", 0, b""
        self._records: Iterator[Record | BadRecord] = iter(())
        self._open = ExitStack()

    def rows(self, shard: Shard, columns: Columns) -> Iterator[Row | BadRow]:
        """Yield the rows of a shard."""
        for number, record in enumerate(self.read(shard), shard.first + 1):
            yield row_of(record, columns, f"{shard.prefix}{number}")

    def read(self, shard: Shard) -> Iterator[Record | BadRecord]:
        """Yield the records of a shard; raise after the last one if they are not those that were planned."""
        with read_errors(shard.path):
            self._enter(shard)
            content = hashlib.sha256(self._header)
            count = 0
            while count < shard.rows and (record := next(self._records, None)) is not None:
                self._next += 1
                count += 1
                _update(content, record)
                yield record
        if content.hexdigest() != shard.sha256:
            self.close()
            raise FileFormatError(
                f"{shard} changed while the job ran; "
                "put the file back and run the same command, or start a job in another folder"
            )

    def close(self) -> None:
        """Close the open file."""
        self._open.close()
        self._path = ""

    def _enter(self, shard: Shard) -> None:
        middle = seekable(shard.path, shard.file_format)
        if middle or shard.path != self._path or shard.first < self._next:
            self.close()
            start = shard.start if middle else None
            records = self._open.enter_context(open_records(shard.path, shard.file_format, start))
            self._header, self._records = records.header, iter(records)
            self._path, self._next = shard.path, shard.first if middle else 0
        while self._next < shard.first and next(self._records, None) is not None:
            self._next += 1


def _file_shards(shard: Shard, shard_rows: int, whole: Any, columns: Columns) -> Iterator[Shard]:
    """Yield the shards of a file, which extend the empty `shard`; `whole` hashes all of its records."""
    with open_records(shard.path, shard.file_format, parse=False) as records:
        check_fields(shard.path, records, columns)
        whole.update(records.header)
        first = rows = 0
        start = position = records.position
        content = hashlib.sha256(records.header)
        for record in records:
            if rows == shard_rows:
                yield replace(shard, first=first, rows=rows, sha256=content.hexdigest(), start=start)
                first, rows, start, content = first + rows, 0, position, hashlib.sha256(records.header)
            _update(content, record)
            _update(whole, record)
            rows, position = rows + 1, records.position
        if rows:
            yield replace(shard, first=first, rows=rows, sha256=content.hexdigest(), start=start)


def _update(content: Any, record: Record | BadRecord) -> None:
    content.update(record.raw)
    content.update(b"\n")


def _prefixes(paths: Sequence[str]) -> list[str]:
    """Return prefixes that make row numbers unique: empty for one file, else the files' names, or their paths."""
    if len(paths) == 1:
        return [""]
    names = [path.rpartition("/")[2] for path in paths]
    return [f"{name}:" for name in (names if len(set(names)) == len(names) else paths)]


def _matching(pattern: str) -> list[str]:
    if is_remote(pattern):
        return _matching_remote(pattern)
    if Path(pattern).is_dir():
        paths = _tables(str(path) for path in Path(pattern).rglob("*") if path.is_file())
        if not paths:
            raise FileFormatError(f"{pattern}: no JSONL, CSV, TSV or Parquet file in this folder")
    elif Path(pattern).exists():
        paths = [pattern]
    else:
        paths = sorted(path for path in glob.glob(pattern, recursive=True) if Path(path).is_file())
        if not paths:
            raise FileFormatError(f"{pattern}: no such file")
    return [os.path.abspath(path) for path in paths]


def _matching_remote(pattern: str) -> list[str]:
    with remote_errors(pattern, "read"):
        system, inner = fsspec_of(pattern)
        if glob.has_magic(inner):
            paths = sorted(map(str, system.glob(inner)))
        else:
            paths = _tables(map(str, system.find(inner))) if system.isdir(inner) else [inner]
            paths = [path for path in paths if system.exists(path)]
    if not paths:
        raise FileFormatError(f"{pattern}: no such file")
    return [str(system.unstrip_protocol(path)) for path in paths]


def _tables(paths: Iterable[str]) -> list[str]:
    """Return the paths with the ending of a table, sorted, without hidden files."""
    return sorted(
        path for path in paths if path.endswith(TABLE_ENDINGS) and not path.rpartition("/")[2].startswith(".")
    )
