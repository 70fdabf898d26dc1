"""Agreement with people as one HTML page that needs no other file.

In: an `Agreement` and the metrics behind it (those from files have none). Out: the page as text; the same input gives
the same bytes. Everything that comes from data passes through `html.text`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evalign.analysis.agreement import Agreement, Judgement
from evalign.analysis.rated_tables import PLAIN
from evalign.metrics.base import Metric
from evalign.render import alignment_html
from evalign.render.agreement.disagreement_html import disagreements_html
from evalign.render.agreement.pictures import pictures
from evalign.render.agreement.tables import estimate_cells, group_cells, interval, notes, of_aspect
from evalign.render.html import figure, items, page, section, table, text

MOST_NOTES = 60
FIGURES = {
    "forest": "How well each metric agrees",
    "scatter": "Metric against people, row by row",
    "violins": "Scores where people gave low and high ones",
    "correlation": "Which metrics say the same",
    "length": "Error by length",
}


def agreement_html(agreement: Agreement, metrics: list[Metric]) -> str:
    """The whole page."""
    drawings: dict[str, list[str]] = {kind: [] for kind in FIGURES}
    for picture in pictures(agreement):
        drawings[picture.kind].append(figure(picture.name, picture.name, picture.drawing.svg, picture.drawing.caption))
    contents = [
        ("summary", "Summary", _summary(agreement) + _tables(agreement)),
        *((kind, title, "".join(drawings[kind])) for kind, title in FIGURES.items()),
        ("worst", "Worst disagreements", _worst(agreement, {str(metric): metric for metric in metrics})),
        ("made", "How this was made", _made(agreement)),
    ]
    contents = [(name, title, content) for name, title, content in contents if content]  # pairs have no ratings
    sections = "".join(section(*content) for content in contents)
    links = [(name, title) for name, title, _ in contents]
    return page("Agreement of metrics with people", alignment_html.STYLE, links, sections)


def _summary(agreement: Agreement) -> str:
    return "".join(f"<p>{_best(agreement, aspect, of_aspect(agreement, aspect))}</p>\n" for aspect in agreement.aspects)


def _best(agreement: Agreement, aspect: str, judgements: Sequence[Judgement]) -> str:
    """Which metric agrees best, and which ones cannot be told apart from it."""
    first = agreement.plan.statistics[0]
    subject = "" if aspect == PLAIN else f"<strong>{text(aspect)}</strong>: "
    best = judgements[0]
    if best.estimates[first].value is None:
        return f"{subject}no metric has a value; the notes below say why."
    sentence = (
        f"{subject}{_name(best)} agrees best with people ({text(first)} {text(interval(best.estimates[first]))}, "
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
