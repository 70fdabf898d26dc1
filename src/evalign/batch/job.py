"""A job and its folder: job.json has all that decides its output, manifest.jsonl the finished steps of its shards.

A folder resumes only the job that it was created for, with the same files, libraries and processor, unless changes are
accepted. job.json, every line of the manifest and every file that a line names have a digest, which is checked when
they are read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from evalign.batch.inputs import InputFile, Plan, Shard, make_plan
from evalign.core.installed import deciding_libraries
from evalign.core.metric import Metric
from evalign.core.options import option_fields, written
from evalign.core.registry import metric
from evalign.encoders.weights import content_digest
from evalign.errors import FileFormatError, SpecError
from evalign.io.folders import Folder
from evalign.io.json_shapes import OptionalKey, has_shape
from evalign.io.rows import Columns
from evalign.metrics.token_metric import TokenMetric
from evalign.version import __version__

JOB, FORMAT, VERSION = "job.json", "evalign.batch", 1
MANIFEST, SHARDS, TABLES = "manifest.jsonl", "shards", "idf"
LABELS = {  # keys of job.json and their names in messages
    "evalign": "evalign's version",
    "metrics": "`specs`",
    "execution": "the execution options (threads, device)",
    "columns": "the fields of the rows",
    "shard_rows": "`shard_rows`",
    "output": "`shard_format`",
}
JOB_SHAPE = {
    "format": str,
    "version": int,
    "evalign": str,
    "metrics": [str],
    "execution": [dict],
    "columns": {
        "candidate": str,
        "source": str,
        "id": str,
        "system": str,
        "human": str,
        "references": [str],
        "extra": [str],
    },
    "shard_rows": int,
    "output": str,
    "input": [{"path": str, "kind": str, "rows": int, "sha256": str}],
    "shards": int,
    "libraries": {str: str},
    "content": {str: {str: str}},
    "changes": OptionalKey([str]),
}
LINE_SHAPE = {
    "step": str,
    "shard": int,
    "files": [{"name": str, "size": int, "sha256": str}],
    "scored": int,
    "flagged": int,
    "failed": int,
    "seconds": (float, int),
    "signatures": {str: str},
    "notes": [str],
}
FILE_NAME = re.compile(r"[\w-]{1,20}/[\w.-]{1,60}")  # of a file in the job's folder
DIGEST_DIGITS = 16  # of the digest that each line of the manifest carries
RUN_AGAIN = "run the job's command again: it scores only what is damaged"


@dataclass(frozen=True)
class Work:
    """The options of a job that every worker needs."""

    folder: Folder
    metrics: tuple[Metric, ...]
    columns: Columns
    output_format: str  # of the scored rows
    accept_changes: bool = False  # whether changed files, libraries or processors are no error

    def content(self) -> dict[str, Any]:
        """Return what decides the scores on this machine besides options and input, by the keys of job.json."""
        return {
            "libraries": deciding_libraries(),
            "content": {str(metric): dict(metric.content_digests()) for metric in self.metrics},
        }

    def counting(self) -> list[tuple[int, TokenMetric]]:
        """Return the metrics that need IDF tables of all rows, with their indices."""
        return [
            (index, metric)
            for index, metric in enumerate(self.metrics)
            if isinstance(metric, TokenMetric) and metric.needs_corpus
        ]


@dataclass(frozen=True)
class BatchJob:
    """A job and its planned input."""

    work: Work
    shard_rows: int
    plan: Plan

    def to_dict(self) -> dict[str, Any]:
        """Return the content of job.json."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "evalign": __version__,
            "metrics": [str(metric) for metric in self.work.metrics],
            "execution": [_execution(metric) for metric in self.work.metrics],
            "columns": asdict(self.work.columns) | {"references": list(self.work.columns.references), "extra": []},
            "shard_rows": self.shard_rows,
            "output": self.work.output_format,
            "input": [asdict(file) for file in self.plan.files],
            "shards": len(self.plan.shards),
            **self.work.content(),
        }

    def enter(self) -> None:
        """Create job.json in the locked folder, or check that the folder belongs to this job."""
        folder = self.work.folder
        folder.remove_parts()
        names = folder.names()
        if JOB not in names:
            if names:
                raise FileFormatError(f"{folder}: holds other files ({names[0]}); give `output` an empty or new folder")
            folder.write_new(JOB, signed_job(self.to_dict()))
        folder.prepare((SHARDS, TABLES))
        self._check(read_job(folder))

    def _check(self, stored: dict[str, Any]) -> None:
        """Raise if the stored job is another one; store changes of its content that are accepted."""
        folder, now = self.work.folder, self.to_dict()
        if reason := _difference(stored, now):
            raise SpecError(f"{folder}: {reason}; repeat the options and input of its job, or give another `output`")
        changes = content_changes(stored, now)
        if changes and not self.work.accept_changes:
            raise SpecError(
                f"{folder}: its job was started with {changes[0]}, which may change scores; restore that, give another "
                "`output`, or accept mixed scores with `accept_changes`"
            )
        if changes or (self.work.accept_changes and "changes" not in stored):
            folder.write(JOB, signed_job(now | {"changes": [*stored.get("changes", ()), *changes]}))


