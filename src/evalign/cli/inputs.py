"""Where rows come from: the options that `score` and its relatives share, and the row sources that they describe.

`@file_options` and `@field_options` add the options; the command gets them as one `Given`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from evalign.cli.options import A_FILE, Function, parse_metrics
from evalign.data.rows import FORMATS, Columns, RowSource, TableFile, TextFiles
from evalign.data.text_lines import STDIN, shown
from evalign.errors import SpecError
from evalign.metrics.base import Metric


@dataclass(frozen=True)
class Given:
    """What the user gave: a table, or parallel text files."""

    data: str | None
    candidates: tuple[str, ...]
    references: tuple[str, ...]
    sources: str | None
    columns: Columns
    input_format: str | None

    def metrics(self, specs: Sequence[str], threads: int) -> list[Metric]:
        """The metrics to score with; those of a finished batch job, all unless -m names some."""
        return data_metrics(self.data, specs, threads)

    def rows(self, metrics: Iterable[Metric]) -> list[RowSource]:
        """One source per file; an error if there is none, or not what the metrics compare with."""
        if self.data is not None:
            if self.candidates or self.references or self.sources:
                raise SpecError("give either DATA or -c and -r files, not both")
            return [data_rows(self.data, self.columns, self.input_format)]
        candidates = self.candidates or ((STDIN,) if self.references and not sys.stdin.isatty() else ())
        if not candidates:
            command = click.get_current_context().info_name
            raise SpecError(f"nothing to {command}: give a data file, or -c and -r files (evalign {command} --help)")
        needing = [metric.name for metric in metrics if "references" in metric.needs]
        if needing and not self.references:
            raise SpecError(f"no references: give at least one -r file, which {', '.join(needing)} compares with")
        return [
            TextFiles(path, self.references, self.sources, name)
            for path, name in zip(candidates, _names(candidates), strict=True)
        ]

    def carrying(self, *fields: str) -> Given:
        """The same, with more fields of the table carried along in `Row.extra`."""
        return replace(self, columns=replace(self.columns, extra=fields))


def _names(candidates: tuple[str, ...]) -> list[str]:
    """What the systems are called: the files' names without their ends, if those differ."""
    stems = [Path(path).stem if path != STDIN else shown(path) for path in candidates]
    return stems if len(set(stems)) == len(stems) else [shown(path) for path in candidates]


def data_metrics(data: str | None, specs: Sequence[str], threads: int) -> list[Metric]:
    """The metrics of -m; of the folder of a finished batch job, those that it has scores of."""
    if not _is_job(data):
        return parse_metrics(specs, threads)
    from evalign.batch.job_rows import JobRows  # most commands read no batch job

    source = click.get_current_context().get_parameter_source("specs")
    return JobRows.open(Path(str(data))).metrics(() if source is ParameterSource.DEFAULT else specs)


def data_rows(data: str, columns: Columns, input_format: str | None) -> RowSource:
    """The rows of DATA: a table, or the folder of a finished batch job, whose fields are those it was started with."""
    if not _is_job(data):
        return TableFile(data, columns, input_format)
    from evalign.batch.job_rows import JobRows

    return JobRows.open(Path(data), columns.extra, columns.human)


def _is_job(data: str | None) -> bool:
    return data is not None and Path(data).is_dir()


def file_options(function: Function) -> Function:
    """DATA, -c, -r and -s."""
    return _added(function, FILES)


def field_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The fields of DATA; the command's function gets these and the `file_options` as `given`."""

    @wraps(function)
    def gathered(*, data: str | None, candidates: tuple[str, ...], references: tuple[str, ...], sources: str | None,
                 columns: Columns, input_format: str | None, **others: Any) -> Any:  # fmt: skip
        return function(given=Given(data, candidates, references, sources, columns, input_format), **others)

    return column_options(gathered)


def column_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The fields of a table; the command's function gets them as `columns`, and its `input_format`."""

    @wraps(function)
    def gathered(*, candidate_field: str, reference_field: tuple[str, ...], source_field: str, id_field: str,
                 system_field: str, human_field: str = "human", **others: Any) -> Any:  # fmt: skip
        columns = Columns(candidate_field, reference_field, source_field, id_field, system_field, human_field)
        return function(columns=columns, **others)

    return _added(gathered, FIELDS)


# For commands that read ratings; stands above `column_options`.
human_option = click.option(
    "--human-field", default="human", show_default=True, help="Field of DATA with a number, or named ratings."
)
FILES = (
    click.argument("data", nargs=-1, metavar="[DATA]", type=A_FILE, callback=lambda *given: _one_table(*given)),
    click.option(
        "-c",
        "--candidates",
        multiple=True,
        metavar="FILE",
        type=A_FILE,
        help="Candidates, one per line; repeat for systems.",
    ),
    click.option(
        "-r",
        "--references",
        multiple=True,
        metavar="FILE",
        type=A_FILE,
        help="References, one per line; repeat for more.",
    ),
    click.option("-s", "--sources", metavar="FILE", type=A_FILE, help="Source texts, one per line."),
)
FIELDS = (
    click.option("--candidate-field", default="candidate", show_default=True, help="Field of DATA with the candidate."),
    click.option("--reference-field", multiple=True, help="Field of DATA with a reference; repeat for several."),
    click.option("--source-field", default="source", show_default=True, help="Field of DATA with the source."),
    click.option("--id-field", default="id", show_default=True, help="Field of DATA that names a row."),
    click.option("--system-field", default="system", show_default=True, help="Field of DATA that names the system."),
    click.option("--input-format", type=click.Choice(FORMATS), help="Format of DATA, if its name does not say it."),
)


def _one_table(context: click.Context, _parameter: click.Parameter, files: tuple[str, ...]) -> str | None:
    """DATA, if there is one; two text files are no table, and which of them is the reference is not guessed."""
    if len(files) > 1:
        command, (first, second) = context.info_name, files[:2]
        raise SpecError(
            f"{len(files)} files, where one table was expected; text files are named by what they are: "
            f"evalign {command} -c {first} -r {second}, if {second} is the reference"
        )
    return files[0] if files else None


def _added(function: Function, options: tuple[Callable[[Function], Function], ...]) -> Function:
    for option in reversed(options):  # as if they stood above the function, in the order of the table
        function = option(function)
    return function
