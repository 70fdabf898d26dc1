"""`evalign train --combine`: metrics weighed together to agree with people, saved for `learned(file=...)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
from rich.table import Table

from evalign.cli.options import stdout_console
from evalign.errors import FileFormatError, SpecError
from evalign.jobs.rated import rate
from evalign.jobs.rows import Columns, InMemory, TableFile
from evalign.metrics.learned import with_threads
from evalign.metrics.spec import format_spec
from evalign.render.progress import progress
from evalign.tuning.combine import Agreement, Combination, Combined, combine, expand_features
from evalign.tuning.layers import RatedRows
from evalign.types import Row

SHOWN = 12  # terms in the table


@dataclass(frozen=True)
class Rating:
    """Which rating is learned, what keeps rows in one fold, and the ends of the scale if they are known."""

    aspect: str | None = None
    document: str | None = None
    scale: tuple[float, float] | None = None


def combine_command(
    data: Sequence[str],
    specs: Sequence[str],
    output: str,
    rating: Rating,
    plan: Combination,
    columns: Columns,
    input_format: str | None = None,
    threads: int = 0,
) -> None:
    """Trains on the rated rows of `data`, writes `output` and prints what was learned."""
    if not Path(output).resolve().parent.is_dir():
        raise FileFormatError(f"{output}: cannot be written, there is no such folder")
    features = [with_threads(one, threads) for one in expand_features(specs)]
    extra = (rating.document,) if rating.document else ()
    rows = [row for path in data for row in TableFile(path, replace(columns, extra=extra), input_format)]
    table = rate(InMemory(rows), [])
    aspect = rating.aspect or next(iter(table.human))
    if aspect not in table.human:
        raise SpecError(f"--aspect {aspect}: people rated {', '.join(table.human)}")
    documents = [_same_source(row) for row in table.rows] if rating.document is None else table.labels(rating.document)
    rated = RatedRows(table.rows, table.human[aspect], [""] * len(table.rows), documents)
    with progress("looking at rows", len(table.rows)) as advance:
        made = combine(rated, features, replace(plan, scale=rating.scale, human=aspect), advance)
    made.file.save(output)
    _show(made, {**table.left_out, **made.left_out})
    click.echo(f"\n{output}: {format_spec('learned', {'file': output})}, sha256 {made.file.digest[:8]}")


def _same_source(row: Row) -> str:
    """What rows that must not be split between folds have in common."""
    return row.source if row.source else "\n".join(row.references)


def _show(made: Combined, left_out: dict[str, int]) -> None:
    said = made.file.trained
    heaviest = sorted(made.file.terms, key=lambda term: -abs(term.weight))
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("feature", no_wrap=True)
    table.add_column("weight per standard deviation", justify="right", no_wrap=True)
    for term in heaviest[:SHOWN]:
        table.add_row(term.feature, f"{term.weight:+.4f}")
    stdout_console().print(table)
    if len(heaviest) > SHOWN:
        click.echo(f"and {len(heaviest) - SHOWN} more")
    click.echo(
        f"\nOn rows not seen ({said['rows']} rows of {said['documents']} sources, {said['folds']} folds), scale "
        f"{made.file.low:g} to {made.file.high:g}:\n  learned      {_line(made.held_out)}\n"
        f"  best single  {_line(made.single)}  {made.single_feature}"
    )
    for why, count in left_out.items():
        click.echo(f"left out: {count} rows, {why}")


def _line(reached: Agreement) -> str:
    return (
        f"error {reached.rmse:.4g} (mean {reached.mae:.4g})  "
        f"Pearson {reached.pearson:.3f}  Spearman {reached.spearman:.3f}"
    )