@dataclass(frozen=True)
class StoredJob:
    """A job as its folder describes it; its input is not read."""

    folder: Folder
    description: Mapping[str, Any]

    @classmethod
    def open(cls, folder: Folder) -> StoredJob:
        """Open the job of a folder."""
        return cls(folder, read_job(folder))

    @property
    def shards(self) -> int:
        """Number of shards."""
        return int(self.description["shards"])

    @property
    def rows(self) -> int:
        """Number of rows of the whole input."""
        return sum(file.rows for file in self.files)

    @property
    def output_format(self) -> str:
        """Format of the scored rows."""
        return str(self.description["output"])

    @cached_property
    def files(self) -> list[InputFile]:
        """Input files."""
        return [InputFile(**file) for file in self.description["input"]]

    @cached_property
    def metrics(self) -> list[Metric]:
        """Metrics, in order."""
        metrics = [metric(spec) for spec in self.description["metrics"]]
        if len(set(metrics)) < len(metrics):
            raise FileFormatError(f"{self.folder.path(JOB)}: changed or damaged, it names a metric twice")
        return metrics

    @property
    def changes(self) -> list[str] | None:
        """Changes between its runs that were accepted; None if none may be."""
        return self.description.get("changes")

    @property
    def columns(self) -> Columns:
        """Fields of the rows."""
        return self.columns_with((), self.description["columns"]["human"])

    def columns_with(self, extra: tuple[str, ...], human: str) -> Columns:
        """Return the fields of the rows, with fields that the job did not read."""
        plain = self.description["columns"]
        return Columns(**plain | {"references": tuple(plain["references"]), "extra": extra, "human": human})

    def planned_shards(self) -> Sequence[Shard]:
        """Plan the shards again, from the input, which must not have changed."""
        files = [(file.path, file.kind) for file in self.files]
        plan = make_plan(files, int(self.description["shard_rows"]), columns=self.columns)
        if reason := _difference(
            {"input": self.description["input"]}, {"input": [asdict(file) for file in plan.files]}
        ):
            raise FileFormatError(f"{self.folder}: {reason}")
        return plan.shards


def signed_job(description: Mapping[str, Any]) -> bytes:
    """Return the content of job.json, with a digest of it."""
    signed = {**description, "sha256": content_digest(dict(description))}
    return json.dumps(signed, indent=1, ensure_ascii=False).encode()


def read_job(folder: Folder) -> dict[str, Any]:
    """Read job.json, and check its digest."""
    try:
        plain: dict[str, Any] = json.loads(folder.read(JOB))
        digest = plain.pop("sha256", "")
        if (plain["format"], plain["version"]) != (FORMAT, VERSION):
            raise FileFormatError(
                f"{folder.path(JOB)}: expected {FORMAT} version {VERSION}, the folder is of another version"
            )
        fits = content_digest(plain) == digest
    except FileNotFoundError:
        raise FileFormatError(f"{folder}: no batch job in this folder; start one with: evalign batch run") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileFormatError(f"{folder.path(JOB)}: cannot be read ({error})") from error
    if not fits or not has_shape(plain, JOB_SHAPE):
        reason = "it has other fields than a job" if fits else "it does not fit its digest"
        raise FileFormatError(
            f"{folder.path(JOB)}: changed or damaged, {reason}; restore it, or run the job anew elsewhere"
        )
    return plain


