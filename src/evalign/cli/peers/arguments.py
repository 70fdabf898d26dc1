"""A parser for another program's arguments whose errors are evalign's: one sentence, exit code 2."""

from __future__ import annotations

import argparse
from typing import NoReturn

import click


class PeerParser(argparse.ArgumentParser):
    """Knows an option only by its whole name, and never ends the process by itself."""

    def __init__(self, command: str, about: str) -> None:
        super().__init__(prog=f"evalign compat {command}", description=about, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """A usage error; `evalign` shows it."""
        raise click.UsageError(f"{self.prog}: {message}; {self.prog} --help lists the arguments")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """After --help."""
        raise click.exceptions.Exit(status)
