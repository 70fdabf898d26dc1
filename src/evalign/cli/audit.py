"""`evalign audit`: report on metrics and rated data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from evalign.analysis.audit import AuditPlan
from evalign.analysis.audit import audit as audit_rows
from evalign.cli.inputs import column_options, human_option
from evalign.cli.options import (
    INPUT_FILE,
    embeddings_option,
    format_option,
    html_option,
    metrics_option,
    parse_metrics,
    print_result,
    resamples_option,
    sample_rows_option,
    seed_option,
    threads_option,
)
from evalign.io.files import check_writable, whole_file
from evalign.io.rows import Columns, TableFile
from evalign.render.audit import FORMATS, audit_html
from evalign.render.progress import progress
from evalign.stats.bootstrap import Resampling


@click.command()
@click.argument("data", type=INPUT_FILE)
@metrics_option()
@sample_rows_option(AuditPlan.sample_rows, "drawn at random by whole items; 0: all.", low=0)
@click.option("--changed", type=click.IntRange(1), default=AuditPlan.changed, show_default=True,
              help="Maximum number of rows to score under each change of the text.")  # fmt: skip
@click.option("--rater-field", "raters", multiple=True, metavar="FIELD",
              help="Field with one rater's number, instead of --human-field; repeat for each rater.")  # fmt: skip
@resamples_option()
@seed_option()
@format_option(FORMATS)
@html_option()
@human_option
@column_options
@embeddings_option
@threads_option
def audit(data: str, specs: tuple[str, ...], sample_rows: int, changed: int, raters: tuple[str, ...],
          resamples: int, seed: int, output_format: str, html: Path | None, columns: Columns, input_format: str | None,
          threads: int) -> None:  # fmt: skip
    """Report on metrics and rated data: data and raters, agreement, cost, robustness, reliability.

    \b
    evalign audit rated.jsonl
    evalign audit rated.jsonl -m bertscore -m chrf -m "rouge1(stem=true)" --html audit.html
    evalign audit rated.csv --rater-field anna --rater-field ben --sample-rows 300

    DATA is JSONL, CSV, TSV or Parquet as `evalign agree` reads it. A human score may also be a list of numbers, one per
    rater: their agreement (Krippendorff's alpha) is reported, and their mean is what metrics are held against.
    """
    if html is not None:
        check_writable(html)
    plan = AuditPlan(sample_rows, changed, Resampling(resamples, seed))
    metrics = parse_metrics(specs, threads)
    rows = TableFile(data, replace(columns, extra=tuple(dict.fromkeys(raters))), input_format)
    report = audit_rows(rows, metrics, plan, raters, progress)
    print_result(FORMATS, output_format, report)
    if html is not None:
        with whole_file(html) as stream:
            stream.write(audit_html(report))
