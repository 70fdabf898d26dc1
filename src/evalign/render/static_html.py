"""Alignments, reports and likelihoods as HTML that needs no script: in reports, and in notebooks that run none.

Whatever a colour says, a border or a number says again. In a notebook no <style> and no class is relied on (untrusted
notebooks strip both); colours stand at the elements, with the text's own colour fixed beside them, so that it can be
read on a light and on a dark page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evalign.encoders.likelihood.base import Likelihood
from evalign.metrics.pair_likelihood import Likelihoods
from evalign.render.alignment_reading import (
    PROBABILITY_BOUNDS,
    MatchedText,
    class_of,
    foreign_text,
    levels_of,
    matched_texts,
)
from evalign.render.documents import metric_kind
from evalign.render.html import text
from evalign.types import Alignment, Report, Tokens

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
COLOURS = {"q3": "#9fd0f2", "q2": "#e0effa", "q1": "#ffe680", "q0": "#f2935c"}  # as on the page
GREY = "#e6e8eb"  # where a similarity says nothing
SHADES = ("#f7f6f3", "#fdecd0", "#fbd39a", "#f5b05c", "#e88b2e")  # by class of probability, as on the page
MOST_ROWS = 10
MOST_UNLIKELY = 5
Mark = Callable[[int], tuple[str, str]]  # title and colour of a token


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


def static_alignment(alignment: Alignment) -> str:
    """Both texts as marked words with their partners, the scores and the signature."""
    bounds, meaningless = levels_of(alignment).bounds, foreign_text(alignment)
    colours = dict.fromkeys(COLOURS, GREY) if meaningless else COLOURS
    lines = "".join(_line(side.name, side.tokens, _fit(side, bounds, colours)) for side in matched_texts(alignment))
    warning = f"<p><b>{text(meaningless)}</b></p>" if meaningless else ""
    return warning + _summary(alignment, lines)


def static_report(report: Report) -> str:
    """The scores of all rows together, and the worst rows."""
    if not report.segments:
        return f"<p>no rows</p><p><code>{text(report.signature)}</code></p>"
    head = "".join(f"<th>{text(name)}</th>" for name in report.fields)
    total = "".join(f"<td><b>{report.corpus(name):.4f}</b></td>" for name in report.fields)
    best_last = 1 if metric_kind(report.metric).higher_is_better else -1
    order = sorted(range(len(report)), key=lambda place: best_last * report.segments[place].scores[report.fields[-1]])
    lines = "".join(
        f"<tr><td>{text(report.segments[place].id)}</td>"
        + "".join(f"<td>{report.segments[place].scores[name]:.4f}</td>" for name in report.fields)
        + f"<td>{text(report.rows[place].candidate[:100]) if report.rows else ''}</td></tr>"
        for place in order[:MOST_ROWS]
    )
    more = f"<p>The {MOST_ROWS} worst of {len(report)} rows.</p>" if len(report) > MOST_ROWS else ""
    flags = "".join(f"<p>{text(flag)}: {count} rows</p>" for flag, count in report.flags.items())
    return (
        f"<table><thead><tr><th>{text(report.metric)}</th>{head}<th></th></tr></thead>"
        f"<tbody><tr><td>all {len(report)} rows</td>{total}<td></td></tr>{lines}</tbody></table>"
        f"{more}{flags}<p><code>{text(report.signature)}</code></p>"
    )


def static_likelihoods(likelihoods: Likelihoods) -> str:
    """The predicted text of every direction, shaded by probability, numbers in titles; the least likely named."""
    lines = "".join(
        _line(f"{name}, mean {direction.score:.4f}", direction.target, _likely(direction)) + _least(direction)
        for name, direction in likelihoods.directions.items()
    )
    return _summary(likelihoods, lines)


def _summary(pair: Alignment | Likelihoods, lines: str) -> str:
    """A pair's scores, its texts, its flags and the signature."""
    scores = " &nbsp; ".join(f"{text(name)} <b>{value:.4f}</b>" for name, value in pair.scores.items())
    flags = f"<p>flags: {text(', '.join(pair.flags))}</p>" if pair.flags else ""
    return f"<p>{scores}</p>{lines}{flags}<p><code>{text(pair.signature)}</code></p>"


def _fit(side: MatchedText, bounds: Sequence[float], colours: Mapping[str, str]) -> Mark:
    """By how well a token fits; its partner is in the title."""

    def mark(place: int) -> tuple[str, str]:
        partner, value = side.partner(place), float(side.values[place])
        title = f"{side.tokens.surface(place)} meets {'nothing' if partner is None else partner}, {value:.2f}"
        return title, colours[quality_of(value, bounds)]

    return mark


def _likely(likelihood: Likelihood) -> Mark:
    """By its probability, which is in the title."""

    def mark(place: int) -> tuple[str, str]:
        log_prob = float(likelihood.log_probs[place])
        probability = math.exp(log_prob)
        title = f"{likelihood.target.surface(place)}: log-probability {log_prob:.4f}, {probability:.2%}"
        return title, SHADES[class_of(probability, PROBABILITY_BOUNDS)]

    return mark


def _least(likelihood: Likelihood) -> str:
    """The least likely tokens in words, for readers without a pointer."""
    order = np.argsort(likelihood.log_probs, kind="stable")[: 0 if likelihood.empty else MOST_UNLIKELY]
    tokens = {place: f"<bdi>{text(likelihood.target.surface(place))}</bdi>" for place in order}
    named = ", ".join(f"{token} {likelihood.log_probs[place]:.4f}" for place, token in tokens.items())
    return f"<p>least likely: {named}</p>" if named else ""


def _line(name: str, tokens: Tokens, mark: Mark) -> str:
    """The original text, every token marked."""
    parts, end = [], 0
    own = [place for place in range(len(tokens)) if not tokens.special[place]]
    for place in own[:MOST_TOKENS]:
        start, stop = (int(edge) for edge in tokens.offsets[place])
        if start < end or stop <= start:
            continue
        title, colour = mark(place)
        parts.append(
            f'{text(tokens.text[end:start])}<span title="{text(title)}" style="background:{colour};color:#1b1f24">'
            f"{text(tokens.text[start:stop])}</span>"
        )
        end = stop
    rest = text(tokens.text[end:]) if len(own) <= MOST_TOKENS else f" … and {len(own) - MOST_TOKENS} more tokens"
    return f'<p><b>{name}</b></p><p dir="auto">{"".join(parts)}{rest}</p>'
