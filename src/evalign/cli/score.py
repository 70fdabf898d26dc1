"""`evalign score`: files in, a table out; segments to a file as they are made."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import click

from evalign.analysis.scoring import Result, RowBootstrap, score_source
from evalign.atomic_files import whole_file
from evalign.cli.corpus_page import PageRows, corpus_page_option, read_twice
from evalign.cli.inputs import Given, field_options, file_options
from evalign.cli.options import embeddings_option, format_option, metrics_option, print_result, threads_option
from evalign.data.rows import RowSource
from evalign.data.text_lines import STDIN
from evalign.errors import SpecError
from evalign.metrics.base import Metric
from evalign.render.progress import progress
from evalign.render.score_tables import FORMATS, SEGMENT_FORMATS, ScoredRow
from evalign.stats.bootstrap import Resampling
from evalign.types import Segment

Emit = Callable[[Result, Segment], None]


@click.command()
@file_options
@metrics_option
@format_option(FORMATS)
@click.option("--segments", metavar="FILE", help="Every row's scores, as JSON lines; '-': inside --format json or tsv.")
@click.option("--bootstrap", "samples", type=click.IntRange(100, 100_000), metavar="N",
              help="95 % intervals of means and corpus scores, from N resamples of rows.")  # fmt: skip
@corpus_page_option
@field_options
@embeddings_option
@threads_option
def score(
    given: Given, specs: tuple[str, ...], form: str, segments: str | None, samples: int | None, page: Path | None,
    threads: int,
) -> int:  # fmt: skip
    """Score candidates against references.

    \b
    evalign score -c system.txt -r reference.txt
    cat system.txt | evalign score -r reference.txt
    evalign score -c a.txt -c b.txt -r ref1.txt -r ref2.txt -m bertscore --format latex
    evalign score data.jsonl --segments scores.jsonl
    evalign score data.jsonl -m rouge --bootstrap 1000
    evalign score data.jsonl -m bertscore -m chrf --html report.html
    evalign score scores/ --bootstrap 1000

    DATA is JSONL (fields candidate, references, and optionally id, source, system), CSV, TSV or Parquet, plain
    or gzipped; '-' is standard input; or the folder of a finished batch job, whose scores are read. Exit code 0: all
    rows scored, 2: bad input, 3: some rows failed.
    """
    metrics = given.metrics(specs, threads)
    inputs = given.rows(metrics) if page is None else read_twice(given.rows(metrics))
    if segments == STDIN and form not in SEGMENT_FORMATS:
        allowed = " or ".join(SEGMENT_FORMATS)
        raise SpecError(f"--segments - goes with --format {allowed}; with others, give a file name")
    page_rows = PageRows(metrics)
    scored: list[ScoredRow] = []
    bootstrap = None if samples is None else RowBootstrap(Resampling(samples))
    sinks: list[Emit] = [sink for sink in (page_rows if page is not None else None, bootstrap) if sink is not None]
    with ExitStack() as files:
        if segments == STDIN:
            sinks.append(lambda result, segment: scored.append((result, segment)))
        elif segments is not None:
            sinks.append(_json_lines(files.enter_context(whole_file(Path(segments)))))
        results = _run(inputs, metrics, sinks)
    if bootstrap is not None:
        with progress("resampling"):
            bootstrap.finish(results, metrics)
    if page is not None:
        page_rows.write(page, inputs)
    if segments == STDIN:
        print_result(SEGMENT_FORMATS, form, results, scored)
    else:
        print_result(FORMATS, form, results)
    for note in dict.fromkeys(result.note for result in results if result.note):
        click.echo(f"evalign: {note}", err=True)
    for result in results:
        if result.first_error:
            rows = f"{result.failed} rows of {result.system}" if result.system else f"{result.failed} rows"
            click.echo(f"evalign: {rows} failed under {result.metric}; {result.first_error}", err=True)
    return 3 if any(result.failed for result in results) else 0


def _json_lines(stream: IO[str]) -> Emit:
    """Writes each segment as a line of JSON."""

    def write(result: Result, segment: Segment) -> None:
        line = {"system": result.system, "metric": result.metric} | segment.to_dict()
        stream.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n")

    return write


def _run(inputs: list[RowSource], metrics: list[Metric], sinks: list[Emit]) -> list[Result]:
    results: list[Result] = []
    counts = [source.count() for source in inputs]
    total = None if None in counts else sum(count or 0 for count in counts) * len(metrics)
    with progress("scoring", total) as advance:

        def emit(result: Result, segment: Segment) -> None:
            for sink in sinks:
                sink(result, segment)
            advance()

        for source in inputs:
            results += score_source(source, metrics, emit)
    return results
