"""One Alignment as plain HTML that needs no script: every token a box, coloured by how well it fits, its partner below.

In: an `Alignment`. Out: two lists of boxes. Whatever the colour says, the border and the number say again.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalign.render.foreign_text import foreign_text
from evalign.render.html import text
from evalign.render.matched_text import MatchedText, matched_texts
from evalign.render.quality import class_of, levels_of
from evalign.types import Alignment

MOST_TOKENS = 400
STYLE = """
.tokens{display:flex;flex-wrap:wrap;gap:3px;margin:.2rem 0 .6rem;padding:0;list-style:none}
.tokens li{border:1.5px solid;border-radius:4px;padding:1px 5px;text-align:center;line-height:1.25;color:var(--ink)}
.tokens li small{display:block;font-size:.75rem}
.q3{background:var(--q3);border-color:var(--q3-edge)!important}
.q2{background:var(--q2);border-color:var(--q2-edge)!important}
.q1{background:var(--q1);border-color:var(--q1-edge)!important;border-style:dotted!important}
.q0{background:var(--q0);border:3px double var(--q0-edge)!important}
"""


def alignment_html(alignment: Alignment) -> str:
    """The candidate's tokens, then the reference's; below each its partner, if that is another word, and the fit."""
    bounds, meaningless = levels_of(alignment).bounds, foreign_text(alignment)
    texts = "".join(f"<p>{side.name}</p>{_boxes(side, bounds)}" for side in matched_texts(alignment))
    scores = ", ".join(f"{text(name)} {value:.3f}" for name, value in alignment.scores.items())
    flags = f"; flags: {text(', '.join(alignment.flags))}" if alignment.flags else ""
    warning = f"<p><b>{text(meaningless)}</b></p>" if meaningless else ""
    grey = f'<div style="filter:grayscale(1)">{texts}</div>' if meaningless else texts
    return f"{warning}{grey}<p>{scores}{flags}</p>"


def quality_of(value: float, bounds: Sequence[float]) -> str:
    """The CSS class of a similarity: q3 for the best to q0."""
    return f"q{len(bounds) - class_of(value, bounds)}"


def _boxes(side: MatchedText, bounds: Sequence[float]) -> str:
    boxes = [_box(side, place, bounds) for place in side.shown[:MOST_TOKENS]]
    left = len(side.shown) - MOST_TOKENS
    more = f"<p>and {left} more tokens</p>" if left > 0 else ""
    return f'<ul class="tokens">{"".join(boxes)}</ul>{more}'


def _box(side: MatchedText, place: int, bounds: Sequence[float]) -> str:
    surface, partner, value = side.tokens.surface(place), side.partner(place), float(side.values[place])
    if partner:
        below = "" if partner.lower() == surface.lower() else f"{text(partner)} "
        title = f"{text(surface)} meets {text(partner)}, {value:.2f}"
    else:
        below, title = "no partner " if surface else "", f"{text(surface)} has no partner"
    small = f"<small>{below}{value:.2f}</small>"
    return f'<li class="{quality_of(value, bounds)}" title="{title}"><bdi>{text(surface)}</bdi>{small}</li>'
