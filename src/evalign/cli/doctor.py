"""`evalign doctor`: what is installed, what is missing and the command that gets it, and a self-test."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass

import click
from rich.table import Table
from rich.text import Text

from evalign.atomic_files import cache_folder
from evalign.cli.options import stdout_console
from evalign.encoders.locating import local_directory
from evalign.encoders.pinned_models import KNOWN
from evalign.errors import EvalignError
from evalign.installed import deciding_versions, extras
from evalign.metrics.registry import metric
from evalign.render.progress import progress
from evalign.version import __version__

CANDIDATE, REFERENCE = "The bank raised interest rates again.", "Once more, the central bank increased rates."
EXPECTED = {"chrf": 24.0986, "rougeL": 0.4615, "bertscore": 0.7637, "lisascore": 0.6775, "moverscore": 0.5813}
WITHOUT_MODEL = ("chrf", "rougeL")
NEAR = 2e-4


@dataclass(frozen=True)
class Check:
    """A metric of the self-test and what came of it."""

    metric: str
    expected: float
    found: float | str

    @property
    def right(self) -> bool:
        """Whether the score is the expected one."""
        return not isinstance(self.found, str) and abs(self.found - self.expected) <= NEAR


@click.command()
def doctor() -> int:
    """Say what is installed, what is missing and how to get it, and test that scores are right.

    Exit code 0: the self-test passed, 3: a score is not what it should be.
    """
    console = stdout_console()
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    console.print(Text(f"evalign {__version__}, Python {platform.python_version()}, {system}", style="bold"))
    versions = ", ".join(f"{name} {found or 'missing'}" for name, found in deciding_versions().items())
    console.print(Text(f"Scores depend on: {versions}."))
    console.print(Text(f"Cache: {cache_folder()}\n"))
    console.print(_table(("extra", "state", "libraries"), _extra_rows()), "")
    console.print(_table(("model", "where"), _model_rows()), "")
    with progress("testing"):
        checks = list(_checks())
    console.print(_table(("self-test", "score", "expected", ""), _check_rows(checks)))
    return 0 if all(check.right for check in checks) else 3


def _table(columns: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _extra_rows() -> Iterator[tuple[str, ...]]:
    for extra in extras():
        state = f"missing: pip install 'evalign[{extra.name}]'" if extra.missing else "installed"
        yield extra.name, state, ", ".join(extra.missing or extra.libraries)


def _model_rows() -> Iterator[tuple[str, ...]]:
    for model in KNOWN.values():
        place = local_directory(model)
        yield model.name, str(place) if place else f"not here: evalign models get {model.name}"


def _checks() -> Iterator[Check]:
    """One pair with every metric whose model is here."""
    here = local_directory(KNOWN["minilm"]) is not None
    for name, expected in EXPECTED.items():
        if not here and name not in WITHOUT_MODEL:
            continue
        try:
            scorer = metric(name)
            yield Check(name, expected, float(scorer.score([CANDIDATE], [REFERENCE])[scorer.main][0]))
        except EvalignError as error:
            yield Check(name, expected, str(error))


def _check_rows(checks: list[Check]) -> Iterator[tuple[str, ...]]:
    for check in checks:
        found = check.found if isinstance(check.found, str) else f"{check.found:.4f}"
        yield check.metric, found, f"{check.expected:.4f}", "right" if check.right else "WRONG"
