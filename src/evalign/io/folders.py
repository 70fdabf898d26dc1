"""Folders of jobs, on a disk or at a URL that fsspec knows (s3://bucket/scores): names in, contents out.

Every write is whole or not at all, and lasts when it returns. A log is a list of lines: on a disk a file that grows;
at a URL, where nothing can be appended, an object per line in a folder of that name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from evalign.io.files import (
    LOCK,
    PART,
    RESUME,
    append_byte,
    append_line,
    lock_folder,
    make_durable_folders,
    remove_parts,
    write_errors,
    write_file,
)
from evalign.io.records import has_format
from evalign.io.streams import fsspec_of, is_remote, remote_errors

LOG_ENDING = ".jsonl"


class Folder(Protocol):
    """A folder of files and logs, by their names relative to it; `str` is its path or URL."""

    def locked(self, busy: str) -> AbstractContextManager[None]:
        """Create the folder and keep other runs out of it, where that is possible; the error says `busy`."""
        ...

    def prepare(self, names: Sequence[str]) -> None:
        """Create folders in it."""
        ...

    def names(self, subfolder: str = "") -> list[str]:
        """Return the names of what is in it, or in a folder in it, sorted."""
        ...

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Return the size of each of these files that exists."""
        ...

    def path(self, name: str) -> str:
        """Return the path or URL of a file."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a file; raise OSError if there is none."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Write a file."""
        ...

    def write_new(self, name: str, content: bytes) -> None:
        """Write a file, unless another run has written it in the meantime."""
        ...

    def log_lines(self, name: str) -> list[bytes]:
        """Return the lines of a log without their ends; a line without an end, as a kill leaves it, is left out."""
        ...

    def add_to_log(self, name: str, key: str, line: bytes) -> None:
        """Add a line to a log; `key` tells it from all others."""
        ...

    def mend_log(self, name: str) -> None:
        """Remove a last line without an end, so that the next line starts on a new line."""
        ...

    def count_attempt(self, name: str) -> int:
        """Return how often this was called for this name since `forget_attempts`, by any process."""
        ...

    def forget_attempts(self, name: str) -> None:
        """Start to count from 0."""
        ...

    def remove_parts(self) -> None:
        """Remove what killed runs left: part files, counted attempts."""
        ...


def open_folder(path: str | Path) -> Folder:
    """Return the folder at a path or URL, which need not exist."""
    if not is_remote(str(path)):
        return LocalFolder(Path(path))
    if urlsplit(str(path)).scheme in ("file", "local"):
        return LocalFolder(Path(fsspec_of(str(path))[1]))
    return RemoteFolder(str(path).rstrip("/"))


def is_folder(path: str, marker: str) -> bool:
    """Return whether a path is a folder; whether a URL without the ending of a table holds a file `marker`."""
    if not is_remote(path):
        return Path(path).is_dir()
    try:
        return not has_format(path) and bool(open_folder(path).read(marker))
    except OSError:
        return False


