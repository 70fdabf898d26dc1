"""A study as Markdown beside its PNG files, for a repository or a paper's appendix."""

from __future__ import annotations

from collections.abc import Iterator

from evalign.render.labels import showable
from evalign.render.study.page import Plate, StudyPage, StudyTable

ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def study_markdown(page: StudyPage) -> str:
    """The whole page; pictures stand beside it."""
    return "\n".join(_lines(page)).rstrip("\n") + "\n"


def _lines(page: StudyPage) -> Iterator[str]:
    yield f"# {_text(page.title)}\n"
    for sentence in page.about:
        yield f"{_text(sentence)}\n"
    if page.lacking:
        yield "Missing here:\n"
        yield from (f"- {_text(sentence)}" for sentence in page.lacking)
        yield ""
    if page.claims is not None:
        yield from _plate(page.claims)
        yield "## In short\n"
    yield from _table(page.summary)
    for plate in page.plates:
        yield from _plate(plate)
    yield "## How this was made\n"
    yield from (f"- {_text(note)}" for note in page.notes)


def _plate(plate: Plate) -> Iterator[str]:
    yield f"## {_text(plate.title)}\n"
    if plate.missing:
        yield f"Not made: {_text(plate.missing)}\n"
    if plate.drawing is not None:
        yield f"![{_text(plate.title)}]({plate.name}.png)\n"
        yield f"*{_text(plate.drawing.caption)}*\n"
    for sentence in plate.said:
        yield f"{_text(sentence)}\n"
    for table in plate.tables:
        yield from _table(table)


def _table(table: StudyTable) -> Iterator[str]:
    yield f"**{_text(table.caption)}**\n"
    yield "| " + " | ".join(map(_text, table.columns)) + " |"
    yield "|" + "---|" * table.names + "---:|" * (len(table.columns) - table.names)
    for line in table.lines:
        yield "| " + " | ".join(map(_text, line)) + " |"
    yield ""


def _text(value: str) -> str:
    """A text from data, escaped: nothing in it is markup or ends a cell."""
    return "".join(ENTITIES.get(char, f"\\{char}" if char in "\\`*_[]|" else char) for char in showable(value))
