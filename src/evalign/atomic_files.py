"""Where evalign keeps what it can always make again, and how a file is written whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Literal, overload

from evalign.errors import FileFormatError


def cache_folder() -> Path:
    """`EVALIGN_CACHE`, or the platform's cache folder."""
    if chosen := os.environ.get("EVALIGN_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "evalign"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "evalign"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "evalign"


def check_writable(path: Path) -> None:
    """Raises now, rather than after the work, if `whole_file` could not write there."""
    path = _writable_name(path)
    if _is_special(path):
        return
    part = _part(path)
    try:
        part.open("wb").close()
        part.unlink()
    except OSError as error:
        raise _unwritable(path, error) from error


@overload
def whole_file(path: Path) -> AbstractContextManager[IO[str]]: ...
@overload
def whole_file(path: Path, binary: Literal[True]) -> AbstractContextManager[IO[bytes]]: ...
@contextmanager
def whole_file(path: Path, binary: bool = False) -> Iterator[IO[Any]]:
    """A file that appears under its name only when everything was written; pipes and devices are written to."""
    path = _writable_name(path)
    special = _is_special(path)
    part = path if special else _part(path)
    try:
        with part.open("wb") if binary else part.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        if not special:
            part.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        if not special:
            part.unlink(missing_ok=True)


def _writable_name(path: Path) -> Path:
    path = path.resolve()
    if path.is_dir() or not path.parent.is_dir():
        reason = "this is a directory" if path.is_dir() else "there is no such folder"
        raise FileFormatError(f"{path}: cannot be written, {reason}")
    return path


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _unwritable(path: Path, error: OSError) -> FileFormatError:
    return FileFormatError(f"{path}: cannot be written ({error.strerror or error})")