@dataclass(frozen=True)
class LocalFolder:
    """A folder on a disk."""

    root: Path

    def __str__(self) -> str:
        return str(self.root)

    def locked(self, busy: str) -> AbstractContextManager[None]:
        """Create the folder and lock it."""
        return lock_folder(self.root, busy)

    def prepare(self, names: Sequence[str]) -> None:
        """Create folders in it."""
        with write_errors(self.root, RESUME):
            make_durable_folders(self.root, names)

    def names(self, subfolder: str = "") -> list[str]:
        """Return the names of what is in it besides the lock."""
        folder = self.root / subfolder
        with write_errors(folder, RESUME):
            return sorted(path.name for path in folder.iterdir() if path.name != LOCK) if folder.is_dir() else []

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Return the size of each of these files that exists."""
        files = {name: self.root / name for name in names}
        return {name: path.stat().st_size for name, path in files.items() if path.is_file()}

    def path(self, name: str) -> str:
        """Return the path of a file."""
        return str(self.root / name)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        return (self.root / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        """Write a file."""
        write_file(self.root / name, content, durable=True)

    write_new = write  # the lock keeps other runs out

    def log_lines(self, name: str) -> list[bytes]:
        """Return the lines of a log; of a copy of a folder at a URL, too."""
        path = self.root / name
        with write_errors(path, RESUME):
            copied = sorted(path.with_suffix("").glob(f"*{LOG_ENDING}"))
            return [line for file in (path, *copied) if file.exists() for line in file.read_bytes().split(b"\n")[:-1]]

    def add_to_log(self, name: str, key: str, line: bytes) -> None:
        """Append a line."""
        append_line(self.root / name, line)

    def mend_log(self, name: str) -> None:
        """Remove a last line without an end."""
        path = self.root / name
        with write_errors(path, RESUME):
            if path.exists():
                whole = path.read_bytes().rfind(b"\n") + 1
                if whole < path.stat().st_size:
                    os.truncate(path, whole)

    def count_attempt(self, name: str) -> int:
        """Count in the size of a part file."""
        return append_byte(self._attempts(name))

    def forget_attempts(self, name: str) -> None:
        """Remove that file."""
        self._attempts(name).unlink(missing_ok=True)

    def remove_parts(self) -> None:
        """Remove part files."""
        remove_parts(self.root)

    def _attempts(self, name: str) -> Path:
        path = self.root / name
        return path.with_name(f".{path.name}{PART}")


@dataclass(frozen=True)
class RemoteFolder:
    """A folder at a URL, best in an object store, where every object appears whole.

    It has no lock: two runs of one job score the same rows twice, and write the same bytes.
    """

    url: str

    def __str__(self) -> str:
        return self.url

    def locked(self, busy: str) -> AbstractContextManager[None]:
        """Return a context that does nothing."""
        return nullcontext()

    def prepare(self, names: Sequence[str]) -> None:
        """Do nothing: an object needs no folder."""

    def names(self, subfolder: str = "") -> list[str]:
        """Return the names of what is in it."""
        prefix = f"{subfolder}/" if subfolder else ""
        return sorted({name.removeprefix(prefix).partition("/")[0] for name in self._find(prefix)})

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Return the size of each of these files that exists."""
        found = self._find("")
        return {name: found[name] for name in names if name in found}

    def path(self, name: str) -> str:
        """Return the URL of a file."""
        return f"{self.url}/{name}"

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with self._errors(name, "read") as (system, path):
            content: bytes = system.cat_file(path)
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file."""
        with self._errors(name, "written") as (system, path):
            system.pipe_file(path, content)

    def write_new(self, name: str, content: bytes) -> None:
        """Write a file, unless it exists; stores without that condition write it."""
        with self._errors(name, "written") as (system, path), suppress(FileExistsError):
            try:
                system.pipe_file(path, content, mode="create")
            except NotImplementedError:
                system.pipe_file(path, content)

    def log_lines(self, name: str) -> list[bytes]:
        """Return the lines of a log."""
        with self._errors(name, "read") as (system, path):
            keys = sorted(self._find(_log(name)))
            paths = [f"{path.removesuffix(name)}{key}" for key in keys]
            contents = system.cat_ranges(paths, None, None, on_error="raise")  # many at once
        return [line for content in contents for line in content.split(b"\n")[:-1]]

    def add_to_log(self, name: str, key: str, line: bytes) -> None:
        """Write the object of a line."""
        self.write(f"{_log(name)}{key}{LOG_ENDING}", line)

    def mend_log(self, name: str) -> None:
        """Do nothing: every line is whole."""

    def count_attempt(self, name: str) -> int:
        """Count objects, of which each attempt writes one."""
        self.write(f"{_attempts(name)}{os.urandom(8).hex()}{PART}", b"")
        return len(self._find(_attempts(name)))

    def forget_attempts(self, name: str) -> None:
        """Remove those objects."""
        self._remove(self._find(_attempts(name)))

    def remove_parts(self) -> None:
        """Remove what was counted."""
        self._remove(found for found in self._find("") if found.endswith(PART))

    def _find(self, prefix: str) -> dict[str, int]:
        """Return the sizes of all files under a folder in it, by name."""
        with self._errors(prefix, "read") as (system, path):
            system.invalidate_cache()
            try:
                found = system.find(path.rstrip("/"), detail=True)
            except FileNotFoundError:
                return {}
        root = len(path) - len(prefix)
        return {name[root:]: int(entry["size"] or 0) for name, entry in found.items()}

    def _remove(self, names: Iterable[str]) -> None:
        for name in list(names):
            with self._errors(name, "removed") as (system, path), suppress(FileNotFoundError):
                system.rm_file(path)

    @contextmanager
    def _errors(self, name: str, what: str) -> Iterator[tuple[Any, str]]:
        """Yield the file system and the path of a file in it; turn errors into a sentence."""
        with remote_errors(self.path(name), what, RESUME):
            system, root = fsspec_of(self.url)
            yield system, f"{root.rstrip('/')}/{name}"


def _log(name: str) -> str:
    """Return the folder of a log's objects, which a copy on a disk keeps beside the file of that name."""
    return f"{name.removesuffix(LOG_ENDING)}/"


def _attempts(name: str) -> str:
    folder, _, last = name.rpartition("/")
    return f"{folder}/.{last}/"
