"""ROUGE's arithmetic on one screen: the words, what they have in common, and the fractions that become the score."""

from __future__ import annotations

from rich.console import Group, RenderableType

from evalign.metrics.lexical.lcsr import LCSR
from evalign.metrics.lexical.rouge import lcs
from evalign.metrics.lexical.rouge.metrics import RougeW
from evalign.metrics.lexical.rouge.options import OWN_RATIO
from evalign.metrics.lexical.rouge.reading import Reading, shared_reader
from evalign.metrics.lexical.rouge.scoring import Rouge
from evalign.render.explain.parts import ending, heading, line, more_line, score_pair
from evalign.render.explain.rouge_steps import Pair, lcs_path, shares_written, steps
from evalign.render.tables import signature_line
from evalign.render.terminal import visible

SHOWN_WORDS = 80


def explain_rouge(metric: Rouge, candidate: str, reference: str) -> RenderableType:
    """Tokens, hits, and the way from hits to precision, recall and F, which are those the metric gives."""
    report = metric.score([candidate], [reference])
    scores, flags = report.segments[0].scores, report.segments[0].flags
    own, other, words = shared_reader(metric.reading()).shown(candidate, reference)
    pair = Pair(own, other, {letter: visible(word) for letter, word in words.items()})
    parts: list[RenderableType] = [heading("1. Words"), *_words("candidate", own, pair)]
    parts += _words("reference", other, pair)
    if flags:
        parts.append(line(f"flags: {', '.join(flags)}", "bold dark_orange"))
    if own.letters and other.letters:
        parts += [*steps(metric, pair), *_arithmetic(metric, pair, scores["f1"])]
    parts += [heading("The score"), line("   ".join(f"{name} {value:.5f}" for name, value in scores.items()))]
    return Group(*parts, signature_line(report.signature))


def explain_lcsr(metric: LCSR, candidate: str, reference: str) -> RenderableType:
    """The common subsequence, and its length by that of the longer text."""
    scorer, segment = score_pair(metric, candidate, reference)
    own, other, words = shared_reader(metric.reading()).shown(candidate, reference)
    pair = Pair(own, other, {letter: visible(word) for letter, word in words.items()})
    parts: list[RenderableType] = [heading("1. Words"), *_words("candidate", own, pair)]
    parts += _words("reference", other, pair)
    if own.letters and other.letters:
        lengths = len(own.letters), len(other.letters)
        (hits,) = lcs.lcs_lengths([own.letters], [other.letters])
        parts += [
            heading("2. Longest common subsequence: reference down, candidate across"),
            *lcs_path(pair, 1, lcs.lcs_cells),
            heading("3. By the longer text"),
            line(f"LCSR = {hits} / max({lengths[0]}, {lengths[1]}) = {segment.scores['score']:.5f}"),
        ]
    return Group(*parts, *ending(metric, segment, scorer.signature))


def _words(name: str, reading: Reading, pair: Pair) -> list[RenderableType]:
    """The words of one side as they are compared: one line per sentence, the first ones of a long text."""
    lines = [line(f"{name}: {len(reading.letters)} words", "dim")]
    left = SHOWN_WORDS
    for sentence in reading.sentences:
        if left <= 0:
            break
        lines.append(line("   " + pair.text(sentence[:left])))
        left -= len(sentence)
    return [*lines, *more_line(len(reading.letters), SHOWN_WORDS, "   ")]


def _arithmetic(metric: Rouge, pair: Pair, f: float) -> list[RenderableType]:
    """Precision and recall as fractions, and F with its numbers."""
    shares = [float(side[0]) for side in metric.pairs([pair.candidate], [pair.reference])]
    script = metric.mode == "rouge155"
    if script:
        counts = metric.counts(pair.candidate, pair.reference)
        totals = counts.peer, counts.model
        shares = [round(metric.ratio(counts.hit, total), 5) if total else 0.0 for total in totals]
        fractions = [f"{counts.hit:.5g} / {total:.5g}" for total in totals]
        if isinstance(metric, RougeW):
            fractions = [f"({fraction}) ^ (1 / {metric.weight:g})" for fraction in fractions]
    else:
        fractions = shares_written(metric, pair, shares)
    return [
        heading(f"3. Shares{', rounded to five places' if script else ''}"),
        line(f"P = {fractions[0]} = {shares[0]:.5f}"),
        line(f"R = {fractions[1]} = {shares[1]:.5f}"),
        heading("4. F, which weighs both"),
        line(f"F = {_f(metric, *shares)} = {f:.5f}"),
    ]


def _f(metric: Rouge, p: float, r: float) -> str:
    """The formula with its numbers."""
    if p == 0 and r == 0:
        return "nothing of nothing"
    if metric.beta == OWN_RATIO:
        return f"RP (R² + P²) / (R³ + P³), with beta = P/R = {p / r:.4f}"
    alpha = metric.precision_weight
    if alpha == 0.5:
        return f"2 · {p:.5f} · {r:.5f} / ({p:.5f} + {r:.5f})"
    return f"{p:.5f} · {r:.5f} / ({1 - (alpha or 0):.4g} · {p:.5f} + {alpha:.4g} · {r:.5f})"
