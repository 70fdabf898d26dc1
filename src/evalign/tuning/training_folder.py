"""The folders of a training run: DIR.training with its checkpoints, for one run alone, and DIR, which appears finished.

training.json beside the weights says which run made them, what it reached, and the weights' digests.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evalign import folder_lock
from evalign.atomic_files import whole_file
from evalign.encoders.digest import file_digest
from evalign.errors import FileFormatError
from evalign.tuning.rated_pairs import RatedPairs
from evalign.tuning.training_plan import Epoch, TrainingResult
from evalign.version import __version__

RECORD = "training.json"
Run = Mapping[str, Any]  # what two runs must have in common to end at the same weights


@dataclass(frozen=True, kw_only=True)
class Trained(TrainingResult):
    """A finished training in its folder; `unchanged`: its weights are there as they were written."""

    directory: Path
    run: Run
    unchanged: bool
    found_finished: bool = True  # by an earlier command


def make_record(run: Run, data: RatedPairs, result: TrainingResult) -> dict[str, Any]:
    """How the weights were trained: which run made them, on what, and what it reached."""
    record = {"evalign": __version__, "run": run, "mapping": data.mapping, "left_out": dict(data.left_out)}
    reached = asdict(result)
    return record | {name: reached[name] for name in ("train_pairs", "dev_pairs", "micro_batch", "best", "epochs")}


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Writes the record beside the weights that are in the folder, with their digests."""
    with whole_file(folder / RECORD) as stream:
        json.dump(dict(record) | {"weights": _weights(folder)}, stream, indent=1)


def read_record(folder: Path) -> Trained | None:
    """What `write_record` wrote; None if it is missing or damaged."""
    try:
        record: dict[str, Any] = json.loads((folder / RECORD).read_text("utf-8"))
        return Trained(
            epochs=tuple(Epoch(**epoch) for epoch in record["epochs"]),
            best=Epoch(**record["best"]),
            **{name: record[name] for name in ("train_pairs", "dev_pairs", "micro_batch", "run")},
            directory=folder,
            unchanged=bool(record["weights"]) and record["weights"].items() <= _weights(folder).items(),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def same_run(stored: Run, run: Run) -> bool:
    """Whether a run that was read from JSON is this one."""
    return bool(stored == json.loads(json.dumps(run)))


def _weights(folder: Path) -> dict[str, str]:
    return {file.name: file_digest(file) for file in sorted(folder.glob("*.safetensors"))}


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
