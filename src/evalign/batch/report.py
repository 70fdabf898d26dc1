"""The page of a finished job: its results, and rows with their texts, as the corpus document that the page draws.

A job of more rows than a page can hold shows rows at even distances, and the worst of each metric besides.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from typing import Any

from evalign.batch.job import StoredJob
from evalign.batch.job_rows import JobRows
from evalign.batch.outputs import ScoredRow
from evalign.batch.summary import Summary, error_lines, scored_rows
from evalign.render.documents import scores_document

WORST = 0.01  # of the rows that may be shown, for each metric: few enough to leave the distributions as they are
PROBLEMS = 1000


def job_document(source: JobRows, summary: Summary, limit: int) -> tuple[dict[str, Any], int]:
    """The document, and how many rows it shows."""
    job = source.job
    chosen = _chosen(job, limit)
    rows, segments = [], [[] for _ in job.metrics]  # type: ignore[var-annotated]
    for place, (row, own) in enumerate(zip(source, _by_row(job), strict=True)):
        if place in chosen:
            rows.append(row)
            for column, scored in zip(segments, own, strict=True):
                column.append(scored.segment)
    document = scores_document(job.metrics, [result.to_dict() for result in summary.results], rows, segments)
    problems = [{"place": f"{line['file']}:{line['line']}", "message": line["error"]} for line in _unreadable(job)]
    if len(rows) < summary.rows - len(problems):
        part = f"{len(rows)} of {summary.rows} rows, at even distances, and the worst of each metric"
        problems.insert(0, {"place": "this page", "message": f"shows {part}; the results are those of all rows"})
    document["problems"] = problems[:PROBLEMS]
    return document, len(rows)


def _chosen(job: StoredJob, limit: int) -> set[int]:
    """Places of the rows to show."""
    worst: list[list[tuple[float, int]]] = [[] for _ in job.metrics]
    most = max(1, round(limit * WORST))
    count = 0
    for count, own in enumerate(_by_row(job), 1):
        for metric, heap, scored in zip(job.metrics, worst, own, strict=True):
            value = scored.segment.scores.get(metric.main)
            if value is not None:
                heapq.heappush(heap, (-value if metric.higher_is_better else value, -count))
                if len(heap) > most:
                    heapq.heappop(heap)
    even = set(range(0, count, max(1, -(-count // limit))))
    return even | {-place - 1 for heap in worst for _, place in heap}


def _by_row(job: StoredJob) -> Iterator[list[ScoredRow]]:
    """The segments of each row, one per metric."""
    scored = scored_rows(job)
    return (list(own) for own in zip(*[scored] * len(job.metrics), strict=True))


def _unreadable(job: StoredJob) -> Iterator[dict[str, Any]]:
    return (line for line in map(json.loads, error_lines(job)) if "id" not in line)
