"""Where evalign keeps what it can always make again, and how a file is written whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def cache_folder() -> Path:
    """`EVALIGN_CACHE`, or the platform's cache folder."""
    if chosen := os.environ.get("EVALIGN_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "evalign"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "evalign"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "evalign"


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """A text file that appears under its name only when everything was written."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
