"""What a study has to show, whoever made it: plates with a figure, its numbers and what is seen, and tables.

Flows in: a `StudyPage`. Flows out: a folder with every figure as PNG and SVG, its numbers as CSV, the whole as one HTML
page and as Markdown. A plate whose figure could not be made says why.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evalign.atomic_files import whole_file
from evalign.errors import FileFormatError
from evalign.render import figures
from evalign.render.labels import showable

if TYPE_CHECKING:
    from evalign.render.figures import Figure

PAGE, MARKDOWN = "index.html", "report.md"


@dataclass(frozen=True)
class StudyTable:
    """Cells as text; the first `names` columns say what the line is about, the others are numbers."""

    caption: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    names: int = 1


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure that is drawn when asked for, and the numbers behind it."""

    caption: str
    draw: Callable[[], Figure]
    columns: tuple[str, ...]
    numbers: Sequence[Sequence[Any]]

    @cached_property
    def figure(self) -> Figure:
        """The figure, drawn once for all files."""
        return self.draw()

    @cached_property
    def svg(self) -> str:
        """The figure as SVG text, which the file and the page share."""
        return figures.svg(self.figure)


@dataclass(frozen=True, eq=False)
class Plate:
    """One question of the study: a figure or the reason why there is none, what is seen, and tables.

    `name` is a file name without ending.
    """

    name: str
    title: str
    drawing: Drawing | None = None
    said: tuple[str, ...] = ()
    tables: tuple[StudyTable, ...] = ()
    missing: str = ""


@dataclass(frozen=True, eq=False)
class StudyPage:
    """A whole study; `summary` is what a terminal shows."""

    title: str
    about: tuple[str, ...]
    summary: StudyTable
    plates: tuple[Plate, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

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
    for plate in page.plates:
        for ending in (".png", ".svg", ".csv"):
            file = folder / f"{plate.name}{ending}"
            if plate.drawing is None:
                file.unlink(missing_ok=True)  # of an earlier run, which had more
            else:
                written.append(file)
        if plate.drawing is not None:
            figures.save(plate.drawing.figure, folder / f"{plate.name}.png")
            with whole_file(folder / f"{plate.name}.svg") as stream:
                stream.write(plate.drawing.svg)
            _save_numbers(plate.drawing, folder / f"{plate.name}.csv")
    for name, content in ((PAGE, study_html(page)), (MARKDOWN, study_markdown(page))):
        written.append(folder / name)
        with whole_file(folder / name) as stream:
            stream.write(content)
    return written


def make_folder(folder: Path) -> None:
    """The folder, made if need be; an error that says why it cannot be."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileFormatError(f"{folder}: no folder can be made there ({error.strerror or error})") from error


def _save_numbers(drawing: Drawing, file: Path) -> None:
    with whole_file(file) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(drawing.columns)
        writer.writerows([_cell(value) for value in line] for line in drawing.numbers)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}" if np.isfinite(value) else ""
    return showable(str(value))
