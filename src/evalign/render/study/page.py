"""What a study shows: a page of plates, each with a figure, its numbers, sentences and tables.

In: a `StudyPage`. Out: a folder with every figure as PNG and SVG, its numbers as CSV, the whole as one HTML page that
needs no other file, and as Markdown beside its pictures. A plate whose figure could not be made says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalign.atomic_files import whole_file
from evalign.render.figures import Drawing, make_folder, save_numbers
from evalign.render.html import figure, items, page, paragraphs, section, table, text
from evalign.render.labels import showable

PAGE, MARKDOWN = "index.html", "report.md"
MOST_NAMES = 7
STYLE = """main p,main ul{max-width:70rem;overflow-wrap:anywhere}
.missing{border-left:4px solid var(--q0-edge);padding:.2rem .8rem;background:var(--soft)}
main thead th{white-space:normal;max-width:10rem}main tbody th[scope=row]{min-width:8rem}
""" + "".join(
    f"table:has(.names{count}) :is(td,th):nth-child(-n+{count}){{text-align:left;white-space:normal}}"
    for count in range(1, MOST_NAMES + 1)
)
ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


@dataclass(frozen=True)
class StudyTable:
    """Cells as text; the first `names` columns say what the line is about, the others are numbers."""

    caption: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    names: int = 1


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers of a plate without a figure, which become a CSV file."""

    columns: tuple[str, ...]
    lines: Sequence[Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Plate:
    """One question of the study: a figure or the reason why there is none, what is seen, and tables.

    `name` is a file name without ending. A figure brings its numbers; a plate without one may have `numbers`.
    """

    name: str
    title: str
    drawing: Drawing | None = None
    said: tuple[str, ...] = ()
    tables: tuple[StudyTable, ...] = ()
    missing: str = ""
    numbers: Numbers | None = None


@dataclass(frozen=True, eq=False)
class StudyPage:
    """A whole study; `claims` opens it, and a terminal shows its tables and `summary`."""

    title: str
    about: tuple[str, ...]
    summary: StudyTable
    plates: tuple[Plate, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    claims: Plate | None = None

    @property
    def sections(self) -> tuple[Plate, ...]:
        """All plates, the paper's claims first."""
        return self.plates if self.claims is None else (self.claims, *self.plates)

    @property
    def lacking(self) -> tuple[str, ...]:
        """Everything that could not be made, each with its reason."""
        return (*self.missing, *(f"{plate.title}: {plate.missing}" for plate in self.plates if plate.missing))


def save_study(study: StudyPage, folder: Path) -> list[Path]:
    """Writes all files; the folder is made if its parent exists, and others' files in it stay."""
    make_folder(folder)
    written: list[Path] = []
    for plate in study.sections:
        if plate.drawing is not None:
            written += plate.drawing.save(folder, plate.name)
            continue
        for ending in (".png", ".svg", ".csv"):  # of an earlier run, which had more
            (folder / f"{plate.name}{ending}").unlink(missing_ok=True)
        if plate.numbers is not None:
            written.append(folder / f"{plate.name}.csv")
            save_numbers(written[-1], plate.numbers.columns, plate.numbers.lines)
    for name, content in ((PAGE, study_html(study)), (MARKDOWN, study_markdown(study))):
        written.append(folder / name)
        with whole_file(folder / name) as stream:
            stream.write(content)
    return written


def study_html(study: StudyPage) -> str:
    """The whole page; the same study gives the same bytes."""
    opening = () if study.claims is None else (study.claims,)
    content = [
        paragraphs(study.about),
        _lacking(study),
        *(section(plate.name, plate.title, _plate_html(plate)) for plate in opening),
        _table_html(study.summary),
        *(section(plate.name, plate.title, _plate_html(plate)) for plate in study.plates),
        section("made", "How this was made", f"<ul>{items(study.notes)}</ul>"),
    ]
    return page(study.title, STYLE, [(plate.name, plate.title) for plate in study.sections], "".join(content))


def _lacking(study: StudyPage) -> str:
    if not study.lacking:
        return ""
    sentences = f"<p>Missing here:</p>\n<ul>{items(study.lacking)}</ul>"
    return f'<section class="missing" aria-label="Missing">{sentences}</section>\n'


def _plate_html(plate: Plate) -> str:
    parts = [f'<p class="missing">Not made: {text(plate.missing)}</p>\n'] if plate.missing else []
    if plate.drawing is not None:
        numbers = f" Numbers: <code>{plate.name}.csv</code>"
        parts.append(figure(plate.name, plate.title, plate.drawing.svg, plate.drawing.caption, numbers))
    return "".join([*parts, paragraphs(plate.said), *map(_table_html, plate.tables)])


def _table_html(content: StudyTable) -> str:
    return table(content.caption, content.columns, [(f"names{content.names}", line) for line in content.lines])


def study_markdown(study: StudyPage) -> str:
    """The whole page; pictures stand beside it."""
    return "\n".join(_markdown_lines(study)).rstrip("\n") + "\n"


def _markdown_lines(study: StudyPage) -> Iterator[str]:
    yield f"# {_escaped(study.title)}\n"
    for sentence in study.about:
        yield f"{_escaped(sentence)}\n"
    if study.lacking:
        yield "Missing here:\n"
        yield from (f"- {_escaped(sentence)}" for sentence in study.lacking)
        yield ""
    if study.claims is not None:
        yield from _plate_markdown(study.claims)
        yield "## In short\n"
    yield from _table_markdown(study.summary)
    for plate in study.plates:
        yield from _plate_markdown(plate)
    yield "## How this was made\n"
    yield from (f"- {_escaped(note)}" for note in study.notes)


def _plate_markdown(plate: Plate) -> Iterator[str]:
    yield f"## {_escaped(plate.title)}\n"
    if plate.missing:
        yield f"Not made: {_escaped(plate.missing)}\n"
    if plate.drawing is not None:
        yield f"![{_escaped(plate.title)}]({plate.name}.png)\n"
        yield f"*{_escaped(plate.drawing.caption)}*\n"
    for sentence in plate.said:
        yield f"{_escaped(sentence)}\n"
    for content in plate.tables:
        yield from _table_markdown(content)


def _table_markdown(content: StudyTable) -> Iterator[str]:
    yield f"**{_escaped(content.caption)}**\n"
    yield "| " + " | ".join(map(_escaped, content.columns)) + " |"
    yield "|" + "---|" * content.names + "---:|" * (len(content.columns) - content.names)
    for line in content.lines:
        yield "| " + " | ".join(map(_escaped, line)) + " |"
    yield ""


def _escaped(value: str) -> str:
    """A text from data, escaped: nothing in it is markup or ends a cell."""
    return "".join(ENTITIES.get(char, f"\\{char}" if char in "\\`*_[]|" else char) for char in showable(value))
