"""Tables of results, one writer per format: column names and cells in; a terminal table, TSV, LaTeX or Markdown out.

HTML tables are in `html.py`. The formats of a result type are a table next to its writers, which `render` reads.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from evalign.core.options import option_fields
from evalign.core.registry import metric_class, metric_names
from evalign.core.report import decimals
from evalign.core.spec import format_spec, parse_spec
from evalign.errors import SpecError, nearest
from evalign.io.output import HIDDEN, escaped
from evalign.render.console import EscapingConsole

COLUMNS: dict[str, dict[str, Any]] = {
    "l": {},  # a text, wrapped between words
    "f": {"overflow": "fold"},  # a text that is never cut
    "w": {"no_wrap": True},  # a text on one line
    "r": {"justify": "right"},
    "n": {"justify": "right", "no_wrap": True},  # a number
}
ONE_LINE = str.maketrans("\t\n\r", "   ")
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠](?s:.)")  # after spaces, too, which spreadsheets drop
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LATEX_ESCAPES = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"}
)
MARKDOWN_ESCAPES = {char: f"\\{char}" for char in "\\`*_[]|"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
Parameters = ParamSpec("Parameters")
Writers = Mapping[str, Callable[Parameters, RenderableType]]  # a result type's formats by name


def render(
    writers: Writers[Parameters], format_name: str, *values: Parameters.args, **options: Parameters.kwargs
) -> RenderableType:
    """Return a result in one of its formats, as text or for a rich console.

    Args:
        writers: Writers by format.
        format_name: Name of the format; SpecError if it is unknown.
        *values: Arguments of the writer.
        **options: Keyword arguments of the writer.
    """
    if format_name not in writers:
        raise SpecError(f"format {format_name!r}: {nearest(format_name, writers)}")
    return writers[format_name](*values, **options)


@dataclass(frozen=True)
class TextTable:
    """Cells as text; the first `names` columns identify the line, the others are numbers."""

    caption: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    names: int = 1


@dataclass(frozen=True)
class OneLineCells:
    """Many lines of a column as one cell: rich is slow per cell, not per line, and tables have hundreds of rows.

    A line has parts, each with a style; the style of the last part continues to the end of the line. A line that is
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
            yield from (Segment(part, styles[part_style]) for part, part_style in first)
            yield Segment(text + " " * spare, styles[style])
            yield Segment.line()


def terminal_table(
    columns: Sequence[str], formats: str, lines: Iterable[Iterable[str | Text | OneLineCells]], **layout: Any
) -> Table:
    """Return a borderless terminal table; `formats` has a letter of COLUMNS for each column."""
    table = Table(box=None, header_style="bold", **({"pad_edge": False} | layout))
    for name, letter in zip(columns, formats, strict=True):
        table.add_column(Text(escaped(name)), **COLUMNS[letter])
    for line in lines:
        table.add_row(*(Text(escaped(cell)) if isinstance(cell, str) else cell for cell in line))
    return table


def metric_label(spec: str) -> str:
    """Return a metric's name for tables that leave the terminal, with its model: `bertscore[minilm](layer=5)`.

    Signatures are only in comments and notes there, and `bertscore` alone would be taken for the published one.
    """
    if spec.partition("(")[0] not in metric_names():  # of another program
        return spec
    name, options = parse_spec(spec)
    model = next((item.default for item in option_fields(metric_class(name)) if item.name == "model"), "")
    model = options.pop("model", model)
    return format_spec(f"{name}[{model}]", options) if model else spec


def score_digits(spec: str) -> int:
    """Return the decimals that tables print of scores, by spec or signature; four for metrics of other programs."""
    name = re.split(r"[(|]", spec, maxsplit=1)[0]
    return decimals(metric_class(name).bounds) if name in metric_names() else 4


def score_text(value: float, spec: str, more: int = 0, sign: str = "") -> str:
    """Return a score of a metric as tables print it.

    Args:
        value: The score, or a difference of two.
        spec: Spec or signature of the metric.
        more: Decimals beyond those of tables for people.
        sign: `+` to print the sign of positive numbers, too.
    """
    return f"{value:{sign}.{score_digits(spec) + more}f}"


def interval_text(ends: tuple[float, float], spec: str) -> str:
    """Return an interval of a metric's scores: `[0.5123, 0.5534]`."""
    return f"[{score_text(ends[0], spec)}, {score_text(ends[1], spec)}]"


@dataclass(frozen=True)
class SignatureLine:
    """A signature on one line, so that it can be copied; consoles of other programs, which would cut it, wrap it."""

    signature: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = isinstance(console, EscapingConsole)
        yield Text(self.signature, style="dim", no_wrap=whole, overflow="ignore" if whole else None)


def signature_line(signature: object) -> SignatureLine:
    """Return a signature as the line below a terminal table."""
    return SignatureLine(str(signature))


def tsv(columns: Sequence[str], lines: Iterable[Iterable[object]]) -> str:
    """Return tab-separated lines below a header: floats with six digits, None as an empty cell, no formulas."""
    return "\n".join("\t".join(map(_tsv_cell, line)) for line in (columns, *lines))


