"""A folder for one run alone: a lock file in it, which the system drops when a run ends, however it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalign.errors import FileFormatError

try:
    import fcntl
except ImportError:  # Windows: nobody looks after two runs at once there
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"


@contextmanager
def alone_in(folder: Path, busy: str) -> Iterator[None]:
    """Makes the folder and keeps every other run out of it; an error that says `busy` if one is in it."""
    try:
        held = _locked(folder)
    except BlockingIOError:
        raise FileFormatError(f"{folder}: {busy}") from None
    except OSError as error:
        raise FileFormatError(f"{folder}: cannot be written ({error.strerror or error})") from error
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def _locked(folder: Path) -> int | None:
    """The open lock file, locked; None where the platform or the file system has no such locks."""
    while True:
        folder.mkdir(exist_ok=True)
        if fcntl is None:
            return None
        try:
            held = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue  # the run that was in the folder ended and removed it in between
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(held), (folder / LOCK).stat()):
                return held
        except BlockingIOError:
            os.close(held)
            raise
        except FileNotFoundError:
            pass  # removed after it was opened, as above
        except OSError:
            os.close(held)
            return None
        os.close(held)
