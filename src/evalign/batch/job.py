"""A job: what decides every byte of its output. Its folder holds it as job.json, so that only the same job goes on."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evalign.batch.inputs import InputFile, Plan, Shard, make_plan
from evalign.batch.worker import SHARDS, TABLES, Work
from evalign.batch.writing import remove_parts, telling, write_durably
from evalign.data.rows import Columns
from evalign.errors import FileFormatError, SpecError
from evalign.folder_lock import LOCK
from evalign.metrics.base import Metric
from evalign.metrics.options import option_fields, written
from evalign.metrics.registry import metric
from evalign.version import __version__

JOB, FORMAT, VERSION = "job.json", "evalign.batch", 1
SAID = {  # keys of job.json and what a message calls them
    "evalign": "evalign's version",
    "metrics": "-m",
    "execution": "how the metrics run (threads, device)",
    "columns": "the fields of the rows",
    "shard_rows": "--shard-rows",
    "output": "--format",
}


@dataclass(frozen=True)
class Job:
    """A job and its input, as planned now."""

    work: Work
    shard_rows: int
    plan: Plan

    def to_dict(self) -> dict[str, Any]:
        """The content of job.json."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "evalign": __version__,
            "metrics": [str(metric) for metric in self.work.metrics],
            "execution": [_execution(metric) for metric in self.work.metrics],
            "columns": asdict(self.work.columns) | {"references": list(self.work.columns.references), "extra": []},
            "shard_rows": self.shard_rows,
            "output": self.work.form,
            "input": [asdict(file) for file in self.plan.files],
            "shards": len(self.plan.shards),
        }

    def enter(self) -> None:
        """Makes the folder this job's, or sees that it is already; the folder must be locked."""
        folder = self.work.folder
        remove_parts(folder)
        with telling(folder):
            if not (folder / JOB).exists():
                if strange := sorted(path.name for path in folder.iterdir() if path.name != LOCK):
                    raise FileFormatError(
                        f"{folder}: holds other files ({strange[0]}); give --out an empty or new folder"
                    )
                write_durably(folder / JOB, json.dumps(self.to_dict(), indent=1, ensure_ascii=False).encode())
            for name in (SHARDS, TABLES):
                (folder / name).mkdir(exist_ok=True)
        if reason := _difference(read_job(folder), self.to_dict()):
            raise SpecError(f"{folder}: {reason}; repeat the options and input of its job, or give another --out")


@dataclass(frozen=True)
class StoredJob:
    """A job as its folder describes it, without a look at its input."""

    folder: Path
    description: Mapping[str, Any]

    @classmethod
    def open(cls, folder: Path) -> StoredJob:
        """The job of a folder."""
        return cls(folder, read_job(folder))

    @property
    def shards(self) -> int:
        """How many there are."""
        return int(self.description["shards"])

    @property
    def rows(self) -> int:
        """Rows of the whole input."""
        return sum(file.rows for file in self.files)

    @property
    def form(self) -> str:
        """The format of its output."""
        return str(self.description["output"])

    @cached_property
    def files(self) -> list[InputFile]:
        """Its input."""
        return [InputFile(**file) for file in self.description["input"]]

    @cached_property
    def metrics(self) -> list[Metric]:
        """Its metrics."""
        return [metric(spec) for spec in self.description["metrics"]]

    @property
    def columns(self) -> Columns:
        """The fields of its rows."""
        return self.columns_with((), self.description["columns"]["human"])

    def columns_with(self, extra: tuple[str, ...], human: str) -> Columns:
        """The same, with fields that the job did not read."""
        plain = self.description["columns"]
        return Columns(**plain | {"references": tuple(plain["references"]), "extra": extra, "human": human})

    def planned_shards(self) -> Sequence[Shard]:
        """Its shards, from the input, which is read once more and must be what it was."""
        plan = make_plan([(file.path, file.kind) for file in self.files], int(self.description["shard_rows"]))
        if reason := _difference(
            {"input": self.description["input"]}, {"input": [asdict(file) for file in plan.files]}
        ):
            raise FileFormatError(f"{self.folder}: {reason}")
        return plan.shards


def read_job(folder: Path) -> dict[str, Any]:
    """The content of job.json."""
    try:
        plain: dict[str, Any] = json.loads((folder / JOB).read_bytes())
        if (plain["format"], plain["version"]) != (FORMAT, VERSION):
            raise FileFormatError(
                f"{folder / JOB}: expected {FORMAT} version {VERSION}, the folder is of another version"
            )
    except FileNotFoundError:
        raise FileFormatError(f"{folder}: no batch job in this folder; start one with: evalign batch run") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{folder / JOB}: cannot be read ({error})") from error
    return plain


def _difference(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What is not as it was, in words; nothing if all is."""
    for key, name in SAID.items():
        if key in stored and stored[key] != now[key]:
            return f"its job was started with another value of {name}: {_short(stored[key])}, now {_short(now[key])}"
    was, given = ({file["path"]: file for file in job["input"]} for job in (stored, now))
    for path in [*was, *given]:
        if path not in given or path not in was:
            return f"its job was started {'with' if path in was else 'without'} the input file {path}"
        if was[path] != given[path]:
            return f"the input file {path} is not what it was when the job was started"
    return "" if list(was) == list(given) else "its job was started with the input files in another order"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _execution(metric: Metric) -> dict[str, Any]:
    """Options that cannot change what a score means, but its last bits."""
    names = {item.name for item in option_fields(metric) if not item.compare}
    return {item.name: written(getattr(metric, item.name)) for item in dataclasses.fields(metric) if item.name in names}
