"""`--html` of `score` and `compare`: the rows, their texts and scores as one interactive file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from evalign.analysis.comparison.values import SystemComparison
from evalign.analysis.scoring import Result
from evalign.cli.options import page_option
from evalign.data.rows import InMemory, RowSource
from evalign.metrics.base import Metric
from evalign.render.documents import scores_document
from evalign.render.export import write_html
from evalign.render.progress import progress
from evalign.render.row_alignments import row_alignments
from evalign.types import Segment

corpus_page_option = page_option(
    "Write an interactive report of all rows: one file, which opens offline; with the alignments of the worst rows, "
    "up to 6 MB."
)


def read_twice(inputs: Sequence[RowSource]) -> list[RowSource]:
    """Sources whose rows can be read again for their texts; streams are kept in memory."""
    return [source if source.rereadable else InMemory(list(source)) for source in inputs]


class PageRows:
    """Takes in segments as they are made, and writes the page when all are there."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = list(dict.fromkeys(metrics))
        self._segments: dict[str, list[Segment]] = {str(metric): [] for metric in self.metrics}
        self._results: dict[int, Result] = {}

    def __call__(self, result: Result, segment: Segment) -> None:
        """Takes in one segment."""
        self._segments[result.metric].append(segment)
        self._results[id(result)] = result

    def write(self, path: Path, inputs: Sequence[RowSource], comparison: SystemComparison | None = None) -> None:
        """Reads the rows once more for their texts, and matches the tokens of the worst once more."""
        sources = [(source, list(source)) for source in inputs]
        results = [result.to_dict() for result in self._results.values()]
        told = comparison.to_dict() if comparison is not None else None
        segments = list(self._segments.values())
        document = scores_document(self.metrics, results, (row for _, rows in sources for row in rows), segments, told)
        document["alignments"] = row_alignments(self.metrics, sources, segments, watch=progress)
        write_html(document, path)
        click.echo(f"{path}: written", err=True)
