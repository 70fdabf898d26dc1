"""What a study shows: a page of plates, each with a figure, its numbers, sentences and tables.

In: a `StudyPage`. Out: a folder with every figure as PNG and SVG, its numbers as CSV, the whole as one HTML page and as
Markdown. A plate whose figure could not be made says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalign.atomic_files import whole_file
from evalign.render.figures import Drawing, make_folder, save_numbers

PAGE, MARKDOWN = "index.html", "report.md"


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


def save_study(page: StudyPage, folder: Path) -> list[Path]:
    """Writes all files; the folder is made if its parent exists, and others' files in it stay."""
    from evalign.render.study.html import study_html
    from evalign.render.study.markdown import study_markdown

    make_folder(folder)
    written: list[Path] = []
    for plate in page.sections:
        if plate.drawing is not None:
            written += plate.drawing.save(folder, plate.name)
            continue
        for ending in (".png", ".svg", ".csv"):  # of an earlier run, which had more
            (folder / f"{plate.name}{ending}").unlink(missing_ok=True)
        if plate.numbers is not None:
            written.append(folder / f"{plate.name}.csv")
            save_numbers(written[-1], plate.numbers.columns, plate.numbers.lines)
    for name, content in ((PAGE, study_html(page)), (MARKDOWN, study_markdown(page))):
        written.append(folder / name)
        with whole_file(folder / name) as stream:
            stream.write(content)
    return written
