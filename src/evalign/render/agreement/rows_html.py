"""The rows of a rated table with texts, ratings and scores: where the points of the scatter plots lead.

In: a `RatedTable` and the metrics that scored it. Out: a list in HTML, one entry per row with an id of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from evalign.analysis.rated_tables import PLAIN, RatedTable
from evalign.metrics.base import Metric
from evalign.render.html import text

LONGEST = 600  # characters of a text that are shown
STYLE = """
.rows{list-style:none;padding:0}
.rows>li{margin:0;padding:.4rem .6rem;border-top:1px solid var(--line);content-visibility:auto;
contain-intrinsic-size:auto 8rem}
.rows>li:target{background:var(--best);outline:2px solid var(--link);content-visibility:visible}
figure a:hover use,figure a:focus use{stroke:var(--ink)!important;stroke-width:2.5px!important;opacity:1!important}
"""


def row_link(place: int) -> str:
    """The address of a row of the table within the page."""
    return f"#row-{place + 1}"


def rows_html(table: RatedTable, metrics: Mapping[str, Metric]) -> str:
    """All rows in the order of the table; scores of metrics where lower is better are turned back."""
    signs = {name: -1 if name in metrics and not metrics[name].higher_is_better else 1 for name in table.scores}
    entries = "".join(_entry(table, place, signs) for place in range(len(table.rows)))
    return f'<p>Every point of the pictures above leads here.</p>\n<ol class="rows">\n{entries}</ol>\n'


def _entry(table: RatedTable, place: int, signs: Mapping[str, int]) -> str:
    row = table.rows[place]
    ratings = [f"{'people' if aspect == PLAIN else aspect} {float(values[place]):.4g}"
               for aspect, values in table.human.items()]  # fmt: skip
    scores = [f"{name} {signs[name] * float(values[place]):.4f}" for name, values in table.scores.items()]
    system = f", system <bdi>{text(row.system)}</bdi>" if row.system else ""
    texts = [("candidate", row.candidate), *(("reference", reference) for reference in row.references)]
    return (
        f'<li id="{row_link(place)[1:]}" tabindex="-1"><p><strong>Row <bdi>{text(row.id)}</bdi></strong>{system}: '
        f'{text("; ".join(ratings + scores))}. <a href="#scatter">To the pictures</a></p>\n'
        f"<dl>{''.join(f'<dt>{name}</dt>{shown_text(content, LONGEST)}' for name, content in texts)}</dl></li>\n"
    )


def shown_text(content: str, longest: int) -> str:
    """A text as an entry of a list of descriptions, with how much of it is left out."""
    more = f" … ({len(content) - longest} more characters)" if len(content) > longest else ""
    shown = f"{text(content[:longest])}{more}" if content.strip() else "<em>empty</em>"
    return f'<dd dir="auto">{shown}</dd>'
