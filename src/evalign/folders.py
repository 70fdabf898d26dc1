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


@overload
def whole_file(path: Path) -> AbstractContextManager[IO[str]]: ...
@overload
def whole_file(path: Path, binary: Literal[True]) -> AbstractContextManager[IO[bytes]]: ...
@contextmanager
def whole_file(path: Path, binary: bool = False) -> Iterator[IO[Any]]:
    """A file that appears under its name only when everything was written; pipes and devices are written to."""
    path = path.resolve()
    if path.is_dir() or not path.parent.is_dir():
        reason = "this is a directory" if path.is_dir() else "there is no such folder"
        raise FileFormatError(f"{path}: cannot be written, {reason}")
    special = path.exists() and not path.is_file()
    part = path if special else path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") if binary else part.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        if not special:
            part.replace(path)
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        if not special:
            part.unlink(missing_ok=True)
