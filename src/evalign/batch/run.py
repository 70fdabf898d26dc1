"""Runs a job to its end, from wherever it stands: plan, IDF pass if a metric needs one, scoring, summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from evalign.batch.engine import Engine
from evalign.batch.inputs import find_files, make_plan
from evalign.batch.job import Job, StoredJob
from evalign.batch.manifest import Manifest
from evalign.batch.outputs import check_format
from evalign.batch.summary import Summary, summarise, write_summary
from evalign.batch.worker import Task, Work, merged_table, shard_table
from evalign.batch.writing import remove_parts, write_durably
from evalign.errors import SpecError
from evalign.folder_lock import alone_in
from evalign.metrics.corpus_idf import check_one_table
from evalign.text.idf import IDFTable

BUSY = "another run is working in this folder; wait for it, or give another --out"
Watch = Callable[[str, int], Callable[[int], Any]]  # (what is done, rows in all) -> hears of finished rows


@dataclass(frozen=True)
class Request:
    """What `evalign batch run` was asked for."""

    patterns: Sequence[str]
    work: Work
    shard_rows: int
    input_format: str | None = None


@dataclass(frozen=True)
class Outcome:
    """A finished job, how many of its shards this run made, and what its metrics have to say."""

    summary: Summary
    made: int
    notes: Sequence[str]


def run_job(request: Request, engine: Engine, watch: Watch) -> Outcome:
    """Makes what is not there yet. Killed at any moment, the next call goes on from the last line of the manifest."""
    work = replace(request.work, folder=request.work.folder.absolute())
    check_format(work.form)
    for metric in work.metrics:
        if metric.needs_corpus and metric not in [counted for _, counted in work.counting()]:
            raise SpecError(f"{metric}: its parts count IDF over the rows; fit tables first (evalign idf fit)")
    for _, metric in work.counting():
        check_one_table(metric.idf)
    files = find_files(request.patterns, request.input_format)  # before a folder is made: it may be misspelt
    with alone_in(work.folder, BUSY):
        plan = make_plan(files, request.shard_rows, watch("reading", 0))
        job = Job(work, request.shard_rows, plan)
        job.enter()
        manifest = Manifest(work.folder)
        manifest.drop_torn_line()
        if work.counting():
            _run_step(job, "idf", manifest, engine, watch)
            for place, _ in work.counting():
                _merge_tables(job, place)
        made = _run_step(job, "score", manifest, engine, watch)
        remove_parts(work.folder)  # of workers that were killed
        entries = manifest.done("score")
        notes = list(dict.fromkeys(note for entry in entries.values() for note in entry.notes))
        stored = StoredJob.open(work.folder)
        summary = summarise(stored, entries)
        write_summary(stored, summary)
        return Outcome(summary, made, notes)


def _run_step(job: Job, step: str, manifest: Manifest, engine: Engine, watch: Watch) -> int:
    """Runs a step on the shards that are not in the manifest; how many these were."""
    done = manifest.done(step)
    tasks = [Task(step, shard) for shard in job.plan.shards if shard.number not in done]
    advance = watch({"idf": "counting", "score": "scoring"}[step], sum(task.shard.rows for task in tasks))
    rows = {task.shard.number: task.shard.rows for task in tasks}
    with closing(engine.run(job.work, tasks)) as entries:  # ends worker processes at once, whatever happens here
        for entry in entries:
            manifest.append(entry)
            advance(rows[entry.shard])
    return len(tasks)


def _merge_tables(job: Job, place: int) -> None:
    tables = (IDFTable.load(job.work.folder / shard_table(shard.number, place)) for shard in job.plan.shards)
    total = next(tables)
    for table in tables:
        total = total.merge(table)
    write_durably(merged_table(job.work.folder, place), total.to_json().encode("ascii"))
