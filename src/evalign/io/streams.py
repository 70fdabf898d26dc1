"""Bytes of an input, decompressed: a local path, a URL or `-` (standard input) in, a stream out; gzip, zstd by name."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from evalign.errors import EvalignError, FileFormatError, MissingExtraError

STDIN = "-"
COMPRESSED = (".gz", ".zst")
PIECE_BYTES = 2**8  # decompressed at once: 8 MiB at most, since a block of 128 KiB takes 4 bytes
COUNT_CHUNK_BYTES = 2**20


@contextmanager
def open_input(path: str) -> Iterator[IO[bytes]]:
    """Open the decompressed bytes of a local path, a URL that fsspec knows, or standard input."""
    with read_errors(path):
        if path == STDIN:
            yield sys.stdin.buffer
            return
        with _decompressed(path) as stream:
            yield stream


@contextmanager
def read_errors(path: str) -> Iterator[None]:
    """Turn an error of the file as a whole into a sentence that names it."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(
            f"{shown(path)}: damaged compressed file ({error}); get it again, or decompress the part that is whole"
        ) from error
    except OSError as error:
        raise FileFormatError(f"{shown(path)}: cannot be read ({error.strerror or error})") from error


def check_readable(path: str) -> None:
    """Raise before any work starts if a local file does not exist."""
    if path == STDIN or is_remote(path):
        return
    if Path(path).is_dir():
        raise FileFormatError(f"{path}: this is a directory, expected a file")
    if not Path(path).exists():
        raise FileFormatError(f"{path}: no such file")


def rereadable(path: str) -> bool:
    """Return whether a path can be read twice: files and URLs can, standard input and pipes cannot."""
    return path != STDIN and (is_remote(path) or Path(path).is_file())


def count_lines(path: str) -> int | None:
    """Count the lines of a plain local file, for progress bars; None where that costs as much as reading it."""
    if not rereadable(path) or is_remote(path) or path.endswith((*COMPRESSED, ".parquet")):
        return None
    try:
        with Path(path).open("rb") as stream:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(COUNT_CHUNK_BYTES), b""))
    except OSError:
        return None  # reading the file reports the error


def shown(path: str) -> str:
    """Return the name of a path in messages."""
    return "standard input" if path == STDIN else path


def is_remote(path: str) -> bool:
    """Return whether a path is a URL."""
    return "://" in path


def fsspec_of(path: str) -> Any:
    """Return fsspec's file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError as error:
        raise MissingExtraError(f"reading {path}", "data") from error
    try:
        return fsspec.core.url_to_fs(path)
    except (ValueError, ImportError) as error:
        raise FileFormatError(f"{path}: cannot be opened ({error})") from error


@contextmanager
def remote_errors(url: str, what: str, advice: str = "") -> Iterator[None]:
    """Turn an error of a store into a sentence, except that a file to read is missing.

    Their libraries raise errors of their own when they have no credentials or no connection.
    """
    try:
        yield
    except EvalignError:
        raise
    except Exception as error:
        if isinstance(error, FileNotFoundError) and what == "read":
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(f"{url}: cannot be {what} ({reason}){advice}") from error


def _decompressed(path: str) -> IO[bytes]:
    if path.endswith(".gz"):
        return cast(IO[bytes], _Ungzip(_opened(path)))
    if path.endswith(".zst"):
        zstandard = _import_zstandard("reading zstd")
        return io.BufferedReader(_Unzstd(_opened(path), zstandard))
    return _opened(path)


@contextmanager
def compressor(stream: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """Give a stream whose bytes go to `stream`, compressed if the name says so; the same bytes give the same file."""
    if name.endswith(".gz"):
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
            yield cast(IO[bytes], packed)
    elif name.endswith(".zst"):
        with _import_zstandard("writing zstd").ZstdCompressor().stream_writer(stream, closefd=False) as packed:
            yield packed
    else:
        yield stream


def _import_zstandard(feature: str) -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtraError(feature, "data") from error
    return zstandard


def _opened(path: str) -> IO[bytes]:
    if is_remote(path):
        system, inner = fsspec_of(path)
        with remote_errors(path, "read"):
            return io.BufferedReader(system.open(inner, "rb"))  # fsspec's own readline takes no limit
    return Path(path).open("rb")


class _Ungzip(gzip.GzipFile):
    """gzip that closes the compressed file too."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(fileobj=stream, mode="rb")
        self._compressed = stream

    def close(self) -> None:
        """Close both files."""
        super().close()
        self._compressed.close()


class _Unzstd(io.RawIOBase):
    """zstd, decompressed as it is read. Unlike zstandard's reader it reports a truncated file."""

    def __init__(self, stream: IO[bytes], zstandard: Any) -> None:
        self._stream, self._error = stream, zstandard.ZstdError
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._ready = memoryview(b"")  # its slices are no copies

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with decompressed bytes."""
        while not self._ready:
            rest = self._frame.unused_data if self._frame is not None and self._frame.eof else b""
            compressed = rest or self._stream.read(PIECE_BYTES)
            if not compressed:
                if self._frame is not None and not self._frame.eof:
                    raise EOFError("it ends in the middle of a frame")
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = self._new_frame()
            try:
                self._ready = memoryview(self._frame.decompress(compressed))
            except self._error as error:
                raise EOFError(str(error)) from error
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def close(self) -> None:
        """Close the compressed file too."""
        self._stream.close()
        super().close()
