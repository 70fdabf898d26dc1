"""What HTML pages are made of: texts of other people that stay texts, and tables that can be read out and scrolled."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from evalign.render.labels import showable


def text(value: str) -> str:
    """Escaped, for content and attributes; what no page can hold becomes U+FFFD, line breaks become spaces."""
    return html.escape(showable(value), quote=True)


def table(caption: str, columns: Sequence[str], lines: Iterable[tuple[str, Sequence[str]]], head: int = 0) -> str:
    """A table of texts; each line has its class and its cells, the cell `head` of which names the line."""
    header = "".join(
        f'<th scope="col"{" class=name" if place == head else ""}>{text(column)}</th>'
        for place, column in enumerate(columns)
    )
    body = "".join(
        f'<tr class="{kind}">'
        + "".join(
            f'<th scope="row"><bdi>{text(cell)}</bdi></th>' if place == head else f"<td>{text(cell)}</td>"
            for place, cell in enumerate(cells)
        )
        + "</tr>\n"
        for kind, cells in lines
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}"><table><caption>{text(caption)}'
        f"</caption>\n<thead><tr>{header}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )
