"""Run a job to its end, or resume it: plan, IDF pass if a metric needs one, scoring, summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from evalign.batch.inputs import find_files, make_plan
from evalign.batch.job import BatchJob, Manifest, ManifestLine, StoredJob, Work
from evalign.batch.local_engine import Engine
from evalign.batch.results import FinishedJob, Summary, summarise, write_summary
from evalign.batch.shards import Task, check_format, import_pyarrow, merged_table, shard_table
from evalign.core.spec import common_signature
from evalign.errors import InputError, SpecError
from evalign.io.files import whole_file
from evalign.metrics.weighting import check_one_table
from evalign.text.idf import IDFTable

BUSY = "another run is working in this folder; wait for it, or give another `output`"
Watch = Callable[[str, int], Callable[[int], Any]]  # (step, all rows) -> called with the number of finished rows


@dataclass(frozen=True)
class Request:
    """The input and options of a job."""

    patterns: Sequence[str]
    work: Work
    shard_rows: int
    input_format: str | None = None


@dataclass(frozen=True)
class Outcome:
    """A finished job, the number of shards that this run scored, and the notes of its metrics."""

    summary: Summary
    shards_scored: int
    notes: Sequence[str]
    damaged: Sequence[str] = ()  # files and lines of the manifest that were damaged, and were made again


def run_job(request: Request, engine: Engine, watch: Watch) -> Outcome:
    """Run all unfinished steps. Killed at any moment, the next call resumes after the last line of the manifest."""
    work = request.work
    check_format(work.output_format)
    for metric in work.metrics:
        if metric.needs_corpus and metric not in [counted for _, counted in work.counting()]:
            raise SpecError(f"{metric}: its parts count IDF over the rows; fit tables first (evalign fit idf)")
    for _, metric in work.counting():
        check_one_table(metric.idf)
    files = find_files(request.patterns, request.input_format)  # before a folder is shards_scored: it may be misspelt
    with work.folder.locked(BUSY):
        plan = make_plan(files, request.shard_rows, watch("reading", 0), work.columns)
        job = BatchJob(work, request.shard_rows, plan)
        job.enter()
        manifest = Manifest(work.folder)
        manifest.drop_torn_line()
        if work.counting():
            _run_step(job, "idf", manifest, engine, watch)
            for index, _ in work.counting():
                _merge_tables(job, index, manifest)
        shards_scored = _run_step(job, "score", manifest, engine, watch)
        work.folder.remove_parts()  # of workers that were killed
        finished = FinishedJob(StoredJob.open(work.folder), manifest.done("score"))
        summary = summarise(finished)
        write_summary(finished, summary)
        return Outcome(summary, shards_scored, finished.notes, manifest.damaged)


def _run_step(job: BatchJob, step: str, manifest: Manifest, engine: Engine, watch: Watch) -> int:
    """Run a step on the shards that are not in the manifest, and return their number."""
    done = manifest.intact(step)
    tasks = [Task(step, shard) for shard in job.plan.shards if shard.number not in done]
    advance = watch({"idf": "counting", "score": "scoring"}[step], sum(task.shard.rows for task in tasks))
    rows = {task.shard.number: task.shard.rows for task in tasks}
    with closing(engine.run(job.work, tasks)) as entries:  # ends worker processes at once, whatever happens here
        for entry in entries:
            if not job.work.accept_changes:
                check_same_signatures(done.values(), entry)
            manifest.append(entry)
            done[entry.shard] = entry
            advance(rows[entry.shard])
    return len(tasks)


def check_same_signatures(done: Iterable[ManifestLine], entry: ManifestLine) -> None:
    """Raise InputError if a shard was scored with other files than those before it, which changed during the run."""
    first = next(iter(done), entry)
    for metric, signature in entry.signatures.items():
        try:
            common_signature([first.signatures[metric], signature])
        except SpecError as error:
            raise InputError(f"{metric} changed while the job ran: {error}; run the same command again") from None


def _merge_tables(job: BatchJob, metric_index: int, manifest: Manifest) -> None:
    tables = (_shard_table(job, shard.number, metric_index, manifest) for shard in job.plan.shards)
    total = next(tables)
    for table in tables:
        total = total.merge(table)
    job.work.folder.write(merged_table(metric_index), total.to_json().encode("ascii"))


def _shard_table(job: BatchJob, shard: int, metric_index: int, manifest: Manifest) -> IDFTable:
    name = shard_table(shard, metric_index)
    content = manifest.entries["idf", shard].read(job.work.folder, name)
    return IDFTable.parse(name, (content or b"").decode("ascii"))


def merge_shards(finished: FinishedJob, target: Path) -> None:
    """Write the scored rows of all shards to one file, whole or not at all."""
    with whole_file(target, binary=True, compress=True) as stream:
        MERGERS[finished.job.output_format](finished, stream)


def _merge_jsonl(finished: FinishedJob, stream: IO[bytes]) -> None:
    for content in finished.shard_contents():
        stream.write(content)


def _merge_parquet(finished: FinishedJob, stream: IO[bytes]) -> None:
    """Unite the columns of all shards: a shard whose rows all failed under a metric has no column of its fields."""
    arrow = import_pyarrow("writing Parquet")
    schema = arrow.unify_schemas([arrow.parquet.read_schema(BytesIO(part)) for part in finished.shard_contents()])
    with arrow.parquet.ParquetWriter(stream, schema) as writer:
        for content in finished.shard_contents():
            table = arrow.parquet.read_table(BytesIO(content))
            missing = [field for field in schema if field.name not in table.column_names]
            for field in missing:
                table = table.append_column(field, arrow.nulls(len(table), field.type))
            writer.write_table(table.select(schema.names))


MERGERS: dict[str, Callable[[FinishedJob, IO[bytes]], None]] = {"jsonl": _merge_jsonl, "parquet": _merge_parquet}
