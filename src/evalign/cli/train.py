"""`evalign train`: everything that learns from rated pairs. Its subcommands are plugins named `train.NAME`."""

from __future__ import annotations

import click

from evalign.cli.groups import CommandGroup


@click.group(cls=CommandGroup, plugin_prefix="train")
def train() -> None:
    """Train on rated pairs of texts (JSONL, CSV, TSV, Parquet: candidate, reference, human).

    \b
    evalign train encoder pairs.jsonl -o tuned
    evalign train adapter wmt.jsonl stsb.jsonl -o adapter --rank 8
    evalign train lstm pairs.jsonl -o lstm
    evalign train combine wmt.jsonl -o learned.json -m bertscore -m chrf
    """
