"""Parts that explanations share: headings, indented lines and tables, the words of a text, the note on empty texts.

In: a metric, texts, cells. Out: what a rich console prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table
from rich.text import Text

from evalign.metrics.base import Metric, Scorer
from evalign.render.tables import signature_line, terminal_table
from evalign.render.terminal import visible
from evalign.types import Row, Segment

INDENT = "   "


def score_pair(
    metric: Metric, candidate: str, reference: str | None = None, source: str | None = None
) -> tuple[Scorer, Segment]:
    """A loaded scorer of the metric, and the segment of this one row."""
    scorer = metric.scorer()
    (segment,) = scorer.score([Row("1", candidate, () if reference is None else (reference,), source)])
    return scorer, segment


def heading(text: str) -> Text:
    """Bold, with an empty line above all but the first, whose number is 1."""
    return Text(text if text.startswith("1") else f"\n{text}", style="bold")


def line(text: str, style: str = "") -> Text:
    """Indented below its heading."""
    return Text(f"{INDENT}{text}", style=style)


def words_line(side: str, words: Sequence[str]) -> Text:
    """The words of one text as they are compared."""
    return line(f"{side} ({len(words)}): {visible(' '.join(words))}")


def more_line(total: int, shown: int, indent: str = "") -> list[Text]:
    """How many lines of a list are left out, if any."""
    return [line(f"{indent}... and {total - shown} more", "dim")] if total > shown else []


def ending(metric: Metric, segment: Segment, signature: object) -> Iterator[Text]:
    """What an empty text scores, where one is, and the signature."""
    if "empty" in segment.flags:
        yield heading(f"A text without words scores {metric.worst:g}, the worst value.")
    yield signature_line(f"\n{signature}")


def no_tokens(metric: Metric) -> Text:
    """What is said instead of an explanation if a text has no tokens."""
    return Text(f"A text has no tokens: the score is the worst, {metric.worst:g}, flagged empty.")


def counts_table(columns: Sequence[str], lines: Iterable[Iterable[str | Text]], kind: str = "l") -> Table:
    """A table of counts, all columns of one kind."""
    return terminal_table(columns, kind * len(columns), lines, pad_edge=True, padding=(0, 1, 0, 3))


def pairs_table(columns: Sequence[str], kinds: str, lines: Iterable[Sequence[str]]) -> Table:
    """A table of matched texts with their numbers, its first column indented."""
    indented = ([f"{INDENT}{first}", *cells] for first, *cells in lines)
    return terminal_table([f"{INDENT}{columns[0]}", *columns[1:]], kinds, indented, padding=(0, 2, 0, 0))


def matrix(names: Sequence[str], lines: Iterable[tuple[Text, Sequence[Text]]]) -> Table:
    """Numbers in narrow columns below `names`; each line begins with its own name."""
    cells = ([name, *numbers] for name, numbers in lines)
    return terminal_table(["", *names], "l" + "n" * len(names), cells, padding=(0, 0, 0, 1))


def terms_table(columns: Sequence[str], lines: Iterable[Iterable[str | Text]], total: str | None = None) -> Table:
    """A table of tokens or features with their numbers; `total` is the sum of the last column."""
    kinds = "l" + "r" * (len(columns) - 1)
    table = terminal_table(columns, kinds, lines, padding=(0, 2, 0, 3), show_footer=total is not None)
    if total is not None:
        table.columns[0].footer, table.columns[-1].footer = "sum", total
    return table
