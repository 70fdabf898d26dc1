"""The manifest of a job: one line per finished shard, appended and synced after the shard's files have their names.

A line that was cut off by a kill, or is damaged, counts for nothing: its shard is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evalign.batch.writing import telling, write_all

MANIFEST = "manifest.jsonl"


@dataclass(frozen=True)
class FileRecord:
    """A finished file below the job's folder."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, name: str, content: bytes) -> FileRecord:
        """The record of a file with that content."""
        return cls(name, len(content), hashlib.sha256(content).hexdigest())

    def present(self, folder: Path) -> bool:
        """Whether it is there in full length; `intact` reads it."""
        path = folder / self.name
        return path.is_file() and path.stat().st_size == self.size

    def intact(self, folder: Path) -> bool:
        """Whether its content is what was written."""
        return self.present(folder) and FileRecord.of(self.name, (folder / self.name).read_bytes()) == self


@dataclass(frozen=True)
class Entry:
    """One finished step of one shard. in = scored + flagged + failed; `seconds` is what it took, by no wall clock."""

    step: str
    shard: int
    files: tuple[FileRecord, ...]
    scored: int = 0
    flagged: int = 0
    failed: int = 0
    seconds: float = 0.0
    signatures: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Rows that went in."""
        return self.scored + self.flagged + self.failed

    @classmethod
    def parse(cls, line: bytes) -> Entry:
        """What `written` wrote; ValueError, TypeError, KeyError or AttributeError if it is something else."""
        plain: dict[str, Any] = json.loads(line)
        files = tuple(FileRecord(**file) for file in plain.pop("files"))
        return cls(files=files, notes=tuple(plain.pop("notes")), **plain)

    def written(self) -> bytes:
        """One line."""
        return json.dumps(asdict(self), ensure_ascii=False).encode() + b"\n"


class Manifest:
    """The finished steps of a job's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / MANIFEST
        self.entries = {(entry.step, entry.shard): entry for entry in self._read()}

    def done(self, step: str) -> dict[int, Entry]:
        """The shards whose step is finished and whose files are there, by number."""
        finished = {number: entry for (name, number), entry in self.entries.items() if name == step}
        return {
            number: finished[number]
            for number in sorted(finished)
            if all(file.present(self.folder) for file in finished[number].files)
        }

    def drop_torn_line(self) -> None:
        """Cuts off a last line without an end, so that the next one starts on its own."""
        with telling(self.path):
            if self.path.exists():
                whole = self.path.read_bytes().rfind(b"\n") + 1
                if whole < self.path.stat().st_size:
                    os.truncate(self.path, whole)

    def append(self, entry: Entry) -> None:
        """Adds a line and waits until the disk has it."""
        with telling(self.path):
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                write_all(handle, entry.written())
                os.fsync(handle)
            finally:
                os.close(handle)
        self.entries[entry.step, entry.shard] = entry

    def _read(self) -> Iterator[Entry]:
        with telling(self.path):
            lines = self.path.read_bytes().split(b"\n")[:-1] if self.path.exists() else []
        for line in lines:
            try:
                yield Entry.parse(line)
            except (ValueError, TypeError, KeyError, AttributeError):
                continue