def content_changes(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return a phrase for each change of files, libraries or processor, as in "another numpy (2.1.0, now 2.3.4)"."""
    pairs = [("", stored["libraries"], now["libraries"])]
    pairs += [(f" of {spec}", stored["content"].get(spec, {}), now["content"][spec]) for spec in now["content"]]
    return [
        f"another {name}{of} ({_replaced(str(before.get(name)), str(after.get(name)))})"
        for of, before, after in pairs
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    ]


def _replaced(before: str, after: str) -> str:
    """Describe a change of a value; of a list of words, such as a processor's instruction sets, only what changed."""
    if " " not in before:
        return f"{before}, now {after}"
    lost = [word for word in before.split() if word not in after.split()]
    gained = [word for word in after.split() if word not in before.split()]
    parts = [f"{verb} {' '.join(words)}" for verb, words in (("without", lost), ("with", gained)) if words]
    return f"now {' and '.join(parts)}"


def _difference(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return a sentence about the first difference, or nothing."""
    for key, name in LABELS.items():
        if key in stored and stored[key] != now[key]:
            return f"its job was started with another value of {name}: {_short(stored[key])}, now {_short(now[key])}"
    before, after = ({file["path"]: file for file in job["input"]} for job in (stored, now))
    for path in [*before, *after]:
        if path not in after or path not in before:
            return f"its job was started {'with' if path in before else 'without'} the input file {path}"
        if before[path] != after[path]:
            return f"the input file {path} is not what it was when the job was started"
    return "" if list(before) == list(after) else "its job was started with the input files in another order"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _execution(metric: Metric) -> dict[str, Any]:
    """Return the options that can change only the last bits of a score."""
    names = {item.name for item in option_fields(metric) if not item.compare}
    return {item.name: written(getattr(metric, item.name)) for item in dataclasses.fields(metric) if item.name in names}


@dataclass(frozen=True)
class FileRecord:
    """A finished file in the job's folder: its name there, size and hash."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, name: str, content: bytes) -> FileRecord:
        """Return the record of a file with this content."""
        return cls(name, len(content), hashlib.sha256(content).hexdigest())

    def intact(self, folder: Folder) -> bool:
        """Return whether the file has the content that was written."""
        try:
            return FileRecord.of(self.name, folder.read(self.name)) == self
        except OSError:
            return False

    def read(self, folder: Folder) -> bytes:
        """Return the content; raise FileFormatError if it is not what was written."""
        try:
            content = folder.read(self.name)
        except OSError as error:
            raise FileFormatError(f"{folder.path(self.name)}: {error.strerror or error}; {RUN_AGAIN}") from error
        if FileRecord.of(self.name, content) != self:
            raise FileFormatError(
                f"{folder.path(self.name)}: damaged, it does not fit its digest in {MANIFEST}; {RUN_AGAIN}"
            )
        return content


@dataclass(frozen=True)
class ManifestLine:
    """A line of the manifest: one finished step of one shard. rows = scored + flagged + failed; `seconds` of work."""

    step: str
    shard: int
    files: tuple[FileRecord, ...]
    scored: int = 0
    flagged: int = 0
    failed: int = 0
    seconds: float = 0.0
    signatures: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows of the shard."""
        return self.scored + self.flagged + self.failed

    @classmethod
    def parse(cls, line: bytes) -> ManifestLine:
        """Parse what `to_line` returned; raise ValueError, TypeError, KeyError or AttributeError for other content."""
        plain: dict[str, Any] = json.loads(line)
        if plain.pop("digest") != content_digest(plain)[:DIGEST_DIGITS]:
            raise ValueError("the line does not fit its digest")
        if not has_shape(plain, LINE_SHAPE):
            raise ValueError("the line has other fields than a finished step")
        if not all(FILE_NAME.fullmatch(file["name"]) for file in plain["files"]):
            raise ValueError("the line names a file outside of the folder")
        files = tuple(FileRecord(**file) for file in plain.pop("files"))
        return cls(files=files, notes=tuple(plain.pop("notes")), **plain)

    def to_line(self) -> bytes:
        """Return one line of JSON with a digest."""
        plain = asdict(self)
        signed = plain | {"digest": content_digest(plain)[:DIGEST_DIGITS]}
        return json.dumps(signed, ensure_ascii=False).encode() + b"\n"

    def read(self, folder: Folder, name: str) -> bytes | None:
        """Return the checked content of the file with this name; None if the step did not write it."""
        return next((file.read(folder) for file in self.files if file.name == name), None)


class Manifest:
    """The finished steps of a job: one line each, appended and synced after the files of the step have their names.

    A line that was truncated by a kill, or is damaged, is ignored: its step is repeated. `damaged` names the lines that
    are whole but do not fit their digest, and the files that do not fit theirs.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.damaged: list[str] = []
        self.entries = {(entry.step, entry.shard): entry for entry in self._read()}

    def done(self, step: str) -> dict[int, ManifestLine]:
        """Return the lines of the shards whose step is finished and whose files exist, by number."""
        finished = {number: entry for (name, number), entry in self.entries.items() if name == step}
        sizes = self.folder.sizes(file.name for entry in finished.values() for file in entry.files)
        return {
            number: finished[number]
            for number in sorted(finished)
            if all(sizes.get(file.name) == file.size for file in finished[number].files)
        }

    def intact(self, step: str) -> dict[int, ManifestLine]:
        """Return the lines of `done` whose files have the content that was written; every file is read."""
        done = self.done(step)
        whole = {}
        for number, entry in done.items():
            damaged = [file.name for file in entry.files if not file.intact(self.folder)]
            self.damaged += damaged
            if not damaged:
                whole[number] = entry
        return whole

    def drop_torn_line(self) -> None:
        """Remove a last line without an end, so that the next line starts on a new line."""
        self.folder.mend_log(MANIFEST)

    def append(self, entry: ManifestLine) -> None:
        """Append a line and wait until the disk has it."""
        self.folder.add_to_log(MANIFEST, f"{entry.step}-{entry.shard:06}", entry.to_line())
        self.entries[entry.step, entry.shard] = entry

    def _read(self) -> Iterator[ManifestLine]:
        for number, line in enumerate(self.folder.log_lines(MANIFEST), 1):
            try:
                yield ManifestLine.parse(line)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                self.damaged.append(f"line {number} of {MANIFEST}")
