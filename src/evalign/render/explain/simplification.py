"""The arithmetic of SARI, FKGL and SMOG for one text, from its counts to the metric's number."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.metrics.lexical.readability import Readability, TextCounts, words_of
from evalign.metrics.lexical.sari import ORDERS, SARI, harmonic, operations
from evalign.render.terminal import visible
from evalign.types import Row

NAMES = {"add": "Added, not in the source", "keep": "Kept from the source", "delete": "Deleted from the source"}


def explain_sari(metric: SARI, candidate: str, reference: str, source: str) -> RenderableType:
    """N-grams added, kept and deleted: right, done and wanted; the three scores and their mean."""
    scorer = metric.scorer()
    (segment,) = scorer.score([Row("1", candidate, (reference,), source)])
    counts = operations(segment.statistics)
    scores = metric.operation_scores(counts)
    parts: list[RenderableType] = [_heading("1. Tokens")]
    for side, text in (("source", source), ("candidate", candidate), ("reference", reference)):
        words = metric.tokens(text)
        parts.append(Text(f"   {side} ({len(words)}): {visible(' '.join(words))}", overflow="fold"))
    for step, (name, orders) in enumerate(counts.items(), start=2):
        parts.append(_heading(f"{step}. {NAMES[name]}"))
        table = _table("order", "right", "done", "wanted", "P = right/done", "R = right/wanted", "F1")
        for order, one in zip(ORDERS, orders, strict=True):
            f1 = harmonic(one.precision, one.recall)
            numbers = [f"{value:g}" for value in one] + [f"{value:.4f}" for value in (one.precision, one.recall, f1)]
            table.add_row(str(order), *numbers)
        parts += [table, Text(f"   {name}: {_how(metric, name)} = {scores[name]:.4f}")]
    parts.append(_heading("5. Their mean"))
    terms = " + ".join(f"{value:.4f}" for value in scores.values())
    parts.append(Text(f"   100 · ({terms}) / 3 = {metric.from_totals(segment.statistics, 1)['score']:.4f}"))
    if "empty" in segment.flags:
        parts.append(Text(f"\nA text without words scores {metric.worst:g}, the worst value.", style="bold"))
    return Group(*parts, Text(f"\n{scorer.signature}", style="dim", overflow="fold"))


def explain_readability(metric: Readability, candidate: str) -> RenderableType:
    """Words with their syllables, the counts, and the formula."""
    scorer = metric.scorer()
    (segment,) = scorer.score([Row("1", candidate)])
    counts, count = TextCounts(*segment.statistics), metric.counter()
    parts: list[RenderableType] = [
        _heading("1. Words and their syllables"),
        Text(
            "   " + visible(" ".join(f"{word}·{count(word.lower())}" for word in words_of(candidate))), overflow="fold"
        ),
        _heading("2. Counts"),
        Text("   " + "   ".join(f"{name} {value:g}" for name, value in counts._asdict().items())),
        _heading("3. The formula"),
    ]
    if "empty" in segment.flags:
        parts.append(Text(f"   a text without words scores {metric.worst:g}, the worst value"))
    else:
        formula = (type(metric).__doc__ or "").rstrip(".")
        parts.append(Text(f"   {formula} = {segment.scores['score']:.4f}"))
    return Group(*parts, Text(f"\n{scorer.signature}", style="dim", overflow="fold"))


def _how(metric: SARI, name: str) -> str:
    if name == "delete" and metric.deletion == "precision":
        return "mean of P"
    return "mean of F1" if metric.formula == "macro" else "F1 of the means of P and R"


def _heading(text: str) -> Text:
    return Text(text if text.startswith("1") else f"\n{text}", style="bold")


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 3))
    for column in columns:
        table.add_column(column)
    return table
