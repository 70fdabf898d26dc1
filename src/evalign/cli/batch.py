"""`evalign batch`: many rows in shards that survive a kill; run, watched, checked, merged and shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click

from evalign.batch.engine import Engine
from evalign.batch.job import JOB, StoredJob
from evalign.batch.job_rows import JobRows, finished_entries, state
from evalign.batch.local_engine import LocalEngine
from evalign.batch.manifest import Manifest
from evalign.batch.merge import merge_shards
from evalign.batch.outputs import ENCODERS
from evalign.batch.ray_engine import PATIENCE, RayEngine
from evalign.batch.report import job_document
from evalign.batch.resources import cores
from evalign.batch.run import Request, run_job
from evalign.batch.summary import ERRORS, Summary, error_lines, summarise, write_summary
from evalign.batch.worker import Work
from evalign.cli.inputs import column_options
from evalign.cli.options import (
    A_FILE,
    embeddings_option,
    file_path,
    folder_path,
    metrics_option,
    parse_metrics,
    print_result,
)  # fmt: skip
from evalign.data.rows import Columns
from evalign.errors import FileFormatError
from evalign.render.export import write_html
from evalign.render.progress import progress
from evalign.render.score_tables import FORMATS

STOPPED = 130
ENGINES: dict[str, Callable[..., Engine]] = {"local": LocalEngine, "ray": RayEngine}
folder_argument = click.argument("folder", metavar="DIR", type=folder_path)


@click.group()
def batch() -> None:
    """Score many rows in shards: resumable, in several processes.

    \b
    evalign batch run 'data/*.jsonl.gz' --out scores -m bertscore -m chrf
    evalign batch status scores
    evalign batch merge scores --out scores.jsonl
    """


@batch.command()
@click.argument("inputs", nargs=-1, required=True, metavar="IN...", type=A_FILE)
@click.option("--out", "folder", required=True, metavar="DIR", type=folder_path,
              help="The job's folder; the same command on it goes on where a run was stopped.")  # fmt: skip
@metrics_option
@click.option("--engine", type=click.Choice(list(ENGINES)), default="local", show_default=True,
              help="Where workers run: processes of this machine, or actors of Ray (extra 'ray').")  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(0, 4096), default=0, help="Workers; 0: as many as cores and --threads allow."
)
@click.option("--address", metavar="HOST:PORT", envvar="RAY_ADDRESS",
              help="Ray: the head node of a running cluster; without it, Ray is started here and ended.")  # fmt: skip
@click.option("--gpus", type=click.FloatRange(0), default=0.0, help="Ray: GPUs of each worker, such as 1 or 0.5.")
@click.option("--patience", type=click.FloatRange(1), default=PATIENCE, show_default=True, metavar="SECONDS",
              help="Ray: the job stops if no shard is finished in this time.")  # fmt: skip
@click.option("--memory", type=click.FloatRange(0), default=0.0, metavar="GIB",
              help="Memory that each worker may take; 0: an even share of 80 % of its machine (Linux).")  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True,
              help="Threads of the encoder in each worker; fixed for a job.")  # fmt: skip
@click.option("--shard-rows", type=int, default=8192, show_default=True, help="Rows of a shard, a multiple of 1024.")
@click.option("--format", "form", type=click.Choice(list(ENCODERS)), default="jsonl", show_default=True,
              help="Format of the scored rows.")  # fmt: skip
@column_options
@embeddings_option
def run(
    inputs: tuple[str, ...], folder: Path, specs: tuple[str, ...], engine: str, workers: int, address: str | None,
    gpus: float, patience: float, memory: float, threads: int, shard_rows: int, form: str, columns: Columns,
    input_format: str | None,
) -> int:  # fmt: skip
    """Score the rows of IN... into DIR.

    \b
    evalign batch run data.jsonl --out scores -m bertscore
    evalign batch run part-*.csv.gz more/ s3://bucket/rows.parquet --out scores -m chrf -m bleu
    evalign batch run data/ --out /shared/scores -m bertscore --engine ray --address 10.0.0.1:6379 --workers 64

    IN is a JSONL, CSV, TSV or Parquet file, plain, gzipped or zstd, a pattern, a folder, or a URL (extra 'data'). A run
    that was stopped goes on when the same command is given again. Exit code 0: all rows scored, 2: bad input, 3: some
    rows failed (DIR/errors.jsonl says which and why), 130: stopped.
    """
    work = Work(folder, tuple(parse_metrics(specs, threads)), columns, form)
    request = Request(inputs, work, shard_rows, input_format)
    most = int(memory * 2**30)
    options = {
        "local": (workers or max(1, cores() // threads), most),
        "ray": (workers, threads, address, gpus, patience, most),
    }
    with ExitStack() as bar, closing(ENGINES[engine](*options[engine])) as where:

        def watch(what: str, total: int) -> Callable[[int], Any]:
            bar.close()  # that of the step before
            return bar.enter_context(progress(what, total or None))

        try:
            outcome = run_job(request, where, watch)
        except KeyboardInterrupt:
            bar.close()
            stands = state(StoredJob.open(folder)) if (folder / JOB).exists() else "nothing is done yet"
            click.echo(f"evalign: stopped; {stands}; the same command goes on", err=True)
            return STOPPED
    _tell(StoredJob.open(folder), outcome.summary)
    for note in outcome.notes:
        click.echo(f"evalign: {note}", err=True)
    return 3 if outcome.summary.failed else 0


@batch.command()
@folder_argument
def status(folder: Path) -> None:
    """Say how far the job in DIR is."""
    job = StoredJob.open(folder)
    click.echo(state(job))
    done = Manifest(folder).done("score").values()
    seconds, rows = sum(entry.seconds for entry in done), sum(entry.rows for entry in done)
    if seconds:
        left = (job.rows - rows) * seconds / rows
        click.echo(
            f"{rows / seconds:.0f} rows a second and worker" + (f"; {left:.0f} s of one worker left" if left else "")
        )


@batch.command()
@folder_argument
def verify(folder: Path) -> None:
    """Compare every finished file in DIR with its hash in the manifest."""
    job, manifest = StoredJob.open(folder), Manifest(folder)
    files = [file for entry in manifest.entries.values() for file in entry.files]
    damaged = []
    with progress("reading", len(files)) as advance:
        for file in files:
            damaged += [] if file.intact(folder) else [file.name]
            advance()
    if damaged:
        raise FileFormatError(
            f"{folder}: {len(damaged)} of {len(files)} files are not what was written, the first {damaged[0]}; "
            "remove them and run the job's command again: only their shards are made anew"
        )
    click.echo(f"{len(files)} files are what was written; {state(job)}")


@batch.command()
@folder_argument
@click.option("--out", "target", metavar="FILE", type=file_path,
              help="The scored rows of all shards in input order; without it, only the summary is made.")  # fmt: skip
def merge(folder: Path, target: Path | None) -> None:
    """Join the finished shards in DIR: one file, and summary.json."""
    job = StoredJob.open(folder)
    with progress("merging"):
        summary = summarise(job, finished_entries(job))
        write_summary(job, summary)
        if target is not None:
            merge_shards(job, target)
    if target is not None:
        click.echo(f"{target}: {summary.rows - summary.failed} rows scored, {summary.failed} failed", err=True)
    _tell(job, summary)


@batch.command()
@folder_argument
@click.option("--html", "page", required=True, metavar="FILE", type=file_path)
@click.option("--rows", "limit", type=click.IntRange(min=1), default=10_000, show_default=True,
              help="Of more rows, so many at even distances are shown, and the worst of each metric.")  # fmt: skip
def report(folder: Path, page: Path, limit: int) -> None:
    """Write the page of the finished job in DIR: distributions, flags, worst rows."""
    source = JobRows.open(folder)
    with progress("drawing"):
        summary = summarise(source.job, source.entries)
        document, shown = job_document(source, summary, limit)
        write_html(document, page)
    some = "" if shown >= summary.rows else f", {shown} of {summary.rows} rows shown"
    click.echo(f"{page}: written{some}", err=True)


def _tell(job: StoredJob, summary: Summary) -> None:
    print_result(FORMATS, next(iter(FORMATS)), summary.results)
    click.echo(
        f"{summary.rows} rows: {summary.scored} scored, {summary.flagged} flagged, {summary.failed} failed", err=True
    )
    if summary.failed:
        first = json.loads(next(error_lines(job)))
        click.echo(
            f"evalign: the first row that failed is {first['file']}:{first['line']}: {first['error']}; all are in "
            f"{job.folder / ERRORS}",
            err=True,
        )
    if summary.duplicate_ids:
        click.echo(
            f"evalign: {summary.duplicate_ids} ids occur more than once, such as {summary.duplicate!r}; all their "
            "rows are scored, and resampled together",
            err=True,
        )
