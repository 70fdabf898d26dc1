"""ROUGE's arithmetic on one screen: the words, what they have in common, and the fractions that become the score."""

from __future__ import annotations

from rich.console import Group, RenderableType

from evalign.metrics.lexical.lcsr import LCSR
from evalign.metrics.lexical.rouge import lcs
from evalign.metrics.lexical.rouge.reading import Reading
from evalign.metrics.lexical.rouge.scoring import Rouge
from evalign.render.explain.parts import ending, heading, line, more_line, score_pair
from evalign.render.explain.rouge.arithmetic import f_fraction, precision_and_recall
from evalign.render.explain.rouge.steps import Pair, lcs_path, read_pair, steps
from evalign.render.tables import signature_line

SHOWN_WORDS = 80


def explain_rouge(metric: Rouge, candidate: str, reference: str) -> RenderableType:
    """Tokens, hits, and the way from hits to precision, recall and F, which are those the metric gives."""
    report = metric.score([candidate], [reference])
    scores, flags = report.segments[0].scores, report.segments[0].flags
    pair = read_pair(metric, candidate, reference)
    own, other = pair.candidate, pair.reference
    parts = word_lines(pair)
    if flags:
        parts.append(line(f"flags: {', '.join(flags)}", "bold dark_orange"))
    if own.letters and other.letters:
        parts += [*steps(metric, pair), *_arithmetic(metric, pair, scores["f1"])]
    parts += [heading("The score"), line("   ".join(f"{name} {value:.5f}" for name, value in scores.items()))]
    return Group(*parts, signature_line(report.signature))


def explain_lcsr(metric: LCSR, candidate: str, reference: str) -> RenderableType:
    """The common subsequence, and its length by that of the longer text."""
    scorer, segment = score_pair(metric, candidate, reference)
    pair = read_pair(metric, candidate, reference)
    own, other = pair.candidate, pair.reference
    parts = word_lines(pair)
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


def word_lines(pair: Pair) -> list[RenderableType]:
    """The words of both texts, below a heading."""
    return [heading("1. Words"), *_words("candidate", pair.candidate, pair), *_words("reference", pair.reference, pair)]


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
    precision, recall = precision_and_recall(metric, pair)
    return [
        heading(f"3. Shares{', rounded to five places' if metric.mode == 'rouge155' else ''}"),
        line(f"P = {precision.fraction} = {precision.value:.5f}"),
        line(f"R = {recall.fraction} = {recall.value:.5f}"),
        heading("4. F, which weighs both"),
        line(f"F = {f_fraction(metric, precision.value, recall.value)} = {f:.5f}"),
    ]
