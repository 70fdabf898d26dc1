"""`evalign fit`: tables and settings fitted to texts. Subcommands besides `idf` are plugins named `fit.NAME`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from evalign.cli.groups import CommandGroup
from evalign.cli.options import INPUT_FILE, model_option, output_option
from evalign.errors import InputError, SpecError

if TYPE_CHECKING:
    from evalign.render.progress import Advance
    from evalign.text.idf import IDFTable


@click.group(cls=CommandGroup, plugin_prefix="fit")
def fit() -> None:
    """Fit tables and settings to texts: IDF, baselines, layers.

    \b
    evalign fit idf references.txt -o idf.json
    evalign fit baseline news.txt -m "bertscore(model=mpnet)" -o mpnet-news.tsv
    evalign fit layers wmt.jsonl --within lp
    """


@fit.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=INPUT_FILE)
@output_option("FILE", "IDF table (JSON).")
@model_option("minilm", "its tokenizer counts.")
@click.option("--merge", is_flag=True, help="FILE... are IDF tables: add them up instead of counting texts.")
@click.pass_context
def idf(context: click.Context, files: tuple[str, ...], output: Path, model: str, merge: bool) -> None:
    """Count in how many texts of FILE... each token occurs, for use with idf=FILE.

    \b
    evalign fit idf references.txt -o idf.json
    evalign score -c system.txt -r references.txt -m "bertscore(idf=idf.json)"
    evalign fit idf january.json february.json -o year.json --merge

    The texts are the lines of a file, or the references of a table (JSONL, CSV, TSV, Parquet).
    """
    if merge and context.get_parameter_source("model") is ParameterSource.COMMANDLINE:
        raise SpecError("tables that are merged keep their model: leave out `model`, or leave out `merge`")
    table = _merged(files) if merge else _counted(files, model)
    table.save(output)
    click.echo(f"{output}: {table.documents} texts, {len(table.frequencies)} distinct tokens, digest {table.digest}")


def _merged(files: tuple[str, ...]) -> IDFTable:
    """Return the sum of tables, as if their texts had been counted together."""
    from evalign.text.idf import IDFTable

    total, *rest = map(IDFTable.load, files)
    for table in rest:
        total = total.merge(table)
    return total


def _counted(files: tuple[str, ...], model: str) -> IDFTable:
    from evalign.encoders.loading import EncoderSpec, open_encoder
    from evalign.metrics.weighting import count_idf
    from evalign.render.progress import progress

    encoder = open_encoder(EncoderSpec(model)).encoder
    with progress("counting") as advance:
        table = count_idf(encoder, _texts(files, advance))
    if table.documents == 0:
        raise InputError("no texts to count: the input is empty")
    return table


def _texts(files: tuple[str, ...], advance: Advance) -> Iterator[str]:
    from evalign.io.rows import read_texts

    for path in files:
        for text in read_texts(path):
            advance()
            yield text
