"""training.json, the record beside trained weights: which run made them, what it reached, and the weights' digests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalign.atomic_files import whole_file
from evalign.encoders.digest import file_digest
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
