"""Files that are written whole or not at all, durable appends, the lock of a folder, and the cache folder.

    content --whole_file, write_file--> a part file next to the target --replace--> the target

`durable` also waits until the disk has the content and the name, so that a killed machine loses nothing.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, overload

from evalign.errors import FileFormatError
from evalign.io.output import OutputStream
from evalign.io.streams import compressor

try:
    import fcntl
except ImportError:  # Windows: two runs at once are not detected there
    fcntl = None  # type: ignore[assignment]

PART = ".part"
LOCK = "lock"
DESCRIPTOR = re.compile(r"/dev/fd/(\d+)|/proc/self/fd/(\d+)")
STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
PERMISSIONS = 0o666  # minus the umask
RESUME = "; correct that and run the same command again: it resumes"


def cache_folder() -> Path:
    """Return `EVALIGN_CACHE`, or the platform's cache folder."""
    if chosen := os.environ.get("EVALIGN_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "evalign"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "evalign"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "evalign"


@overload
def whole_file(path: Path, *, compress: bool = False) -> AbstractContextManager[IO[str]]: ...
@overload
def whole_file(path: Path, binary: Literal[True], *, compress: bool = False) -> AbstractContextManager[IO[bytes]]: ...
@contextmanager
def whole_file(path: Path, binary: bool = False, *, compress: bool = False) -> Iterator[Any]:
    """Open a file that appears under its name only when everything was written; pipes and devices are written to.

    `compress` writes gzip or zstd if the name ends in .gz or .zst, as `open_input` reads.
    """
    text: dict[str, Any] = {"encoding": "utf-8", "newline": "\n"}
    with _replacing(path, durable=False) as handle:
        if os.isatty(handle):
            with open(handle, "w", closefd=False, **text) as stream:
                output = OutputStream(stream, str(path))
                yield output.buffer if binary else output
            return
        with open(handle, "wb", closefd=False) as raw, compressor(raw, path.name if compress else "") as packed:
            if binary:
                yield packed
            else:
                with io.TextIOWrapper(packed, **text) as stream:  # closes `packed`, which may be closed twice
                    yield stream


def write_file(path: Path, content: bytes, durable: bool = False) -> None:
    """Write a file whole or not at all."""
    with _replacing(path, durable) as handle:
        _write_all(handle, content)


def make_durable_folders(folder: Path, names: Iterable[str]) -> None:
    """Create folders in a folder, and wait until the disk has their names."""
    missing = [name for name in names if not (folder / name).is_dir()]
    for name in missing:
        (folder / name).mkdir(exist_ok=True)
    if missing:
        _sync_folder(folder)


def append_line(path: Path, line: bytes) -> None:
    """Append to a file, and wait until the disk has it, and its name if it is new."""
    with write_errors(path, RESUME):
        is_new = not path.exists()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PERMISSIONS)
        try:
            _write_all(handle, line)
            os.fsync(handle)
        finally:
            os.close(handle)
        if is_new:
            _sync_folder(path.parent)


def append_byte(path: Path) -> int:
    """Append one byte to a file and return its size, which is the number of calls."""
    with write_errors(path, RESUME), path.open("ab") as stream:
        stream.write(b".")
        return stream.tell()


def check_writable(path: Path) -> None:
    """Raise before any work starts if `whole_file` could not write there."""
    if _descriptor(path) is not None or _is_special(path):
        return
    part = _part(_target(path))
    with write_errors(path):
        part.open("wb").close()
        part.unlink()


def remove_parts(folder: Path) -> None:
    """Remove the part files that killed runs left in a folder."""
    with write_errors(folder, RESUME):
        for part in folder.rglob(f".*{PART}"):
            part.unlink(missing_ok=True)


@contextmanager
def write_errors(path: Path, advice: str = "") -> Iterator[None]:
    """Turn an error of the disk into a sentence that names the path; a pipe without a reader is none of the disk."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be written ({error.strerror or error}){advice}") from error


@contextmanager
def lock_folder(folder: Path, busy: str) -> Iterator[None]:
    """Create a folder and keep other runs out of it; if another run holds the lock, the error says `busy`."""
    try:
        handle = _locked(folder)
    except BlockingIOError:
        raise FileFormatError(f"{folder}: {busy}") from None
    except OSError as error:
        raise FileFormatError(f"{folder}: cannot be written ({error.strerror or error})") from error
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def _replacing(path: Path, durable: bool) -> Iterator[int]:
    """Open a part file, and give it the name of the target at the end."""
    if (number := _descriptor(path)) is not None or _is_special(path):
        with write_errors(path), _closing(os.open(path, os.O_WRONLY) if number is None else os.dup(number)) as handle:
            yield handle
        return
    path = _target(path)
    part = _part(path)
    with write_errors(path, RESUME if durable else ""):
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
            with _closing(os.open(part, flags, PERMISSIONS)) as handle:
                yield handle
                if durable:
                    os.fsync(handle)
            os.replace(part, path)
            if durable:
                _sync_folder(path.parent)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def _closing(handle: int) -> Iterator[int]:
    try:
        yield handle
    finally:
        os.close(handle)


def _descriptor(path: Path) -> int | None:
    """Return the open file that a path such as /dev/stdout or /dev/fd/63 means; reopening it would overwrite it."""
    if match := DESCRIPTOR.fullmatch(str(path)):
        return int(match[1] or match[2])
    return STANDARD.get(str(path))


def _target(path: Path) -> Path:
    path = path.resolve()
    if path.is_dir() or not path.parent.is_dir():
        reason = "this is a directory" if path.is_dir() else "there is no such folder"
        raise FileFormatError(f"{path}: cannot be written, {reason}")
    return path


def _is_special(path: Path) -> bool:
    return path.exists() and not (path.is_file() or path.is_dir())


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.urandom(8).hex()}{PART}")  # several machines may write the same file


def _write_all(handle: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]  # may write only a part


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can open folders."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _locked(folder: Path) -> int | None:
    """Return the open lock file, locked; None where the platform or the file system has no such locks."""
    while True:
        if not folder.is_dir():
            folder.mkdir(exist_ok=True)
            with suppress(PermissionError):  # a parent that may not be read
                _sync_folder(folder.parent)
        if fcntl is None:
            return None
        try:
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, PERMISSIONS)
        except FileNotFoundError:
            continue  # the run that held the folder ended and removed it in between
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), (folder / LOCK).stat()):
                return handle
        except BlockingIOError:
            os.close(handle)
            raise
        except FileNotFoundError:
            pass  # removed after it was opened, as above
        except OSError:
            os.close(handle)
            return None
        os.close(handle)
