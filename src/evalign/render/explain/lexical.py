"""The arithmetic of BLEU, chrF, TER, GLEU, SARI, FKGL and SMOG for one pair, from counts to the metric's number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from evalign.metrics.lexical.gleu import GLEU
from evalign.metrics.lexical.readability import Readability, TextCounts, words_of
from evalign.metrics.lexical.sacrebleu_adapter import SacrebleuScoring, engine
from evalign.metrics.lexical.sacrebleu_metrics import BLEU, TER, ChrF
from evalign.metrics.lexical.sari import OPERATIONS, ORDERS, SARI, harmonic, operations, script_scores
from evalign.render.explain.parts import counts_table, ending, heading, line, score_pair, words_line
from evalign.render.tables import signature_line
from evalign.render.terminal import visible
from evalign.types import Segment

SHOWN = 12  # n-grams listed per order
NAMES = {"add": "Added, not in the source", "keep": "Kept from the source", "delete": "Deleted from the source"}


def explain_bleu(metric: BLEU, candidate: str, reference: str) -> RenderableType:
    """Tokens, clipped hits per order, smoothed precisions, brevity penalty and their product."""
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
        heading("2. N-grams of the candidate that the reference has, each at most as often as there"),
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


def explain_chrf(metric: ChrF, candidate: str, reference: str) -> RenderableType:
    """Matched n-grams per order, mean precision and recall, and their F-score."""
    scorer, segment = score_pair(metric, candidate, reference)
    kinds = [f"character {n + 1}-grams" for n in range(metric.char_order)]
    kinds += [f"word {n + 1}-grams" for n in range(metric.word_order)]
    lines, used = [], []
    for place, kind in enumerate(kinds):
        own, other, both = segment.statistics[3 * place : 3 * place + 3]
        precision, recall = both / own if own else 0.0, both / other if other else 0.0
        if own and other:
            used.append((precision, recall))
        lines.append((kind, f"{own:g}", f"{other:g}", f"{both:g}", f"{precision:.4f}", f"{recall:.4f}"))
    parts: list[RenderableType] = [
        heading("1. N-grams that both texts have, per order"),
        counts_table(("order", "candidate", "reference", "both", "precision", "recall"), lines, "f"),
    ]
    square = metric.beta**2
    formula = f"{1 + square} P R / ({square} P + R)"
    score = line(f"= {segment.scores['score']:.4f}")
    if "empty" not in segment.flags and metric.eps_smoothing:
        parts += [heading(f"2. Mean over the {len(kinds)} orders of F = {formula}, times 100"), score]
    elif "empty" not in segment.flags:
        p, r = (sum(values) / max(1, len(used)) for values in (zip(*used, strict=True) if used else ((), ())))
        parts += [
            heading(f"2. Means over the {len(used)} orders that both texts are long enough for"),
            line(f"P = {p:.4f}   R = {r:.4f}"),
            heading(f"3. F = 100 · {formula}: recall counts {metric.beta} times as much"),
            score,
        ]
    return Group(*parts, *ending(metric, segment, scorer.signature))


def explain_ter(metric: TER, candidate: str, reference: str) -> RenderableType:
    """Edits over reference words."""
    scorer, segment = score_pair(metric, candidate, reference)
    edits, length = segment.statistics
    tokens = _tokens(metric, candidate), _tokens(metric, reference)
    parts: list[RenderableType] = [heading("1. Words"), *map(words_line, ("candidate", "reference"), tokens)]
    if "empty" not in segment.flags:
        parts += [
            heading("2. Fewest edits: words put in, left out or replaced, and phrases moved, each counts 1"),
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
        shown = [f"{gram}{'' if hit == n == 1 else f' ({hit} of {n})'}" for gram, hit, n in hits[:SHOWN]]
        more = [f"and {len(hits) - SHOWN} more"] if len(hits) > SHOWN else []
        lines.append((str(order), str(sum(hit for _, hit, _ in hits)), visible(" | ".join(shown + more))))
    columns = ("order", "found", "n-grams; (2 of 3): three in the candidate, two in the reference")
    return counts_table(columns, lines, "f")


def _smoothed(metric: BLEU, segment: Segment, n: int, precision: float) -> str:
    """A note where smoothing made the precision; sacrebleu leaves all at 0 if not one word is found."""
    if metric.smooth_method == "add-k" and n and any(segment.statistics[2 : 2 + metric.max_ngram_order]):
        return "  the value of add-k is added to both"
    return f"  smoothed ({metric.smooth_method})" if precision and not segment.statistics[2 + n] else ""


def _ngrams(tokens: Sequence[str], order: int) -> Counter[str]:
    return Counter(" ".join(tokens[start : start + order]) for start in range(len(tokens) - order + 1))


def explain_gleu(metric: GLEU, candidate: str, reference: str) -> RenderableType:
    """Hits and n-grams by order; precision, recall and their minimum."""
    scorer, segment = score_pair(metric, candidate, reference)
    ours, theirs = metric.tokens(candidate), metric.tokens(reference)
    rows, sums = [], [0, 0, 0]
    for order in range(metric.min_len, metric.max_len + 1):
        grams = metric.grams(ours, order), metric.grams(theirs, order)
        counts = (grams[0] & grams[1]).total(), grams[0].total(), grams[1].total()
        rows.append([str(order), *map(str, counts)])
        sums = [total + count for total, count in zip(sums, counts, strict=True)]
    rows.append(["all", *map(str, sums)])
    parts: list[RenderableType] = [heading("1. Tokens"), words_line("candidate", ours), words_line("reference", theirs)]
    parts += [heading("2. N-grams"), counts_table(("order", "in both", "candidate", "reference"), rows)]
    if segment.statistics[1]:
        hits, shares = sums[0], [(name, count) for name, count in zip("PR", sums[1:], strict=True) if count]
        parts.append(heading("3. The smaller share"))
        parts += [line(f"{name} = {hits} / {count} = {hits / count:.4f}") for name, count in shares]
        parts.append(line(f"GLEU = {hits} / {max(sums[1:])} = {segment.scores['score']:.4f}"))
    return Group(*parts, *ending(metric, segment, scorer.signature))


def explain_sari(metric: SARI, candidate: str, reference: str, source: str) -> RenderableType:
    """N-grams added, kept and deleted: right, done and wanted; the three scores and their mean."""
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
        columns = ("order", "right", "done", "wanted", "P = right/done", "R = right/wanted", "F1")
        parts += [heading(f"{step}. {NAMES[name]}"), counts_table(columns, lines)]
        parts.append(line(f"{name}: {_how(metric, name)} = {scores[name]:.4f}"))
    terms = " + ".join(f"{value:.4f}" for value in scores.values())
    parts.append(heading("5. Their mean"))
    parts.append(line(f"100 · ({terms}) / 3 = {metric.from_totals(segment.statistics, 1)['score']:.4f}"))
    return Group(*parts, *ending(metric, segment, scorer.signature))


def explain_readability(metric: Readability, candidate: str) -> RenderableType:
    """Words with their syllables, the counts, and the formula."""
    scorer, segment = score_pair(metric, candidate)
    counts, syllables = TextCounts(*segment.statistics), metric.counter()
    formula = f"{(type(metric).__doc__ or '').rstrip('.')} = {segment.scores['score']:.4f}"
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


def _how(metric: SARI, name: str) -> str:
    if name == "delete" and metric.deletion == "precision":
        return "mean of P"
    return "mean of F1" if metric.formula == "macro" else "F1 of the means of P and R"
