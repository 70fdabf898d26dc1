"""Agreement with people as one HTML file that needs nothing else: no script, no request, light and dark, printable.

In: an `Agreement` and the metrics behind it (those from files have none). Out: the page as text; the same input gives
the same bytes. Everything that comes from data passes through `html.text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalign.analysis.agreement import Agreement, Judgement
from evalign.analysis.rated_tables import PLAIN
from evalign.metrics.base import Metric
from evalign.render import alignment_html
from evalign.render.agreement.disagreement_html import disagreements_html
from evalign.render.agreement.plots import Picture, pictures
from evalign.render.agreement.tables import counted, interval, notes
from evalign.render.figures import svg
from evalign.render.html import table, text
from evalign.render.inline_svg import inline_svg
from evalign.version import __version__

MOST_NOTES = 60
SECTIONS = (
    ("forest", "How well each metric agrees"),
    ("scatter", "Metric against people, row by row"),
    ("violins", "Scores where people gave low and high ones"),
    ("correlation", "Which metrics say the same"),
    ("length", "Error by length"),
)
STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#f3f5f7;--line:#c4cad1;--grid:#d5d9de;--link:#0b5a94;
--best:#e3f0fa;--q3:#a9d3f0;--q3-edge:#0072b2;--q2:#ddeefa;--q2-edge:#4a94c4;--q1:#fdf0c4;--q1-edge:#9a7400;
--q0:#ffdcbf;--q0-edge:#b84f00}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e8eaed;--paper:#15181c;--soft:#1f2429;--line:#4a525b;
--grid:#394048;--link:#8cc8f5;--best:#16324a;--q3:#0b4a75;--q3-edge:#56b4e9;--q2:#18344a;--q2-edge:#4a94c4;--q1:#463a0c;
--q1-edge:#e0b93a;--q0:#5c2b05;--q0-edge:#f08a3c}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main,header,footer{max-width:1280px;margin:0 auto;padding:0 1.2rem}
h1{font-size:1.7rem;margin:1.6rem 0 .4rem}
h2{font-size:1.3rem;margin:2.4rem 0 .6rem;border-bottom:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.4rem 0 .3rem}
h4{font-size:1rem;margin:1rem 0 .2rem}
a{color:var(--link)}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;list-style:none;padding:0;margin:.6rem 0}
.scroll{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{padding:.25rem .8rem .25rem 0;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th[scope=row]{text-align:left;font-weight:400;white-space:normal;overflow-wrap:anywhere;min-width:12rem}
th.name{text-align:left}
thead th{font-weight:600;vertical-align:bottom}
tr.best th,tr.best td{background:var(--best)}
figure{margin:1rem 0 2rem}
figure .scroll{margin:0}
figure svg{display:block;max-width:none;height:auto;color:var(--ink)}
figcaption{max-width:70rem;margin-top:.3rem}
details{margin:.4rem 0}
summary{cursor:pointer;color:var(--link)}
details.metric{border:1px solid var(--line);border-radius:6px;padding:.4rem .9rem}
details.metric>summary h3{display:inline;overflow-wrap:anywhere}
ol{padding-left:1.4rem}
ol>li{margin:.6rem 0 1.2rem}
li p{margin:.4rem 0}
dl{margin:.3rem 0}
dt{font-weight:600}
dd{margin:0 0 .4rem;padding:.3rem .6rem;background:var(--soft);border-radius:4px;overflow-wrap:anywhere;
unicode-bidi:isolate}
code{overflow-wrap:anywhere;font-size:.9em}
footer{margin:2.5rem auto 2rem;font-size:.9rem}
@media print{body{font-size:10pt}nav{display:none}figure svg{max-width:100%}.scroll{overflow:visible}
h2,h3,h4{break-after:avoid}figure,tr,.tokens li{break-inside:avoid}
details::details-content{content-visibility:visible;height:auto}}
"""


def agreement_html(agreement: Agreement, metrics: list[Metric]) -> str:
    """The whole page."""
    drawn = pictures(agreement)
    known = {str(metric): metric for metric in metrics}
    sections = [(kind, title, _figures(drawn, kind)) for kind, title in SECTIONS]
    sections.insert(0, ("summary", "Summary", _summary(agreement) + _tables(agreement)))
    sections += [
        ("worst", "Worst disagreements", _worst(agreement, known)),
        ("made", "How this was made", _made(agreement)),
    ]
    sections = [(place, title, content) for place, title, content in sections if content]  # pairs have no ratings
    links = "".join(f'<li><a href="#{place}">{text(title)}</a></li>' for place, title, _ in sections)
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        "<title>Agreement of metrics with people</title>\n"
        f"<style>{STYLE}{alignment_html.STYLE}</style>\n</head>\n<body>\n"
        f'<header><h1>Agreement of metrics with people</h1>\n<nav aria-label="Contents"><ul>{links}</ul></nav></header>'
        "\n<main>\n",
        *(_section(*section) for section in sections),
        f"</main>\n<footer>evalign {text(__version__)}</footer>\n</body>\n</html>\n",
    ]
    return "".join(parts)


def _section(place: str, title: str, content: str) -> str:
    heading = f'<h2 id="{place}-h">{text(title)}</h2>'
    return f'<section id="{place}" aria-labelledby="{place}-h">{heading}\n{content}</section>\n'


