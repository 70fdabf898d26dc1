"""A study as one HTML page that needs no other file."""

from __future__ import annotations

from evalign.render.html import figure, items, page, section, table, text
from evalign.render.study.page import Plate, StudyPage, StudyTable

MOST_NAMES = 7
STYLE = """main p,main ul{max-width:70rem;overflow-wrap:anywhere}
.missing{border-left:4px solid var(--q0-edge);padding:.2rem .8rem;background:var(--soft)}
main thead th{white-space:normal;max-width:10rem}main tbody th[scope=row]{min-width:8rem}
""" + "".join(
    f"table:has(.names{count}) :is(td,th):nth-child(-n+{count}){{text-align:left;white-space:normal}}"
    for count in range(1, MOST_NAMES + 1)
)


def study_html(study: StudyPage) -> str:
    """The whole page; the same study gives the same bytes."""
    opening = () if study.claims is None else (study.claims,)
    content = [
        _paragraphs(study.about),
        _lacking(study),
        *(section(plate.name, plate.title, _plate(plate)) for plate in opening),
        _table(study.summary),
        *(section(plate.name, plate.title, _plate(plate)) for plate in study.plates),
        section("made", "How this was made", f"<ul>{items(study.notes)}</ul>"),
    ]
    return page(study.title, STYLE, [(plate.name, plate.title) for plate in study.sections], "".join(content))


def _lacking(study: StudyPage) -> str:
    if not study.lacking:
        return ""
    sentences = f"<p>Missing here:</p>\n<ul>{items(study.lacking)}</ul>"
    return f'<section class="missing" aria-label="Missing">{sentences}</section>\n'


def _plate(plate: Plate) -> str:
    parts = [f'<p class="missing">Not made: {text(plate.missing)}</p>\n'] if plate.missing else []
    if plate.drawing is not None:
        numbers = f" Numbers: <code>{plate.name}.csv</code>"
        parts.append(figure(plate.name, plate.title, plate.drawing.svg, plate.drawing.caption, numbers))
    return "".join([*parts, _paragraphs(plate.said), *map(_table, plate.tables)])


def _paragraphs(sentences: tuple[str, ...]) -> str:
    return "".join(f"<p>{text(sentence)}</p>\n" for sentence in sentences)


def _table(content: StudyTable) -> str:
    return table(content.caption, content.columns, [(f"names{content.names}", line) for line in content.lines])