def latex_tabular(
    columns: Sequence[str], formats: str, groups: Iterable[Iterable[Sequence[str]]], comments: Iterable[str]
) -> str:
    """Return a LaTeX tabular (booktabs) with a rule above each group of lines.

    Args:
        columns: Headings, in LaTeX.
        formats: Column letters; texts of `l` columns are escaped, other cells are LaTeX.
        groups: Groups of lines.
        comments: Lines below the table.
    """
    lines = [rf"\begin{{tabular}}{{{formats}}}", r"\toprule", " & ".join(columns) + r" \\"]
    for group in groups:
        lines.append(r"\midrule")
        for cells in group:
            escaped = [
                showable(cell).translate(LATEX_ESCAPES) if letter == "l" else cell
                for letter, cell in zip(formats, cells, strict=True)
            ]
            lines.append(" & ".join(escaped) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *(f"% {showable(comment)}" for comment in comments)])


def markdown_table(content: TextTable) -> str:
    """Return a Markdown table with numbers on the right; cells are escaped."""
    rule = "|" + "---|" * content.names + "---:|" * (len(content.columns) - content.names)
    header, *lines = (
        "| " + " | ".join(map(markdown_escaped, line)) + " |" for line in (content.columns, *content.lines)
    )
    return "\n".join([header, rule, *lines])


def markdown_escaped(text: str) -> str:
    """Escape a text for Markdown, on one line."""
    return "".join(MARKDOWN_ESCAPES.get(char, char) for char in showable(text))


def markdown_notes(notes: Iterable[str]) -> str:
    """Return notes on a table, such as signatures, as a Markdown list; empty without notes."""
    return "".join(f"\n- {markdown_escaped(note)}" for note in notes)


def text_table_terminal(content: TextTable) -> Table:
    """Return a terminal table of texts that are never cut."""
    return terminal_table(content.columns, "f" * len(content.columns), content.lines)


def text_table_json(content: TextTable) -> str:
    """Return a JSON list with an object per line."""
    lines = [dict(zip(content.columns, line, strict=True)) for line in content.lines]
    return json.dumps(lines, ensure_ascii=False, indent=2)


def text_table_tsv(content: TextTable) -> str:
    """Return tab-separated lines below a header."""
    return tsv(content.columns, content.lines)


def text_table_latex(content: TextTable) -> str:
    """Return a LaTeX tabular (booktabs)."""
    return latex_tabular(
        [name.translate(LATEX_ESCAPES) for name in content.columns], "l" * len(content.columns), [content.lines], []
    )


TABLE_FORMATS: Writers[[TextTable]] = {
    "table": text_table_terminal,
    "json": text_table_json,
    "tsv": text_table_tsv,
    "latex": text_table_latex,
    "markdown": markdown_table,
}


def _cell_width(cell: Sequence[tuple[str, str]]) -> int:
    return sum(cell_len(text) for text, _ in cell)


def harmless(text: str) -> str:
    """Return the text of a CSV or TSV cell, with an apostrophe before what a spreadsheet would run as a formula."""
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def _tsv_cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6f}"
    return "" if value is None else harmless(escaped(str(value).translate(ONE_LINE)))


REPLACEMENT = "\ufffd"
BREAK_AFTER = " ,(/-_=|:"
MAX_KEY_CHARACTERS = 240


@dataclass(frozen=True)
class Labels:
    """One label per name, and the full names of shortened labels: `[2] the whole second name`."""

    names: tuple[str, ...]
    key: tuple[str, ...]


def showable(text: str) -> str:
    """Replace line breaks and tabs by spaces; control and directional characters and surrogates by U+FFFD."""
    return "".join(" " if char in "\n\r\t" else REPLACEMENT if _hidden(char) else char for char in text)


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` columns, after a separator if one is near."""
    lines: list[str] = []
    rest = showable(text).strip()
    while cell_len(rest) > width:
        fitting = 0
        columns = 0
        while columns + cell_len(rest[fitting]) <= width:
            columns += cell_len(rest[fitting])
            fitting += 1
        breaks = [index for index in range(fitting // 2, fitting) if rest[index] in BREAK_AFTER]
        stop = breaks[-1] + 1 if breaks else max(1, fitting)
        lines.append(rest[:stop].rstrip())
        rest = rest[stop:].lstrip()
    return [*lines, rest] if rest or not lines else lines


def labels(names: Sequence[str], width: int, max_lines: int = 2) -> Labels:
    """Wrap names to `width`; a name that needs more than `max_lines` is cut, and its full text is in the key."""
    short, key = [], []
    for number, name in enumerate(names, 1):
        lines = wrap(name, width)
        if len(lines) > max_lines:
            mark = f"… [{number}]"
            last = wrap(lines[max_lines - 1], width - len(mark))[0]
            lines = [*lines[: max_lines - 1], last + mark]
            whole = showable(name)
            key.append(f"[{number}] {whole if len(whole) <= MAX_KEY_CHARACTERS else whole[:MAX_KEY_CHARACTERS] + '…'}")
        short.append("\n".join(lines))
    return Labels(tuple(short), tuple(key))


def _hidden(char: str) -> bool:
    # Cn contains U+FFFE and U+FFFF, which no XML document may contain.
    return HIDDEN.match(char) is not None or unicodedata.category(char) == "Cn"
