"""`evalign score`: read files, print a table; write the scores of rows to a file while they are computed."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import click

from evalign.analysis.scoring import RowBootstrap, score_source
from evalign.cli.corpus_page import PageRows, corpus_page_option, rereadable
from evalign.cli.inputs import InputOptions, field_options, file_options
from evalign.cli.messages import echo_message
from evalign.cli.options import (
    OUTPUT_FILE,
    embeddings_option,
    format_option,
    metrics_option,
    print_result,
    resamples_option,
    seed_option,
    threads_option,
)
from evalign.core import Segment
from evalign.core.metric import Metric
from evalign.core.totals import Result
from evalign.errors import SpecError
from evalign.io.files import whole_file
from evalign.io.output import escaped
from evalign.io.rows import RowSource
from evalign.io.streams import STDIN
from evalign.render.progress import progress
from evalign.render.score_tables import FORMATS, SEGMENT_FORMATS, ScoredRow
from evalign.stats.bootstrap import Resampling

Emit = Callable[[Result, Segment], None]


@click.command()
@file_options
@metrics_option()
@format_option(FORMATS)
@click.option(
    "--segments",
    metavar="FILE",
    type=OUTPUT_FILE,
    help="Write every row's scores as JSON lines; '-': inside --format json or tsv.",
)
@resamples_option(None, "none are made without it.", low=100)
@seed_option()
@corpus_page_option
@field_options
@embeddings_option
@threads_option
def score(
    inputs: InputOptions, specs: tuple[str, ...], output_format: str, segments: Path | None, resamples: int | None,
    seed: int, html: Path | None, threads: int,
) -> int:  # fmt: skip
    """Score candidates against references.

    \b
    evalign score -c system.txt -r reference.txt
    cat system.txt | evalign score -r reference.txt
    evalign score -c a.txt -c b.txt -r ref1.txt -r ref2.txt -m bertscore --format latex
    evalign score data.jsonl --segments scores.jsonl
    evalign score data.jsonl -m rouge --resamples 1000
    evalign score data.jsonl -m bertscore -m chrf --html report.html
    evalign score scores/ --resamples 1000

    DATA is JSONL (fields candidate, references, and optionally id, source, system), CSV, TSV or Parquet, plain,
    gzipped or zstd; '-' is standard input; or the folder of a finished batch job, whose scores are read. Exit code 0:
    all rows scored, 2: bad input, 3: some rows failed.
    """
    metrics = inputs.metrics(specs, threads)
    sources = inputs.rows(metrics) if html is None else rereadable(inputs.rows(metrics))
    inline = segments == Path(STDIN)
    if inline and output_format not in SEGMENT_FORMATS:
        allowed = " or ".join(SEGMENT_FORMATS)
        raise SpecError(f"--segments - needs --format {allowed}; with other formats, give a file name")
    page_rows = None if html is None else PageRows(metrics)
    scored: list[ScoredRow] = []
    bootstrap = None if resamples is None else RowBootstrap(Resampling(resamples, seed))
    sinks: list[Emit] = [sink for sink in (page_rows, bootstrap) if sink is not None]
    with ExitStack() as files:
        if inline:
            sinks.append(lambda result, segment: scored.append((result, segment)))
        elif segments is not None:
            sinks.append(_json_lines(files.enter_context(whole_file(segments, compress=True))))
        results = _run(sources, metrics, sinks)
    if bootstrap is not None:
        with progress("resampling"):
            bootstrap.finish(results, metrics)
    if html is not None and page_rows is not None:
        page_rows.write(html, sources)
    if inline:
        print_result(SEGMENT_FORMATS, output_format, results, scored)
    else:
        print_result(FORMATS, output_format, results)
    for note in dict.fromkeys(result.note for result in results if result.note):
        echo_message(note)
    for result in results:
        if result.first_error:
            rows = f"{result.failed} rows of {result.system}" if result.system else f"{result.failed} rows"
            echo_message(f"{rows} failed under {result.metric}; {result.first_error}")
    return 3 if any(result.failed for result in results) else 0


def _json_lines(stream: IO[str]) -> Emit:
    """Return a function that writes each segment as a line of JSON."""

    def write(result: Result, segment: Segment) -> None:
        line = {"system": result.system, "metric": result.metric} | segment.to_dict()
        stream.write(escaped(json.dumps(line, ensure_ascii=False)) + "\n")

    return write


def _run(sources: list[RowSource], metrics: list[Metric], sinks: list[Emit]) -> list[Result]:
    results: list[Result] = []
    counts = [source.count() for source in sources]
    total = None if None in counts else sum(count or 0 for count in counts) * len(metrics)
    with progress("scoring", total) as advance:

        def emit(result: Result, segment: Segment) -> None:
            for sink in sinks:
                sink(result, segment)
            advance()

        for source in sources:
            results += score_source(source, metrics, emit)
    return results
