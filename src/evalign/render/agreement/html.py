"""Agreement with people as one HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evalign.analysis.agreement import Agreement, MetricAgreement
from evalign.analysis.rated_tables import PLAIN, Disagreement, RatedTable, largest_disagreements
from evalign.core import Row
from evalign.core.metric import Metric
from evalign.errors import EvalignError
from evalign.render.agreement.pictures import pictures, row_link
from evalign.render.agreement.tables import estimate_cells, group_cells, notes, of_aspect
from evalign.render.html import figure, items, page, section, table, text
from evalign.render.static_html import STYLE, alignment_html

MAX_NOTES = 60
FIGURES = {
    "forest": "How well each metric agrees",
    "scatter": "Metric against people, row by row",
    "violins": "Scores where people gave low and high ones",
    "correlation": "Which metrics say the same",
    "length": "Error by length",
}
MAX_WORST_CHARACTERS = 3000  # of each text in the worst disagreements
OPEN_TOKENS = 60  # longer alignments open on a click
MAX_ROW_CHARACTERS = 600  # of each text in the list of rows
ROW_STYLE = """
.rows{list-style:none;padding:0}
.rows>li{margin:0;padding:.4rem .6rem;border-top:1px solid var(--line);content-visibility:auto;
contain-intrinsic-size:auto 8rem}
.rows>li:target{background:var(--best);outline:2px solid var(--link);content-visibility:visible}
figure a:hover use,figure a:focus use{stroke:var(--ink)!important;stroke-width:2.5px!important;opacity:1!important}
"""


def agreement_html(agreement: Agreement, metrics: list[Metric]) -> str:
    """Return the page.

    Args:
        agreement: Agreement of all metrics.
        metrics: The metrics themselves, to align the tokens of the worst rows.
    """
    drawings: dict[str, list[str]] = {section_id: [] for section_id in FIGURES}
    for picture in pictures(agreement):
        drawings[picture.section].append(
            figure(picture.name, picture.name, picture.drawing.svg, picture.drawing.caption)
        )
    best = "".join(f"<p>{_best(agreement, aspect, of_aspect(agreement, aspect))}</p>\n" for aspect in agreement.aspects)
    by_name = {str(metric): metric for metric in metrics}
    linked = any(row_link(0)[:5] in drawing for drawing in drawings["scatter"])
    contents = [
        ("summary", "Summary", best + _tables(agreement)),
        *((section_id, title, "".join(drawings[section_id])) for section_id, title in FIGURES.items()),
        ("worst", "Worst disagreements", _worst(agreement, by_name)),
        ("rows", "Rows", rows_html(agreement.table, by_name) if linked else ""),
        ("made", "How this was made", _method(agreement)),
    ]
    contents = [(name, title, content) for name, title, content in contents if content]  # pairs have no ratings
    sections = "".join(section(*content) for content in contents)
    links = [(name, title) for name, title, _ in contents]
    return page("Agreement of metrics with people", STYLE + ROW_STYLE, links, sections)


def _best(agreement: Agreement, aspect: str, judgements: Sequence[MetricAgreement]) -> str:
    """Return a sentence with the best metric and those that do not differ significantly from it."""
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
        return sentence + " No test was run, so the difference to the other metrics may be chance."
    equal = [_name(judgement) for judgement in judgements[1:] if judgement.rank == best.rank]
    if not equal:
        return sentence + " It is significantly better than every other metric."
    return sentence + f" Not significantly different ({agreement.plan.test} test): {', '.join(equal)}."


def _name(judgement: MetricAgreement) -> str:
    return f"<strong><bdi>{text(judgement.metric)}</bdi></strong>"


def _tables(agreement: Agreement) -> str:
    plan = agreement.plan
    mean = f", mean over {plan.within}" if plan.within is not None else ""
    parts = []
    for aspect in agreement.aspects:
        columns, lines = estimate_cells(agreement, aspect, missing="–")
        caption = f"{'people' if aspect == PLAIN else aspect}: {plan.level} level{mean}"
        parts.append(table(caption, columns, [("best" if line[0] == "1" else "", line) for line in lines], head=1))
        columns, lines = group_cells(agreement, aspect, missing="–")
        if plan.within is not None and len(columns) > 1:
            by = f"{plan.statistics[0]} by {plan.within}" + ("" if aspect == PLAIN else f", {aspect}")
            parts.append(f"<details><summary>{text(by)}: {len(columns) - 1} groups</summary>")
            parts.append(table(by, columns, [("", line) for line in lines]) + "</details>\n")
    return "".join(parts)


def _worst(agreement: Agreement, metrics: Mapping[str, Metric]) -> str:
    aspects = len(agreement.table.human)
    if not aspects:
        return ""
    people = "by human ratings" if aspects == 1 else f"by human ratings (the mean over {aspects} aspects)"
    intro = (
        f"<p>The rows whose percentiles by the metric and {people} differ most: three that the metric overrates and "
        "three that it underrates. A percentile is the percentage of rows with a lower value. If the metric matches "
        "tokens, each token is in a box with its partner, if that is a different word, and their similarity. Blue, "
        "light blue and dotted boxes are thirds of the range from the level of unrelated text with this model to 1; "
        "values below that level have a double border.</p>\n"
    )
    order = [judgement.metric for judgement in of_aspect(agreement, agreement.aspects[0])]
    return intro + "".join(
        f'<details class="metric"{" open" if index == 0 else ""}><summary><h3><bdi>{text(name)}</bdi></h3></summary>\n'
        f"{disagreements_html(agreement.table, name, metrics.get(name))}</details>\n"
        for index, name in enumerate(order)
    )


def _method(agreement: Agreement) -> str:
    signatures = agreement.table.signatures
    lines = [line for line in notes(agreement) if line not in set(signatures.values())]
    more = [f"and {len(lines) - MAX_NOTES} more notes, in the JSON output"] if len(lines) > MAX_NOTES else []
    signed = "".join(
        f"<dt><bdi>{text(name)}</bdi></dt><dd><code>{text(signature)}</code></dd>\n"
        for name, signature in signatures.items()
    )
    negated = "<p>Scores of metrics where lower is better are negated before the statistics are computed.</p>\n"
    return f"<ul>{items([*lines[:MAX_NOTES], *more])}</ul>\n{negated}<h3>Signatures</h3>\n<dl>{signed}</dl>\n"


def disagreements_html(table: RatedTable, name: str, metric: Metric | None) -> str:
    """Return the rows that a metric overrates and underrates most, with alignments if `metric` is not None."""
    disagreements = largest_disagreements(table, name)
    if not disagreements:
        return "<p>The metric and people put all rows in the same order.</p>"
    # One scorer for all rows, so that IDF weights are those of the whole table.
    scorer = metric.scorer(table.rows) if metric is not None and metric.aligns else None
    sign = -1 if metric is not None and not metric.higher_is_better else 1
    blocks = []
    for overrated, heading in ((True, "Overrated by the metric"), (False, "Underrated by the metric")):
        group = [disagreement for disagreement in disagreements if disagreement.overrated == overrated]
        entries = [_disagreement_entry(row, sign * row.score, scorer) for row in group]
        if entries:
            blocks.append(f"<h4>{heading}</h4>\n<ol>{''.join(entries)}</ol>\n")
    return "".join(blocks)


def _disagreement_entry(disagreement: Disagreement, score: float, scorer: Any) -> str:
    row = disagreement.row
    ratings = ", ".join(
        f"{value:.4g}" if aspect == PLAIN else f"{text(aspect)} {value:.4g}"
        for aspect, value in disagreement.ratings.items()
    )
    system = f", system {text(row.system)}" if row.system else ""
    best, picture = _best_reference(row, scorer)
    references = [*row.references[best : best + 1], *row.references[:best], *row.references[best + 1 :]]
    texts = f"<dt>candidate</dt>{shown_text(row.candidate, MAX_WORST_CHARACTERS)}"
    texts += "".join(f"<dt>reference</dt>{shown_text(reference, MAX_WORST_CHARACTERS)}" for reference in references[:1])
    return (
        f"<li><p><strong>Row <bdi>{text(row.id)}</bdi></strong>{system}. Metric {score:.4f}: above "
        f"{disagreement.metric_percentile:.0f}% of the rows. "
        f"People {ratings}: above {disagreement.human_percentile:.0f}%.</p>\n"
        f"<dl>{texts}</dl>\n{_further(references[1:])}{picture}</li>\n"
    )


def _best_reference(row: Row, scorer: Any) -> tuple[int, str]:
    """Return the index of the best reference and its picture; the first reference if the metric does not align."""
    if scorer is None or not row.references:
        return 0, ""
    try:
        best = 0
        if len(row.references) > 1:
            pairs = [Row(str(index), row.candidate, (reference,)) for index, reference in enumerate(row.references)]
            field = scorer.metric.main
            best = int(np.argmax([segment.scores[field] for segment in scorer.score(pairs)]))
        alignment = scorer.align(row.candidate, row.references[best])
    except EvalignError as error:
        return 0, f"<p>No alignment is shown: {text(str(error))}</p>"
    opened = " open" if max(len(alignment.candidate), len(alignment.reference)) <= OPEN_TOKENS else ""
    return best, f"<details{opened}><summary>Matched tokens</summary>{alignment_html(alignment)}</details>"


def _further(references: list[str]) -> str:
    if not references:
        return ""
    items = "".join(
        f"<dt>reference {number}</dt>{shown_text(content, MAX_WORST_CHARACTERS)}"
        for number, content in enumerate(references, 2)
    )
    return f"<details><summary>{len(references)} more references</summary><dl>{items}</dl></details>"


def rows_html(table: RatedTable, metrics: Mapping[str, Metric]) -> str:
    """Return all rows in the order of the table, with the original scores of metrics where lower is better."""
    signs = {name: -1 if name in metrics and not metrics[name].higher_is_better else 1 for name in table.scores}
    entries = "".join(_row_entry(table, index, signs) for index in range(len(table.rows)))
    return f'<p>Every point of the pictures above links to its row here.</p>\n<ol class="rows">\n{entries}</ol>\n'


def _row_entry(table: RatedTable, index: int, signs: Mapping[str, int]) -> str:
    row = table.rows[index]
    ratings = [f"{'people' if aspect == PLAIN else aspect} {float(values[index]):.4g}"
               for aspect, values in table.human.items()]  # fmt: skip
    scores = [f"{name} {signs[name] * float(values[index]):.4f}" for name, values in table.scores.items()]
    system = f", system <bdi>{text(row.system)}</bdi>" if row.system else ""
    texts = [("candidate", row.candidate), *(("reference", reference) for reference in row.references)]
    entries = (f"<dt>{name}</dt>{shown_text(content, MAX_ROW_CHARACTERS)}" for name, content in texts)
    return (
        f'<li id="{row_link(index)[1:]}" tabindex="-1"><p><strong>Row <bdi>{text(row.id)}</bdi></strong>{system}: '
        f'{text("; ".join(ratings + scores))}. <a href="#scatter">Back to the pictures</a></p>\n'
        f"<dl>{''.join(entries)}</dl></li>\n"
    )


def shown_text(content: str, limit: int) -> str:
    """Return a text as a `<dd>` element, cut to `limit` characters."""
    more = f" … ({len(content) - limit} more characters)" if len(content) > limit else ""
    visible = f"{text(content[:limit])}{more}" if content.strip() else "<em>empty</em>"
    return f'<dd dir="auto">{visible}</dd>'
