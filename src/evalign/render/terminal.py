"""An Alignment in the terminal: every token, its partner, and how well they fit."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.render.foreign_text import foreign_text
from evalign.render.matched_text import MatchedText, matched_texts
from evalign.render.quality import class_of, levels_of
from evalign.render.tables import signature_line, terminal_table
from evalign.types import Alignment

BAR = 10
# By level. Blue to orange keeps apart for colour-blind readers; bar and number say the same again.
STYLES = ("bold blue", "cyan", "yellow", "bold dark_orange")


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
