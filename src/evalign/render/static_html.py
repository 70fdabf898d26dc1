"""Alignments, reports and likelihoods as HTML without scripts, for reports and notebooks.

Borders and numbers repeat what colours show. Notebook HTML uses no <style> and no classes (untrusted notebooks strip
both): colours are inline, together with the text colour, so that it is readable on light and dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evalign.core import Alignment, Report, Tokens
from evalign.encoders.likelihood import Likelihood
from evalign.metrics.bartscore import Likelihoods
from evalign.render.alignment_reading import (
    PROBABILITY_BOUNDS,
    MatchedText,
    class_of,
    foreign_text,
    levels_of,
    matched_texts,
    opposite_sentences,
)
from evalign.render.documents import metric_kind
from evalign.render.html import text
from evalign.render.tables import score_text

MAX_TOKENS = 400
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
GREY = "#e6e8eb"  # where similarities are meaningless
SHADES = ("#f7f6f3", "#fdecd0", "#fbd39a", "#f5b05c", "#e88b2e")  # by class of probability, as on the page
MAX_ROWS = 10
MAX_UNLIKELY_TOKENS = 5
Mark = Callable[[int], tuple[str, str]]  # title and colour of a token


def alignment_html(alignment: Alignment) -> str:
    """Return the tokens of both texts; below each its partner, if that is a different word, and the similarity."""
    bounds, meaningless = levels_of(alignment).bounds, foreign_text(alignment)
    texts = "".join(f"<p>{side.name}</p>{_boxes(side, bounds)}" for side in matched_texts(alignment))
    scores = ", ".join(f"{text(name)} {value:.3f}" for name, value in alignment.scores.items())
    flags = f"; flags: {text(', '.join(alignment.flags))}" if alignment.flags else ""
    flags += f" ({text(', '.join(opposite_sentences(alignment)))})" if alignment.opposites else ""
    warning = f"<p><b>{text(meaningless)}</b></p>" if meaningless else ""
    grey = f'<div style="filter:grayscale(1)">{texts}</div>' if meaningless else texts
    return f"{warning}{grey}<p>{scores}{flags}</p>"


def quality_of(value: float, bounds: Sequence[float]) -> str:
    """Return the CSS class of a similarity, from q3 (best) to q0."""
    return f"q{len(bounds) - class_of(value, bounds)}"


def _boxes(side: MatchedText, bounds: Sequence[float]) -> str:
    boxes = [_box(side, index, bounds) for index in side.shown[:MAX_TOKENS]]
    left = len(side.shown) - MAX_TOKENS
    more = f"<p>and {left} more tokens</p>" if left > 0 else ""
    return f'<ul class="tokens">{"".join(boxes)}</ul>{more}'


def _box(side: MatchedText, index: int, bounds: Sequence[float]) -> str:
    surface, partner, value = side.tokens.surface(index), side.partner(index), float(side.values[index])
    if partner:
        below = "" if partner.lower() == surface.lower() else f"{text(partner)} "
        title = f"{text(surface)} – {text(partner)}, {value:.2f}"
    else:
        below, title = "no partner " if surface else "", f"{text(surface)} has no partner"
    small = f"<small>{below}{value:.2f}</small>"
    return f'<li class="{quality_of(value, bounds)}" title="{title}"><bdi>{text(surface)}</bdi>{small}</li>'


def static_alignment(alignment: Alignment) -> str:
    """Return both texts as marked words with their partners, the scores and the signature."""
    bounds, meaningless = levels_of(alignment).bounds, foreign_text(alignment)
    colours = dict.fromkeys(COLOURS, GREY) if meaningless else COLOURS
    lines = "".join(_line(side.name, side.tokens, _fit(side, bounds, colours)) for side in matched_texts(alignment))
    warning = f"<p><b>{text(meaningless)}</b></p>" if meaningless else ""
    opposites = f"<p>{text('; '.join(opposite_sentences(alignment)))}</p>" if alignment.opposites else ""
    return warning + _summary(alignment, lines + opposites)


def static_report(report: Report) -> str:
    """Return the scores of all rows together, and the worst rows."""
    if not report.segments:
        return f"<p>no rows</p><p><code>{text(report.signature)}</code></p>"
    head = "".join(f"<th>{text(name)}</th>" for name in report.fields)
    total = "".join(f"<td><b>{score_text(report.corpus(name), report.metric)}</b></td>" for name in report.fields)
    best_last = 1 if metric_kind(report.metric).higher_is_better else -1
    order = sorted(range(len(report)), key=lambda index: best_last * report.segments[index].scores[report.fields[-1]])
    lines = "".join(_report_line(report, index) for index in order[:MAX_ROWS])
    more = f"<p>The {MAX_ROWS} worst of {len(report)} rows.</p>" if len(report) > MAX_ROWS else ""
    flags = "".join(f"<p>{text(flag)}: {count} rows</p>" for flag, count in report.flags.items())
    return (
        f"<table><thead><tr><th>{text(report.metric)}</th>{head}<th></th></tr></thead>"
        f"<tbody><tr><td>all {len(report)} rows</td>{total}<td></td></tr>{lines}</tbody></table>"
        f"{more}{flags}<p><code>{text(report.signature)}</code></p>"
    )


def _report_line(report: Report, index: int) -> str:
    segment = report.segments[index]
    scores = "".join(f"<td>{score_text(segment.scores[name], report.metric)}</td>" for name in report.fields)
    candidate = text(report.rows[index].candidate[:100]) if report.rows else ""
    return f"<tr><td>{text(segment.id)}</td>{scores}<td>{candidate}</td></tr>"


def static_likelihoods(likelihoods: Likelihoods) -> str:
    """Return the predicted text of every direction, shaded by probability, and its least likely tokens."""
    lines = "".join(
        _line(
            f"{name}, mean {score_text(direction.score, likelihoods.signature)}", direction.target, _likely(direction)
        )
        + _least(direction)
        for name, direction in likelihoods.directions.items()
    )
    return _summary(likelihoods, lines)


def _summary(pair: Alignment | Likelihoods, lines: str) -> str:
    """Return a pair's scores, texts, flags and signature."""
    printed = {name: score_text(value, pair.signature) for name, value in pair.scores.items()}
    scores = " &nbsp; ".join(f"{text(name)} <b>{score}</b>" for name, score in printed.items())
    flags = f"<p>flags: {text(', '.join(pair.flags))}</p>" if pair.flags else ""
    return f"<p>{scores}</p>{lines}{flags}<p><code>{text(pair.signature)}</code></p>"


