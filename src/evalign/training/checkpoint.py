"""Checkpoints of a training run: tensors as safetensors, everything else as JSON, no pickle.

checkpoint.json names the tensor files and their sha256, has a digest too, and is written last, whole or not at all.
After a kill at any moment, either the old or the new checkpoint is complete. Other tensor files are removed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save

from evalign.encoders.weights import file_digest
from evalign.errors import FileFormatError, SpecError
from evalign.io.files import lock_folder, whole_file
from evalign.training.rated_pairs import RatedPairs
from evalign.training.trainee import Epoch, TrainingResult, torch
from evalign.version import __version__

INDEX = "checkpoint.json"
FILE_PATTERNS = (INDEX, "step-*.safetensors", "best-*.safetensors", ".*.part")
Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class TrainingPosition:
    """Progress of a run: step, epochs, best epoch, micro-batch and threads."""

    step: int
    loss_sum: float  # over the steps of the current epoch
    epochs: tuple[Epoch, ...]
    best: Epoch | None
    micro_batch: int
    threads: int


@dataclass(frozen=True)
class Checkpoint:
    """Progress of a run, and its tensors."""

    position: TrainingPosition
    weights: Tensors
    moments: Tensors  # of the optimizer
    best: Tensors  # weights of the best epoch so far; empty before the first epoch


def save_checkpoint(folder: Path, checkpoint: Checkpoint, run: Run) -> None:
    """Replace the checkpoint in the folder by that of `run`."""
    position = checkpoint.position
    groups = {"weights": checkpoint.weights, "moments": checkpoint.moments}
    files = {f"step-{position.step:08d}.safetensors": _flat(groups)}
    if position.best is not None:
        files[f"best-{position.best.number:04d}.safetensors"] = _flat({"best": checkpoint.best})
    previous = _index(folder)
    stored = previous["files"] if previous is not None and same_run(previous["run"], run) else {}
    digests = {}
    for name, tensors in files.items():
        if name.startswith("best-") and name in stored and (folder / name).is_file():
            digests[name] = stored[name]  # a better epoch has a different name
            continue
        with whole_file(folder / name, binary=True) as stream:
            stream.write(save(tensors))
        digests[name] = file_digest(folder / name)
    index = {"run": dict(run), "position": asdict(position), "files": digests}
    with whole_file(folder / INDEX) as stream:
        json.dump(index | {"sha256": _json_digest(index)}, stream, indent=1)
    _tidy(folder, {INDEX, *digests})


def load_checkpoint(folder: Path, run: Run) -> Checkpoint | None:
    """Return the checkpoint in the folder; raise if it belongs to a different run; remove it if it is damaged."""
    index = _index(folder)
    if index is not None and not same_run(index["run"], run):
        stored = index["run"]
        different = sorted(key for key in {*stored, *run} if stored.get(key) != run.get(key))
        raise SpecError(
            f"{folder}: an unfinished training with another {', '.join(different)}; repeat its command to resume "
            "it, or delete the folder to start over"
        )
    tensors = None if index is None else _tensors(folder, index["files"])
    if index is None or tensors is None:
        _tidy(folder, set())
        return None
    _tidy(folder, {INDEX, *index["files"]})
    return Checkpoint(index["position"], *(_group(tensors, name) for name in ("weights", "moments", "best")))


def _index(folder: Path) -> dict[str, Any] | None:
    """Read checkpoint.json: its run, the `TrainingPosition`, and the tensor files with their digests."""
    try:
        index = json.loads((folder / INDEX).read_text("utf-8"))
        if index.pop("sha256") != _json_digest(index):
            return None
        position = index["position"]
        epochs = tuple(Epoch(**epoch) for epoch in position["epochs"])
        best = None if position["best"] is None else Epoch(**position["best"])
        position = TrainingPosition(**{**position, "epochs": epochs, "best": best})
        return {"run": dict(index["run"]), "position": position, "files": dict(index["files"])}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _json_digest(index: Mapping[str, Any]) -> str:
    """Return the digest of the index as it is read back: JSON has no tuples, and keys are texts."""
    plain = json.loads(json.dumps(index))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _tensors(folder: Path, digests: Mapping[str, str]) -> Tensors | None:
    """Return the tensors of all files; None if a file is missing or was changed."""
    tensors: dict[str, torch.Tensor] = {}
    try:
        for name, digest in digests.items():
            if file_digest(folder / Path(name).name) != digest:
                return None
            tensors.update(load_file(folder / Path(name).name))
    except (OSError, SafetensorError):
        return None
    return tensors


def _flat(groups: Mapping[str, Tensors]) -> dict[str, torch.Tensor]:
    """Return one dictionary with names `group/name`; copies, because safetensors refuses shared memory."""
    return {
        f"{group}/{name}": tensor.detach().cpu().clone().contiguous()
        for group, tensors in groups.items()
        for name, tensor in tensors.items()
    }


def _group(tensors: Tensors, group: str) -> Tensors:
    return {name.removeprefix(f"{group}/"): tensor for name, tensor in tensors.items() if name.startswith(f"{group}/")}


def _tidy(folder: Path, keep: set[str]) -> None:
    for file in (path for pattern in FILE_PATTERNS for path in folder.glob(pattern)):
        if file.name not in keep:
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise FileFormatError(f"{file}: cannot be removed ({error.strerror})") from error


RECORD = "training.json"
Run = Mapping[str, Any]  # equal for two runs that end at the same weights


@dataclass(frozen=True, kw_only=True)
class Trained(TrainingResult):
    """A finished training in its folder; `unchanged` if the weights are as they were written."""

    directory: Path
    run: Run
    unchanged: bool
    found_finished: bool = True  # by an earlier command


def make_record(run: Run, data: RatedPairs, result: TrainingResult) -> dict[str, Any]:
    """Return the record of a training: the run, its data and its results."""
    record = {"evalign": __version__, "run": run, "mapping": data.mapping, "left_out": dict(data.left_out)}
    results = asdict(result)
    return record | {name: results[name] for name in ("train_pairs", "dev_pairs", "micro_batch", "best", "epochs")}


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write the record into the folder of the weights, with their digests."""
    with whole_file(folder / RECORD) as stream:
        json.dump(dict(record) | {"weights": _weights(folder)}, stream, indent=1)


