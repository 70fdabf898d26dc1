"""Terminal picture of an Alignment: every token with its partner and similarity, or all matchings side by side."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.core import Alignment
from evalign.render.alignment_reading import (
    MatchedText,
    class_of,
    foreign_text,
    levels_of,
    matched_texts,
    opposite_sentences,
)
from evalign.render.console import EscapingConsole
from evalign.render.tables import OneLineCells, score_text, signature_line, terminal_table

BAR_WIDTH = 10
# By level. Blue and orange differ for colour-blind readers; bar and number repeat the information.
STYLES = ("bold blue", "cyan", "yellow", "bold dark_orange")
CHANGED = "◆"


def alignment_picture(alignment: Alignment) -> RenderableType:
    """Return both directions side by side, then the scores."""
    bounds = levels_of(alignment).bounds
    scores = Text("   ").join(
        Text.assemble((name, "dim"), " ", (score_text(value, alignment.signature), "bold"))
        for name, value in alignment.scores.items()
    )
    meaningless = foreign_text(alignment)
    warnings = [Text(meaningless, style="bold dark_orange")] if meaningless else []
    flags = [name for name in alignment.flags if name != "polarity"]
    notes = [f"flags: {', '.join(flags)}"] if flags else []
    notes += [f"polarity: {', '.join(opposite_sentences(alignment))}"] if alignment.opposites else []
    return Group(
        Columns(
            [_matches_table(side, bounds, grey=bool(meaningless)) for side in matched_texts(alignment)], padding=(0, 4)
        ),
        Text(),
        scores,
        *warnings,
        *(Text(visible(note), style="bold dark_orange") for note in notes),
        signature_line(alignment.signature),
    )


def alignment_text(alignment: Alignment, width: int = 100) -> str:
    """Return the picture as plain text of `width` columns."""
    out = io.StringIO()
    EscapingConsole(file=out, width=width, color_system=None).print(alignment_picture(alignment))
    return out.getvalue().rstrip("\n")


def visible(text: str) -> str:
    """Return a text without characters that move the cursor or change the reading direction."""
    return "".join("\ufffd" if unicodedata.category(char) in ("Cc", "Cf", "Cs") else char for char in text)


def quality(value: float, bounds: Sequence[float]) -> str:
    """Return the style of a value; `bounds` are the lower bounds of the three better levels, best first."""
    return STYLES[class_of(value, bounds)]


def _matches_table(side: MatchedText, bounds: Sequence[float], grey: bool) -> Table:
    weighted = len({float(weight) for weight in side.weights if weight}) > 1
    lines: list[list[str | Text]] = []
    for index in side.shown:
        value, partner = float(side.values[index]), side.partner(index)
        style, filled = "dim" if grey else quality(value, bounds), round(BAR_WIDTH * max(0.0, value))
        lines.append([
            visible(side.tokens.surface(index)),
            Text("█" * filled + "·" * (BAR_WIDTH - filled), style=style),
            Text(f"{value:.2f}", style=style),
            "—" if partner is None else visible(partner),
            *([f"{side.weights[index]:.2f}"] if weighted else []),
        ])  # fmt: skip
    columns = (side.name, "", "", "best partner", *(["weight"] if weighted else []))
    return terminal_table(columns, "llrlr"[: len(columns)], lines)


def side_by_side(alignments: Mapping[str, Alignment]) -> RenderableType:
    """Return one column per matching; a mark shows where a matching differs from the first."""
    (first, first_alignment), *_ = alignments.items()
    columns, bounds = list(alignments.values()), levels_of(first_alignment).bounds
    indices = np.flatnonzero(~first_alignment.candidate.special).tolist()
    candidate, reference = (
        [visible(tokens.surface(index)) for index in range(len(tokens))]
        for tokens in (first_alignment.candidate, first_alignment.reference)
    )
    partners = [_partners(alignment, indices, first_alignment, reference, bounds) for alignment in columns]
    lines: list[list[str | Text | OneLineCells]] = [
        [OneLineCells([[(candidate[index], "")] for index in indices]), *partners]
    ]
    for field in dict.fromkeys(name for alignment in columns for name in alignment.scores):
        scores = [
            score_text(alignment.scores[field], alignment.signature) if field in alignment.scores else ""
            for alignment in columns
        ]
        lines.append([Text(field, style="dim"), *scores])
    lines.append(
        [Text("reference tokens left out", style="dim"), *(str(_left_out(alignment)) for alignment in columns)]
    )
    table = terminal_table(("candidate", *alignments), "l" + "w" * len(columns), lines)
    changes = [f"{name}: {_changes(alignment, first_alignment)}" for name, alignment in list(alignments.items())[1:]]
    note = f"\n{CHANGED} a different partner than under {first}. Candidate tokens that changed: {', '.join(changes)}"
    return Group(table, Text(note, style="dim"))


def _partners(
    alignment: Alignment,
    indices: Sequence[int],
    first_alignment: Alignment,
    surfaces: Sequence[str],
    bounds: Sequence[float],
) -> OneLineCells:
    """Return partner and similarity of candidate tokens, with a mark if the partner differs from the first matching."""
    partners, values = alignment.candidate_partners.tolist(), alignment.candidate_values.tolist()
    changed = (alignment.candidate_partners != first_alignment.candidate_partners).tolist()
    cells: list[list[tuple[str, str]]] = []
    for index in indices:
        partner, value = partners[index], values[index]
        mark = f" {CHANGED}" if changed[index] else ""
        if partner < 0:
            cells.append([(f"—{mark}", "dim")])
        else:
            cells.append([(surfaces[partner], ""), (f" {value:.2f}", quality(value, bounds)), (mark, "")])
    return OneLineCells(cells)


def _changes(alignment: Alignment, first_alignment: Alignment) -> int:
    ordinary = ~alignment.candidate.special
    return int((alignment.candidate_partners != first_alignment.candidate_partners)[ordinary].sum())


def _left_out(alignment: Alignment) -> int:
    """Return the number of reference tokens that no candidate token is matched with."""
    return sum(1 for index in alignment.unmatched_reference if not alignment.reference.special[index])
