"""DIR.training, where a run that trains into DIR keeps its checkpoints: whether it can be made, and for one run alone.

In: the target DIR. Out: its work folder, locked while the run lasts; the system drops the lock of a killed run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from evalign.errors import FileFormatError

try:
    import fcntl
except ImportError:  # Windows: nobody looks after two runs at once there
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"


def work_folder(target: Path) -> Path:
    """Beside the target, so that the result moves there in one step."""
    target = Path(target.absolute())
    if not target.name:
        raise FileFormatError(f"{target}: cannot be written, -o must name a folder that is not there yet")
    return target.with_name(f"{target.name}.training")


def check_target(target: Path) -> None:
    """Says that nothing can be written there before a model is loaded; a target that is there already passes."""
    work = work_folder(target)
    if os.path.lexists(target):
        return
    if not work.parent.is_dir():
        raise FileFormatError(f"{target}: cannot be written, there is no folder {work.parent}")
    if os.path.lexists(work) and not work.is_dir():
        raise FileFormatError(f"{work}: is not a folder, but checkpoints go there; move it away, or choose another -o")
    try:
        with TemporaryDirectory(prefix=f".{work.name}.", dir=work.parent):
            pass
    except OSError as error:
        raise FileFormatError(f"{target}: cannot be written ({error.strerror or error})") from error


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Makes the folder and keeps every other run out of it; an error if one is in it."""
    try:
        held = _locked(folder)
    except BlockingIOError:
        raise FileFormatError(
            f"{folder}: another run is training into this folder; wait for it, or choose another -o"
        ) from None
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
