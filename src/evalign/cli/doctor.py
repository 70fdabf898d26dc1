"""`evalign doctor`: what is installed, what is missing and the command that gets it, and a self-test."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator

import click
from rich.text import Text

from evalign.atomic_files import cache_folder
from evalign.cli.models import known_places
from evalign.cli.options import stdout_console
from evalign.encoders.locating import local_directory
from evalign.encoders.pinned_models import KNOWN
from evalign.errors import EvalignError
from evalign.installed import deciding_versions, extras
from evalign.metrics.registry import metric
from evalign.render.progress import progress
from evalign.render.tables import terminal_table
from evalign.version import __version__

CANDIDATE, REFERENCE = "The bank raised interest rates again.", "Once more, the central bank increased rates."
EXPECTED = {"chrf": 24.0986, "rougeL": 0.4615, "bertscore": 0.7637, "lisascore": 0.6775, "moverscore": 0.5813}
WITHOUT_MODEL = ("chrf", "rougeL")
NEAR = 2e-4
RIGHT, WRONG = "right", "WRONG"


@click.command()
def doctor() -> int:
    """Say what is installed, what is missing and how to get it, and test that scores are right.

    Exit code 0: the self-test passed, 3: a score is not what it should be.
    """
    console = stdout_console()
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    console.print(Text(f"evalign {__version__}, Python {platform.python_version()}, {system}", style="bold"))
    versions = ", ".join(f"{name} {version or 'missing'}" for name, version in deciding_versions().items())
    console.print(Text(f"Scores depend on: {versions}."))
    console.print(Text(f"Cache: {cache_folder()}\n"))
    console.print(terminal_table(("extra", "state", "libraries"), "fff", _extra_rows()), "")
    console.print(terminal_table(("model", "where"), "ff", known_places()), "")
    with progress("testing"):
        checks = list(_checks())
    console.print(terminal_table(("self-test", "score", "expected", ""), "ffff", checks))
    return 0 if all(verdict == RIGHT for *_, verdict in checks) else 3


def _extra_rows() -> Iterator[tuple[str, ...]]:
    for extra in extras():
        state = f"missing: pip install 'evalign[{extra.name}]'" if extra.missing else "installed"
        yield extra.name, state, ", ".join(extra.missing or extra.libraries)


def _checks() -> Iterator[tuple[str, str, str, str]]:
    """One pair with every metric whose model is here: the metric, its score, the expected one, and the verdict."""
    here = local_directory(KNOWN["minilm"]) is not None
    for name, expected in EXPECTED.items():
        if not here and name not in WITHOUT_MODEL:
            continue
        verdict = WRONG
        try:
            scorer = metric(name)
            score = float(scorer.score([CANDIDATE], [REFERENCE])[scorer.main][0])
            shown = f"{score:.4f}"
            verdict = RIGHT if abs(score - expected) <= NEAR else WRONG
        except EvalignError as error:
            shown = str(error)
        yield name, shown, f"{expected:.4f}", verdict
