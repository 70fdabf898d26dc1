"""Messages of commands: one line each on standard error."""

from __future__ import annotations

import click

from evalign.io.output import one_line


def echo_message(message: str) -> None:
    """Print a message on standard error, on one line whatever texts it quotes."""
    click.echo(f"evalign: {one_line(message)}", err=True, color=True)
