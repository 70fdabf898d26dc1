"""`evalign`: the command group, and the one place where errors become a sentence and an exit code.

0: every row was scored.  2: bad input.  3: some rows failed.  4: `compare --fail-if-worse` found a loss.
130: interrupted by Ctrl-C.
"""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from typing import Any

import click

from evalign.errors import EvalignError, nearest
from evalign.version import __version__

COMMANDS = {
    "score": "Score candidates against references.",
    "batch": "Score many rows in shards: resumable, in several processes.",
    "compare": "Compare systems: is the difference real?",
    "meta": "Judge metrics by their agreement with people.",
    "audit": "Report on a metric: data, agreement, cost, robustness.",
    "align": "Show which tokens of two texts match.",
    "explain": "Show a metric's arithmetic, step by step.",
    "serve": "Serve the page and the HTTP API.",
    "train": "Learn from rated pairs: fine-tune, or weigh metrics.",
    "layers": "Find the layers that agree best with people.",
    "baseline": "Fit baselines for use with rescale=FILE.",
    "idf": "Fit IDF tables for use with idf=FILE.",
    "study": "Repeat a paper's experiment: figures, numbers, a page.",
    "embeddings": "Look after token vectors that are kept on disk.",
    "compat": "Take the arguments of bert-score, rouge-score, sacrebleu.",
    "doctor": "Say what is installed and missing; test that scores are right.",
    "metrics": "List the metrics and their options.",
    "models": "List the models here, and get the others.",
}


class LazyGroup(click.Group):
    """Commands are imported when they are run: `evalign --help` loads nothing heavy."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table above."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by name, or a usage error with the nearest names."""
        if cmd_name not in COMMANDS:
            if ctx.resilient_parsing:  # the shell asks for completions
                return None
            raise click.UsageError(f"no command {cmd_name!r}; {nearest(cmd_name, COMMANDS)}")
        command: click.Command = getattr(import_module(f"evalign.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The summaries above, so that help needs no import."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=lambda *given: _version(*given),
              help="Print the version, and those of the libraries that decide numbers.")  # fmt: skip
def cli() -> None:
    """Judge generated text by aligning it with reference text."""


def _version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        from evalign.installed import deciding_versions

        libraries = ", ".join(f"{library} {version}" for library, version in deciding_versions().items())
        click.echo(f"evalign, version {__version__} ({libraries})")
        context.exit()


def main(arguments: list[str] | None = None) -> Any:
    """The console script. Output is UTF-8 whatever the terminal's locale says."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        code = cli.main(arguments, prog_name="evalign", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except EvalignError as error:
        click.echo(f"evalign: {error}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        click.echo("evalign: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:  # `| head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
