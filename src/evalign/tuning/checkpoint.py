"""Checkpoints of a training run: tensors as safetensors, everything else as JSON, no pickle.

checkpoint.json names the tensor files and their sha256 and is written last, whole or not at all. So after a kill at any
moment there is the old checkpoint or the new one. Tensor files that it does not name are removed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save

from evalign.atomic_files import whole_file
from evalign.encoders.digest import file_digest
from evalign.errors import FileFormatError, SpecError
from evalign.tuning.trainee import torch
from evalign.tuning.training_folder import Run, same_run
from evalign.tuning.training_plan import Epoch

INDEX = "checkpoint.json"
OURS = (INDEX, "step-*.safetensors", "best-*.safetensors", ".*.part")
Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Position:
    """How far a run has come."""

    step: int
    loss_sum: float  # over the steps of the current epoch
    epochs: tuple[Epoch, ...]
    best: Epoch | None
    micro_batch: int
    threads: int


@dataclass(frozen=True)
class Checkpoint:
    """A position with the tensors that belong to it."""

    position: Position
    weights: Tensors
    moments: Tensors  # of the optimizer
    best: Tensors  # the weights of the best epoch so far; empty before the first


def save_checkpoint(folder: Path, checkpoint: Checkpoint, run: Run) -> None:
    """Replaces the checkpoint in the folder by that of `run`."""
    position = checkpoint.position
    groups = {"weights": checkpoint.weights, "moments": checkpoint.moments}
    files = {f"step-{position.step:08d}.safetensors": _flat(groups)}
    if position.best is not None:
        files[f"best-{position.best.number:04d}.safetensors"] = _flat({"best": checkpoint.best})
    previous = _index(folder)
    known = previous["files"] if previous is not None and same_run(previous["run"], run) else {}
    digests = {}
    for name, tensors in files.items():
        if name.startswith("best-") and name in known and (folder / name).is_file():
            digests[name] = known[name]  # the best weights do not change until a better epoch has another name
            continue
        with whole_file(folder / name, binary=True) as stream:
            stream.write(save(tensors))
        digests[name] = file_digest(folder / name)
    with whole_file(folder / INDEX) as stream:
        json.dump({"run": run, "position": asdict(position), "files": digests}, stream, indent=1)
    _tidy(folder, {INDEX, *digests})


def load_checkpoint(folder: Path, run: Run) -> Checkpoint | None:
    """The checkpoint in the folder; an error if it is another run's; None, and its files removed, if it is damaged."""
    index = _index(folder)
    if index is not None and not same_run(index["run"], run):
        theirs = index["run"]
        different = sorted(key for key in {*theirs, *run} if theirs.get(key) != run.get(key))
        raise SpecError(
            f"{folder}: an unfinished training with another {', '.join(different)}; give the same command to go on "
            "with it, or delete the folder to start anew"
        )
    tensors = None if index is None else _tensors(folder, index["files"])
    if index is None or tensors is None:
        _tidy(folder, set())
        return None
    _tidy(folder, {INDEX, *index["files"]})
    return Checkpoint(index["position"], *(_group(tensors, name) for name in ("weights", "moments", "best")))


def _index(folder: Path) -> dict[str, Any] | None:
    """checkpoint.json: whose run it is, the `Position`, and the tensor files with their digests."""
    try:
        index = json.loads((folder / INDEX).read_text("utf-8"))
        position = index["position"]
        epochs = tuple(Epoch(**epoch) for epoch in position["epochs"])
        best = None if position["best"] is None else Epoch(**position["best"])
        position = Position(**{**position, "epochs": epochs, "best": best})
        return {"run": dict(index["run"]), "position": position, "files": dict(index["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _tensors(folder: Path, digests: Mapping[str, str]) -> Tensors | None:
    """The contents of the tensor files; None if one is missing or was changed."""
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
    """One dictionary with the group before each name; copies, because safetensors refuses shared memory."""
    return {
        f"{group}/{name}": tensor.detach().cpu().clone().contiguous()
        for group, tensors in groups.items()
        for name, tensor in tensors.items()
    }


def _group(tensors: Tensors, group: str) -> Tensors:
    return {name.removeprefix(f"{group}/"): tensor for name, tensor in tensors.items() if name.startswith(f"{group}/")}


def _tidy(folder: Path, wanted: set[str]) -> None:
    for file in (path for pattern in OURS for path in folder.glob(pattern)):
        if file.name not in wanted:
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise FileFormatError(f"{file}: cannot be removed ({error.strerror})") from error