def _summary(agreement: Agreement) -> str:
    sentences = []
    for aspect in agreement.aspects:
        judged = _of(agreement, aspect)
        sentences.append(f"<p>{_about(agreement, aspect, judged)}</p>\n")
    return "".join(sentences)


def _about(agreement: Agreement, aspect: str, judged: Sequence[Judgement]) -> str:
    """Which metric agrees best, and who cannot be told apart from it."""
    first = agreement.plan.statistics[0]
    subject = "" if aspect == PLAIN else f"<strong>{text(aspect)}</strong>: "
    best = judged[0] if judged else None
    if best is None or best.estimates[first].value is None:
        return f"{subject}no metric has a value; the notes below say why."
    said = (
        f"{subject}{_name(best)} agrees best with people ({text(first)} {text(interval(best.estimates[first]))}, "
        f"{agreement.plan.level} level, {len(agreement.table.rows)} rows)."
    )
    if len(judged) == 1:
        return said
    if best.rank is None:
        return said + " No test says whether it is really better than the others."
    equal = [_name(one) for one in judged[1:] if one.rank == best.rank]
    if not equal:
        return said + " It is significantly better than every other metric."
    return said + f" Not told apart from it by the {agreement.plan.test} test: {', '.join(equal)}."


def _name(judgement: Judgement) -> str:
    return f"<strong><bdi>{text(judgement.metric)}</bdi></strong>"


def _tables(agreement: Agreement) -> str:
    plan = agreement.plan
    mean = f", mean over {plan.by}" if plan.by is not None else ""
    parts = []
    for aspect in agreement.aspects:
        judged = _of(agreement, aspect)
        lines = [
            (
                "best" if one.rank == 1 else "",
                [
                    "–" if one.rank is None else str(one.rank),
                    one.metric,
                    *(interval(one.estimates[name]) for name in plan.statistics),
                    str(next(iter(one.estimates.values())).n),
                ],
            )
            for one in judged
        ]
        caption = f"{'people' if aspect == PLAIN else aspect}: {plan.level} level{mean}"
        parts.append(table(caption, ["rank", "metric", *plan.statistics, counted(plan)], lines, head=1))
        parts += _groups(agreement, judged, aspect)
    return "".join(parts)


def _groups(agreement: Agreement, judged: Sequence[Judgement], aspect: str) -> Iterator[str]:
    first = agreement.plan.statistics[0]
    if agreement.plan.by is None or not judged or first not in judged[0].groups:
        return
    names = list(judged[0].groups[first])
    lines = [
        (
            "",
            [
                one.metric,
                *("–" if (e := one.groups[first][name]).value is None else f"{e.value:.3f}" for name in names),
            ],
        )
        for one in judged
    ]
    what = f"{first} by {agreement.plan.by}" + ("" if aspect == PLAIN else f", {aspect}")
    yield f"<details><summary>{text(what)}: {len(names)} groups</summary>"
    yield table(what, ["metric", *names], lines)
    yield "</details>\n"


def _figures(drawn: Sequence[Picture], kind: str) -> str:
    return "".join(
        f'<figure><div class="scroll" tabindex="0" role="region" aria-label="{text(one.name)}">'
        f"{inline_svg(svg(one.draw()), one.name, one.caption)}</div>\n"
        f"<figcaption>{text(one.caption)}</figcaption></figure>\n"
        for one in drawn
        if one.kind == kind
    )


def _worst(agreement: Agreement, known: dict[str, Metric]) -> str:
    aspects = len(agreement.table.human)
    if not aspects:
        return ""
    people = "people's place of a row" if aspects == 1 else f"the mean of people's places of a row in {aspects} aspects"
    intro = (
        f"<p>The rows where a metric's place and {people} are furthest apart: three that the metric puts too high and "
        "three that it puts too low. Places are percentages of the rows that stand below. Where the metric matches "
        "tokens, each token stands in a box with its partner, if that is another word, and their similarity: blue fits "
        "well (from 0.85), light blue from 0.65, dotted from 0.45, dashed orange below.</p>\n"
    )
    order = [one.metric for one in _of(agreement, agreement.aspects[0])]
    return intro + "".join(
        f'<details class="metric"{" open" if place == 0 else ""}><summary><h3><bdi>{text(name)}</bdi></h3></summary>\n'
        f"{disagreements_html(agreement.table, name, known.get(name))}</details>\n"
        for place, name in enumerate(order)
    )


def _made(agreement: Agreement) -> str:
    signatures = agreement.table.signatures
    lines = [line for line in notes(agreement) if line not in set(signatures.values())]
    items = "".join(f"<li>{text(line)}</li>\n" for line in lines[:MOST_NOTES])
    if len(lines) > MOST_NOTES:
        items += f"<li>and {len(lines) - MOST_NOTES} more notes, in the JSON output</li>\n"
    signed = "".join(
        f"<dt><bdi>{text(name)}</bdi></dt><dd><code>{text(signature)}</code></dd>\n"
        for name, signature in signatures.items()
    )
    turned = "<p>Scores of metrics where lower is better are turned round before anything is computed.</p>\n"
    return f"<ul>{items}</ul>\n{turned}<h3>Signatures</h3>\n<dl>{signed}</dl>\n"


def _of(agreement: Agreement, aspect: str) -> list[Judgement]:
    return [one for one in agreement.judgements if one.aspect == aspect]
