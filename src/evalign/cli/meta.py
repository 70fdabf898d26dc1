"""`evalign meta`: how well metrics agree with people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from evalign.analysis.agreement import judge_pairs, judge_table
from evalign.analysis.plan import AVERAGES, CONSTANT, DARR, MISSING, STATISTICS, TESTS, Plan
from evalign.analysis.rated_tables import rate, rate_pairs
from evalign.analysis.scoring import ScoredSource
from evalign.atomic_files import whole_file
from evalign.cli.inputs import column_options, data_metrics, data_rows, human_option
from evalign.cli.options import A_FILE, embeddings_option, format_option, metric_names, print_result, threads_option
from evalign.data.rows import Columns, InMemory, TableFile
from evalign.data.score_files import read_scores
from evalign.errors import FileFormatError, SpecError
from evalign.render.agreement.html import agreement_html
from evalign.render.agreement.pictures import save_pictures
from evalign.render.agreement.tables import FORMATS
from evalign.render.figures import styled
from evalign.render.progress import progress
from evalign.stats.bootstrap import Resampling
from evalign.stats.clusters import CORRECTIONS
from evalign.stats.levels import LEVELS


@click.command()
@click.argument("data", type=A_FILE)
@click.option("-m", "--metric", "specs", multiple=True, metavar="SPEC", shell_complete=metric_names,
              help="A metric or group; repeat for several.")  # fmt: skip
@click.option("--scores", "files", multiple=True, metavar="NAME=FILE",
              help="Another program's scores: one per line, id<TAB>score, .seg.score; a batch job's DIR.")  # fmt: skip
@click.option("--by", metavar="FIELD", help="Correlate within groups, such as lp, and average.")
@click.option("--level", type=click.Choice(LEVELS), default="segment", show_default=True)
@click.option("--document", metavar="FIELD", help="Field that names the document: what is resampled; summary level.")
@click.option("--item", metavar="FIELD", help="Field that names the source text whose outputs acc-eq, pdp and "
              "spa compare. [default: the document, else the references]")  # fmt: skip
@click.option("--average", type=click.Choice(AVERAGES), default="macro", show_default=True,
              help="micro weighs groups and documents by their rows.")  # fmt: skip
@click.option("--fewest", type=click.IntRange(2), default=3, show_default=True,
              help="Least rows of a group or document; 2 lets items of two systems count.")  # fmt: skip
@click.option("--constant", type=click.Choice(CONSTANT), default="left-out", show_default=True,
              help="What a group or document counts whose scores or ratings are all the same.")  # fmt: skip
@click.option("--missing", type=click.Choice(MISSING), default="rows", show_default=True,
              help="What a missing score costs: the row, or that metric's cell only.")  # fmt: skip
@click.option("--statistic", "statistics", multiple=True, type=click.Choice(STATISTICS),
              help="Repeat for several; the first ranks. [default: pearson, spearman, kendall]")  # fmt: skip
@click.option("--test", type=click.Choice(TESTS), default="permutation", show_default=True)
@click.option("--correction", type=click.Choice(CORRECTIONS), default="holm", show_default=True)
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True)
@click.option("--samples", type=click.IntRange(1), default=1000, show_default=True, help="Resamples and swaps.")
@click.option("--seed", type=click.IntRange(0), default=12345, show_default=True)
@format_option(FORMATS)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Also write one HTML page with plots and the worst disagreements.")  # fmt: skip
@click.option("--plots", "folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Also save every plot as PNG and SVG, and its numbers as CSV.")  # fmt: skip
@click.option("--pairs", nargs=2, metavar="BETTER WORSE", help="Instead of ratings: two fields whose order is known.")
@human_option
@column_options
@embeddings_option
@threads_option
def meta(data: str, specs: tuple[str, ...], files: tuple[str, ...], by: str | None, level: str, document: str | None,
         item: str | None, average: str, fewest: int, constant: str, missing: str,
         statistics: tuple[str, ...], test: str,
         correction: str, alpha: float, samples: int, seed: int, form: str, html: Path | None, folder: Path | None,
         pairs: tuple[str, str] | None, columns: Columns, input_format: str | None, threads: int) -> None:  # fmt: skip
    """Judge metrics by their agreement with people.

    \b
    evalign meta rated.jsonl -m bertscore -m rouge -m chrf --by lp
    evalign meta rated.jsonl -m bertscore --scores comet=comet.tsv --level system
    evalign meta rated.jsonl -m bertscore -m chrf --level system --statistic accuracy --statistic spa
    evalign meta summaries.jsonl -m rouge1 --level summary --document doc
    evalign meta pairs.jsonl -m bertscore --pairs better worse
    evalign meta scores/ --level system

    DATA is JSONL, CSV, TSV or Parquet whose rows have a human score, or the folder of a finished batch job over such
    rows, whose scores are read. Scores of metrics where lower is better are turned round. Metrics of equal rank are not
    told apart by the test.
    """
    if not specs and not files and not Path(data).is_dir():
        raise SpecError("nothing to judge: name a metric (-m bertscore) or a file of scores (--scores comet=FILE)")
    if missing == "cells" and (html is not None or folder is not None):
        raise SpecError("--missing cells gives tables only, since plots need every score: leave out --html and --plots")
    _check_outputs(html, folder)
    metrics = data_metrics(data, specs, threads)
    chosen = {"statistics": statistics} if statistics else {}
    plan = Plan(level=level, by=by, document=document, resampling=Resampling(samples, seed), test=test,
                correction=correction, alpha=alpha, item=item, average=average, fewest=fewest,
                constant=constant, **chosen)  # fmt: skip
    extra = tuple(name for name in dict.fromkeys((by, document, item)) if name is not None and name != "system")
    columns = replace(columns, extra=extra)
    if pairs is not None:
        if files or statistics or document or item or level != "segment":
            raise SpecError("--scores, --statistic, --level, --document and --item go with ratings, not with --pairs")
        better, worse = (TableFile(data, replace(columns, candidate=side), input_format) for side in pairs)
        with progress("scoring", 2 * (better.count() or 0) * len(metrics)) as advance:
            tables = rate_pairs(better, worse, metrics, advance)
        with progress("resampling"):
            agreement = judge_pairs(*tables, replace(plan, statistics=(DARR,), test="none"))
    else:
        source = data_rows(data, columns, input_format)
        rows = list(source)
        read = source if isinstance(source, ScoredSource) else InMemory(rows)
        file_scores: dict[str, dict[int, float]] = {}
        for name, path in map(_named, files):
            if name in file_scores:
                raise SpecError(f"--scores {name} is given twice; give each file a name of its own, as in NAME=FILE")
            file_scores[name] = read_scores(path, rows, name)
        with progress("scoring", len(rows) * len(metrics)) as advance:
            table = rate(read, metrics, file_scores, advance, missing)
        with progress("resampling"):
            agreement = judge_table(table, plan)
    print_result(FORMATS, form, agreement)
    if html is not None:
        with whole_file(html) as stream, progress("drawing"):
            stream.write(agreement_html(agreement, metrics))
    if folder is not None:
        with progress("drawing"):
            save_pictures(agreement, folder)


def _check_outputs(*paths: Path | None) -> None:
    """An error before the scoring for a file that could not be written after it."""
    outputs = [path for path in paths if path is not None]
    if outputs:
        with styled():
            pass
    for path in outputs:
        if not path.resolve().parent.is_dir():
            raise FileFormatError(f"{path}: cannot be written, there is no such folder")


def _named(option: str) -> tuple[str, str]:
    """Name and path of NAME=FILE; a FILE alone is named after itself."""
    name, equals, path = option.partition("=")
    return (name, path) if equals and name else (Path(option).name.partition(".")[0], option)
