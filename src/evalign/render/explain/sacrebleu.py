"""The arithmetic of BLEU, chrF and TER for one pair, from sacrebleu's own counts to the metric's number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.metrics.lexical.bleu import BLEU
from evalign.metrics.lexical.chrf import ChrF
from evalign.metrics.lexical.sacrebleu_adapter import SacrebleuScoring, engine
from evalign.metrics.lexical.ter import TER
from evalign.render.terminal import visible
from evalign.types import Row, Segment

SHOWN = 12  # n-grams listed per order


def explain_bleu(metric: BLEU, candidate: str, reference: str) -> RenderableType:
    """Tokens, clipped hits per order, smoothed precisions, brevity penalty and their product."""
    segment, signature = score_one(metric, candidate, reference)
    own, other = (engine(metric, "sentence").prepared(text).split() for text in (candidate, reference))
    parts: list[RenderableType] = [heading("1. Tokens"), *token_lines(own, other)]
    if "empty" in segment.flags:
        return Group(*parts, *ending(metric, segment, signature))
    result = engine(metric, "sentence").result(segment.statistics)
    parts += [heading("2. N-grams of the candidate that the reference has, each at most as often as there")]
    parts.append(_hits(own, other, metric.max_ngram_order))
    parts.append(heading("3. Precisions of the orders, in %"))
    orders = [n for n in range(metric.max_ngram_order) if result.totals[n] > 0 or metric.effective_order == "false"]
    table = _table("order", "found / counted", "precision")
    for n in orders:
        found = f"{result.counts[n]:g} / {result.totals[n]:g}"
        table.add_row(
            str(n + 1), found, f"{result.precisions[n]:.4f}{_smoothed(metric, segment, n, result.precisions[n])}"
        )
    parts.append(table)
    if len(orders) < metric.max_ngram_order:
        note = f"   the text is too short for {metric.max_ngram_order}-grams; sentence BLEU uses {len(orders)} orders"
        parts.append(Text(note, style="dim"))
    parts.append(heading("4. Brevity penalty"))
    lengths = f"candidate {result.sys_len}, reference {result.ref_len} tokens"
    penalty = f"exp(1 - {result.ref_len}/{result.sys_len})" if result.sys_len < result.ref_len else "not shorter"
    parts.append(Text(f"   {lengths}: {penalty}: {result.bp:.4f}"))
    parts.append(heading("5. Penalty times the geometric mean"))
    product = " · ".join(f"{result.precisions[n]:.4f}" for n in orders) or "0"
    parts.append(Text(f"   {result.bp:.4f} · ({product})^(1/{len(orders) or 1}) = {segment.scores['score']:.4f}"))
    return Group(*parts, *ending(metric, segment, signature))


def explain_chrf(metric: ChrF, candidate: str, reference: str) -> RenderableType:
    """Matched n-grams per order, mean precision and recall, and their F-score."""
    segment, signature = score_one(metric, candidate, reference)
    parts: list[RenderableType] = [heading("1. N-grams that both texts have, per order")]
    table = _table("order", "candidate", "reference", "both", "precision", "recall")
    kinds = [f"character {n + 1}-grams" for n in range(metric.char_order)]
    kinds += [f"word {n + 1}-grams" for n in range(metric.word_order)]
    used = []
    for place, kind in enumerate(kinds):
        own, other, both = segment.statistics[3 * place : 3 * place + 3]
        precision, recall = both / own if own else 0.0, both / other if other else 0.0
        if own and other:
            used.append((precision, recall))
        table.add_row(kind, f"{own:g}", f"{other:g}", f"{both:g}", f"{precision:.4f}", f"{recall:.4f}")
    parts.append(table)
    if "empty" in segment.flags:
        return Group(*parts, *ending(metric, segment, signature))
    square = metric.beta**2
    formula = f"{1 + square} P R / ({square} P + R)"
    if metric.eps_smoothing:
        parts.append(heading(f"2. Mean over the {len(kinds)} orders of F = {formula}, times 100"))
        parts.append(Text(f"   = {segment.scores['score']:.4f}"))
    else:
        p, r = (sum(values) / max(1, len(used)) for values in (zip(*used, strict=True) if used else ((), ())))
        parts.append(heading(f"2. Means over the {len(used)} orders that both texts are long enough for"))
        parts.append(Text(f"   P = {p:.4f}   R = {r:.4f}"))
        parts.append(heading(f"3. F = 100 · {formula}: recall counts {metric.beta} times as much"))
        parts.append(Text(f"   = {segment.scores['score']:.4f}"))
    return Group(*parts, *ending(metric, segment, signature))


def explain_ter(metric: TER, candidate: str, reference: str) -> RenderableType:
    """Edits over reference words."""
    segment, signature = score_one(metric, candidate, reference)
    own, other = (engine(metric, "sentence").prepared(text).split() for text in (candidate, reference))
    edits, length = segment.statistics
    parts: list[RenderableType] = [heading("1. Words"), *token_lines(own, other)]
    if "empty" not in segment.flags:
        parts.append(heading("2. Fewest edits: words put in, left out or replaced, and phrases moved, each counts 1"))
        parts.append(Text(f"   {edits:g} edits, {length:g} reference words"))
        parts.append(heading("3. Edits per 100 reference words"))
        parts.append(Text(f"   100 · {edits:g} / {length:g} = {segment.scores['score']:.4f}"))
    return Group(*parts, *ending(metric, segment, signature))


def score_one(metric: SacrebleuScoring, candidate: str, reference: str) -> tuple[Segment, str]:
    """The pair's segment and the signature of its score."""
    scorer = metric.scorer()
    (segment,) = scorer.score([Row("1", candidate, (reference,))])
    return segment, str(scorer.signature)


