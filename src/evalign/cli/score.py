"""`evalign score`: files in, a table out; segments to a file as they are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from evalign.cli.options import parse_metric, stdout_console, threads_option
from evalign.errors import SpecError
from evalign.folders import whole_file
from evalign.jobs.files import STDIN, shown
from evalign.jobs.rows import FORMATS, Columns, RowSource, TableFile, TextFiles
from evalign.jobs.scoring import Result, score_source
from evalign.metrics.base import Metric
from evalign.render import tables
from evalign.render.progress import progress
from evalign.types import Segment

Emit = Callable[[Result, Segment], None]


@click.command()
@click.argument("data", required=False)
@click.option("-c", "--candidates", multiple=True, metavar="FILE", help="Candidates, one per line; repeat for systems.")
@click.option("-r", "--references", multiple=True, metavar="FILE", help="References, one per line; repeat for more.")
@click.option("-s", "--sources", metavar="FILE", help="Source texts, one per line.")
@click.option("-m", "--metric", "specs", multiple=True, metavar="SPEC", default=("bertscore",), show_default=True,
              help="A metric, as in 'bertscore(layer=5, idf=references)'; repeat for several.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(tables.FORMATS), default="table", show_default=True)
@click.option("--segments", metavar="FILE", help="Every row's scores, as JSON lines; '-': inside --format json or tsv.")
@click.option("--candidate-field", default="candidate", show_default=True, help="Field of DATA with the candidate.")
@click.option("--reference-field", multiple=True, help="Field of DATA with a reference; repeat for several.")
@click.option("--source-field", default="source", show_default=True, help="Field of DATA with the source.")
@click.option("--id-field", default="id", show_default=True, help="Field of DATA that names a row.")
@click.option("--system-field", default="system", show_default=True, help="Field of DATA that names the system.")
@click.option("--input-format", type=click.Choice(FORMATS), help="Format of DATA, if its name does not say it.")
@threads_option
def score(data: str | None, candidates: tuple[str, ...], references: tuple[str, ...], sources: str | None,
          specs: tuple[str, ...], form: str, segments: str | None, candidate_field: str,
          reference_field: tuple[str, ...], source_field: str, id_field: str, system_field: str,
          input_format: str | None, threads: int) -> int:  # fmt: skip
    """Score candidates against references.

    \b
    evalign score -c system.txt -r reference.txt
    evalign score -c a.txt -c b.txt -r ref1.txt -r ref2.txt -m bertscore --format latex
    evalign score data.jsonl --segments scores.jsonl

    DATA is JSONL (fields candidate, references, and optionally id, source, system), CSV, TSV or Parquet, plain
    or gzipped; '-' is standard input. Exit code 0: all rows scored, 2: bad input, 3: some rows failed.
    """
    metrics = list(dict.fromkeys(parse_metric(spec, threads) for spec in specs))
    columns = Columns(candidate_field, reference_field, source_field, id_field, system_field)
    inputs = _inputs(data, candidates, references, sources, columns, input_format)
    if segments == STDIN and form not in ("json", "tsv"):
        raise SpecError("--segments - goes with --format json or tsv; with others, give a file name")
    with _segment_sink(segments) as sink:
        results = _run(inputs, metrics, sink)
    _show(results, form, sink if segments == STDIN else None)
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


def _inputs(data: str | None, candidates: tuple[str, ...], references: tuple[str, ...], sources: str | None,
            columns: Columns, input_format: str | None) -> list[RowSource]:  # fmt: skip
    if data is not None:
        if candidates or references or sources:
            raise SpecError("give either DATA or -c and -r files, not both")
        return [TableFile(data, columns, input_format)]
    if not candidates:
        raise SpecError("nothing to score: give a data file, or -c and -r files (evalign score --help)")
    if not references:
        raise SpecError("no references: give at least one -r file")
    stems = [Path(path).stem if path != STDIN else shown(path) for path in candidates]
    names = stems if len(set(stems)) == len(stems) else [shown(path) for path in candidates]
    return [TextFiles(path, references, sources, name) for path, name in zip(candidates, names, strict=True)]


def _run(inputs: list[RowSource], metrics: list[Metric], sink: Emit) -> list[Result]:
    results: list[Result] = []
    counts = [one.count() for one in inputs]
    total = None if None in counts else sum(count or 0 for count in counts) * len(metrics)
    with progress("scoring", total) as advance:

        def emit(result: Result, segment: Segment) -> None:
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
        click.echo(tables.results_json(results, segments))
    elif form == "tsv":
        click.echo(tables.results_tsv(results) if kept is None else tables.segments_tsv(results, kept))
    elif form == "latex":
        click.echo(tables.results_latex(results))
    else:
        stdout_console().print(tables.results_table(results))
