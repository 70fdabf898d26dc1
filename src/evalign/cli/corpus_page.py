"""`--html` of `score` and `compare`: the rows, their texts and scores as one interactive file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from evalign.analysis.comparison_results import SystemComparison
from evalign.cli.options import html_option
from evalign.core import Segment
from evalign.core.metric import Metric
from evalign.core.totals import Result
from evalign.io.rows import InMemory, RowSource
from evalign.render.documents import row_alignments, scores_document
from evalign.render.export import write_html
from evalign.render.progress import progress

corpus_page_option = html_option("all rows, with the alignments of the worst, up to 6 MB.")


def rereadable(sources: Sequence[RowSource]) -> list[RowSource]:
    """Return sources whose rows can be read again for their texts; streams are kept in memory."""
    return [source if source.rereadable else InMemory(list(source)) for source in sources]


class PageRows:
    """Collects segments while they are computed, and writes the page at the end."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = list(dict.fromkeys(metrics))
        self._segments: dict[str, list[Segment]] = {str(metric): [] for metric in self.metrics}
        self._results: dict[int, Result] = {}

    def __call__(self, result: Result, segment: Segment) -> None:
        """Add one segment."""
        self._segments[result.metric].append(segment)
        self._results[id(result)] = result

    def write(self, path: Path, sources: Sequence[RowSource], comparison: SystemComparison | None = None) -> None:
        """Write the page; rows are read again for their texts, and the tokens of the worst rows are matched again."""
        rows_by_source = [(source, list(source)) for source in sources]
        results = [result.to_dict() for result in self._results.values()]
        comparison_document = comparison.to_dict() if comparison is not None else None
        segments = list(self._segments.values())
        rows = (row for _, source_rows in rows_by_source for row in source_rows)
        document = scores_document(self.metrics, results, rows, segments, comparison_document)
        document["alignments"] = row_alignments(self.metrics, rows_by_source, segments, watch=progress)
        write_html(document, path)
        click.echo(f"{path}: written", err=True)
