"""Tables of results, one writer per format: column names and cells in; a terminal table, TSV or LaTeX out.

HTML tables are in `html.py`. Which formats a kind of result has is a table beside its writers, which `render` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from evalign.errors import SpecError, nearest

COLUMNS: dict[str, dict[str, Any]] = {
    "l": {},  # a text, wrapped between words
    "f": {"overflow": "fold"},  # a text of which nothing may be cut off
    "w": {"no_wrap": True},  # a text on one line
    "r": {"justify": "right"},
    "n": {"justify": "right", "no_wrap": True},  # a number
}
ONE_LINE = str.maketrans("\t\n\r", "   ")
LATEX_ESCAPES = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"}
)
Parameters = ParamSpec("Parameters")
Writers = Mapping[str, Callable[Parameters, RenderableType]]  # a result type's formats by name


def render(
    writers: Writers[Parameters], form: str, *values: Parameters.args, **options: Parameters.kwargs
) -> RenderableType:
    """A result in one of its formats, as text for programs or for a rich console; an unknown format is an error."""
    if form not in writers:
        raise SpecError(f"format {form!r}: {nearest(form, writers)}")
    return writers[form](*values, **options)


@dataclass(frozen=True)
class OneLineCells:
    """Cells of a column below each other, for a table of hundreds of rows: rich spends its time by cell, not by line.

    A cell is its parts, each with a style; the style of the last part goes on to the end of the line. A cell that is
    too wide is cut, never wrapped.
    """

    cells: Sequence[Sequence[tuple[str, str]]]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        widest = max(map(_cell_width, self.cells), default=0)
        return Measurement(widest, widest)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        styles = {style: console.get_style(style) for style in {style for cell in self.cells for _, style in cell}}
        for cell in self.cells:
            spare = options.max_width - _cell_width(cell)
            if spare < 0:
                yield Text.assemble(*cell, no_wrap=True, overflow="ellipsis")
                continue
            *first, (text, style) = cell
            yield from (Segment(part, styles[own]) for part, own in first)
            yield Segment(text + " " * spare, styles[style])
            yield Segment.line()


def terminal_table(
    columns: Sequence[str], kinds: str, lines: Iterable[Iterable[str | Text | OneLineCells]], **layout: Any
) -> Table:
    """A table without lines for the terminal; `kinds` has a letter of COLUMNS for each column."""
    table = Table(box=None, header_style="bold", **({"pad_edge": False} | layout))
    for name, kind in zip(columns, kinds, strict=True):
        table.add_column(Text(name), **COLUMNS[kind])
    for line in lines:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in line))
    return table


def signature_line(signature: object) -> Text:
    """The signature that a score must be quoted with, as it stands below a table in the terminal."""
    return Text(str(signature), style="dim")


def tsv(columns: Sequence[str], lines: Iterable[Iterable[object]]) -> str:
    """Tab-separated lines below a header: floats with six digits, None as an empty cell."""
    return "\n".join("\t".join(map(_tsv_cell, line)) for line in (columns, *lines))


def latex_tabular(
    columns: Sequence[str], kinds: str, groups: Iterable[Iterable[Sequence[str]]], comments: Iterable[str]
) -> str:
    """A tabular for booktabs with a rule above each group of lines; cells of `l` columns are escaped, others LaTeX."""
    lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", " & ".join(columns) + r" \\"]
    for group in groups:
        lines.append(r"\midrule")
        for cells in group:
            shown = [
                cell.translate(LATEX_ESCAPES) if kind == "l" else cell for kind, cell in zip(kinds, cells, strict=True)
            ]
            lines.append(" & ".join(shown) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *(f"% {comment}" for comment in comments)])


def _cell_width(cell: Sequence[tuple[str, str]]) -> int:
    return sum(cell_len(text) for text, _ in cell)


def _tsv_cell(value: object) -> str:
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value).translate(ONE_LINE)
