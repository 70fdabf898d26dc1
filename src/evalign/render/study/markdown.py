"""A study as Markdown beside its PNG files, for a repository or a paper's appendix."""

from __future__ import annotations

from collections.abc import Iterator

from evalign.render.labels import showable
from evalign.render.study.page import StudyPage, StudyTable

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
    yield from _table(page.summary)
    for plate in page.plates:
        yield f"## {_text(plate.title)}\n"
        if plate.missing:
            yield f"Not made: {_text(plate.missing)}\n"
        if plate.drawing is not None:
            yield f"![{_text(plate.title)}]({plate.name}.png)\n"
            yield f"*{_text(plate.drawing.caption)}*\n"
        for sentence in plate.said:
            yield f"{_text(sentence)}\n"
        for one in plate.tables:
            yield from _table(one)
    yield "## How this was made\n"
    yield from (f"- {_text(note)}" for note in page.notes)


def _table(one: StudyTable) -> Iterator[str]:
    yield f"**{_text(one.caption)}**\n"
    yield "| " + " | ".join(map(_text, one.columns)) + " |"
    yield "|" + "---|" * one.names + "---:|" * (len(one.columns) - one.names)
    for line in one.lines:
        yield "| " + " | ".join(map(_text, line)) + " |"
    yield ""


def _text(value: str) -> str:
    """Names of other people stay names: nothing in them is markup or the end of a cell."""
    return "".join(ENTITIES.get(char, f"\\{char}" if char in "\\`*_[]|" else char) for char in showable(value))