def read_record(folder: Path) -> Trained | None:
    """Read the record of a folder; None if it is missing or damaged."""
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
    """Return whether a run read from JSON equals `run`."""
    return bool(stored == json.loads(json.dumps(run)))


def _weights(folder: Path) -> dict[str, str]:
    return {file.name: file_digest(file) for file in sorted(folder.glob("*.safetensors"))}


def work_folder(target: Path) -> Path:
    """Return the folder of checkpoints next to the target, so that the result can be moved there in one step."""
    target = Path(target.absolute())
    if not target.name:
        raise FileFormatError(f"{target}: cannot be written, `output` must name a folder that does not exist")
    return target.with_name(f"{target.name}.training")


def check_target(target: Path) -> None:
    """Raise if the target cannot be written, before a model is loaded; an existing target is accepted."""
    work = work_folder(target)
    if os.path.lexists(target):
        return
    if not work.parent.is_dir():
        raise FileFormatError(f"{target}: cannot be written, there is no folder {work.parent}")
    if os.path.lexists(work) and not work.is_dir():
        raise FileFormatError(
            f"{work}: is not a folder, but is needed for checkpoints; move it, or choose another `output`"
        )
    try:
        with TemporaryDirectory(prefix=f".{work.name}.", dir=work.parent):
            pass
    except OSError as error:
        raise FileFormatError(f"{target}: cannot be written ({error.strerror or error})") from error


def alone_in(folder: Path) -> AbstractContextManager[None]:
    """Create the folder and keep other runs out of it; raise if another run uses it."""
    return lock_folder(folder, "another run is training into this folder; wait for it, or choose another `output`")