def heading(text: str) -> Text:
    """Bold, with a line above all but the first."""
    return Text(text if text.startswith("1") else f"\n{text}", style="bold")


def token_lines(candidate: Sequence[str], reference: Sequence[str]) -> list[RenderableType]:
    """Both texts as they are compared."""
    sides = (("candidate", candidate), ("reference", reference))
    return [Text(f"   {side} ({len(words)}): {visible(' '.join(words))}", overflow="fold") for side, words in sides]


def ending(metric: SacrebleuScoring, segment: Segment, signature: str) -> list[RenderableType]:
    """What was flagged, and the signature."""
    parts: list[RenderableType] = []
    if "empty" in segment.flags:
        parts.append(Text(f"\nA text without words scores {metric.worst:g}, the worst value.", style="bold"))
    return [*parts, Text(f"\n{signature}", style="dim", overflow="fold")]


def _hits(own: Sequence[str], other: Sequence[str], longest: int) -> Table:
    table = _table("order", "found", "n-grams; (2 of 3): three in the candidate, two in the reference")
    for order in range(1, longest + 1):
        mine, theirs = _ngrams(own, order), _ngrams(other, order)
        hits = [(gram, min(count, theirs[gram]), count) for gram, count in mine.items() if gram in theirs]
        shown = [f"{gram}{'' if hit == count == 1 else f' ({hit} of {count})'}" for gram, hit, count in hits[:SHOWN]]
        more = [f"and {len(hits) - SHOWN} more"] if len(hits) > SHOWN else []
        table.add_row(str(order), str(sum(hit for _, hit, _ in hits)), Text(visible(" | ".join(shown + more))))
    return table


def _smoothed(metric: BLEU, segment: Segment, n: int, precision: float) -> str:
    """A note where smoothing made the precision; sacrebleu leaves all at 0 if not one word is found."""
    if metric.smooth_method == "add-k" and n and any(segment.statistics[2 : 2 + metric.max_ngram_order]):
        return "  the value of add-k is added to both"
    return f"  smoothed ({metric.smooth_method})" if precision and not segment.statistics[2 + n] else ""


def _ngrams(tokens: Sequence[str], order: int) -> Counter[str]:
    return Counter(" ".join(tokens[start : start + order]) for start in range(len(tokens) - order + 1))


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 3))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
