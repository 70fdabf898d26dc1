"""The bytes of an input file, unpacked: a local path or a URL in, a stream out; gzip and zstd by name."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from evalign.errors import FileFormatError, MissingExtraError

COMPRESSED = (".gz", ".zst")


def open_input(path: str) -> IO[bytes]:
    """A file's bytes, unpacked: a local path, or a URL that fsspec knows."""
    stream = _opened(path)
    if path.endswith(".gz"):
        return cast(IO[bytes], _Ungzip(stream))
    return io.BufferedReader(_Unzstd(stream)) if path.endswith(".zst") else stream


def is_remote(path: str) -> bool:
    """Whether a path is a URL."""
    return "://" in path


def fsspec_of(path: str) -> Any:
    """fsspec's file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError as error:
        raise MissingExtraError(f"reading {path}", "data") from error
    try:
        return fsspec.core.url_to_fs(path)
    except (ValueError, ImportError) as error:
        raise FileFormatError(f"{path}: cannot be opened ({error})") from error


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turns what goes wrong with a file as a whole into a sentence that names it."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(
            f"{path}: damaged compressed file ({error}); get it again, or unpack what is whole"
        ) from error
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror or error})") from error


def _opened(path: str) -> IO[bytes]:
    if is_remote(path):
        system, inner = fsspec_of(path)
        return cast(IO[bytes], system.open(inner, "rb"))
    return Path(path).open("rb")


class _Ungzip(gzip.GzipFile):
    """gzip that closes the packed file too."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(fileobj=stream, mode="rb")
        self._packed = stream

    def close(self) -> None:
        """Closes both."""
        super().close()
        self._packed.close()


class _Unzstd(io.RawIOBase):
    """zstd unpacked as it is read. Unlike zstandard's own reader it tells a file that was cut short."""

    def __init__(self, stream: IO[bytes]) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise MissingExtraError("reading zstd", "data") from error
        self._stream, self._error = stream, zstandard.ZstdError
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._ready = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Bytes of the unpacked file."""
        while not self._ready:
            rest = self._frame.unused_data if self._frame is not None and self._frame.eof else b""
            packed = rest or self._stream.read(2**16)
            if not packed:
                if self._frame is not None and not self._frame.eof:
                    raise EOFError("it ends in the middle of a frame")
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = self._new_frame()
            try:
                self._ready = self._frame.decompress(packed)
            except self._error as error:
                raise EOFError(str(error)) from error
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def close(self) -> None:
        """Closes the packed file too."""
        self._stream.close()
        super().close()
