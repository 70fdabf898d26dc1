"""Lines of a text file as they come: UTF-8 always, gzip by name, `-` is standard input.

Lines end at \\n or \\r\\n only (str.splitlines would also break at U+2028 and seven others), and every
error names the file and the line.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from evalign.errors import FileFormatError

STDIN = "-"


def read_lines(path: str) -> Iterator[str]:
    """Decoded lines without their line ends."""
    check_readable(path)
    number = 0
    try:
        with _opened(path) as stream:
            for number, raw in enumerate(stream, 1):
                line = raw.rstrip(b"\n").removesuffix(b"\r")
                yield (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"{shown(path)}:{number}"
        raise FileFormatError(f"{place}: not UTF-8 ({error.reason} at byte {error.start} of the line)") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(f"{shown(path)}:{number + 1}: damaged gzip file ({error})") from error
    except OSError as error:
        raise FileFormatError(f"{shown(path)}: cannot be read ({error.strerror or error})") from error


def check_readable(path: str) -> None:
    """Raises now, rather than after an hour of scoring, if a file is not there."""
    if path == STDIN:
        return
    if Path(path).is_dir():
        raise FileFormatError(f"{path}: this is a directory, expected a file")
    if not Path(path).exists():
        raise FileFormatError(f"{path}: no such file")


def count_lines(path: str) -> int | None:
    """How many lines a plain file has, for progress bars; None where that would cost as much as reading it."""
    if not rereadable(path) or path.endswith((".gz", ".parquet")):
        return None
    try:
        with Path(path).open("rb") as stream:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(1 << 20), b""))
    except OSError:
        return None  # reading it will say why


def rereadable(path: str) -> bool:
    """Files can be read twice; standard input and pipes cannot."""
    return path != STDIN and Path(path).is_file()


def shown(path: str) -> str:
    """How messages call a file."""
    return "standard input" if path == STDIN else path


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    if path == STDIN:
        yield sys.stdin.buffer
    elif path.endswith(".gz"):
        with gzip.open(path, "rb") as stream:
            yield cast(IO[bytes], stream)
    else:
        with Path(path).open("rb") as plain:
            yield plain
