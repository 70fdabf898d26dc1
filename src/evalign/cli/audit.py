"""`evalign audit`: what the evaluation of a metric should report, on anyone's metric and data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from evalign.analysis.audit.run import audit as audit_rows
from evalign.analysis.audit.values import AuditPlan
from evalign.atomic_files import check_writable, whole_file
from evalign.cli.inputs import column_options, human_option
from evalign.cli.options import (
    A_FILE,
    embeddings_option,
    metric_names_or_files,
    parse_metrics,
    stdout_console,
    threads_option,
)
from evalign.data.rows import Columns, TableFile
from evalign.errors import SpecError
from evalign.render.audit import audit_html, audit_json, audit_table
from evalign.render.progress import progress
from evalign.stats.bootstrap import Resampling


@click.command()
@click.argument("specs", nargs=-1, metavar="METRIC...", shell_complete=metric_names_or_files)
@click.argument("data", type=A_FILE)
@click.option("--sample", type=click.IntRange(0), default=AuditPlan.sample, show_default=True,
              help="Most rows to score, drawn at random by whole items; 0: all.")  # fmt: skip
@click.option("--changed", type=click.IntRange(1), default=AuditPlan.changed, show_default=True,
              help="Most rows to score under each change of the text.")  # fmt: skip
@click.option("--rater-field", "raters", multiple=True, metavar="FIELD",
              help="Field with one rater's number, instead of --human-field; repeat for each rater.")  # fmt: skip
@click.option("--samples", type=click.IntRange(1), default=1000, show_default=True, help="Resamples of intervals.")
@click.option("--seed", type=click.IntRange(0), default=12345, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Also write the tables as one HTML page.")  # fmt: skip
@human_option
@column_options
@embeddings_option
@threads_option
def audit(specs: tuple[str, ...], data: str, sample: int, changed: int, raters: tuple[str, ...], samples: int,
          seed: int, as_json: bool, html: Path | None, columns: Columns, input_format: str | None,
          threads: int) -> None:  # fmt: skip
    """Report on metrics and rated data: data and raters, agreement, cost, robustness, reliability.

    \b
    evalign audit bertscore rated.jsonl
    evalign audit bertscore chrf "rouge1(stem=true)" rated.jsonl --html audit.html
    evalign audit bertscore rated.csv --rater-field anna --rater-field ben --sample 300

    DATA is JSONL, CSV, TSV or Parquet as `evalign meta` reads it. A human score may also be a list of numbers, one per
    rater: their agreement (Krippendorff's alpha) is reported, and their mean is what metrics are held against.
    """
    if not specs:
        raise SpecError("nothing to audit: name metrics before the data, as in evalign audit bertscore rated.jsonl")
    if html is not None:
        check_writable(html)
    plan = AuditPlan(sample, changed, Resampling(samples, seed))
    metrics = parse_metrics(specs, threads)
    rows = TableFile(data, replace(columns, extra=tuple(dict.fromkeys(raters))), input_format)
    found = audit_rows(rows, metrics, plan, raters, progress)
    if as_json:
        click.echo(audit_json(found))
    else:
        stdout_console().print(audit_table(found))
    if html is not None:
        with whole_file(html) as stream:
            stream.write(audit_html(found))
