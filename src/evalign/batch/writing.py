"""Files that survive a power cut: written beside their name, synced, renamed, and the folder synced."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalign.errors import FileFormatError

PART = ".part"


def write_durably(path: Path, content: bytes) -> None:
    """Puts content under a name, whole or not at all."""
    part = path.with_name(f".{path.name}.{os.urandom(8).hex()}{PART}")  # processes of several machines may write it
    with telling(path):
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            try:
                write_all(handle, content)
                os.fsync(handle)
            finally:
                os.close(handle)
            os.replace(part, path)
            sync_folder(path.parent)
        finally:
            part.unlink(missing_ok=True)


def write_all(handle: int, content: bytes) -> None:
    """All bytes: os.write may take fewer."""
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]


def add_byte(path: Path) -> int:
    """Makes a file a byte longer; how long it is then, which is how often this was called."""
    with telling(path), path.open("ab") as stream:
        stream.write(b".")
        return stream.tell()


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable, where the system can open folders."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_parts(folder: Path) -> None:
    """Removes what killed runs left half-written."""
    with telling(folder):
        for part in folder.rglob(f".*{PART}"):
            part.unlink(missing_ok=True)


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """Turns an error of the disk into a sentence, with what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise FileFormatError(
            f"{path}: cannot be written ({reason}); mend that and run the same command again: it goes on from here"
        ) from error
