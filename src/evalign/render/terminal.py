"""An Alignment in the terminal: every token, its partner and how well they fit, or all matchings side by side."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.render.alignment_reading import MatchedText, class_of, foreign_text, levels_of, matched_texts
from evalign.render.tables import OneLineCells, signature_line, terminal_table
from evalign.types import Alignment

BAR = 10
# By level. Blue to orange keeps apart for colour-blind readers; bar and number say the same again.
STYLES = ("bold blue", "cyan", "yellow", "bold dark_orange")
CHANGED = "◆"


def alignment_picture(alignment: Alignment) -> RenderableType:
    """Both directions side by side, then the scores."""
    bounds = levels_of(alignment).bounds
    scores = Text("   ").join(
        Text.assemble((name, "dim"), " ", (f"{value:.4f}", "bold")) for name, value in alignment.scores.items()
    )
    meaningless = foreign_text(alignment)
    warnings = [Text(meaningless, style="bold dark_orange")] if meaningless else []
    notes = [Text(f"flags: {', '.join(alignment.flags)}", style="bold dark_orange")] if alignment.flags else []
    return Group(
        Columns(
            [_matches_table(side, bounds, grey=bool(meaningless)) for side in matched_texts(alignment)], padding=(0, 4)
        ),
        Text(),
        scores,
        *warnings,
        *notes,
        signature_line(alignment.signature),
    )


def alignment_text(alignment: Alignment, width: int = 100) -> str:
    """The same picture as plain text."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(alignment_picture(alignment))
    return out.getvalue().rstrip("\n")


def visible(text: str) -> str:
    """A text without characters that move the cursor or turn the reading direction of the line."""
    return "".join("\ufffd" if unicodedata.category(char) in ("Cc", "Cf", "Cs") else char for char in text)


def quality(value: float, bounds: Sequence[float]) -> str:
    """The style of a value; `bounds` has the least value of each of the three better levels, best first."""
    return STYLES[class_of(value, bounds)]


def _matches_table(side: MatchedText, bounds: Sequence[float], grey: bool) -> Table:
    weighted = len({float(weight) for weight in side.weights if weight}) > 1
    lines: list[list[str | Text]] = []
    for place in side.shown:
        value, partner = float(side.values[place]), side.partner(place)
        style, filled = "dim" if grey else quality(value, bounds), round(BAR * max(0.0, value))
        lines.append([
            visible(side.tokens.surface(place)),
            Text("█" * filled + "·" * (BAR - filled), style=style),
            Text(f"{value:.2f}", style=style),
            "—" if partner is None else visible(partner),
            *([f"{side.weights[place]:.2f}"] if weighted else []),
        ])  # fmt: skip
    columns = (side.name, "", "", "best partner", *(["weight"] if weighted else []))
    return terminal_table(columns, "llrlr"[: len(columns)], lines)


def side_by_side(alignments: Mapping[str, Alignment]) -> RenderableType:
    """One column per matching; the first is the yardstick, and a mark shows where another differs from it."""
    (first, yardstick), *_ = alignments.items()
    columns, bounds = list(alignments.values()), levels_of(yardstick).bounds
    shown = np.flatnonzero(~yardstick.candidate.special).tolist()
    candidate, reference = (
        [visible(tokens.surface(index)) for index in range(len(tokens))]
        for tokens in (yardstick.candidate, yardstick.reference)
    )
    partners = [_partners(alignment, shown, yardstick, reference, bounds) for alignment in columns]
    lines: list[list[str | Text | OneLineCells]] = [
        [OneLineCells([[(candidate[index], "")] for index in shown]), *partners]
    ]
    for field in dict.fromkeys(name for alignment in columns for name in alignment.scores):
        values = [alignment.scores.get(field) for alignment in columns]
        lines.append([Text(field, style="dim"), *("" if value is None else f"{value:.4f}" for value in values)])
    lines.append([Text("reference tokens left out", style="dim"), *(str(_left_out(each)) for each in columns)])
    table = terminal_table(("candidate", *alignments), "l" + "w" * len(columns), lines)
    changes = [f"{name}: {_changes(alignment, yardstick)}" for name, alignment in list(alignments.items())[1:]]
    note = f"\n{CHANGED} another partner than under {first}. Candidate tokens that changed: {', '.join(changes)}"
    return Group(table, Text(note, style="dim"))


def _partners(
    alignment: Alignment, shown: Sequence[int], yardstick: Alignment, surfaces: Sequence[str], bounds: Sequence[float]
) -> OneLineCells:
    """Whom each of the shown candidate tokens meets, how similar they are, and a mark if the yardstick differs."""
    partners, values = alignment.candidate_partners.tolist(), alignment.candidate_values.tolist()
    changed = (alignment.candidate_partners != yardstick.candidate_partners).tolist()
    cells: list[list[tuple[str, str]]] = []
    for index in shown:
        partner, value = partners[index], values[index]
        mark = f" {CHANGED}" if changed[index] else ""
        if partner < 0:
            cells.append([(f"—{mark}", "dim")])
        else:
            cells.append([(surfaces[partner], ""), (f" {value:.2f}", quality(value, bounds)), (mark, "")])
    return OneLineCells(cells)


def _changes(alignment: Alignment, yardstick: Alignment) -> int:
    own = ~alignment.candidate.special
    return int((alignment.candidate_partners != yardstick.candidate_partners)[own].sum())


def _left_out(alignment: Alignment) -> int:
    """Reference tokens that have no cell at all, or that no candidate token chose."""
    return sum(1 for index in alignment.unmatched_reference if not alignment.reference.special[index])
