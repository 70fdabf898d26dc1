"""Names and texts from data, made fit to be shown: no control characters, wrapped, shortened with a key.

In: any string, lone surrogates and control characters included. Out: text that HTML, SVG and UTF-8 files can hold.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

REPLACEMENT = "\ufffd"
DIRECTIONAL = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}  # they turn the reading direction of what follows
BREAK_AFTER = " ,(/-_=|:"
KEY_LENGTH = 240


@dataclass(frozen=True)
class Labels:
    """One label per name, and lines that say in full what was shortened: `[2] the whole second name`."""

    shown: tuple[str, ...]
    key: tuple[str, ...]


def showable(text: str) -> str:
    """Line breaks and tabs become spaces; control and directional characters and surrogates become U+FFFD."""
    return "".join(" " if char in "\n\r\t" else REPLACEMENT if _hidden(char) else char for char in text)


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken after a separator where one is near."""
    lines: list[str] = []
    rest = showable(text).strip()
    while cell_len(rest) > width:
        fitting = 0
        columns = 0
        while columns + cell_len(rest[fitting]) <= width:
            columns += cell_len(rest[fitting])
            fitting += 1
        breaks = [place for place in range(fitting // 2, fitting) if rest[place] in BREAK_AFTER]
        stop = breaks[-1] + 1 if breaks else max(1, fitting)
        lines.append(rest[:stop].rstrip())
        rest = rest[stop:].lstrip()
    return [*lines, rest] if rest or not lines else lines


def labels(names: Sequence[str], width: int, most_lines: int = 2) -> Labels:
    """Names wrapped to `width`; one that needs more than `most_lines` is cut and explained in the key."""
    shown, key = [], []
    for number, name in enumerate(names, 1):
        lines = wrap(name, width)
        if len(lines) > most_lines:
            mark = f"… [{number}]"
            last = wrap(lines[most_lines - 1], width - len(mark))[0]
            lines = [*lines[: most_lines - 1], last + mark]
            whole = showable(name)
            key.append(f"[{number}] {whole if len(whole) <= KEY_LENGTH else whole[:KEY_LENGTH] + '…'}")
        shown.append("\n".join(lines))
    return Labels(tuple(shown), tuple(key))


def _hidden(char: str) -> bool:
    # Cn holds U+FFFE and U+FFFF, which no XML document may contain.
    return ord(char) in DIRECTIONAL or unicodedata.category(char) in ("Cc", "Cs", "Cn")
