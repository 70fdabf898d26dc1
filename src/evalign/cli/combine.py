"""`evalign train --combine`: metrics weighed together to agree with people, saved for `learned(file=...)`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path

import click

from evalign.analysis.rated_tables import rate
from evalign.atomic_files import check_writable
from evalign.cli.options import stdout_console
from evalign.data.rows import Columns, InMemory, TableFile
from evalign.errors import FileFormatError, SpecError, TableError
from evalign.metrics.features import Feature
from evalign.metrics.learned import with_threads
from evalign.metrics.learned_file import LearnedFile
from evalign.metrics.spec import format_spec
from evalign.render.progress import progress
from evalign.render.tables import terminal_table
from evalign.tuning.combine import Agreement, Combination, Combined, combine, expand_features, sharing_text
from evalign.tuning.layers import RatedRows

SHOWN = 12  # terms in the table


def combine_command(
    data: Sequence[str], specs: Sequence[str], output: str, plan: Combination, columns: Columns,
    input_format: str | None, threads: int, aspect: str | None, document: str | None,
) -> None:  # fmt: skip
    """Trains on the rated rows of `data`, writes `output` and prints what was learned.

    `aspect` is the rating that is learned; rows with the same value in the field `document` stay in one fold.
    """
    check_writable(Path(output))
    features = expand_features(specs)
    extra = (document,) if document else ()
    rows = [row for path in data for row in TableFile(path, replace(columns, extra=extra), input_format)]
    table = rate(InMemory(rows), [])
    aspect = _aspect(aspect, list(table.human))
    documents = sharing_text(table.rows) if document is None else table.labels(document)
    rated = RatedRows(table.rows, table.human[aspect], [""] * len(table.rows), documents)
    plan = replace(plan, human=aspect)
    run = _run(rated, features, plan)
    _check_unused(output, run)
    with progress("looking at rows", len(table.rows)) as advance:
        made = combine(rated, [with_threads(feature, threads) for feature in features], plan, advance)
    file = replace(made.file, trained={**made.file.trained, "run": run})
    file.save(output)
    _show(made, {**table.left_out, **made.left_out})
    click.echo(f"\n{output}: {format_spec('learned', {'file': output})}, sha256 {file.digest[:8]}")


def _aspect(given: str | None, rated: Sequence[str]) -> str:
    if given is None and len(rated) > 1:
        raise SpecError(f"people rated {', '.join(rated)}: choose one of them with --aspect")
    if given is not None and given not in rated:
        raise SpecError(f"--aspect {given}: people rated {', '.join(rated)}")
    return given or rated[0]


def _run(rated: RatedRows, features: Sequence[Feature], plan: Combination) -> str:
    """sha256 of everything that training sees."""
    rows = [(row.candidate, row.references, row.source) for row in rated.rows]
    said = [rows, rated.human.tolist(), list(rated.documents), list(map(str, features)), astuple(plan)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _check_unused(output: str, run: str) -> None:
    """Raises if another file would be lost; what the same command made is made again."""
    if not Path(output).is_file():
        return
    try:
        same = LearnedFile.load(output).trained.get("run") == run
    except TableError:
        same = False
    if not same:
        raise FileFormatError(
            f"{output}: is there already, and not from this command on these rows; choose another -o, or delete it"
        )


def _show(made: Combined, left_out: dict[str, int]) -> None:
    said = made.file.trained
    heaviest = sorted(made.file.terms, key=lambda term: -abs(term.weight))
    lines = [(term.feature, f"{term.weight:+.4f}") for term in heaviest[:SHOWN]]
    stdout_console().print(terminal_table(("feature", "weight per standard deviation"), "wn", lines))
    if len(heaviest) > SHOWN:
        click.echo(f"and {len(heaviest) - SHOWN} more")
    click.echo(
        f"\nOn rows not seen ({said['rows']} rows in {said['documents']} groups, {said['folds']} folds), scale "
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
