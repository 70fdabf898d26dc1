"""`evalign embeddings`: what the folder of `--embeddings` holds, whether it is intact, and how to empty it."""

from __future__ import annotations

import time
from pathlib import Path

import click

from evalign.cli.options import folder_path, stdout_console
from evalign.encoders.embedding_store import clear as clear_store
from evalign.encoders.embedding_store import damaged_packs, stored_vectors
from evalign.encoders.loading import EMBEDDINGS, cache_bytes
from evalign.errors import FileFormatError
from evalign.render.progress import progress
from evalign.render.tables import terminal_table

folder_argument = click.argument("folder", metavar="DIR", envvar=EMBEDDINGS, type=folder_path)


@click.group()
def embeddings() -> None:
    """Look after token vectors that are kept on disk.

    \b
    evalign embeddings info ~/vectors
    evalign embeddings verify ~/vectors
    evalign embeddings clear ~/vectors

    DIR is the folder of --embeddings; EVALIGN_EMBEDDINGS if it is not given.
    """


@embeddings.command()
@folder_argument
def info(folder: Path) -> None:
    """Say what DIR holds, encoder by encoder, the last used first."""
    stored = stored_vectors(folder)
    lines = []
    for encoder in stored:
        described = encoder.described
        layers = described.get("layers", [])
        lines.append((
            str(described.get("weights", "not known"))[:12],
            ", ".join(map(str, layers)) if len(layers) < 6 else f"{layers[0]} to {layers[-1]}",
            str(described.get("precision", "")),
            str(encoder.packs),
            str(encoder.texts),
            f"{encoder.size / 2**20:.1f}",
            time.strftime("%Y-%m-%d %H:%M", time.localtime(encoder.used)) if encoder.used else "",
        ))  # fmt: skip
    if stored:
        columns = ("encoder", "layers", "precision", "packs", "texts", "MB", "last used")
        stdout_console().print(terminal_table(columns, "lllrrrl", lines))
    size = sum(encoder.size for encoder in stored) / 2**20
    click.echo(f"{size:.1f} MB of at most {cache_bytes() / 2**20:.0f} MB; the packs used longest ago go first")


@embeddings.command()
@folder_argument
def verify(folder: Path) -> None:
    """Read every byte in DIR and compare it with its digest."""
    with progress("reading"):
        damaged, count = damaged_packs(folder)
    if damaged:
        raise FileFormatError(
            f"{folder}: {len(damaged)} of {count} packs are damaged, the first {damaged[0].relative_to(folder)}; "
            "nothing wrong is ever read from them; remove them to have their texts encoded and kept again"
        )
    click.echo(f"{count} packs are what was written")


@embeddings.command()
@folder_argument
def clear(folder: Path) -> None:
    """Remove all vectors from DIR; files of others stay."""
    click.echo(f"{clear_store(folder)} packs removed")
