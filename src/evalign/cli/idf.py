"""`evalign idf fit`: an IDF table counted once, used everywhere."""

from __future__ import annotations

from collections.abc import Iterator

import click

from evalign.cli.options import A_FILE
from evalign.data.text_lines import read_lines
from evalign.encoders.loading import EncoderChoice, open_encoder
from evalign.errors import InputError
from evalign.metrics.corpus_idf import count_idf
from evalign.render.progress import Advance, progress
from evalign.text.idf import IDFTable


@click.group()
def idf() -> None:
    """Fit IDF tables for use with idf=FILE."""


@idf.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=A_FILE)
@click.option("-o", "--output", required=True, metavar="FILE", type=A_FILE, help="Where the table goes (JSON).")
@click.option("--model", default="minilm", show_default=True, help="The model whose tokenizer counts.")
def fit(files: tuple[str, ...], output: str, model: str) -> None:
    """Count in how many lines of FILE... each token occurs.

    \b
    evalign idf fit references.txt -o idf.json
    evalign score -c system.txt -r references.txt -m "bertscore(idf=idf.json)"
    """
    encoder = open_encoder(EncoderChoice(model)).encoder
    with progress("counting") as advance:
        table = count_idf(encoder, _lines(files, advance))
    if table.documents == 0:
        raise InputError("no lines to count: the input is empty")
    table.save(output)
    click.echo(f"{output}: {table.documents} texts, {len(table.frequencies)} distinct tokens, digest {table.digest}")


@idf.command()
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...", type=A_FILE)
@click.option("-o", "--output", required=True, metavar="FILE", type=A_FILE)
def merge(tables: tuple[str, ...], output: str) -> None:
    """Add tables up, as if their texts had been counted together."""
    total, *rest = map(IDFTable.load, tables)
    for table in rest:
        total = total.merge(table)
    total.save(output)
    click.echo(f"{output}: {total.documents} texts, {len(total.frequencies)} distinct tokens, digest {total.digest}")


def _lines(files: tuple[str, ...], advance: Advance) -> Iterator[str]:
    for path in files:
        for line in read_lines(path):
            advance()
            yield line
