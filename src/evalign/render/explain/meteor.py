"""METEOR's arithmetic on one screen: the words of both texts, who was matched with whom, and the sums to the score."""

from __future__ import annotations

from rich.console import Group, RenderableType

from evalign.metrics.lexical.meteor.formula import Judgement, Parameters, chunk_numbers
from evalign.metrics.lexical.meteor.matchers import MODULES, Match
from evalign.metrics.lexical.meteor.metric import Meteor, MeteorScorer
from evalign.render.explain.parts import heading, line, pairs_table
from evalign.render.tables import signature_line
from evalign.render.terminal import visible

Words = tuple[str, ...]
Aligned = list[tuple[int, Match]]


def explain_meteor(metric: Meteor, candidate: str, reference: str) -> RenderableType:
    """Words, alignment, chunks, precision, recall, F, penalty and score of one pair."""
    scorer = metric.scorer()
    ours, theirs = scorer.words(candidate), scorer.words(reference)
    parts: list[RenderableType] = [
        heading("1. Words (function words in brackets)"),
        line(f"candidate  {_words(scorer, ours)}"),
        line(f"reference  {_words(scorer, theirs)}"),
    ]
    if ours and theirs:
        aligned = scorer.aligned(ours, theirs)
        judgement, counts = scorer.judged(ours, theirs)
        parts += [heading("2. Alignment, by chunk"), _table(scorer, ours, theirs, aligned)]
        parts += _arithmetic(scorer, judgement, counts)
    else:
        parts += ["", line("No word on one side: score = 0")]
    return Group(*parts, signature_line(f"\n{scorer.signature}"))


def _words(scorer: MeteorScorer, words: Words) -> str:
    return " ".join(f"({visible(word)})" if scorer.is_function_word(word) else visible(word) for word in words)


def _table(scorer: MeteorScorer, ours: Words, theirs: Words, aligned: Aligned) -> RenderableType:
    if not aligned:
        return line("nothing matches")
    lines = []
    for (place, (start, words, length, module)), chunk in zip(aligned, chunk_numbers(aligned), strict=True):
        texts = " ".join(ours[start : start + words]), " ".join(theirs[place : place + length])
        weight = f"{scorer.parameters.weights[module]:g}"
        lines.append([str(chunk), *map(visible, texts), scorer.modules[module], weight])
    return pairs_table(("chunk", "candidate", "reference", "module", "weight"), "llllr", lines)


def _arithmetic(scorer: MeteorScorer, judgement: Judgement, counts: tuple[float, ...]) -> list[RenderableType]:
    numbers = scorer.parameters
    pieces, matched = counts[4 + 4 * len(MODULES)], counts[-2:]
    p, r = f"{judgement.precision:.4f}", f"{judgement.recall:.4f}"
    f, penalty = f"{judgement.f_mean:.4f}", f"{judgement.penalty:.4f}"
    alpha, rest = f"{numbers.alpha:g}", f"{1 - numbers.alpha:.4g}"
    broken = (
        f"{pieces:g} chunks / ({matched[0]:g} + {matched[1]:g} matched words) · 2 = {judgement.fragmentation:.4f}"
        if judgement.fragmentation
        else "0: every word is matched in one chunk"
        if sum(matched)
        else "0: nothing is matched"
    )
    return [
        heading(f"Precision and recall: content words weigh {numbers.delta:g}, function words {1 - numbers.delta:.4g}"),
        line(f"P = {_side(numbers, counts, 0)} = {p}"),
        line(f"R = {_side(numbers, counts, 1)} = {r}"),
        heading(f"Their harmonic mean, recall weighing {alpha}"),
        line(f"F = {p} · {r} / ({alpha} · {p} + {rest} · {r}) = {f}"),
        heading("Fragmentation and its penalty"),
        line(f"fragmentation = {broken}"),
        line(f"penalty = {numbers.gamma:g} · {judgement.fragmentation:.4f}^{numbers.beta:g} = {penalty}"),
        heading("Score"),
        line(f"score = {f} · (1 - {penalty}) = {judgement.score:.4f}, unrounded {judgement.score!r}"),
    ]


def _side(numbers: Parameters, counts: tuple[float, ...], side: int) -> str:
    """(1·(.75·3 + .25·4) + .6·(.75·1)) / (.75·5 + .25·4), modules without a match left out."""
    terms = []
    for module, weight in enumerate(numbers.weights):
        content, function = counts[4 + 4 * module + side], counts[6 + 4 * module + side]
        if content or function:
            terms.append(f"{weight:g}·({_weighed(numbers.delta, content, function)})")
    functions = counts[2 + side]
    whole = _weighed(numbers.delta, counts[side] - functions, functions)
    return f"[{' + '.join(terms) or '0'}] / ({whole})"


def _weighed(delta: float, content: float, function: float) -> str:
    parts = [f"{delta:g}·{content:g}"] * bool(content) + [f"{1 - delta:.4g}·{function:g}"] * bool(function)
    return " + ".join(parts) or "0"
