"""`evalign`: the command group, and the one place where errors become a sentence and an exit code.

0: every row was scored.  2: bad input.  3: some rows failed.  4: `compare --fail-if-worse` found a loss.
130: interrupted by Ctrl-C.  141: the reader of the output is gone, as under `| head`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from evalign.cli.groups import RUNNING, CommandGroup, with_flags
from evalign.cli.messages import echo_message
from evalign.errors import EvalignError
from evalign.io.output import standard_streams
from evalign.version import __version__

EXIT_BAD_INPUT, EXIT_INTERRUPTED, EXIT_READER_GONE = 2, 130, 141  # 128 + SIGINT, 128 + SIGPIPE
COMMANDS = {
    "score": "Score candidates against references.",
    "compare": "Compare systems: is the difference real?",
    "align": "Show which tokens of two texts match.",
    "explain": "Show a metric's arithmetic, step by step.",
    "agree": "Measure how well metrics agree with people.",
    "audit": "Report on a metric: data, agreement, cost, robustness.",
    "fit": "Fit tables and settings to texts: IDF, baselines, layers.",
    "train": "Train on rated pairs: encoders, adapters, weights of metrics.",
    "batch": "Score many rows in shards: resumable, in several processes.",
    "serve": "Serve the page and the HTTP API.",
    "models": "List the models on this machine, and get others.",
    "metrics": "List the metrics and their options.",
    "embeddings": "Manage token vectors that are stored on disk.",
    "doctor": "List what is installed and missing; test that scores are right.",
    "compat": "Take the arguments of bert-score, rouge-score, sacrebleu.",
}


class LazyGroup(CommandGroup):
    """The group of all commands, which are imported when they are run: `evalign --help` loads nothing heavy."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands: those of the table above, then those of plugins."""
        return [*COMMANDS, *(name for name in self.plugin_names() if name not in COMMANDS)]

    def find_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command by name, or None."""
        if name in COMMANDS:
            command: click.Command = getattr(import_module(f"evalign.cli.{name}"), name)
            return command
        return super().find_command(ctx, name)

    def summary(self, ctx: click.Context, name: str) -> str:
        """Return the summary of a command: from the table above without an import, of a plugin from its help."""
        return COMMANDS.get(name) or super().summary(ctx, name)

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Parse the arguments; --help and --version print here, where click would exit with 1 if the reader is gone."""
        try:
            return super().make_context(*args, **settings)
        except BrokenPipeError as error:
            raise ReaderGoneError from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error of the library names the command's options instead of arguments."""
        try:
            return super().invoke(ctx)
        except EvalignError as error:
            raise CommandError(with_flags(str(error), ctx.meta.get(RUNNING))) from error
        except BrokenPipeError as error:
            raise ReaderGoneError from error
        except OSError as error:
            file = "" if error.filename is None else f"{error.filename}: "
            raise CommandError(f"{file}{error.strerror or error}") from error
        except MemoryError as error:
            raise CommandError("out of memory: score fewer or shorter texts at a time") from error


class CommandError(click.ClickException):
    """An error of the library, in the words of the command line."""

    exit_code = EXIT_BAD_INPUT

    def show(self, file: Any = None) -> None:
        """Print the sentence on standard error."""
        echo_message(self.message)


class ReaderGoneError(click.ClickException):
    """The reader of the output has closed the pipe."""

    exit_code = EXIT_READER_GONE

    def __init__(self) -> None:
        super().__init__("")

    def show(self, file: Any = None) -> None:
        """Print nothing."""


@click.group(cls=LazyGroup, plugin_prefix="", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=lambda *args: _version(*args),
              help="Print the version, and those of the libraries that decide numbers.")  # fmt: skip
def cli() -> None:
    """Judge generated text by aligning it with reference text."""


def _version(context: click.Context, _option: click.Parameter, requested: bool) -> None:
    if requested and not context.resilient_parsing:
        from evalign.core.installed import deciding_versions

        libraries = ", ".join(f"{library} {version}" for library, version in deciding_versions().items())
        click.echo(f"evalign, version {__version__} ({libraries})")
        context.exit()


def main(arguments: list[str] | None = None) -> Any:
    """Run the console script. Output is UTF-8 whatever the terminal's locale is."""
    with standard_streams():
        sys.exit(_exit_code(arguments))


def _exit_code(arguments: list[str] | None) -> int:
    try:
        code = cli.main(arguments, prog_name="evalign", standalone_mode=False, color=True)  # streams escape all codes
        sys.stdout.flush()
    except EvalignError as error:  # of standard output
        echo_message(str(error))
        return EXIT_BAD_INPUT
    except (CommandError, ReaderGoneError) as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return EXIT_BAD_INPUT
    except BrokenPipeError:
        return EXIT_READER_GONE
    except (click.Abort, KeyboardInterrupt):
        echo_message("interrupted")
        return EXIT_INTERRUPTED
    return code if isinstance(code, int) else 0
