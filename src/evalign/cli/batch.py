"""`evalign batch`: score many rows in shards, resumable after a kill; status, verification and merging."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from evalign.batch.job import JOB, RUN_AGAIN, Manifest, StoredJob, Work
from evalign.batch.local_engine import PATIENCE, Engine, LocalEngine, cores
from evalign.batch.ray_engine import RayEngine
from evalign.batch.results import FinishedJob, JobRows, Summary, job_document, state, summarise, write_summary
from evalign.batch.run import Request, merge_shards, run_job
from evalign.batch.shards import ENCODERS, ERRORS
from evalign.cli.groups import CommandGroup
from evalign.cli.inputs import column_options
from evalign.cli.messages import echo_message
from evalign.cli.options import (
    INPUT_FILE,
    embeddings_option,
    format_option,
    html_option,
    metrics_option,
    output_option,
    parse_metrics,
    print_result,
    sample_rows_option,
)
from evalign.errors import FileFormatError, SpecError
from evalign.io.folders import Folder, open_folder
from evalign.io.rows import Columns
from evalign.io.streams import is_remote
from evalign.render.export import write_html
from evalign.render.progress import progress
from evalign.render.score_tables import FORMATS

EXIT_STOPPED = 130
ENGINES: dict[str, Callable[..., Engine]] = {"local": LocalEngine, "ray": RayEngine}


class FolderType(click.Path):
    """The folder of a job: a path, or a URL that fsspec knows; an absolute path means the same in every process."""

    def __init__(self, absolute: bool = False) -> None:
        super().__init__(file_okay=False)
        self._absolute = absolute

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Return the folder."""
        if is_remote(value):
            return open_folder(value)
        path = Path(str(super().convert(value, parameter, context)))
        return open_folder(path.absolute() if self._absolute else path)


folder_argument = click.argument("folder", metavar="DIR", type=FolderType())


@click.group(cls=CommandGroup)
def batch() -> None:
    """Score many rows in shards: resumable, in several processes.

    \b
    evalign batch run 'data/*.jsonl.gz' -o scores -m bertscore -m chrf
    evalign batch status scores
    evalign batch merge scores -o scores.jsonl --html report.html
    """


@batch.command()
@click.argument("inputs", nargs=-1, required=True, metavar="IN...", type=INPUT_FILE)
@output_option(
    "DIR",
    "folder or URL of the job; the same command resumes a job that was stopped.",
    type=FolderType(absolute=True),
)
@metrics_option()
@click.option("--engine", type=click.Choice(list(ENGINES)), default="local", show_default=True,
              help="Where workers run: processes of this machine, or actors of Ray (extra 'ray').")  # fmt: skip
@click.option(
    "--workers",
    type=click.IntRange(0, 4096),
    default=0,
    help="Number of parallel workers; 0: as many as cores and --threads allow.",
)
@click.option("--address", metavar="HOST:PORT", envvar="RAY_ADDRESS",
              help="Ray: head node of a running cluster; by default a local one runs during the job.")  # fmt: skip
@click.option("--gpus", type=click.FloatRange(0), default=0.0, help="Ray: GPUs of each worker, such as 1 or 0.5.")
@click.option("--patience", type=click.FloatRange(1), default=PATIENCE, show_default=True, metavar="SECONDS",
              help="A worker that scores nothing in this time is replaced. Ray: the job stops if no shard is done in "
              "this time.")  # fmt: skip
@click.option("--memory", type=click.FloatRange(0), default=0.0, metavar="GIB",
              help="Memory limit per worker; 0: 80 % of the machine's, divided by its workers (Linux).")  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True,
              help="Threads of the encoder; per worker, and fixed for a job.")  # fmt: skip
@click.option("--accept-changes", is_flag=True,
              help="Resume even if a model, a library or the processor changed; the results say so.")  # fmt: skip
@click.option("--shard-rows", type=int, default=8192, show_default=True, help="Rows in a shard, a multiple of 1024.")
@click.option("--shard-format", type=click.Choice(list(ENCODERS)), default="jsonl", show_default=True,
              help="File format of the scored rows.")  # fmt: skip
