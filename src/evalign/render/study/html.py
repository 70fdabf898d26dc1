"""A study as one HTML file that needs nothing else: no script, no request, light and dark, printable."""

from __future__ import annotations

from evalign.render.agreement.html import STYLE
from evalign.render.html import table, text
from evalign.render.inline_svg import inline_svg
from evalign.render.study.page import Plate, StudyPage, StudyTable
from evalign.version import __version__

MOST_NAMES = 4
STUDY_STYLE = """main p,main ul{max-width:70rem;overflow-wrap:anywhere}
.missing{border-left:4px solid var(--q0-edge);padding:.2rem .8rem;background:var(--soft)}
main thead th{white-space:normal;max-width:10rem}main tbody th[scope=row]{min-width:8rem}
""" + "".join(
    f"table:has(.names{count}) :is(td,th):nth-child(-n+{count}){{text-align:left;white-space:normal}}"
    for count in range(1, MOST_NAMES + 1)
)


def study_html(page: StudyPage) -> str:
    """The whole page; the same study gives the same bytes."""
    links = "".join(f'<li><a href="#{plate.name}">{text(plate.title)}</a></li>' for plate in page.plates)
    return "".join([
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{text(page.title)}</title>\n<style>{STYLE}{STUDY_STYLE}</style>\n</head>\n<body>\n"
        f'<header><h1>{text(page.title)}</h1>\n<nav aria-label="Contents"><ul>{links}</ul></nav></header>\n<main>\n',
        _paragraphs(page.about),
        _lacking(page),
        _table(page.summary),
        *(_plate(plate) for plate in page.plates),
        '<section id="made" aria-labelledby="made-h"><h2 id="made-h">How this was made</h2>\n<ul>',
        *(f"<li>{text(note)}</li>\n" for note in page.notes),
        f"</ul></section>\n</main>\n<footer>evalign {text(__version__)}</footer>\n</body>\n</html>\n",
    ])  # fmt: skip


def _lacking(page: StudyPage) -> str:
    if not page.lacking:
        return ""
    items = "".join(f"<li>{text(sentence)}</li>\n" for sentence in page.lacking)
    return f'<section class="missing" aria-label="Missing"><p>Missing here:</p>\n<ul>{items}</ul></section>\n'


def _plate(plate: Plate) -> str:
    parts = [f'<section id="{plate.name}" aria-labelledby="{plate.name}-h">']
    parts.append(f'<h2 id="{plate.name}-h">{text(plate.title)}</h2>\n')
    if plate.missing:
        parts.append(f'<p class="missing">Not made: {text(plate.missing)}</p>\n')
    if plate.drawing is not None:
        drawing = plate.drawing
        parts.append(
            f'<figure><div class="scroll" tabindex="0" role="region" aria-label="{text(plate.title)}">'
            f"{inline_svg(drawing.svg, plate.name, drawing.caption)}</div>\n"
            f"<figcaption>{text(drawing.caption)} Numbers: <code>{plate.name}.csv</code></figcaption></figure>\n"
        )
    parts.append(_paragraphs(plate.said))
    parts += [_table(one) for one in plate.tables]
    return "".join([*parts, "</section>\n"])


def _paragraphs(sentences: tuple[str, ...]) -> str:
    return "".join(f"<p>{text(sentence)}</p>\n" for sentence in sentences)


def _table(one: StudyTable) -> str:
    return table(one.caption, one.columns, [(f"names{one.names}", line) for line in one.lines])
