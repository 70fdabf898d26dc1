"""`evalign agree`: how well metrics agree with people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from evalign.analysis.agreement import (
    AVERAGES,
    CONSTANT,
    DARR,
    MISSING,
    STATISTICS,
    TESTS,
    AgreementPlan,
    agree_pairs,
    agree_table,
)
from evalign.analysis.rated_tables import rate, rate_pairs
from evalign.analysis.scoring import ScoredSource
from evalign.cli.inputs import column_options, data_metrics, data_rows, human_option
from evalign.cli.options import (
    DEFAULT_METRICS,
    INPUT_FILE,
    READ,
    alpha_option,
    document_option,
    embeddings_option,
    format_option,
    html_option,
    metrics_option,
    note_file,
    print_result,
    resamples_option,
    seed_option,
    statistic_option,
    threads_option,
    within_option,
)
from evalign.errors import FileFormatError, SpecError
from evalign.io.files import whole_file
from evalign.io.rows import Columns, InMemory, TableFile
from evalign.io.score_files import read_scores
from evalign.render.agreement.html import agreement_html
from evalign.render.agreement.pictures import save_pictures
from evalign.render.agreement.tables import FORMATS
from evalign.render.figures import styled
from evalign.render.progress import progress
from evalign.stats.bootstrap import Resampling
from evalign.stats.levels import LEVELS
from evalign.stats.significance import CORRECTIONS


@click.command()
@click.argument("data", type=INPUT_FILE)
@metrics_option(())
@click.option("--scores", multiple=True, metavar="NAME=FILE",
              help="Scores from a file (one per line, id<TAB>score, or .seg.score) or a batch job's DIR.")  # fmt: skip
@within_option
@click.option("--level", type=click.Choice(LEVELS), default="segment", show_default=True,
              help="What is correlated: rows, means of systems, or rows within each document.")  # fmt: skip
@document_option
@click.option("--item", metavar="FIELD", help="Field that names the source text whose outputs acc-eq, pdp and "
              "spa compare. [default: the document, else the references]")  # fmt: skip
@click.option("--average", type=click.Choice(AVERAGES), default="macro", show_default=True,
              help="micro weighs groups and documents by their rows.")  # fmt: skip
@click.option("--fewest", type=click.IntRange(2), default=3, show_default=True,
              help="Minimum rows of a group or document; use 2 to include items with only two systems.")  # fmt: skip
@click.option("--constant", type=click.Choice(CONSTANT), default="left-out", show_default=True,
              help="How to treat groups with constant scores or ratings.")  # fmt: skip
@click.option("--missing", type=click.Choice(MISSING), default="rows", show_default=True,
              help="If a score is missing, leave out the row (rows) or only that score (cells).")  # fmt: skip
@statistic_option(STATISTICS, multiple=True,
                  help="Measure of agreement; repeat for several. Metrics are ranked by the first. "
                       "[default: pearson, spearman, kendall]")  # fmt: skip
@click.option("--test", type=click.Choice(TESTS), default="permutation", show_default=True, help="Significance test.")
@click.option("--correction", type=click.Choice(CORRECTIONS), default="holm", show_default=True,
              help="Multiple-testing correction of the p-values that decide the ranks.")  # fmt: skip
@alpha_option
@resamples_option()
@seed_option()
@format_option(FORMATS)
@html_option("plots and the worst disagreements.")
@click.option("--plots", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Save every plot in DIR as PNG and SVG, and its numbers as CSV.")  # fmt: skip
@click.option(
    "--pairs",
    nargs=2,
    metavar="BETTER WORSE",
    help="Fields of the better and the worse text, for data with ordered pairs instead of ratings.",
)
@human_option
@column_options
@embeddings_option
@threads_option
def agree(data: str, specs: tuple[str, ...], scores: tuple[str, ...], within: str | None, level: str,
          document: str | None, item: str | None, average: str, fewest: int, constant: str, missing: str,
          statistic: tuple[str, ...], test: str,
          correction: str, alpha: float, resamples: int, seed: int, output_format: str, html: Path | None,
          plots: Path | None,
          pairs: tuple[str, str] | None, columns: Columns, input_format: str | None, threads: int) -> None:  # fmt: skip
    """Measure how well metrics agree with people.

    \b
    evalign agree rated.jsonl -m bertscore -m rouge -m chrf --within lp
    evalign agree rated.jsonl -m bertscore --scores comet=comet.tsv --level system
    evalign agree rated.jsonl -m bertscore -m chrf --level system --statistic accuracy --statistic spa
    evalign agree summaries.jsonl -m rouge1 --level summary --document doc
    evalign agree pairs.jsonl -m bertscore --pairs better worse
    evalign agree scores/ --level system

    DATA is JSONL, CSV, TSV or Parquet whose rows have a human score, or the folder of a finished batch job over such
    rows, whose scores are read. Scores of metrics where lower is better are negated. Metrics of equal
    rank do not differ significantly. Without -m and --scores, the metric is bertscore.
    """
    if not (specs or scores or Path(data).is_dir()):
        specs = DEFAULT_METRICS
    if missing == "cells" and (html is not None or plots is not None):
        raise SpecError("`missing=cells` gives tables only, since plots need every score: leave out `html` and `plots`")
    named = [_name_and_path(option) for option in scores]
    for _, path in named:
        note_file(path, READ, click.get_current_context())
    _check_outputs(html, plots)
    metrics = data_metrics(data, specs, threads)
    chosen = {"statistics": statistic} if statistic else {}
    plan = AgreementPlan(level=level, within=within, document=document, resampling=Resampling(resamples, seed),
                         test=test, correction=correction, alpha=alpha, item=item, average=average, fewest=fewest,
                         constant=constant, **chosen)  # fmt: skip
    extra = tuple(name for name in dict.fromkeys((within, document, item)) if name is not None and name != "system")
    columns = replace(columns, extra=extra)
    if pairs is not None:
        if scores or statistic or document or item or level != "segment":
            raise SpecError("`scores`, `statistic`, `level`, `document` and `item` cannot be combined with `pairs`")
        better, worse = (TableFile(data, replace(columns, candidate=side), input_format) for side in pairs)
        with progress("scoring", 2 * (better.count() or 0) * len(metrics)) as advance:
            tables = rate_pairs(better, worse, metrics, advance)
        with progress("resampling"):
            agreement = agree_pairs(*tables, replace(plan, statistics=(DARR,), test="none"))
    else:
        source = data_rows(data, columns, input_format)
        rows = list(source)
        read = source if isinstance(source, ScoredSource) else InMemory(rows)
        file_scores: dict[str, dict[int, float]] = {}
        for name, path in named:
            if name in file_scores:
                raise SpecError(f"`scores={name}` occurs twice; use a different NAME for each NAME=FILE")
            file_scores[name] = read_scores(path, rows, name)
        with progress("scoring", len(rows) * len(metrics)) as advance:
            table = rate(read, metrics, file_scores, advance, missing)
        with progress("resampling"):
            agreement = agree_table(table, plan)
    print_result(FORMATS, output_format, agreement)
    if html is not None:
        with whole_file(html) as stream, progress("drawing"):
            stream.write(agreement_html(agreement, metrics))
    if plots is not None:
        with progress("drawing"):
            save_pictures(agreement, plots)


def _check_outputs(*paths: Path | None) -> None:
    """Raise before the scoring if an output cannot be written: no matplotlib, or no such folder."""
    outputs = [path for path in paths if path is not None]
    if outputs:
        with styled():
            pass
    for path in outputs:
        if not path.resolve().parent.is_dir():
            raise FileFormatError(f"{path}: cannot be written, there is no such folder")


def _name_and_path(option: str) -> tuple[str, str]:
    """Return name and path of NAME=FILE; without NAME, the file name up to its first dot."""
    name, equals, path = option.partition("=")
    return (name, path) if equals and name else (Path(option).name.partition(".")[0], option)
