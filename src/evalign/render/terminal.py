"""One Alignment as a picture in the terminal: every token, its partner, and how well they fit."""

from __future__ import annotations

import io
import unicodedata

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.render.quality import SIMILARITY_BOUNDS, class_of
from evalign.types import Alignment, Floats, Ints, Tokens

BAR = 10
# By class of similarity. Blue to orange keeps apart for colour-blind readers; bar and number say the same again.
STYLES = ("bold blue", "cyan", "yellow", "bold dark_orange")


def alignment_picture(alignment: Alignment) -> RenderableType:
    """Both directions side by side, then the scores."""
    precision = _direction(
        "candidate", alignment.candidate, alignment.candidate_weights, alignment.candidate_values,
        alignment.candidate_partners, alignment.reference,
    )  # fmt: skip
    recall = _direction(
        "reference", alignment.reference, alignment.reference_weights, alignment.reference_values,
        alignment.reference_partners, alignment.candidate,
    )  # fmt: skip
    scores = Text("   ").join(
        Text.assemble((name, "dim"), " ", (f"{value:.4f}", "bold")) for name, value in alignment.scores.items()
    )
    notes = [Text(f"flags: {', '.join(alignment.flags)}", style="bold dark_orange")] if alignment.flags else []
    return Group(
        Columns([precision, recall], padding=(0, 4)),
        Text(),
        scores,
        *notes,
        Text(alignment.signature, style="dim", overflow="fold"),
    )


def alignment_text(alignment: Alignment, width: int = 100) -> str:
    """The same picture as plain text."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(alignment_picture(alignment))
    return out.getvalue().rstrip("\n")


def visible(text: str) -> str:
    """A token that cannot move the cursor or turn the reading direction of the line."""
    return "".join("\ufffd" if unicodedata.category(char) in ("Cc", "Cf", "Cs") else char for char in text)


def quality(value: float) -> str:
    """The style of a similarity."""
    return STYLES[class_of(value, SIMILARITY_BOUNDS)]


def _direction(name: str, tokens: Tokens, weights: Floats, values: Floats, partners: Ints, others: Tokens) -> Table:
    uniform = len({float(weight) for weight in weights if weight}) <= 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(name)
    table.add_column("")
    table.add_column("", justify="right")
    table.add_column("best partner")
    if not uniform:
        table.add_column("weight", justify="right")
    for index in range(len(tokens)):
        if tokens.special[index]:
            continue  # they weigh nothing; as partners they do appear
        value, partner = float(values[index]), int(partners[index])
        style = quality(value)
        filled = round(BAR * max(0.0, value))
        row = [
            Text(visible(tokens.surface(index))),
            Text("█" * filled + "·" * (BAR - filled), style=style),
            Text(f"{value:.2f}", style=style),
            Text(visible(others.surface(partner)) if partner >= 0 else "—"),
        ]
        table.add_row(*row, *([] if uniform else [f"{weights[index]:.2f}"]))
    return table
