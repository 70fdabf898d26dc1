"""One Alignment as plain HTML that needs no script: every token a box, coloured by how well it fits, its partner below.

In: an `Alignment`. Out: two lists of boxes. Whatever the colour says, the border and the number say again.
"""

from __future__ import annotations

from evalign.render.html import text
from evalign.render.quality import SIMILARITY_BOUNDS, class_of
from evalign.types import Alignment, Floats, Ints, Tokens

MOST_TOKENS = 400
STYLE = """
.tokens{display:flex;flex-wrap:wrap;gap:3px;margin:.2rem 0 .6rem;padding:0;list-style:none}
.tokens li{border:1.5px solid;border-radius:4px;padding:1px 5px;text-align:center;line-height:1.25;color:var(--ink)}
.tokens li small{display:block;font-size:.75rem}
.q3{background:var(--q3);border-color:var(--q3-edge)!important}
.q2{background:var(--q2);border-color:var(--q2-edge)!important}
.q1{background:var(--q1);border-color:var(--q1-edge)!important;border-style:dotted!important}
.q0{background:var(--q0);border-color:var(--q0-edge)!important;border-style:dashed!important}
"""


def alignment_html(alignment: Alignment) -> str:
    """The candidate's tokens, then the reference's; below each its partner, if that is another word, and the fit."""
    one, other = alignment.candidate, alignment.reference
    ours = _boxes(one, alignment.candidate_values, alignment.candidate_partners, other)
    theirs = _boxes(other, alignment.reference_values, alignment.reference_partners, one)
    scores = ", ".join(f"{text(name)} {value:.3f}" for name, value in alignment.scores.items())
    flags = f"; flags: {text(', '.join(alignment.flags))}" if alignment.flags else ""
    return f"<p>candidate</p>{ours}<p>reference</p>{theirs}<p>{scores}{flags}</p>"


def quality_of(value: float) -> str:
    """The CSS class of a similarity: q3 for the best to q0."""
    return f"q{3 - class_of(value, SIMILARITY_BOUNDS)}"


def _boxes(tokens: Tokens, values: Floats, partners: Ints, others: Tokens) -> str:
    own = [index for index in range(len(tokens)) if not tokens.special[index]]
    boxes = [_box(tokens, index, float(values[index]), int(partners[index]), others) for index in own[:MOST_TOKENS]]
    more = f"<p>and {len(own) - MOST_TOKENS} more tokens</p>" if len(own) > MOST_TOKENS else ""
    return f'<ul class="tokens">{"".join(boxes)}</ul>{more}'


def _box(tokens: Tokens, index: int, value: float, partner: int, others: Tokens) -> str:
    surface = tokens.surface(index)
    met = others.surface(partner) if partner >= 0 else ""
    quality = quality_of(value)
    below = "" if met.lower() == surface.lower() else f"{text(met)} " if met else "no partner "
    title = f"{text(surface)} meets {text(met)}, {value:.2f}" if met else f"{text(surface)} has no partner"
    return f'<li class="{quality}" title="{title}"><bdi>{text(surface)}</bdi><small>{below}{value:.2f}</small></li>'
