"""ROUGE's arithmetic on one screen: the words, what they have in common, and the fractions that become the score."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from evalign.metrics.lexical.rouge.metrics import Rouge, RougeMEAD, RougeW, UnionLCS
from evalign.metrics.lexical.rouge.options import OWN_RATIO
from evalign.metrics.lexical.rouge.reading import Reading, shared_reader
from evalign.render.explain.rouge_steps import Pair, steps
from evalign.render.terminal import visible

SHOWN_WORDS = 80


def explain_rouge(metric: Rouge, candidate: str, reference: str) -> RenderableType:
    """Tokens, hits, and the way from hits to precision, recall and F, which are those the metric gives."""
    report = metric.score([candidate], [reference])
    scores, flags = report.segments[0].scores, report.segments[0].flags
    own, other, words = shared_reader(metric.reading()).shown(candidate, reference)
    pair = Pair(own, other, {letter: visible(word) for letter, word in words.items()})
    parts: list[RenderableType] = [Text("1. Words", style="bold"), *_words("candidate", own, pair)]
    parts += _words("reference", other, pair)
    if flags:
        parts.append(Text(f"   flags: {', '.join(flags)}", style="bold dark_orange"))
    if own.letters and other.letters:
        parts += steps(metric, pair)
        parts += _arithmetic(metric, pair, scores["f1"])
    parts.append(Text("\nThe score", style="bold"))
    parts.append(Text("   " + "   ".join(f"{name} {value:.5f}" for name, value in scores.items())))
    parts.append(Text(report.signature, style="dim", overflow="fold"))
    return Group(*parts)


def _words(name: str, reading: Reading, pair: Pair) -> list[RenderableType]:
    """The words of one side as they are compared: one line per sentence, the first ones of a long text."""
    lines = [Text(f"   {name}: {len(reading.letters)} words", style="dim")]
    left = SHOWN_WORDS
    for sentence in reading.sentences:
        if left <= 0:
            break
        lines.append(Text("      " + " ".join(pair.words[letter] for letter in sentence[:left])))
        left -= len(sentence)
    if left < 0:
        lines.append(Text(f"      ... and {len(reading.letters) - SHOWN_WORDS} more", style="dim"))
    return list(lines)


def _arithmetic(metric: Rouge, pair: Pair, f: float) -> list[RenderableType]:
    """The fractions."""
    ((precision, recall),) = zip(*metric.pairs([pair.candidate], [pair.reference]), strict=True)
    script = metric.mode == "rouge155"
    if script:
        model, peer, hit, _ = metric.counts(pair.candidate, pair.reference)
        precision, recall = (round(metric.ratio(hit, total), 5) if total else 0.0 for total in (peer, model))
        told = [_share(metric, hit, total) for total in (peer, model)]
    elif isinstance(metric, (RougeMEAD, UnionLCS)):
        told = [f"{value * n:.0f} / {n}" for value, n in _both(precision, recall, pair)]
    elif isinstance(metric, RougeW):
        told = [f"({_weighted(value, n, metric.weight)})" for value, n in _both(precision, recall, pair)]
        told = [f"{share} ^ (1 / {metric.weight:g})" for share in told]
    else:
        told = [_paper_share(metric, value, pair, side) for side, value in enumerate((precision, recall))]
    rounding = ", rounded to five places" if script else ""
    return [
        Text(f"\n3. Shares{rounding}", style="bold"),
        Text(f"   P = {told[0]} = {precision:.5f}"),
        Text(f"   R = {told[1]} = {recall:.5f}"),
        Text("\n4. F, which weighs both", style="bold"),
        Text(f"   F = {_f(metric, precision, recall)} = {f:.5f}"),
    ]


def _both(precision: float, recall: float, pair: Pair) -> list[tuple[float, int]]:
    return [(precision, len(pair.candidate.letters)), (recall, len(pair.reference.letters))]


def _weighted(value: float, length: int, weight: float) -> str:
    """WLCS / f(n)."""
    return f"{(value**weight) * float(length) ** weight:.4f} / {length}^{weight:g}"


def _share(metric: Rouge, hit: float, total: float) -> str:
    share = f"{hit:.5g} / {total:.5g}"
    return f"({share}) ^ (1 / {metric.weight:g})" if isinstance(metric, RougeW) else share


def _paper_share(metric: Rouge, value: float, pair: Pair, side: int) -> str:
    """Hits of the units of the candidate (side 0) or the reference (side 1)."""
    counts = metric.counts(pair.candidate, pair.reference)
    total = (counts.peer, counts.model)[side]
    return f"{value * total:.0f} / {total:.0f}"


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