@column_options
@embeddings_option
def run(
    inputs: tuple[str, ...], output: Folder, specs: tuple[str, ...], engine: str, workers: int, address: str | None,
    gpus: float, patience: float, memory: float, threads: int, accept_changes: bool, shard_rows: int, shard_format: str,
    columns: Columns, input_format: str | None,
) -> int:  # fmt: skip
    """Score the rows of IN... into DIR.

    \b
    evalign batch run data.jsonl -o scores -m bertscore
    evalign batch run part-*.csv.gz more/ s3://bucket/rows.parquet -o scores -m chrf -m bleu
    evalign batch run data/ -o /shared/scores -m bertscore --engine ray --address 10.0.0.1:6379 --workers 64

    IN is a JSONL, CSV, TSV or Parquet file, plain, gzipped or zstd, a pattern, a folder, or a URL (extra 'data'). The
    same command resumes a run that was stopped. Exit code 0: all rows scored, 2: bad input, 3: some
    rows failed (DIR/errors.jsonl says which and why), 130: stopped.
    """
    _check_engine_options(engine)
    work = Work(output, tuple(parse_metrics(specs, threads)), columns, shard_format, accept_changes)
    request = Request(inputs, work, shard_rows, input_format)
    memory_limit = int(memory * 2**30)
    options = {
        "local": (workers or max(1, cores() // threads), memory_limit, patience),
        "ray": (workers, threads, address, gpus, patience, memory_limit),
    }
    with ExitStack() as bar, closing(ENGINES[engine](*options[engine])) as where:

        def watch(what: str, total: int) -> Callable[[int], Any]:
            bar.close()  # the bar of the previous step
            return bar.enter_context(progress(what, total or None))

        try:
            outcome = run_job(request, where, watch)
        except KeyboardInterrupt:
            bar.close()
            progress_text = state(StoredJob.open(output)) if output.sizes([JOB]) else "nothing is done yet"
            echo_message(f"stopped; {progress_text}; the same command resumes")
            return EXIT_STOPPED
    _print_summary(FinishedJob.open(output), outcome.summary)
    repaired = [f"{name} was damaged: its shard was scored again" for name in outcome.damaged]
    for note in [*repaired, *outcome.notes]:
        echo_message(note)
    return 3 if outcome.summary.failed else 0


def _check_engine_options(engine: str) -> None:
    """Raise if options of Ray were typed for another engine; a variable such as RAY_ADDRESS may be set for others."""
    context = click.get_current_context()
    for name in ("address", "gpus"):
        if engine != "ray" and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise SpecError(f"`{name}` is about Ray: add `engine=ray`, or leave it out")


@batch.command()
@folder_argument
def status(folder: Folder) -> None:
    """Print the progress of the job in DIR.

    \b
    evalign batch status scores
    """
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
def verify(folder: Folder) -> None:
    """Compare every finished file in DIR with its hash in the manifest.

    \b
    evalign batch verify scores
    """
    job, manifest = StoredJob.open(folder), Manifest(folder)
    files = [file for entry in manifest.entries.values() for file in entry.files]
    damaged = []
    with progress("reading", len(files)) as advance:
        for file in files:
            damaged += [] if file.intact(folder) else [file.name]
            advance()
    if damaged:
        raise FileFormatError(
            f"{folder}: {len(damaged)} of {len(files)} files do not match the manifest, the first {damaged[0]}; "
            f"{RUN_AGAIN}"
        )
    click.echo(f"{len(files)} files match the manifest; {state(job)}")


@batch.command()
@folder_argument
@output_option("FILE", "scored rows of all shards in input order.", required=False)
@format_option(FORMATS)
@html_option("distributions, flags and worst rows.")
@sample_rows_option(10_000, "drawn evenly for the page; the worst of each metric (1 % of N) are added.")
def merge(folder: Folder, output: Path | None, output_format: str, html: Path | None, sample_rows: int) -> None:
    """Join the finished shards in DIR: summary.json, and on request one file of rows and a page.

    \b
    evalign batch merge scores
    evalign batch merge scores -o scores.jsonl
    evalign batch merge scores --html report.html --sample-rows 2000
    """
    with progress("merging"):
        finished = FinishedJob.open(folder)
        summary = summarise(finished)
        write_summary(finished, summary)
        if output is not None:
            merge_shards(finished, output)
    if output is not None:
        click.echo(f"{output}: {summary.rows - summary.failed} rows scored, {summary.failed} failed", err=True)
    if html is not None:
        _write_page(folder, summary, html, sample_rows)
    _print_summary(finished, summary, output_format)


def _write_page(folder: Folder, summary: Summary, html: Path, sample_rows: int) -> None:
    with progress("drawing"):
        document, row_count = job_document(JobRows.open(folder), summary, sample_rows)
        write_html(document, html)
    note = "" if row_count >= summary.rows else f", {row_count} of {summary.rows} rows shown"
    click.echo(f"{html}: written{note}", err=True)


def _print_summary(finished: FinishedJob, summary: Summary, output_format: str = "table") -> None:
    print_result(FORMATS, output_format, summary.results)
    click.echo(
        f"{summary.rows} rows: {summary.scored} scored, {summary.flagged} flagged, {summary.failed} failed", err=True
    )
    if summary.failed:
        first = json.loads(next(finished.error_lines()))
        echo_message(
            f"the first row that failed is {first['file']}:{first['line']}: {first['error']}; all are in "
            f"{finished.job.folder.path(ERRORS)}"
        )
    if summary.duplicate_ids:
        echo_message(
            f"{summary.duplicate_ids} ids occur more than once, such as {summary.duplicate!r}; all their "
            "rows are scored, and the bootstrap draws them as one unit"
        )
