"""The rows where a metric and people differ most, with their texts and, for metrics that match tokens, the matches.

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
    disagreements = worst(table, name)
    if not disagreements:
        return "<p>The metric and people put all rows in the same order.</p>"
    # One scorer for all rows, so that IDF weights are those of the whole table.
    scorer = metric.scorer(table.rows) if metric is not None and metric.aligns else None
    sign = -1 if metric is not None and not metric.higher_is_better else 1
    blocks = []
    for overrated, heading in ((True, "Overrated by the metric"), (False, "Underrated by the metric")):
        entries = [_entry(each, sign * each.score, scorer) for each in disagreements if each.overrated == overrated]
        if entries:
            blocks.append(f"<h4>{heading}</h4>\n<ol>{''.join(entries)}</ol>\n")
    return "".join(blocks)


def _entry(disagreement: Disagreement, score: float, scorer: Any) -> str:
    row = disagreement.row
    ratings = ", ".join(
        f"{value:.4g}" if aspect == PLAIN else f"{text(aspect)} {value:.4g}"
        for aspect, value in disagreement.ratings.items()
    )
    system = f", system {text(row.system)}" if row.system else ""
    best, picture = _best(row, scorer)
    references = [*row.references[best : best + 1], *row.references[:best], *row.references[best + 1 :]]
    texts = f"<dt>candidate</dt>{_text(row.candidate)}"
    texts += "".join(f"<dt>reference</dt>{_text(reference)}" for reference in references[:1])
    return (
        f"<li><p><strong>Row <bdi>{text(row.id)}</bdi></strong>{system}. Metric {score:.4f}: above "
        f"{disagreement.metric_place:.0f}% of the rows. People {ratings}: above {disagreement.human_place:.0f}%.</p>\n"
        f"<dl>{texts}</dl>\n{_further(references[1:])}{picture}</li>\n"
    )


def _best(row: Row, scorer: Any) -> tuple[int, str]:
    """The reference that fits best, and its picture; the first one where nothing can be matched."""
    if scorer is None or not row.references:
        return 0, ""
    try:
        best = 0
        if len(row.references) > 1:
            pairs = [Row(str(place), row.candidate, (reference,)) for place, reference in enumerate(row.references)]
            field = scorer.metric.main
            best = int(np.argmax([segment.scores[field] for segment in scorer.score(pairs)]))
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
    items = "".join(f"<dt>reference {number}</dt>{_text(content)}" for number, content in enumerate(references, 2))
    return f"<details><summary>{len(references)} more references</summary><dl>{items}</dl></details>"
