"""The alignments of scored rows, as a corpus document carries them: the worst rows first, up to a stated size.

In: the metrics, the sources and their rows, and each metric's segments in the order of the rows. Out: the document's
`alignments`. Scorers are made from the whole source, so that IDF weights are those that the rows were scored with.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from evalign.data.rows import RowSource
from evalign.errors import EvalignError, TextTooLongError
from evalign.metrics.base import Metric, blocks
from evalign.metrics.matching_metric import MatchingMetric, MatchingScorer
from evalign.render.documents import alignment_document, matching_name
from evalign.types import Row, Segment

MOST_BYTES = 6_000_000  # of alignments in one file: a thousand pairs of sentences
BLOCK = 64  # rows that are encoded together
Watch = Callable[[str, int | None], AbstractContextManager[Callable[[], object]]]
Scored = tuple[int, int, Row, int]  # place of the row, place of the metric, the row, place of its best reference


def row_alignments(
    metrics: Sequence[Metric],
    sources: Sequence[tuple[RowSource, Sequence[Row]]],
    segments: Sequence[Sequence[Segment]],
    most: int = MOST_BYTES,
    watch: Watch = lambda _what, _total: nullcontext(lambda: None),
) -> dict[str, Any]:
    """`rows`: the documents by place of row and metric; `about`: which rows have one, in a sentence."""
    aligning = [place for place, metric in enumerate(metrics) if metric.aligns]
    if not aligning:
        return {"rows": [], "about": "None of these metrics matches tokens, so no row has an alignment to show."}
    homes = [number for number, (_, rows) in enumerate(sources) for _ in rows]
    texts = [row for _, rows in sources for row in rows]
    wanted = _wanted(metrics, aligning, texts, segments)
    scorers: dict[tuple[int, int], MatchingScorer] = {}
    entries: list[dict[str, Any]] = []
    left = most
    try:
        with watch("aligning", len(wanted)) as advance:
            for block in blocks(wanted, BLOCK):
                for key in dict.fromkeys((homes[place], which) for place, which, _, _ in block):
                    if key not in scorers:
                        scorers[key] = _scorer(metrics[key[1]], sources[key[0]][0])
                    own = [scored for scored in block if (homes[scored[0]], scored[1]) == key]
                    for entry in _aligned(scorers[key], str(metrics[key[1]]), own):
                        left -= len(json.dumps(entry, ensure_ascii=False).encode())
                        if left < 0:
                            return {"rows": entries, "about": _about(entries, wanted, most)}
                        entries.append(entry)
                        advance()
    except EvalignError as error:  # rows scored elsewhere, whose model is not here
        return {"rows": [], "about": f"This file holds no alignments: {error}"}
    return {"rows": entries, "about": _about(entries, wanted, most)}


def _wanted(
    metrics: Sequence[Metric], aligning: Sequence[int], rows: Sequence[Row], segments: Sequence[Sequence[Segment]]
) -> list[Scored]:
    """Everything that has a picture, in the order of a row's worst place among all rows of a metric."""
    worst = np.full(len(rows), len(rows))
    for place in aligning:
        metric = metrics[place]
        sign = 1 if metric.higher_is_better else -1
        values = np.array([sign * segment.scores.get(metric.main, np.inf) for segment in segments[place]])
        worst = np.minimum(worst, np.argsort(np.argsort(values, kind="stable"), kind="stable"))
    return [
        (int(row), place, rows[row], segments[place][row].reference or 0)
        for row in np.argsort(worst, kind="stable")
        for place in aligning
        if segments[place][row].error is None and "empty" not in segments[place][row].counts and rows[row].references
    ]


def _scorer(metric: Metric, source: RowSource) -> MatchingScorer:
    assert isinstance(metric, MatchingMetric)  # `aligns`
    return metric.scorer(source)


def _aligned(scorer: MatchingScorer, spec: str, scored: Sequence[Scored]) -> Iterator[dict[str, Any]]:
    texts = [text for _, _, row, best in scored for text in (row.candidate, row.references[best])]
    sides = scorer.sides(dict.fromkeys(texts))
    for row_place, metric_place, row, best in scored:
        try:
            alignment = scorer.align_sides(sides[row.candidate], sides[row.references[best]])
        except TextTooLongError:
            continue
        document = alignment_document({matching_name(alignment): alignment}, metric=spec, packed=True)
        yield {"row": row_place, "metric": metric_place, "alignment": document}


def _about(entries: Sequence[dict[str, Any]], wanted: Sequence[Scored], most: int) -> str:
    shown, all_rows = (len({place for place, *_ in places}) for places in ([(e["row"],) for e in entries], wanted))
    if len(entries) == len(wanted):
        return f"This file holds the alignments of all its rows that have one: {shown:,} rows."
    return (
        f"This file holds the alignments of {shown:,} of {all_rows:,} rows, those that were scored worst, for it takes "
        f"{most / 1_000_000:g} MB of them; the page of evalign serve and evalign align show the others."
    )
