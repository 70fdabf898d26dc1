"""A finished job as a source of rows and their scores, which `score`, `meta` and `compare` read instead of scoring.

Rows come from the job's input, which must be what it was; scores from its shards, for which the input is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evalign.analysis.scoring import Emit, Result
from evalign.batch.inputs import Shard, ShardReader
from evalign.batch.job import StoredJob
from evalign.batch.manifest import Entry, Manifest
from evalign.batch.records import Record, fields_of
from evalign.batch.summary import ERRORS, scored_rows
from evalign.batch.worker import read_rows
from evalign.data.rows import Columns, make_row
from evalign.errors import FileFormatError, InputError, SpecError
from evalign.metrics.base import Metric
from evalign.metrics.signature import common_signature
from evalign.types import Row


def finished_entries(job: StoredJob) -> dict[int, Entry]:
    """The manifest entries of a finished job; an error that says how to go on if it is not."""
    done = Manifest(job.folder).done("score")
    if len(done) < job.shards:
        raise InputError(f"{job.folder}: not finished, {state(job)}; run the job's command again first")
    return done


def state(job: StoredJob) -> str:
    """How far a job is, in words."""
    manifest = Manifest(job.folder)
    done, counted = manifest.done("score"), manifest.done("idf")
    totals = {name: sum(getattr(entry, name) for entry in done.values()) for name in ("scored", "flagged", "failed")}
    rows = sum(totals.values())
    said = f"{len(done)} of {job.shards} shards done, {rows} of {job.rows} rows"
    said += f" ({totals['scored']} scored, {totals['flagged']} flagged, {totals['failed']} failed)" if rows else ""
    return said + (f"; IDF counted on {len(counted)}" if counted and len(done) < job.shards else "")


@dataclass(frozen=True)
class JobRows:
    """The rows of a finished job that could be read, in input order; `columns` says which fields hold what."""

    job: StoredJob
    entries: dict[int, Entry]
    columns: Columns
    rereadable: bool = True

    @classmethod
    def open(cls, folder: Path, extra: tuple[str, ...] = (), human: str = "human") -> JobRows:
        """Those of a folder, with more fields of the input carried along."""
        job = StoredJob.open(folder)
        return cls(job, finished_entries(job), job.columns_with(extra, human))

    def __iter__(self) -> Iterator[Row]:
        with closing(ShardReader()) as reader:
            for shard in self._shards:
                for row, record in read_rows(reader, shard, self.columns):
                    if isinstance(row, Row):
                        yield row
                    elif self._was_read(record):
                        raise FileFormatError(f"{shard.path}:{record.line}: {row}")

    def count(self) -> int | None:
        """How many rows went in."""
        return self.job.rows

    def metrics(self, asked: Sequence[str]) -> list[Metric]:
        """Those of the job's metrics that are asked for, by spec or by name; all if none is."""
        chosen = []
        for name in asked:
            fitting = [metric for metric in self.job.metrics if name in (str(metric), metric.name)]
            if len(fitting) != 1:
                have = ", ".join(map(str, self.job.metrics))
                raise SpecError(f"-m {name}: {self.job.folder} has scores of {have}; name one of them")
            chosen += fitting
        return list(dict.fromkeys(chosen)) or self.job.metrics

    def score(self, metrics: Sequence[Metric], emit: Emit) -> list[Result]:
        """The totals of `score_source`, from stored segments."""
        by_name = {str(metric): metric for metric in metrics}
        signatures = {
            name: common_signature([entry.signatures[name] for entry in self.entries.values()]) for name in by_name
        }
        notes = dict.fromkeys(note for entry in self.entries.values() for note in entry.notes)
        if failed := sum(entry.failed for entry in self.entries.values()):
            notes[f"{failed} rows of the job failed; {self.job.folder / ERRORS} says why"] = None
        note = "; ".join(notes)
        results: dict[tuple[str, str], Result] = {}
        for row in scored_rows(self.job):
            if (metric := by_name.get(row.metric)) is None:
                continue
            key = row.system, row.metric
            if key not in results:
                results[key] = Result(*key, signatures[row.metric], metric.fields, metric.corpus(), note)
            results[key].add(row.segment)
            emit(results[key], row.segment)
        if not results:
            raise InputError(f"{self.job.folder}: no row could be read; errors.jsonl there says why")
        systems = list(dict.fromkeys(system for system, _ in results))
        return [results[system, name] for name in by_name for system in systems if (system, name) in results]

    def _was_read(self, record: Record) -> bool:
        """Whether the job could read a record, so that it lacks only a field that is carried along now."""
        try:
            make_row(fields_of(record), self.job.columns, "", "")
        except InputError:
            return False
        return True

    @cached_property
    def _shards(self) -> Sequence[Shard]:
        return self.job.planned_shards()
