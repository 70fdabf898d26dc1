"""Explain BLEU, chrF, TER, GLEU, SARI, FKGL, SMOG and METEOR for one pair: counts, terms and the score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from evalign.core import Segment
from evalign.metrics.lexical.gleu import GLEU
from evalign.metrics.lexical.meteor.alignment import MODULES, Match
from evalign.metrics.lexical.meteor.metric import Meteor, MeteorResult, MeteorScorer, Parameters, chunk_numbers
from evalign.metrics.lexical.readability import FKGL, SMOG, TextCounts, words_of
from evalign.metrics.lexical.sacrebleu_metrics import BLEU, TER, ChrF, SacrebleuScoring, engine
from evalign.metrics.lexical.sari import OPERATIONS, ORDERS, SARI, harmonic, operations, script_scores
from evalign.render.explain.parts import (
    counts_table,
    ending,
    explain,
    heading,
    line,
    pairs_table,
    score_pair,
    words_line,
)
from evalign.render.tables import signature_line
from evalign.render.terminal import visible

MAX_NGRAMS = 12  # listed per order
NAMES = {"add": "Added, not in the source", "keep": "Kept from the source", "delete": "Deleted from the source"}
Words = tuple[str, ...]
Aligned = list[tuple[int, Match]]


@explain.register(BLEU)
def explain_bleu(metric: BLEU, candidate: str, reference: str) -> RenderableType:
    """Show tokens, clipped hits per order, smoothed precisions, brevity penalty and their product."""
    scorer, segment = score_pair(metric, candidate, reference)
    tokens = _tokens(metric, candidate), _tokens(metric, reference)
    parts: list[RenderableType] = [heading("1. Tokens"), *map(words_line, ("candidate", "reference"), tokens)]
    if "empty" in segment.flags:
        return Group(*parts, *ending(metric, segment, scorer.signature))
    result = engine(metric, "sentence").result(segment.statistics)
    orders = [n for n in range(metric.max_ngram_order) if result.totals[n] > 0 or metric.effective_order == "false"]
    precisions = [f"{result.precisions[n]:.4f}" for n in orders]
    notes = [_smoothed(metric, segment, n, result.precisions[n]) for n in orders]
    lines = [
        (str(n + 1), f"{result.counts[n]:g} / {result.totals[n]:g}", precision + note)
        for n, precision, note in zip(orders, precisions, notes, strict=True)
    ]
    parts += [
        heading("2. N-grams of the candidate that are in the reference, at most as often as there"),
        _hits(*tokens, metric.max_ngram_order),
        heading("3. Precisions of the orders, in %"),
        counts_table(("order", "found / counted", "precision"), lines, "f"),
    ]
    if len(orders) < metric.max_ngram_order:
        short = f"the text is too short for {metric.max_ngram_order}-grams; sentence BLEU uses {len(orders)} orders"
        parts.append(line(short, "dim"))
    penalty = f"exp(1 - {result.ref_len}/{result.sys_len})" if result.sys_len < result.ref_len else "not shorter"
    mean = f"({' · '.join(precisions) or '0'})^(1/{len(orders) or 1})"
    parts += [
        heading("4. Brevity penalty"),
        line(f"candidate {result.sys_len}, reference {result.ref_len} tokens: {penalty}: {result.bp:.4f}"),
        heading("5. Penalty times the geometric mean"),
        line(f"{result.bp:.4f} · {mean} = {segment.scores['score']:.4f}"),
    ]
    return Group(*parts, *ending(metric, segment, scorer.signature))


@explain.register(ChrF)
def explain_chrf(metric: ChrF, candidate: str, reference: str) -> RenderableType:
    """Show common n-grams per order, mean precision and recall, and their F-score."""
    scorer, segment = score_pair(metric, candidate, reference)
    orders = [f"character {n + 1}-grams" for n in range(metric.char_order)]
    orders += [f"word {n + 1}-grams" for n in range(metric.word_order)]
    lines, used = [], []
    for index, order in enumerate(orders):
        left, right, both = segment.statistics[3 * index : 3 * index + 3]
        precision, recall = both / left if left else 0.0, both / right if right else 0.0
        if left and right:
            used.append((precision, recall))
        lines.append((order, f"{left:g}", f"{right:g}", f"{both:g}", f"{precision:.4f}", f"{recall:.4f}"))
    parts: list[RenderableType] = [
        heading("1. N-grams of both texts, per order"),
        counts_table(("order", "candidate", "reference", "both", "precision", "recall"), lines, "f"),
    ]
    square = metric.beta**2
    formula = f"{1 + square} P R / ({square} P + R)"
    score = line(f"= {segment.scores['score']:.4f}")
    if "empty" not in segment.flags and metric.eps_smoothing:
        parts += [heading(f"2. Mean over the {len(orders)} orders of F = {formula}, times 100"), score]
    elif "empty" not in segment.flags:
        p, r = (sum(values) / max(1, len(used)) for values in (zip(*used, strict=True) if used else ((), ())))
        parts += [
            heading(f"2. Means over the {len(used)} orders that both texts are long enough for"),
            line(f"P = {p:.4f}   R = {r:.4f}"),
            heading(f"3. F = 100 · {formula}: recall has {metric.beta} times the weight"),
            score,
        ]
    return Group(*parts, *ending(metric, segment, scorer.signature))


@explain.register(TER)
def explain_ter(metric: TER, candidate: str, reference: str) -> RenderableType:
    """Show edits and their number per 100 reference words."""
    scorer, segment = score_pair(metric, candidate, reference)
    edits, length = segment.statistics
    tokens = _tokens(metric, candidate), _tokens(metric, reference)
    parts: list[RenderableType] = [heading("1. Words"), *map(words_line, ("candidate", "reference"), tokens)]
    if "empty" not in segment.flags:
        parts += [
            heading("2. Fewest edits: words inserted, deleted or replaced, and phrases moved; each counts 1"),
            line(f"{edits:g} edits, {length:g} reference words"),
            heading("3. Edits per 100 reference words"),
            line(f"100 · {edits:g} / {length:g} = {segment.scores['score']:.4f}"),
        ]
    return Group(*parts, *ending(metric, segment, scorer.signature))


def _tokens(metric: SacrebleuScoring, text: str) -> list[str]:
    return engine(metric, "sentence").prepared(text).split()


def _hits(candidate: Sequence[str], reference: Sequence[str], longest: int) -> Table:
    lines = []
    for order in range(1, longest + 1):
        limits = _ngrams(reference, order)
        hits = [(gram, min(n, limits[gram]), n) for gram, n in _ngrams(candidate, order).items() if gram in limits]
        listed = [f"{gram}{'' if hit == n == 1 else f' ({hit} of {n})'}" for gram, hit, n in hits[:MAX_NGRAMS]]
        more = [f"and {len(hits) - MAX_NGRAMS} more"] if len(hits) > MAX_NGRAMS else []
        lines.append((str(order), str(sum(hit for _, hit, _ in hits)), visible(" | ".join(listed + more))))
    columns = ("order", "found", "n-grams; (2 of 3): three in the candidate, two in the reference")
    return counts_table(columns, lines, "f")


def _smoothed(metric: BLEU, segment: Segment, n: int, precision: float) -> str:
    """Return a note if the precision was smoothed; sacrebleu leaves all precisions at 0 if no word is found."""
    if metric.smooth_method == "add-k" and n and any(segment.statistics[2 : 2 + metric.max_ngram_order]):
        return "  the value of add-k is added to both"
    return f"  smoothed ({metric.smooth_method})" if precision and not segment.statistics[2 + n] else ""


def _ngrams(tokens: Sequence[str], order: int) -> Counter[str]:
    return Counter(" ".join(tokens[start : start + order]) for start in range(len(tokens) - order + 1))


@explain.register(GLEU)
def explain_gleu(metric: GLEU, candidate: str, reference: str) -> RenderableType:
    """Show hits and n-grams by order; precision, recall and their minimum."""
    scorer, segment = score_pair(metric, candidate, reference)
    candidate_words, reference_words = metric.tokens(candidate), metric.tokens(reference)
    rows, sums = [], [0, 0, 0]
    for order in range(metric.min_len, metric.max_len + 1):
        grams = metric.grams(candidate_words, order), metric.grams(reference_words, order)
        counts = (grams[0] & grams[1]).total(), grams[0].total(), grams[1].total()
        rows.append([str(order), *map(str, counts)])
        sums = [total + count for total, count in zip(sums, counts, strict=True)]
    rows.append(["all", *map(str, sums)])
    parts: list[RenderableType] = [
        heading("1. Tokens"),
        words_line("candidate", candidate_words),
        words_line("reference", reference_words),
    ]
    parts += [heading("2. N-grams"), counts_table(("order", "in both", "candidate", "reference"), rows)]
    if segment.statistics[1]:
        hits, shares = sums[0], [(name, count) for name, count in zip("PR", sums[1:], strict=True) if count]
        parts.append(heading("3. The smaller share"))
        parts += [line(f"{name} = {hits} / {count} = {hits / count:.4f}") for name, count in shares]
        parts.append(line(f"GLEU = {hits} / {max(sums[1:])} = {segment.scores['score']:.4f}"))
    return Group(*parts, *ending(metric, segment, scorer.signature))


@explain.register(SARI)
def explain_sari(metric: SARI, candidate: str, reference: str, source: str) -> RenderableType:
    """Show n-grams added, kept and deleted (correct, done and required), the three scores and their mean."""
    scorer, segment = score_pair(metric, candidate, reference, source)
    words = {"source": metric.source_tokens(source), "candidate": metric.tokens(candidate)}
    words["reference"] = metric.tokens(reference)
    parts: list[RenderableType] = [heading("1. Tokens"), *(words_line(side, text) for side, text in words.items())]
    if metric.formula == "script":
        by_order = script_scores(words["source"], words["candidate"], [words["reference"]])
        lines = [[str(order), *(f"{value:.4f}" for value in row)] for order, row in zip(ORDERS, by_order, strict=True)]
        terms = " + ".join(f"{value:.4f}" for value in segment.statistics)
        parts += [heading("2. Scores of each order"), counts_table(("order", *OPERATIONS), lines)]
        parts += [heading("3. The mean"), line(f"100 · ({terms}) / 3 = {segment.scores['score']:.4f}")]
        return Group(*parts, *ending(metric, segment, scorer.signature))
    counts = operations(segment.statistics)
    scores = metric.operation_scores(counts)
    for step, (name, orders) in enumerate(counts.items(), start=2):
        lines = []
        for order, count in zip(ORDERS, orders, strict=True):
            shares = count.precision, count.recall, harmonic(count.precision, count.recall)
            lines.append([str(order), *(f"{number:g}" for number in count), *(f"{share:.4f}" for share in shares)])
        columns = ("order", "correct", "done", "required", "P = correct/done", "R = correct/required", "F1")
        parts += [heading(f"{step}. {NAMES[name]}"), counts_table(columns, lines)]
        parts.append(line(f"{name}: {_averaging(metric, name)} = {scores[name]:.4f}"))
    terms = " + ".join(f"{value:.4f}" for value in scores.values())
    parts.append(heading("5. Their mean"))
    parts.append(line(f"100 · ({terms}) / 3 = {metric.from_totals(segment.statistics, 1)['score']:.4f}"))
    return Group(*parts, *ending(metric, segment, scorer.signature))


@explain.register(FKGL)
@explain.register(SMOG)
def explain_readability(metric: FKGL | SMOG, candidate: str) -> RenderableType:
    """Show words with their syllables, the counts, and the formula."""
    scorer, segment = score_pair(metric, candidate)
    counts, syllables = TextCounts(*segment.statistics), metric.counter()
    formula = f"{(type(metric).__doc__ or '').splitlines()[0].rstrip('.')} = {segment.scores['score']:.4f}"
    if "empty" in segment.flags:
        formula = f"a text without words scores {metric.worst:g}, the worst value"
    return Group(
        heading("1. Words and their syllables"),
        line(visible(" ".join(f"{word}·{syllables(word.lower())}" for word in words_of(candidate)))),
        heading("2. Counts"),
        line("   ".join(f"{name} {value:g}" for name, value in counts._asdict().items())),
        heading("3. The formula"),
        line(formula),
        signature_line(f"\n{scorer.signature}"),
    )


def _averaging(metric: SARI, name: str) -> str:
    if name == "delete" and metric.deletion == "precision":
        return "mean of P"
    return "mean of F1" if metric.formula == "macro" else "F1 of the means of P and R"


@explain.register(Meteor)
def explain_meteor(metric: Meteor, candidate: str, reference: str) -> RenderableType:
    """Show words, alignment, chunks, precision, recall, F, penalty and score."""
    scorer = metric.scorer()
    candidate_words, reference_words = scorer.words(candidate), scorer.words(reference)
    parts: list[RenderableType] = [
        heading("1. Words (function words in brackets)"),
        line(f"candidate  {_words(scorer, candidate_words)}"),
        line(f"reference  {_words(scorer, reference_words)}"),
    ]
    if candidate_words and reference_words:
        aligned = scorer.aligned(candidate_words, reference_words)
        judgement, counts = scorer.scored(candidate_words, reference_words)
        parts += [heading("2. Alignment, by chunk"), _table(scorer, candidate_words, reference_words, aligned)]
        parts += _arithmetic(scorer, judgement, counts)
    else:
        parts += ["", line("A text without words: score = 0")]
    return Group(*parts, signature_line(f"\n{scorer.signature}"))


def _words(scorer: MeteorScorer, words: Words) -> str:
    return " ".join(f"({visible(word)})" if scorer.is_function_word(word) else visible(word) for word in words)


def _table(scorer: MeteorScorer, candidate_words: Words, reference_words: Words, aligned: Aligned) -> RenderableType:
    if not aligned:
        return line("no words match")
    lines = []
    for (position, (start, words, length, module)), chunk in zip(aligned, chunk_numbers(aligned), strict=True):
        texts = (
            " ".join(candidate_words[start : start + words]),
            " ".join(reference_words[position : position + length]),
        )
        weight = f"{scorer.parameters.weights[module]:g}"
        lines.append([str(chunk), *map(visible, texts), scorer.modules[module], weight])
    return pairs_table(("chunk", "candidate", "reference", "module", "weight"), "llllr", lines)


def _arithmetic(scorer: MeteorScorer, judgement: MeteorResult, counts: tuple[float, ...]) -> list[RenderableType]:
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
        else "0: no words are matched"
    )
    return [
        heading(
            f"Precision and recall: weights: content words {numbers.delta:g}, function words {1 - numbers.delta:.4g}"
        ),
        line(f"P = {_side(numbers, counts, 0)} = {p}"),
        line(f"R = {_side(numbers, counts, 1)} = {r}"),
        heading(f"Their harmonic mean; the weight of recall is {alpha}"),
        line(f"F = {p} · {r} / ({alpha} · {p} + {rest} · {r}) = {f}"),
        heading("Fragmentation and its penalty"),
        line(f"fragmentation = {broken}"),
        line(f"penalty = {numbers.gamma:g} · {judgement.fragmentation:.4f}^{numbers.beta:g} = {penalty}"),
        heading("Score"),
        line(f"score = {f} · (1 - {penalty}) = {judgement.score:.4f}, unrounded {judgement.score!r}"),
    ]


def _side(numbers: Parameters, counts: tuple[float, ...], side: int) -> str:
    """Return a fraction such as (1·(.75·3 + .25·4) + .6·(.75·1)) / (.75·5 + .25·4), without unused modules."""
    terms = []
    for module, weight in enumerate(numbers.weights):
        content, function = counts[4 + 4 * module + side], counts[6 + 4 * module + side]
        if content or function:
            terms.append(f"{weight:g}·({_weighed(numbers.delta, content, function)})")
    functions = counts[2 + side]
    total = _weighed(numbers.delta, counts[side] - functions, functions)
    return f"[{' + '.join(terms) or '0'}] / ({total})"


def _weighed(delta: float, content: float, function: float) -> str:
    parts = [f"{delta:g}·{content:g}"] * bool(content) + [f"{1 - delta:.4g}·{function:g}"] * bool(function)
    return " + ".join(parts) or "0"
