"""`evalign embeddings`: list, verify and clear the vectors in the folder of `--embeddings`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from evalign.cli.groups import CommandGroup
from evalign.cli.options import folder_path, format_option, print_result
from evalign.encoders.embedding_store import clear as clear_store
from evalign.encoders.embedding_store import damaged_packs, stored_vectors
from evalign.encoders.loading import EMBEDDINGS, cache_bytes
from evalign.errors import FileFormatError
from evalign.render.progress import progress
from evalign.render.tables import TABLE_FORMATS, TextTable

folder_argument = click.argument("folder", metavar="DIR", envvar=EMBEDDINGS, type=folder_path)


@click.group(cls=CommandGroup)
def embeddings() -> None:
    """Manage token vectors that are stored on disk.

    \b
    evalign embeddings info ~/vectors
    evalign embeddings verify ~/vectors
    evalign embeddings clear ~/vectors

    DIR is the folder of --embeddings; EVALIGN_EMBEDDINGS if it is not given.
    """


@embeddings.command()
@folder_argument
@format_option(TABLE_FORMATS)
def info(folder: Path, output_format: str) -> None:
    """List the contents of DIR by encoder, most recently used first.

    \b
    evalign embeddings info ~/vectors
    evalign embeddings info ~/vectors --format json
    """
    stored = stored_vectors(folder)
    lines = []
    for encoder in stored:
        described = encoder.description
        layers = described.get("layers", [])
        lines.append((
            str(described.get("model", "unknown"))[:12],
            ", ".join(map(str, layers)) if len(layers) < 6 else f"{layers[0]} to {layers[-1]}",
            str(described.get("precision", "")),
            str(encoder.packs),
            str(encoder.texts),
            f"{encoder.size / 2**20:.1f}",
            time.strftime("%Y-%m-%d %H:%M", time.localtime(encoder.used)) if encoder.used else "",
        ))  # fmt: skip
    columns = ("encoder", "layers", "precision", "packs", "texts", "MB", "last used")
    if stored or output_format != "table":
        print_result(TABLE_FORMATS, output_format, TextTable("", columns, tuple(lines)))
    size = sum(encoder.size for encoder in stored) / 2**20
    click.echo(
        err=output_format != "table",
        message=f"{size:.1f} MB of at most {cache_bytes() / 2**20:.0f} MB; least recently used packs are deleted first",
    )


@embeddings.command()
@folder_argument
def verify(folder: Path) -> None:
    """Read every byte in DIR and compare it with its digest.

    \b
    evalign embeddings verify ~/vectors
    """
    with progress("reading"):
        damaged, count = damaged_packs(folder)
    if damaged:
        raise FileFormatError(
            f"{folder}: {len(damaged)} of {count} packs are damaged, the first {damaged[0].relative_to(folder)}; "
            "damaged packs are never read; delete them, and their texts are encoded again when needed"
        )
    click.echo(f"{count} packs match their digest")


@embeddings.command()
@folder_argument
def clear(folder: Path) -> None:
    """Remove all vectors from DIR; other files stay.

    \b
    evalign embeddings clear ~/vectors
    """
    click.echo(f"{clear_store(folder)} packs removed")
