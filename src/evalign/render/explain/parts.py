"""`explain`, dispatched on the type of the metric, and shared parts of explanations: headings, lines, tables.

In: a metric and its texts. Out: what a rich console prints. Register an explanation with
`@explain.register(MyMetric)`, or by an entry point (`Explanation`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalign.core import Row, Segment
from evalign.core.alignment import Opposite
from evalign.core.metric import Metric, Scorer
from evalign.core.plugins import EXPLANATIONS_GROUP, load_plugin, plugins
from evalign.errors import SpecError
from evalign.render.alignment_reading import opposite_sentence
from evalign.render.tables import signature_line, terminal_table
from evalign.render.terminal import visible

INDENT = "   "


@singledispatch
def explain(metric: Metric, candidate: str, reference: str | None = None, source: str | None = None) -> RenderableType:
    """Return the arithmetic of a metric for one pair; the texts given are those the metric needs.

    Raises SpecError for a metric without an explanation.
    """
    plugged = plugged_explanation(metric)
    if plugged is None:
        raise SpecError(f"{metric.name} has no explanation")
    texts = {"reference": reference, "source": source}
    return plugged.show(metric, candidate, **{name: text for name, text in texts.items() if text is not None})


def polarity_lines(opposites: Sequence[Opposite], candidate: str, reference: str) -> list[RenderableType]:
    """Return a line about the opposites of two texts, which change no score; none without opposites."""
    sentences = [visible(opposite_sentence(opposite, candidate, reference)) for opposite in opposites]
    return [Text(f"\nPolarity (no part of the score): {'; '.join(sentences)}", style="bold")] if opposites else []


@dataclass(frozen=True)
class Explanation:
    """An explanation that a package adds by an entry point in the group `evalign.explanations`, named as its metric.

    `show` returns the arithmetic for a metric and its texts. A metric that can trace one text alone also has `json`,
    plain values for programs, and `document`, the document of the HTML page, both for a metric and a text.
    """

    show: Callable[..., RenderableType]
    json: Callable[[Any, str], dict[str, Any]] | None = None
    document: Callable[[Any, str], dict[str, Any]] | None = None


def plugged_explanation(metric: Metric) -> Explanation | None:
    """Return the explanation that a package adds for a metric, or None."""
    entry = plugins(EXPLANATIONS_GROUP).get(metric.name)
    if entry is None:
        return None
    plugged: Explanation = load_plugin(entry, "an Explanation", lambda loaded: isinstance(loaded, Explanation))
    return plugged


def score_pair(
    metric: Metric, candidate: str, reference: str | None = None, source: str | None = None
) -> tuple[Scorer, Segment]:
    """Return a loaded scorer of the metric, and the segment of the pair."""
    scorer = metric.scorer()
    (segment,) = scorer.score([Row("1", candidate, () if reference is None else (reference,), source)])
    return scorer, segment


def heading(text: str) -> Text:
    """Return a bold heading, below an empty line unless it is number 1."""
    return Text(text if text.startswith("1") else f"\n{text}", style="bold")


def line(text: str, style: str = "") -> Text:
    """Return a line indented below its heading."""
    return Text(f"{INDENT}{text}", style=style)


def words_line(side: str, words: Sequence[str]) -> Text:
    """Return the words of one text as they are compared."""
    return line(f"{side} ({len(words)}): {visible(' '.join(words))}")


def more_line(total: int, limit: int, indent: str = "") -> list[Text]:
    """Return a line with the number of entries beyond `limit`, if there are any."""
    return [line(f"{indent}... and {total - limit} more", "dim")] if total > limit else []


def ending(metric: Metric, segment: Segment, signature: object) -> Iterator[RenderableType]:
    """Yield the score of an empty text, if the pair has one, and the signature."""
    if "empty" in segment.flags:
        yield heading(f"A text without words scores {metric.worst:g}, the worst value.")
    yield signature_line(f"\n{signature}")


def no_tokens(metric: Metric) -> Text:
    """Return the line that replaces the explanation if a text has no tokens."""
    return Text(f"A text has no tokens: the score is the worst, {metric.worst:g}, flagged empty.")


def counts_table(columns: Sequence[str], lines: Iterable[Iterable[str | Text]], letter: str = "l") -> Table:
    """Return a table of counts; `letter` is the format of all columns (tables.COLUMNS)."""
    return terminal_table(columns, letter * len(columns), lines, pad_edge=True, padding=(0, 1, 0, 3))


def pairs_table(columns: Sequence[str], formats: str, lines: Iterable[Sequence[str]]) -> Table:
    """Return a table of matched texts with their numbers, its first column indented."""
    indented = ([f"{INDENT}{first}", *cells] for first, *cells in lines)
    return terminal_table([f"{INDENT}{columns[0]}", *columns[1:]], formats, indented, padding=(0, 2, 0, 0))


def matrix(names: Sequence[str], lines: Iterable[tuple[Text, Sequence[Text]]]) -> Table:
    """Return a table of numbers in narrow columns below `names`; each line begins with a name."""
    cells = ([name, *numbers] for name, numbers in lines)
    return terminal_table(["", *names], "l" + "n" * len(names), cells, padding=(0, 0, 0, 1))


def terms_table(columns: Sequence[str], lines: Iterable[Iterable[str | Text]], total: str | None = None) -> Table:
    """Return a table of tokens or features with their numbers; `total` is the sum of the last column."""
    formats = "l" + "r" * (len(columns) - 1)
    table = terminal_table(columns, formats, lines, padding=(0, 2, 0, 3), show_footer=total is not None)
    if total is not None:
        table.columns[0].footer, table.columns[-1].footer = "sum", total
    return table
