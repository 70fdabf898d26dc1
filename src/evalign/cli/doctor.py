"""`evalign doctor`: list what is installed and missing, with install commands, and run a self-test."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator

import click
from rich.text import Text

from evalign.cli.models import model_folders
from evalign.core.installed import deciding_versions, extras
from evalign.core.registry import metric
from evalign.encoders.weights import KNOWN, local_directory
from evalign.errors import EvalignError
from evalign.io.files import cache_folder
from evalign.render.console import stdout_console
from evalign.render.progress import progress
from evalign.render.tables import terminal_table
from evalign.version import __version__

CANDIDATE, REFERENCE = "The bank raised interest rates again.", "Once more, the central bank increased rates."
EXPECTED_SCORES = {"chrf": 24.0986, "rougeL": 0.4615, "bertscore": 0.7637, "lisascore": 0.6775, "moverscore": 0.5813}
WITHOUT_MODEL = ("chrf", "rougeL")
TOLERANCE = 2e-4
RIGHT, WRONG = "right", "WRONG"


@click.command()
def doctor() -> int:
    """List what is installed, what is missing and how to get it, and test that scores are right.

    \b
    evalign doctor

    Exit code 0: the self-test passed, 3: a score is not what it should be.
    """
    console = stdout_console()
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    console.print(Text(f"evalign {__version__}, Python {platform.python_version()}, {system}", style="bold"))
    versions = ", ".join(f"{name} {version or 'missing'}" for name, version in deciding_versions().items())
    console.print(Text(f"Scores depend on: {versions}."))
    console.print(Text(f"Cache: {cache_folder()}\n"))
    console.print(terminal_table(("extra", "state", "libraries"), "fff", _extra_rows()), "")
    console.print(terminal_table(("model", "where"), "ff", model_folders()), "")
    with progress("testing"):
        checks = list(_checks())
    console.print(terminal_table(("self-test", "score", "expected", ""), "ffff", checks))
    return 0 if all(verdict == RIGHT for *_, verdict in checks) else 3


def _extra_rows() -> Iterator[tuple[str, ...]]:
    for extra in extras():
        state = f"missing: pip install 'evalign[{extra.name}]'" if extra.missing else "installed"
        yield extra.name, state, ", ".join(extra.missing or extra.libraries)


def _checks() -> Iterator[tuple[str, str, str, str]]:
    """Score one pair with every metric whose model is here; yield metric, score, expected score, verdict."""
    here = local_directory(KNOWN["minilm"]) is not None
    for name, expected in EXPECTED_SCORES.items():
        if not here and name not in WITHOUT_MODEL:
            continue
        verdict = WRONG
        try:
            scorer = metric(name)
            score = float(scorer.score([CANDIDATE], [REFERENCE])[scorer.main][0])
            text = f"{score:.4f}"
            verdict = RIGHT if abs(score - expected) <= TOLERANCE else WRONG
        except EvalignError as error:
            text = str(error)
        yield name, text, f"{expected:.4f}", verdict
