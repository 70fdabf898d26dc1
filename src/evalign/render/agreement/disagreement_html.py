"""The rows where a metric and people differ most, with their texts and, for metrics that match tokens, who met whom.

In: a `RatedTable` and the metrics that scored it. Out: one block of HTML per metric.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evalign.analysis.disagreement import Disagreement, worst
from evalign.analysis.rated_tables import PLAIN, RatedTable
from evalign.errors import EvalignError
from evalign.metrics.base import Metric
from evalign.render.alignment_html import alignment_html
from evalign.render.html import text
from evalign.types import Row

LONGEST = 3000  # characters of a text that are shown
OPEN_TOKENS = 60  # longer alignments open on a click


def disagreements_html(table: RatedTable, name: str, metric: Metric | None) -> str:
    """The rows that one metric overrates and underrates most; without the metric (scores from a file) only texts."""
    found = worst(table, name)
    if not found:
        return "<p>The metric and people put all rows in the same order.</p>"
    scorer = None if metric is None else _scorer(metric, table)
    turned = -1 if metric is not None and not metric.higher_is_better else 1
    blocks = []
    for over, heading in ((True, "overrated by the metric"), (False, "underrated by the metric")):
        entries = [_entry(one, turned * one.score, scorer) for one in found if one.overrated == over]
        if entries:
            blocks.append(f"<h4>{heading[0].upper()}{heading[1:]}</h4>\n<ol>{''.join(entries)}</ol>\n")
    return "".join(blocks)


def _scorer(metric: Metric, table: RatedTable) -> Any:
    """One loaded scorer for all rows, if the metric can align, so that IDF weights are those of the whole table."""
    return metric.scorer(table.rows) if metric.aligns else None


def _entry(one: Disagreement, score: float, scorer: Any) -> str:
    ratings = ", ".join(
        f"{value:.4g}" if aspect == PLAIN else f"{text(aspect)} {value:.4g}" for aspect, value in one.ratings.items()
    )
    system = f", system {text(one.row.system)}" if one.row.system else ""
    best, picture = _best(one.row, scorer)
    references = [*one.row.references[best : best + 1], *one.row.references[:best], *one.row.references[best + 1 :]]
    texts = f"<dt>candidate</dt>{_text(one.row.candidate)}"
    texts += "".join(f"<dt>reference</dt>{_text(reference)}" for reference in references[:1])
    return (
        f"<li><p><strong>Row <bdi>{text(one.row.id)}</bdi></strong>{system}. Metric {score:.4f}: above "
        f"{one.metric_place:.0f}% of the rows. People {ratings}: above {one.human_place:.0f}%.</p>\n"
        f"<dl>{texts}</dl>\n{_further(references[1:])}{picture}</li>\n"
    )


def _best(row: Row, scorer: Any) -> tuple[int, str]:
    """The reference that fits best, and its picture; the first one where nothing can be matched."""
    if scorer is None or not row.references:
        return 0, ""
    try:
        best = 0
        if len(row.references) > 1:
            single = [Row(str(place), row.candidate, (one,)) for place, one in enumerate(row.references)]
            field = scorer.metric.main
            best = int(np.argmax([segment.scores[field] for segment in scorer.score(single)]))
        alignment = scorer.align(row.candidate, row.references[best])
    except EvalignError as error:
        return 0, f"<p>No alignment is shown: {text(str(error))}</p>"
    opened = " open" if max(len(alignment.candidate), len(alignment.reference)) <= OPEN_TOKENS else ""
    return best, f"<details{opened}><summary>Who met whom</summary>{alignment_html(alignment)}</details>"


def _text(content: str) -> str:
    more = f" … ({len(content) - LONGEST} more characters)" if len(content) > LONGEST else ""
    shown = f"{text(content[:LONGEST])}{more}" if content.strip() else "<em>empty</em>"
    return f'<dd dir="auto">{shown}</dd>'


def _further(references: list[str]) -> str:
    if not references:
        return ""
    items = "".join(f"<dt>reference {place}</dt>{_text(one)}" for place, one in enumerate(references, 2))
    return f"<details><summary>{len(references)} more references</summary><dl>{items}</dl></details>"
