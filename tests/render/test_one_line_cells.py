"""Many cells in one cell of a terminal table print as one cell per row does, colours included, at every width."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from evalign.render.tables import OneLineCells, terminal_table

CELLS = [
    [("Saturday", ""), (" 0.91", "cyan"), ("", "")],
    [("Bibliothek", ""), (" 0.42", "bold blue"), (" ◆", "")],
    [("— ◆", "dim")],
    [("図書館", ""), (" 0.77", "yellow"), (" ◆", "")],
    [("", "")],
]
WORDS = ["library", "reopened", "doors", "図書館", ""]


@pytest.mark.parametrize("width", [20, 24, 30, 31, 32, 33, 34, 40, 80])
@pytest.mark.parametrize("colours", [None, "256"])
def test_cells_below_each_other_print_as_one_cell_per_row(width, colours):
    joined = [OneLineCells([[(word, "")] for word in WORDS]), OneLineCells(CELLS), OneLineCells(CELLS)]
    rows = [
        [word, _text(cell), _text(cell)] for word, cell in zip(WORDS, CELLS, strict=True)
    ]  # fmt: skip
    last = ["words left out", "3", "14"]
    assert _printed([joined, last], width, colours) == _printed([*rows, last], width, colours)


def test_no_cells_are_no_lines():
    assert _printed([[OneLineCells([])] * 3], 80, None).splitlines()[0].split() == ["candidate", "greedy", "exact"]


def _text(cell):
    return Text(*cell[0]) if len(cell) == 1 else Text.assemble(*cell)


def _printed(lines, width, colours):
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=colours, force_terminal=colours is not None, highlight=False)
    console.print(terminal_table(("candidate", "greedy", "exact"), "lww", lines))
    return out.getvalue()
