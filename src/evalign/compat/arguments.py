"""Argument parser of `evalign compat` commands, with evalign's usage errors: one sentence, exit code 2."""

from __future__ import annotations

import argparse
from typing import NoReturn

import click


class PeerParser(argparse.ArgumentParser):
    """Parser that takes no abbreviated options and never ends the process itself."""

    def __init__(self, command: str, about: str) -> None:
        super().__init__(prog=f"evalign compat {command}", description=about, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Raise a usage error, which `evalign` prints."""
        raise click.UsageError(f"{self.prog}: {message}; {self.prog} --help lists the arguments")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the command after --help."""
        raise click.exceptions.Exit(status)
