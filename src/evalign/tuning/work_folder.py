"""DIR.training, where a run that trains into DIR keeps its checkpoints: whether it can be made, and for one run alone.

In: the target DIR. Out: its work folder, locked while the run lasts; the system drops the lock of a killed run.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory

from evalign import folder_lock
from evalign.errors import FileFormatError


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


def alone_in(folder: Path) -> AbstractContextManager[None]:
    """Makes the folder and keeps every other run out of it; an error if one is in it."""
    return folder_lock.alone_in(folder, "another run is training into this folder; wait for it, or choose another -o")
