"""Options that several commands share."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem
from rich.console import Console

from evalign.metrics.base import Metric
from evalign.metrics.registry import GROUPS, METRICS, expand, metric
from evalign.render.tables import Parameters, Writers, render

Function = TypeVar("Function", bound=Callable[..., Any])
A_FILE = click.Path(readable=False)  # completed by the shell; what is wrong with it is said by who reads it


def metric_names(_context: click.Context, _option: click.Parameter, start: str) -> list[str]:
    """Metrics and groups that begin so, for the shell's completion."""
    return [name for name in (*METRICS, *GROUPS) if name.startswith(start)]


def metric_names_or_files(context: click.Context, option: click.Parameter, start: str) -> list[CompletionItem]:
    """Where files follow metrics without a sign between them."""
    names = [CompletionItem(name) for name in metric_names(context, option, start)]
    return [*names, CompletionItem(start, type="file")]


def _keep_embeddings(context: click.Context, _: click.Parameter, folder: str | None) -> None:
    if folder is not None:
        from evalign.encoders.loading import keep_embeddings  # loads tokenizers, which not every metric needs

        keep_embeddings(folder)
        context.call_on_close(lambda: keep_embeddings(None))


threads_option = click.option(
    "--threads", type=click.IntRange(0, 1024), default=0, help="Threads of the encoder; 0: one per core."
)
embeddings_option = click.option(  # for as long as the command runs, which itself does not see it
    "--embeddings", metavar="DIR", type=click.Path(file_okay=False), expose_value=False, callback=_keep_embeddings,
    help="Keep token vectors there, and read those of texts that came before.",
)  # fmt: skip
metrics_option = click.option(
    "-m", "--metric", "specs", multiple=True, metavar="SPEC", default=("bertscore",), show_default=True,
    shell_complete=metric_names,
    help="A metric, as in 'bertscore(layer=5)', or a group (rouge); repeat for several.",
)  # fmt: skip
metric_option = click.option(
    "-m", "--metric", "spec", default="bertscore", show_default=True, metavar="SPEC", shell_complete=metric_names
)
file_path = click.Path(dir_okay=False, path_type=Path)
folder_path = click.Path(file_okay=False, path_type=Path)


def page_option(about: str) -> Callable[[Function], Function]:
    """`--html FILE`, as `page`."""
    return click.option("--html", "page", type=file_path, help=about)


def format_option(writers: Mapping[str, object]) -> Callable[[Function], Function]:
    """`--format`, as `form`: the names of a result's writers, the first of which is the default."""
    names = list(writers)
    return click.option("--format", "form", type=click.Choice(names), default=names[0], show_default=True)


def print_result(
    writers: Writers[Parameters], form: str, *values: Parameters.args, **options: Parameters.kwargs
) -> None:
    """A result on standard output: text as it is, anything else through the console."""
    shown = render(writers, form, *values, **options)
    if isinstance(shown, str):
        click.echo(shown)
    else:
        stdout_console().print(shown)


def parse_metrics(specs: Iterable[str], threads: int = 0) -> list[Metric]:
    """The metrics of all specs and groups, each once."""
    return list(dict.fromkeys(_threaded(parsed, threads) for spec in specs for parsed in expand(spec)))


def parse_metric(spec: str, threads: int = 0) -> Metric:
    """A metric from a spec, with the run-time options it understands filled in."""
    return _threaded(metric(spec), threads)


def _threaded(parsed: Metric, threads: int) -> Metric:
    takes = any(item.name == "threads" for item in dataclasses.fields(parsed))
    return dataclasses.replace(parsed, **{"threads": threads}) if threads and takes else parsed


def stdout_console() -> Console:
    """As wide as the terminal; wide when output goes to a file, so that no table is folded there."""
    return Console(width=None if sys.stdout.isatty() else max(160, shutil.get_terminal_size().columns), highlight=False)
