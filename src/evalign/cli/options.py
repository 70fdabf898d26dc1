"""Options that several commands share: one name, one meaning, one help text.

Heavy modules are imported inside functions, so that the help of any command is printed at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from evalign.io.streams import STDIN

if TYPE_CHECKING:
    from evalign.core.metric import Metric
    from evalign.render.tables import Writers

Function = TypeVar("Function", bound=Callable[..., Any])
Parameters = ParamSpec("Parameters")
FORMATS = ("table", "json", "tsv", "latex", "markdown")
RESAMPLES, SEED = 1000, 12345
READ, WRITTEN = "read", "written"
FILES = "evalign.files"  # key of the context's `meta`
folder_path = click.Path(file_okay=False, path_type=Path)


class InputPath(click.Path):
    """A file to read, completed by the shell; errors come from the code that reads it."""

    def __init__(self) -> None:
        super().__init__(readable=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path as a text; raise UsageError if the command writes to it."""
        return note_file(str(super().convert(value, param, ctx)), READ, ctx)


class OutputPath(click.Path):
    """A file to write; the command must neither read it nor write it twice."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, readable=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; raise UsageError if the command reads it, or writes something else to it."""
        return Path(note_file(str(super().convert(value, param, ctx)), WRITTEN, ctx))


def note_file(path: str, use: str, context: click.Context | None) -> str:
    """Return a path after noting its use: an output replaces the whole file, so an input would be lost."""
    file = Path(path).resolve()
    if context is not None and path != STDIN and (file.is_file() or not file.exists()):
        uses: dict[Path, str] = context.meta.setdefault(FILES, {})
        if file in uses and WRITTEN in (use, uses[file]):
            what = "twice" if use == uses[file] else "and read"
            raise click.UsageError(f"{path} would be written {what}: name another file for the output", context)
        uses[file] = use
    return path


INPUT_FILE, OUTPUT_FILE = InputPath(), OutputPath()


def complete_metric(_context: click.Context, _option: click.Parameter, start: str) -> list[str]:
    """Return the metrics and groups that begin with `start`, for the shell's completion."""
    from evalign.core.registry import GROUPS, metric_names

    return [name for name in (*metric_names(), *GROUPS) if name.startswith(start)]


def _keep_embeddings(context: click.Context, _: click.Parameter, folder: str | None) -> None:
    if folder is not None:
        from evalign.encoders.loading import keep_embeddings  # loads tokenizers, which not every metric needs

        keep_embeddings(folder)
        context.call_on_close(lambda: keep_embeddings(None))


METRIC_HELP = "Metric, as in 'bertscore(layer=5)'"
metric_option = click.option(
    "-m", "--metric", "spec", default="bertscore", show_default=True, metavar="SPEC", shell_complete=complete_metric,
    help=f"{METRIC_HELP}; listed by `evalign metrics`.",
)  # fmt: skip


DEFAULT_METRICS = ("bertscore",)


def metrics_option(default: tuple[str, ...] = DEFAULT_METRICS) -> Callable[[Function], Function]:
    """Return the repeatable option `-m SPEC`, passed to the command as `specs`."""
    return click.option(
        "-m", "--metric", "specs", multiple=True, metavar="SPEC", default=default, show_default=bool(default),
        shell_complete=complete_metric, help=f"{METRIC_HELP}; or a group (rouge); repeat for several.",
    )  # fmt: skip


def output_option(metavar: str, about: str, **settings: Any) -> Callable[[Function], Function]:
    """Return the option `-o` for the command's main result, passed as `output`; `about` describes it in the help."""
    settings.setdefault("required", True)
    settings.setdefault("type", OUTPUT_FILE)
    return click.option("-o", "--output", metavar=metavar, help=f"Where to write the result: {about}", **settings)


def format_option(writers: Mapping[str, object] | Iterable[str]) -> Callable[[Function], Function]:
    """Return the option `--format`, passed as `output_format`; the first of the writers' names is the default."""
    names = list(writers)
    return click.option("--format", "output_format", type=click.Choice(names), default=names[0], show_default=True,
                        help="Format of the printed result.")  # fmt: skip


def html_option(about: str = "") -> Callable[[Function], Function]:
    """`--html FILE`, as `html`; `about` adds what the page shows."""
    return click.option("--html", type=OUTPUT_FILE, metavar="FILE",
                        help=_sentence("Write an HTML page, one file that opens offline", about))  # fmt: skip


