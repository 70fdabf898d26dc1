"""A whole training run: from rated pairs to a finished directory that appears at once, or goes on after a kill.

While it runs, DIR.training holds the checkpoints; DIR is there only when everything in it is, with training.json beside
the weights. The same command goes on with the one, and finds the other finished.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalign.errors import FileFormatError
from evalign.folders import whole_file
from evalign.tuning.fit import fit, run_identity
from evalign.tuning.plan import CHECKPOINT_SECONDS, Epoch, TrainingPlan, Watch
from evalign.tuning.rated_pairs import RatedPairs
from evalign.tuning.trainee import Trainee
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
    target = Path(target.absolute())
    work = target.with_name(f"{target.name}.training")
    if not target.parent.is_dir():
        raise FileFormatError(f"{target}: cannot be written, there is no folder {target.parent}")
    identity = run_identity(trainee.name, data.pairs, plan)
    if target.exists():
        finished = _finished(target, identity)
        shutil.rmtree(work, ignore_errors=True)  # killed between the two last steps
        return finished
    result = fit(trainee, data.pairs, plan, work, watch, checkpoint_seconds)
    record = {
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
    _write(target, work, trainee, record)
    return _finished(target, identity, found=False)


def _write(target: Path, work: Path, trainee: Trainee, record: dict[str, Any]) -> None:
    result = work / "result"
    try:
        shutil.rmtree(result, ignore_errors=True)
        result.mkdir()
        trainee.save(result)
        with whole_file(result / RECORD) as stream:
            json.dump(record, stream, indent=1)
        result.replace(target)
    except OSError as error:
        raise FileFormatError(f"{target}: cannot be written ({error.strerror or error})") from error
    shutil.rmtree(work, ignore_errors=True)


def _finished(target: Path, identity: dict[str, Any], found: bool = True) -> Trained:
    try:
        said = json.loads((target / RECORD).read_text("utf-8"))
        same = said["run"] == json.loads(json.dumps(identity))
    except (OSError, ValueError, KeyError, TypeError):
        same = False
    if not same:
        raise FileFormatError(
            f"{target}: is there already, and not from this command on these pairs; choose another -o, or delete it"
        )
    epochs = tuple(Epoch(**epoch) for epoch in said["epochs"])
    return Trained(epochs, Epoch(**said["best"]), said["train_pairs"], said["dev_pairs"], found)
