"""`evalign score`: files in, a table out; segments to a file as they are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from evalign.analysis.scoring import Result, score_source
from evalign.atomic_files import whole_file
from evalign.cli.corpus_page import PageRows, page_option, read_twice
from evalign.cli.inputs import Given, field_options, file_options
from evalign.cli.options import (
    embeddings_option,
    format_option,
    metrics_option,
    parse_metrics,
    stdout_console,
    threads_option,
)
from evalign.data.rows import RowSource
from evalign.data.text_lines import STDIN
from evalign.errors import SpecError
from evalign.metrics.base import Metric
from evalign.render import score_tables
from evalign.render.progress import progress
from evalign.types import Segment

Emit = Callable[[Result, Segment], None]


@click.command()
@file_options
@metrics_option
@format_option
@click.option("--segments", metavar="FILE", help="Every row's scores, as JSON lines; '-': inside --format json or tsv.")
@page_option
@field_options
@embeddings_option
@threads_option
def score(
    given: Given, specs: tuple[str, ...], form: str, segments: str | None, page: Path | None, threads: int
) -> int:
    """Score candidates against references.

    \b
    evalign score -c system.txt -r reference.txt
    evalign score -c a.txt -c b.txt -r ref1.txt -r ref2.txt -m bertscore --format latex
    evalign score data.jsonl --segments scores.jsonl
    evalign score data.jsonl -m bertscore -m chrf --html report.html

    DATA is JSONL (fields candidate, references, and optionally id, source, system), CSV, TSV or Parquet, plain
    or gzipped; '-' is standard input. Exit code 0: all rows scored, 2: bad input, 3: some rows failed.
    """
    metrics = parse_metrics(specs, threads)
    inputs = given.rows(metrics) if page is None else read_twice(given.rows(metrics))
    shown = PageRows(metrics)
    if segments == STDIN and form not in ("json", "tsv"):
        raise SpecError("--segments - goes with --format json or tsv; with others, give a file name")
    with _segment_sink(segments) as sink:
        results = _run(inputs, metrics, [sink] if page is None else [sink, shown])
    if page is not None:
        shown.write(page, inputs)
    _show(results, form, sink if segments == STDIN else None)
    for note in dict.fromkeys(result.note for result in results if result.note):
        click.echo(f"evalign: {note}", err=True)
    return 3 if any(result.failed for result in results) else 0


class _Sink:
    """Takes segments: drops them, writes them, or keeps them for standard output."""

    def __init__(self, stream: Any = None, keep: bool = False) -> None:
        self.kept: list[tuple[Result, Segment]] | None = [] if keep else None
        self._stream = stream

    def __call__(self, result: Result, segment: Segment) -> None:
        if self.kept is not None:
            self.kept.append((result, segment))
        if self._stream is not None:
            line = {"system": result.system, "metric": result.metric} | segment.to_dict()
            self._stream.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n")


@contextmanager
def _segment_sink(target: str | None) -> Iterator[_Sink]:
    if target is None or target == STDIN:
        yield _Sink(keep=target == STDIN)
        return
    with whole_file(Path(target)) as stream:
        yield _Sink(stream)


def _run(inputs: list[RowSource], metrics: list[Metric], sinks: list[Emit]) -> list[Result]:
    results: list[Result] = []
    counts = [one.count() for one in inputs]
    total = None if None in counts else sum(count or 0 for count in counts) * len(metrics)
    with progress("scoring", total) as advance:

        def emit(result: Result, segment: Segment) -> None:
            for sink in sinks:
                sink(result, segment)
            advance()

        for one in inputs:
            results += score_source(one, metrics, emit)
    return results


def _show(results: list[Result], form: str, sink: _Sink | None) -> None:
    kept = sink.kept if sink is not None else None
    if form == "json":
        segments = None
        if kept is not None:
            segments = {i: [s.to_dict() for r, s in kept if r is result] for i, result in enumerate(results)}
        click.echo(score_tables.results_json(results, segments))
    elif form == "tsv":
        click.echo(score_tables.results_tsv(results) if kept is None else score_tables.segments_tsv(results, kept))
    elif form == "latex":
        click.echo(score_tables.results_latex(results))
    else:
        stdout_console().print(score_tables.results_table(results))