def resamples_option(default: int | None = RESAMPLES, about: str = "", low: int = 1) -> Callable[[Function], Function]:
    """`--resamples N`, as `resamples`."""
    return click.option("--resamples", type=click.IntRange(low, 10_000_000), default=default, metavar="N",
                        show_default=default is not None,
                        help=_sentence("Bootstrap resamples for intervals and tests", about))  # fmt: skip


def sample_rows_option(default: int, about: str = "drawn at random.", low: int = 1) -> Callable[[Function], Function]:
    """`--sample-rows N`, as `sample_rows`; `about` says how rows are chosen."""
    return click.option("--sample-rows", type=click.IntRange(low), default=default, show_default=True, metavar="N",
                        help=f"Maximum number of rows; {about}")  # fmt: skip


def _sentence(help_text: str, about: str) -> str:
    return f"{help_text}; {about}" if about else f"{help_text}."


def seed_option(default: int = SEED) -> Callable[[Function], Function]:
    """`--seed N`, as `seed`."""
    return click.option("--seed", type=click.IntRange(0), default=default, show_default=True, metavar="N",
                        help="Seed of random numbers; the same seed gives the same result.")  # fmt: skip


within_option = click.option(
    "--within", metavar="FIELD", help="Correlate within each value of a field, such as lp, and average."
)
document_option = click.option(
    "--document", metavar="FIELD", help="Field that names the document; its rows stay together. [default: equal texts]"
)
aspect_option = click.option("--aspect", metavar="NAME", help="Rating to use, if the human field holds several.")
alpha_option = click.option(
    "--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True,
    help="Significance level of the tests.",
)  # fmt: skip


def statistic_option(names: Iterable[str], **settings: Any) -> Callable[[Function], Function]:
    """`--statistic`, a measure of agreement with people."""
    return click.option("--statistic", type=click.Choice(list(names)), **settings)


def lang_option(default: str, about: str) -> Callable[[Function], Function]:
    """`--lang XX`, as `lang`; `about` says what it decides."""
    return click.option("--lang", default=default, show_default=True, metavar="XX",
                        help=f"Language code; {about}")  # fmt: skip


def model_option(default: str, about: str) -> Callable[[Function], Function]:
    """`--model NAME`, as `model`; `about` says what the model is for."""
    return click.option("--model", default=default, show_default=True, metavar="NAME",
                        help=f"Model: a known name, a directory or a hub name; {about}")  # fmt: skip


def models_option(about: str) -> Callable[[Function], Function]:
    """`--model NAME`, repeatable, as `models`; `about` says which models there are without it."""
    return click.option("--model", "models", multiple=True, metavar="NAME",
                        help=f"Model: a known name, a directory or a hub name; {about}")  # fmt: skip


threads_option = click.option(
    "--threads", type=click.IntRange(0, 1024), default=0, help="Threads of the encoder; 0: one per core."
)
embeddings_option = click.option(  # set for the duration of the command, and not passed to it
    "--embeddings", metavar="DIR", type=click.Path(file_okay=False), expose_value=False, callback=_keep_embeddings,
    help="Cache token vectors in DIR: vectors of known texts are read, others are computed and stored.",
)  # fmt: skip


def print_result(
    writers: Writers[Parameters], output_format: str, *values: Parameters.args, **options: Parameters.kwargs
) -> None:
    """Print a result on standard output: text as it is, anything else through the console."""
    from evalign.render.console import stdout_console
    from evalign.render.tables import render

    rendered = render(writers, output_format, *values, **options)
    if isinstance(rendered, str):
        click.echo(rendered)
    else:
        stdout_console().print(rendered)


def parse_metrics(specs: Iterable[str], threads: int = 0) -> list[Metric]:
    """Return the metrics of all specs and groups, each once."""
    from evalign.core.registry import expand

    return list(dict.fromkeys(_with_threads(parsed, threads) for spec in specs for parsed in expand(spec)))


def parse_metric(spec: str, threads: int = 0) -> Metric:
    """Return a metric from a spec, with its thread count set if it has that option."""
    from evalign.core.registry import metric

    return _with_threads(metric(spec), threads)


def _with_threads(parsed: Metric, threads: int) -> Metric:
    takes = any(item.name == "threads" for item in dataclasses.fields(parsed))
    return dataclasses.replace(parsed, **{"threads": threads}) if threads and takes else parsed