def _fit(side: MatchedText, bounds: Sequence[float], colours: Mapping[str, str]) -> Mark:
    """Mark tokens by similarity, with the partner in the title."""

    def mark(index: int) -> tuple[str, str]:
        partner, value = side.partner(index), float(side.values[index])
        title = f"{side.tokens.surface(index)} – {'no partner' if partner is None else partner}, {value:.2f}"
        return title, colours[quality_of(value, bounds)]

    return mark


def _likely(likelihood: Likelihood) -> Mark:
    """Mark tokens by probability, which is in the title."""

    def mark(index: int) -> tuple[str, str]:
        log_prob = float(likelihood.log_probs[index])
        probability = math.exp(log_prob)
        title = f"{likelihood.target.surface(index)}: log-probability {log_prob:.4f}, {probability:.2%}"
        return title, SHADES[class_of(probability, PROBABILITY_BOUNDS)]

    return mark


def _least(likelihood: Likelihood) -> str:
    """Return the least likely tokens as text, for readers without a pointer."""
    order = np.argsort(likelihood.log_probs, kind="stable")[: 0 if likelihood.empty else MAX_UNLIKELY_TOKENS]
    tokens = {index: f"<bdi>{text(likelihood.target.surface(index))}</bdi>" for index in order}
    named = ", ".join(f"{token} {likelihood.log_probs[index]:.4f}" for index, token in tokens.items())
    return f"<p>least likely: {named}</p>" if named else ""


def _line(name: str, tokens: Tokens, mark: Mark) -> str:
    """Return the original text with every token marked."""
    parts, end = [], 0
    ordinary = [index for index in range(len(tokens)) if not tokens.special[index]]
    for index in ordinary[:MAX_TOKENS]:
        start, stop = (int(edge) for edge in tokens.offsets[index])
        if start < end or stop <= start:
            continue
        title, colour = mark(index)
        parts.append(
            f'{text(tokens.text[end:start])}<span title="{text(title)}" style="background:{colour};color:#1b1f24">'
            f"{text(tokens.text[start:stop])}</span>"
        )
        end = stop
    rest = (
        text(tokens.text[end:]) if len(ordinary) <= MAX_TOKENS else f" … and {len(ordinary) - MAX_TOKENS} more tokens"
    )
    return f'<p><b>{name}</b></p><p dir="auto">{"".join(parts)}{rest}</p>'
