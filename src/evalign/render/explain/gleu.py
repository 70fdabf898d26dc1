"""The arithmetic of GLEU for one pair: n-grams of each order in both texts, their sums, and the smaller share."""

from __future__ import annotations

from rich.console import Group, RenderableType

from evalign.metrics.lexical.gleu import GLEU
from evalign.render.explain.parts import counts_table, ending, heading, line, score_pair, words_line


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
