"""Options that name input rows, shared by `score`, `compare` and others, and the row sources they describe.

`@file_options` and `@field_options` add the options; the command gets them as one `InputOptions`.
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

from evalign.cli.options import INPUT_FILE, Function, parse_metrics
from evalign.core.metric import Metric
from evalign.errors import SpecError
from evalign.io.folders import is_folder, open_folder
from evalign.io.records import FORMATS
from evalign.io.rows import Columns, RowSource, TableFile, TextFiles
from evalign.io.streams import STDIN, shown


@dataclass(frozen=True)
class InputOptions:
    """Input of a command: one table (`data`), or parallel text files."""

    data: str | None
    candidates: tuple[str, ...]
    references: tuple[str, ...]
    sources: str | None
    columns: Columns
    input_format: str | None

    def metrics(self, specs: Sequence[str], threads: int) -> list[Metric]:
        """Return the metrics to score with; of a finished batch job, all of its metrics unless -m names them."""
        return data_metrics(self.data, specs, threads)

    def rows(self, metrics: Iterable[Metric]) -> list[RowSource]:
        """Return one row source per candidate file or table; raise SpecError if the metrics lack an input."""
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

    def with_fields(self, *fields: str) -> InputOptions:
        """Return these options with more fields of the table in `Row.extra`."""
        return replace(self, columns=replace(self.columns, extra=fields))


def _names(candidates: tuple[str, ...]) -> list[str]:
    """Return the names of systems: file names without their suffix if those differ, else whole paths."""
    stems = [Path(path).stem if path != STDIN else shown(path) for path in candidates]
    return stems if len(set(stems)) == len(stems) else [shown(path) for path in candidates]


def data_metrics(data: str | None, specs: Sequence[str], threads: int) -> list[Metric]:
    """Return the metrics of -m; for the folder of a finished batch job, its own metrics."""
    if not _is_job(data):
        return parse_metrics(specs, threads)
    from evalign.batch.results import JobRows  # most commands read no batch job

    source = click.get_current_context().get_parameter_source("specs")
    return JobRows.open(open_folder(str(data))).metrics(() if source is ParameterSource.DEFAULT else specs)


def data_rows(data: str, columns: Columns, input_format: str | None) -> RowSource:
    """Return the rows of DATA: a table, or the folder of a finished batch job with the fields of that job."""
    if not _is_job(data):
        return TableFile(data, columns, input_format)
    from evalign.batch.results import JobRows

    return JobRows.open(open_folder(data), columns.extra, columns.human)


def _is_job(data: str | None) -> bool:
    return data is not None and is_folder(data, "job.json")


def file_options(function: Function) -> Function:
    """Add DATA, -c, -r and -s."""
    return _added(function, FILES)


def field_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the fields of DATA; the command gets these and the `file_options` as `inputs`: InputOptions."""

    @wraps(function)
    def gathered(*, data: str | None, candidates: tuple[str, ...], references: tuple[str, ...], sources: str | None,
                 columns: Columns, input_format: str | None, **options: Any) -> Any:  # fmt: skip
        inputs = InputOptions(data, candidates, references, sources, columns, input_format)
        return function(inputs=inputs, **options)

    return column_options(gathered)


def column_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the fields of a table; the command gets them as `columns: Columns`, and `input_format`."""

    @wraps(function)
    def gathered(*, candidate_field: str, reference_field: tuple[str, ...], source_field: str, id_field: str,
                 system_field: str, human_field: str = "human", **options: Any) -> Any:  # fmt: skip
        columns = Columns(candidate_field, reference_field, source_field, id_field, system_field, human_field)
        return function(columns=columns, **options)

    return _added(gathered, FIELDS)


# For commands that read ratings; goes above `column_options`.
human_option = click.option(
    "--human-field", default="human", show_default=True, help="Field of DATA with a number, or named ratings."
)
FILES = (
    click.argument(
        "data", nargs=-1, metavar="[DATA]", type=INPUT_FILE, callback=lambda *arguments: _one_table(*arguments)
    ),
    click.option(
        "-c",
        "--candidates",
        multiple=True,
        metavar="FILE",
        type=INPUT_FILE,
        help="Candidates, one per line; repeat for systems.",
    ),
    click.option(
        "-r",
        "--references",
        multiple=True,
        metavar="FILE",
        type=INPUT_FILE,
        help="References, one per line; repeat for more.",
    ),
    click.option("-s", "--sources", metavar="FILE", type=INPUT_FILE, help="Source texts, one per line."),
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
    """Return DATA or None; raise SpecError for several files, since it is not guessed which is the reference."""
    if len(files) > 1:
        command, (first, second) = context.info_name, files[:2]
        raise SpecError(
            f"{len(files)} files, where one table was expected; text files are named by what they are: "
            f"evalign {command} -c {first} -r {second}, if {second} is the reference"
        )
    return files[0] if files else None


def _added(function: Function, options: tuple[Callable[[Function], Function], ...]) -> Function:
    for option in reversed(options):  # decorators apply from the bottom up
        function = option(function)
    return function
