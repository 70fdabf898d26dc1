"""The arithmetic of SARI, FKGL and SMOG for one text, from its counts to the metric's number."""

from __future__ import annotations

from rich.console import Group, RenderableType

from evalign.metrics.lexical.readability import Readability, TextCounts, words_of
from evalign.metrics.lexical.sari import OPERATIONS, ORDERS, SARI, harmonic, operations, script_scores
from evalign.render.explain.parts import counts_table, ending, heading, line, score_pair, words_line
from evalign.render.tables import signature_line
from evalign.render.terminal import visible

NAMES = {"add": "Added, not in the source", "keep": "Kept from the source", "delete": "Deleted from the source"}


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
