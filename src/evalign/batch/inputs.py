"""The shards of a job, defined by its input: files, patterns, folders and URLs in, files and shards with hashes out.

A shard is a range of rows of one file, whole blocks of `BLOCK_ROWS`, with the hash of what stands there. Planning reads
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

from evalign.batch.records import Place, Record, open_records, seekable
from evalign.batch.streams import fsspec_of, is_remote, reading
from evalign.data.rows import FORMATS, format_of
from evalign.errors import FileFormatError, InputError, SpecError
from evalign.metrics.base import BLOCK_ROWS

TABLE_ENDINGS = tuple(f".{kind}{packed}" for kind in (*FORMATS, "json", "ndjson") for packed in ("", ".gz", ".zst"))


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of the job: `sha256` is that of its rows as they stand there, unpacked."""

    path: str
    kind: str
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Shard:
    """Rows `first` to `first + rows` of a file; `place` is where they start, `prefix` stands before numbers as ids."""

    number: int
    path: str
    kind: str
    prefix: str
    first: int
    rows: int
    sha256: str
    place: Place

    def __str__(self) -> str:
        """Where its rows are."""
        return f"{self.path}: rows {self.first + 1} to {self.first + self.rows}"


@dataclass(frozen=True)
class Plan:
    """All files and all shards, in input order."""

    files: tuple[InputFile, ...]
    shards: tuple[Shard, ...]

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)


def find_files(patterns: Sequence[str], input_format: str | None = None) -> list[tuple[str, str]]:
    """(path, format) of every file, each once, in order; a pattern or folder gives its files sorted by name."""
    paths = dict.fromkeys(path for pattern in patterns for path in _matching(pattern))
    return [(path, format_of(path.removesuffix(".zst"), input_format)) for path in paths]


def make_plan(
    files: Sequence[tuple[str, str]], shard_rows: int, advance: Callable[[int], Any] = lambda _: None
) -> Plan:
    """Reads all files once; `advance` hears of rows as they are read."""
    if shard_rows < BLOCK_ROWS or shard_rows % BLOCK_ROWS:
        raise SpecError(
            f"--shard-rows {shard_rows}: expected a multiple of {BLOCK_ROWS}, the rows that are scored at once"
        )
    planned: list[InputFile] = []
    shards: list[Shard] = []
    for (path, kind), prefix in zip(files, _prefixes([path for path, _ in files]), strict=True):
        whole = hashlib.sha256()
        for shard in _file_shards(path, kind, prefix, shard_rows, whole):
            shards.append(replace(shard, number=len(shards)))
            advance(shard.rows)
        rows = sum(shard.rows for shard in shards if shard.path == path)
        planned.append(InputFile(path, kind, rows, whole.hexdigest()))
    if not shards:
        raise InputError("no rows to score: the input is empty")
    return Plan(tuple(planned), tuple(shards))


class ShardReader:
    """Reads shards. Of a file that cannot be entered in the middle, the next shard goes on where the last one ended."""

    def __init__(self) -> None:
        self._path, self._next, self._header = "", 0, b""
        self._records: Iterator[Record] = iter(())
        self._open = ExitStack()

    def read(self, shard: Shard) -> Iterator[Record]:
        """The records of a shard; after the last one, an error if they are not those that were planned."""
        with reading(shard.path):
            self._enter(shard)
            content = hashlib.sha256(self._header)
            count = 0
            while count < shard.rows and (record := next(self._records, None)) is not None:
                self._next += 1
                count += 1
                _take(content, record)
                yield record
        if content.hexdigest() != shard.sha256:
            self.close()
            raise FileFormatError(
                f"{shard} changed while the job ran; "
                "put the file back and run the same command, or start a job in another folder"
            )

    def close(self) -> None:
        """Closes the file that is open."""
        self._open.close()
        self._path = ""

    def _enter(self, shard: Shard) -> None:
        middle = seekable(shard.path, shard.kind)
        if middle or shard.path != self._path or shard.first < self._next:
            self.close()
            start = shard.place if middle else None
            records = self._open.enter_context(open_records(shard.path, shard.kind, start))
            self._header, self._records = records.header, iter(records)
            self._path, self._next = shard.path, shard.first if middle else 0
        while self._next < shard.first and next(self._records, None) is not None:
            self._next += 1


def _file_shards(path: str, kind: str, prefix: str, shard_rows: int, whole: Any) -> Iterator[Shard]:
    with open_records(path, kind) as records:
        whole.update(records.header)
        first = rows = 0
        start = place = records.place
        content = hashlib.sha256(records.header)
        for record in records:
            if rows == shard_rows:
                yield Shard(0, path, kind, prefix, first, rows, content.hexdigest(), start)
                first, rows, start, content = first + rows, 0, place, hashlib.sha256(records.header)
            _take(content, record)
            _take(whole, record)
            rows, place = rows + 1, records.place
        if rows:
            yield Shard(0, path, kind, prefix, first, rows, content.hexdigest(), start)


def _take(content: Any, record: Record) -> None:
    content.update(record.raw)
    content.update(b"\n")


def _prefixes(paths: Sequence[str]) -> list[str]:
    """What makes the numbers of rows ids of their own: nothing for one file, else the files' names, or their paths."""
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
    system, inner = fsspec_of(pattern)
    try:
        if glob.has_magic(inner):
            paths = sorted(map(str, system.glob(inner)))
        else:
            paths = _tables(map(str, system.find(inner))) if system.isdir(inner) else [inner]
            paths = [path for path in paths if system.exists(path)]
    except OSError as error:
        raise FileFormatError(f"{pattern}: cannot be read ({error.strerror or error})") from error
    if not paths:
        raise FileFormatError(f"{pattern}: no such file")
    return [str(system.unstrip_protocol(path)) for path in paths]


def _tables(paths: Iterable[str]) -> list[str]:
    """Those with the name of a table, sorted; hidden ones are left out."""
    return sorted(
        path for path in paths if path.endswith(TABLE_ENDINGS) and not path.rpartition("/")[2].startswith(".")
    )
