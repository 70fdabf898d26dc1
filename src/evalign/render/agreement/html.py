"""Agreement with people as one HTML page that needs no other file.

In: an `Agreement` and the metrics behind it (those from files have none). Out: the page as text; the same input gives
the same bytes. Everything that comes from data passes through `html.text`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evalign.analysis.agreement import Agreement, Judgement
from evalign.analysis.rated_tables import PLAIN, Disagreement, RatedTable, worst
from evalign.errors import EvalignError
from evalign.metrics.base import Metric
from evalign.render.agreement.pictures import pictures
from evalign.render.agreement.rows_html import STYLE as ROW_STYLE
from evalign.render.agreement.rows_html import row_link, rows_html, shown_text
from evalign.render.agreement.tables import estimate_cells, group_cells, notes, of_aspect
from evalign.render.html import figure, items, page, section, table, text
from evalign.render.static_html import STYLE, alignment_html
from evalign.types import Row

MOST_NOTES = 60
FIGURES = {
    "forest": "How well each metric agrees",
    "scatter": "Metric against people, row by row",
    "violins": "Scores where people gave low and high ones",
    "correlation": "Which metrics say the same",
    "length": "Error by length",
}
LONGEST = 3000  # characters of a text that are shown
OPEN_TOKENS = 60  # longer alignments open on a click


def agreement_html(agreement: Agreement, metrics: list[Metric]) -> str:
    """The whole page."""
    drawings: dict[str, list[str]] = {kind: [] for kind in FIGURES}
    for picture in pictures(agreement):
        drawings[picture.kind].append(figure(picture.name, picture.name, picture.drawing.svg, picture.drawing.caption))
    best = "".join(f"<p>{_best(agreement, aspect, of_aspect(agreement, aspect))}</p>\n" for aspect in agreement.aspects)
    by_name = {str(metric): metric for metric in metrics}
    linked = any(row_link(0)[:5] in drawing for drawing in drawings["scatter"])
    contents = [
        ("summary", "Summary", best + _tables(agreement)),
        *((kind, title, "".join(drawings[kind])) for kind, title in FIGURES.items()),
        ("worst", "Worst disagreements", _worst(agreement, by_name)),
        ("rows", "Rows", rows_html(agreement.table, by_name) if linked else ""),
        ("made", "How this was made", _made(agreement)),
    ]
    contents = [(name, title, content) for name, title, content in contents if content]  # pairs have no ratings
    sections = "".join(section(*content) for content in contents)
    links = [(name, title) for name, title, _ in contents]
    return page("Agreement of metrics with people", STYLE + ROW_STYLE, links, sections)


def _best(agreement: Agreement, aspect: str, judgements: Sequence[Judgement]) -> str:
    """Which metric agrees best, and which ones cannot be told apart from it."""
    first = agreement.plan.statistics[0]
    subject = "" if aspect == PLAIN else f"<strong>{text(aspect)}</strong>: "
    best = judgements[0]
    if best.estimates[first].value is None:
        return f"{subject}no metric has a value; the notes below say why."
    sentence = (
        f"{subject}{_name(best)} agrees best with people ({text(first)} {text(best.estimates[first].text())}, "
        f"{agreement.plan.level} level, {len(agreement.table.rows)} rows)."
    )
    if len(judgements) == 1:
        return sentence
    if best.rank is None:
        return sentence + " No test says whether it is really better than the others."
    equal = [_name(judgement) for judgement in judgements[1:] if judgement.rank == best.rank]
    if not equal:
        return sentence + " It is significantly better than every other metric."
    return sentence + f" Not told apart from it by the {agreement.plan.test} test: {', '.join(equal)}."


def _name(judgement: Judgement) -> str:
    return f"<strong><bdi>{text(judgement.metric)}</bdi></strong>"


def _tables(agreement: Agreement) -> str:
    plan = agreement.plan
    mean = f", mean over {plan.by}" if plan.by is not None else ""
    parts = []
    for aspect in agreement.aspects:
        columns, lines = estimate_cells(agreement, aspect, missing="–")
        caption = f"{'people' if aspect == PLAIN else aspect}: {plan.level} level{mean}"
        parts.append(table(caption, columns, [("best" if line[0] == "1" else "", line) for line in lines], head=1))
        columns, lines = group_cells(agreement, aspect, missing="–")
        if plan.by is not None and len(columns) > 1:
            by = f"{plan.statistics[0]} by {plan.by}" + ("" if aspect == PLAIN else f", {aspect}")
            parts.append(f"<details><summary>{text(by)}: {len(columns) - 1} groups</summary>")
            parts.append(table(by, columns, [("", line) for line in lines]) + "</details>\n")
    return "".join(parts)


def _worst(agreement: Agreement, metrics: Mapping[str, Metric]) -> str:
    aspects = len(agreement.table.human)
    if not aspects:
        return ""
    people = "people's place of a row" if aspects == 1 else f"the mean of people's places of a row in {aspects} aspects"
    intro = (
        f"<p>The rows where a metric's place and {people} are furthest apart: three that the metric puts too high and "
        "three that it puts too low. Places are percentages of the rows that stand below. Where the metric matches "
        "tokens, each token stands in a box with its partner, if that is another word, and their similarity: blue, "
        "light blue and dotted are thirds of the way from what unrelated text reaches with the model to 1; what "
        "reaches less has a double border.</p>\n"
    )
    order = [judgement.metric for judgement in of_aspect(agreement, agreement.aspects[0])]
    return intro + "".join(
        f'<details class="metric"{" open" if place == 0 else ""}><summary><h3><bdi>{text(name)}</bdi></h3></summary>\n'
        f"{disagreements_html(agreement.table, name, metrics.get(name))}</details>\n"
        for place, name in enumerate(order)
    )


def _made(agreement: Agreement) -> str:
    signatures = agreement.table.signatures
    lines = [line for line in notes(agreement) if line not in set(signatures.values())]
    more = [f"and {len(lines) - MOST_NOTES} more notes, in the JSON output"] if len(lines) > MOST_NOTES else []
    signed = "".join(
        f"<dt><bdi>{text(name)}</bdi></dt><dd><code>{text(signature)}</code></dd>\n"
        for name, signature in signatures.items()
    )
    turned = "<p>Scores of metrics where lower is better are turned round before anything is computed.</p>\n"
    return f"<ul>{items([*lines[:MOST_NOTES], *more])}</ul>\n{turned}<h3>Signatures</h3>\n<dl>{signed}</dl>\n"


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
    best, picture = _best_reference(row, scorer)
    references = [*row.references[best : best + 1], *row.references[:best], *row.references[best + 1 :]]
    texts = f"<dt>candidate</dt>{shown_text(row.candidate, LONGEST)}"
    texts += "".join(f"<dt>reference</dt>{shown_text(reference, LONGEST)}" for reference in references[:1])
    return (
        f"<li><p><strong>Row <bdi>{text(row.id)}</bdi></strong>{system}. Metric {score:.4f}: above "
        f"{disagreement.metric_place:.0f}% of the rows. People {ratings}: above {disagreement.human_place:.0f}%.</p>\n"
        f"<dl>{texts}</dl>\n{_further(references[1:])}{picture}</li>\n"
    )


def _best_reference(row: Row, scorer: Any) -> tuple[int, str]:
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


def _further(references: list[str]) -> str:
    if not references:
        return ""
    items = "".join(
        f"<dt>reference {number}</dt>{shown_text(content, LONGEST)}" for number, content in enumerate(references, 2)
    )
    return f"<details><summary>{len(references)} more references</summary><dl>{items}</dl></details>"
