"""A whole training run: from rated pairs to a finished directory that appears at once, or goes on after a kill.

While it runs, DIR.training holds the checkpoints; DIR is there only when everything in it is, with training.json beside
the weights. The same command goes on with the one, and finds the other finished.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalign.atomic_files import whole_file
from evalign.encoders.digest import file_digest
from evalign.errors import FileFormatError
from evalign.tuning.rated_pairs import RatedPairs
from evalign.tuning.trainee import Trainee
from evalign.tuning.training_loop import DivergedError, fit, run_identity
from evalign.tuning.training_plan import CHECKPOINT_SECONDS, Epoch, TrainingPlan, TrainingResult, Watch
from evalign.tuning.work_folder import alone_in, check_target, work_folder
from evalign.version import __version__

RECORD = "training.json"


@dataclass(frozen=True)
class Trained:
    """What training.json says, and whether it was there before."""

    epochs: tuple[Epoch, ...]
    best: Epoch
    train_pairs: int
    dev_pairs: int
    found_finished: bool


def train_to(
    target: Path,
    trainee: Trainee,
    data: RatedPairs,
    plan: TrainingPlan,
    watch: Watch | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> Trained:
    """Trains and writes `target`; a target that another command made is an error, never overwritten."""
    check_target(target)
    target, work = Path(target.absolute()), work_folder(target)
    identity = run_identity(trainee.name, data.pairs, plan)
    if os.path.lexists(target):
        finished = _finished(target, identity)
        shutil.rmtree(work, ignore_errors=True)  # killed between the two last steps
        return finished
    with alone_in(work):
        found = os.path.lexists(target)  # by a run that ended just now
        if not found:
            try:
                result = fit(trainee, data.pairs, plan, work, watch, checkpoint_seconds)
            except DivergedError:
                shutil.rmtree(work, ignore_errors=True)  # or a lower rate would meet "unfinished with another rate"
                raise
            _write(target, work, trainee, _record(identity, data, result))
        shutil.rmtree(work, ignore_errors=True)
    return _finished(target, identity, found)


def _record(identity: dict[str, Any], data: RatedPairs, result: TrainingResult) -> dict[str, Any]:
    return {
        "evalign": __version__,
        "run": identity,
        "mapping": data.mapping,
        "left_out": dict(data.left_out),
        "train_pairs": result.train_pairs,
        "dev_pairs": result.dev_pairs,
        "micro_batch": result.micro_batch,
        "best": asdict(result.best),
        "epochs": [asdict(epoch) for epoch in result.epochs],
    }


def _write(target: Path, work: Path, trainee: Trainee, record: dict[str, Any]) -> None:
    result = work / "result"
    try:
        shutil.rmtree(result, ignore_errors=True)
        result.mkdir()
        trainee.save(result)
        with whole_file(result / RECORD) as stream:
            json.dump(record | {"weights": _weights(result)}, stream, indent=1)
        result.replace(target)
    except OSError as error:
        raise FileFormatError(f"{target}: cannot be written ({error.strerror or error})") from error


def _weights(folder: Path) -> dict[str, str]:
    return {file.name: file_digest(file) for file in sorted(folder.glob("*.safetensors"))}


def _finished(target: Path, identity: dict[str, Any], found: bool = True) -> Trained:
    try:
        said = json.loads((target / RECORD).read_text("utf-8"))
        same = said["run"] == json.loads(json.dumps(identity))
        whole = said["weights"].items() <= _weights(target).items()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        same = False
    if not same:
        raise FileFormatError(
            f"{target}: is there already, and not from this command on these pairs; choose another -o, or delete it"
        )
    if not whole:
        raise FileFormatError(
            f"{target}: this command made it, but weights are missing or were changed since; delete it to train again, "
            "or choose another -o"
        )
    epochs = tuple(Epoch(**epoch) for epoch in said["epochs"])
    return Trained(epochs, Epoch(**said["best"]), said["train_pairs"], said["dev_pairs"], found)
