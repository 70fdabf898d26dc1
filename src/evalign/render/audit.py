"""Rendering of an audit: the same tables in the terminal, HTML, TSV, LaTeX and Markdown, and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from evalign.analysis.audit import Audit, MetricAudit
from evalign.analysis.data_quality import DataQuality, Ratings, Spread
from evalign.analysis.rated_tables import PLAIN
from evalign.render.html import items, page, paragraphs, section, table
from evalign.render.tables import (
    TextTable,
    Writers,
    markdown_escaped,
    markdown_notes,
    markdown_table,
    signature_line,
    terminal_table,
    text_table_latex,
    tsv,
)
from evalign.version import __version__

MISSING = "-"


@dataclass(frozen=True)
class AuditSection:
    """A section of an audit: its title, sentences on how to read it, and its tables."""

    name: str
    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[TextTable, ...] = ()


def audit_table(audit: Audit) -> RenderableType:
    """Return every section below its heading, and the notes."""
    content: list[RenderableType] = []
    for part in parts(audit):
        content += [Text(part.title, style="bold underline"), *map(Text, part.sentences)]
        for cells in part.tables:
            formats = "f" * cells.names + "n" * (len(cells.columns) - cells.names)
            content += [Text(cells.caption, style="bold"), terminal_table(cells.columns, formats, cells.lines)]
        content.append(Text())
    return Group(*content, *map(signature_line, _notes(audit)))


def audit_html(audit: Audit) -> str:
    """Return the audit as one HTML page that needs no other file."""
    contents = []
    for part in parts(audit):
        tables = (table(cells.caption, cells.columns, [("", line) for line in cells.lines]) for cells in part.tables)
        contents.append((part.name, part.title, paragraphs(part.sentences) + "".join(tables)))
    contents.append(("made", "How this was made", f"<ul>{items(_notes(audit))}</ul>\n"))
    names = [(name, title) for name, title, _ in contents]
    return page("Audit of metrics", "", names, "".join(section(*content) for content in contents))


def audit_json(audit: Audit) -> str:
    """Return all results as JSON."""
    plan = asdict(audit.plan)
    plan = {"sample": plan.pop("sample_rows"), **plan}
    document = {
        "evalign": __version__,
        "sampled": audit.sampled,
        "plan": plan,
        "data": asdict(audit.data),
        "metrics": [asdict(metric) for metric in audit.metrics],
        "notes": list(audit.notes),
    }
    return json.dumps(document, ensure_ascii=False, indent=2)


def audit_tsv(audit: Audit) -> str:
    """Return the tables as TSV, each below a line with its section and caption."""
    blocks = []
    for part in parts(audit):
        for content in part.tables:
            title = " ".join(f"{part.title}: {content.caption}".split())
            blocks.append(f"# {title}\n{tsv(content.columns, content.lines)}")
    return "\n\n".join(blocks)


def audit_latex(audit: Audit) -> str:
    """Return the tables as LaTeX, each below a comment with its section and caption."""
    blocks = []
    for part in parts(audit):
        for content in part.tables:
            title = " ".join(f"{part.title}: {content.caption}".split())
            blocks.append(f"% {title}\n{text_table_latex(content)}")
    return "\n\n".join([*blocks, "\n".join(f"% {' '.join(line.split())}" for line in _notes(audit))])


def audit_markdown(audit: Audit) -> str:
    """Return every section below its heading, and the notes."""
    blocks = []
    for part in parts(audit):
        blocks += [f"## {markdown_escaped(part.title)}", *map(markdown_escaped, part.sentences)]
        for content in part.tables:
            blocks += [f"**{markdown_escaped(content.caption)}**", markdown_table(content)]
    return "\n\n".join([*blocks, markdown_notes(_notes(audit)).strip()])


FORMATS: Writers[[Audit]] = {
    "table": audit_table,
    "json": audit_json,
    "tsv": audit_tsv,
    "latex": audit_latex,
    "markdown": audit_markdown,
}


def parts(audit: Audit) -> Iterator[AuditSection]:
    """Yield the sections of an audit."""
    yield AuditSection("data", "Quality of the data and the raters", tables=(_facts(audit.data), _ratings(audit.data)))
    sentences = (_agreement_sentence(audit),)
    yield AuditSection("agreement", "Agreement with people", sentences, tables=(_agreement(audit),))
    yield AuditSection("cost", "Cost and its growth", (
        "Milliseconds of processor time per pair, on texts as long as the data's, twice and four times as long; "
        "exponent k in time ~ words^k. In brackets: minimum and maximum of three rounds.",
    ), tables=(_cost(audit),))  # fmt: skip
    yield AuditSection("robustness", "Robustness: effect of changes of the candidate", (
        "Mean change of the score, also in standard deviations of the original scores, and the share of rows whose "
        "score falls or rises. Scores of metrics where lower is better are negated.",
    ), tables=tuple(map(_robustness, audit.metrics)))  # fmt: skip
    yield AuditSection("reliability", "Reliability", (
        "Two halves: difference of Pearson's r with people between two random halves of the items (median of 200 "
        "splits; 95 % are below the number in brackets), and agreement of the halves' rankings of systems (mean tau). "
        "Reverse order: largest change of a score when rows are scored one at a time in reverse order.",
    ), tables=(_reliability(audit),))  # fmt: skip


def _facts(data: DataQuality) -> TextTable:
    rows = [
        ("rows", f"{data.rows}"),
        ("rows without a human score", f"{data.unrated}"),
        ("systems", f"{data.systems}" if data.systems else "unnamed"),
        ("rows per system", _spread(data.rows_per_system)),
        ("items (references and source)", f"{data.items}"),
        ("references per row", _spread(data.references)),
        ("words of a candidate", _spread(data.candidate_words)),
        ("words of a reference", _spread(data.reference_words)),
        ("empty candidates", f"{data.empty_candidates}"),
        ("rows without a reference, or with an empty one", f"{data.empty_references}"),
        ("repeated rows", f"{data.duplicates}"),
        ("candidates that are a reference", f"{data.copies}"),
    ]
    return TextTable("All rows (minimum, median, maximum)", ("statistic", "value"), tuple(rows))


def _ratings(data: DataQuality) -> TextTable:
    lines = [(_aspect(aspect), *_rating_cells(ratings)) for aspect, ratings in data.ratings.items()]
    columns = ("ratings", "rows", "mean", "sd", "min", "max", "distinct", "tied pairs", "raters", "per row", "alpha")
    return TextTable("Ratings; alpha is Krippendorff's, for interval data", columns, tuple(lines))


def _rating_cells(ratings: Ratings) -> tuple[str, ...]:
    numbers = (f"{value:.3g}" for value in (ratings.mean, ratings.deviation, ratings.low, ratings.high))
    alpha = ratings.alpha.text() if ratings.alpha is not None else "one rating each"
    return (
        f"{ratings.rows}", *numbers, f"{ratings.distinct}", f"{ratings.tied:.1%}", f"{ratings.raters}",
        f"{ratings.raters_per_row:.2g}", alpha,
    )  # fmt: skip


def _agreement_sentence(audit: Audit) -> str:
    resampling = audit.plan.resampling
    drawn = "all rated rows" if audit.sampled == audit.data.rows - audit.data.unrated else "rows drawn by item"
    return (
        f"{audit.sampled} rows ({drawn}); {resampling.confidence:.0%} intervals from {resampling.samples} resamples "
        "of items (rows that share references and source)."
    )


def _agreement(audit: Audit) -> TextTable:
    lines = []
    for metric in audit.metrics:
        for aspect, levels in metric.agreement.items():
            for level, estimates in levels.items():
                cells = [estimate.text() for estimate in estimates.values()]
                count = str(next(iter(estimates.values())).n)
                lines.append((metric.metric, _aspect(aspect), level, *cells, count))
    columns = ("metric", "ratings", "level", "Pearson", "Spearman", "Kendall", "n")
    return TextTable("Correlation with ratings", columns, tuple(lines), 3)


def _cost(audit: Audit) -> TextTable:
    lines = []
    for metric in audit.metrics:
        by_times = {length.times: length for length in metric.cost.lengths}
        cells = [_time(by_times[times].milliseconds) if times in by_times else MISSING for times in (1, 2, 4)]
        words = " ".join(f"{by_times[times].words:.0f}" if times in by_times else MISSING for times in (1, 2, 4))
        lines.append((metric.metric, *cells, words, metric.cost.exponent.text(2)))
    columns = ("metric", "1x", "2x", "4x", "words of both texts", "k")
    return TextTable("Time per pair, by length", columns, tuple(lines))


def _robustness(metric: MetricAudit) -> TextTable:
    lines = []
    for change in metric.robustness:
        deviations = MISSING if change.deviations is None else f"{change.deviations:+.2f}"
        lines.append((
            f"{change.change}: {change.about}", change.expected, f"{change.mean:+.4f}", deviations,
            f"{change.fell:.0%}", f"{change.rose:.0%}",
        ))  # fmt: skip
    rows = max((change.rows for change in metric.robustness), default=0)
    columns = ("change", "expected", "mean change", "in sd", "falls", "rises")
    return TextTable(f"{metric.metric}, {rows} rows", columns, tuple(lines))


def _reliability(audit: Audit) -> TextTable:
    lines = []
    for metric in audit.metrics:
        reliable = metric.reliability
        flags = ", ".join(f"{flag} {count}" for flag, count in reliable.flags.items())
        flagged = f"{reliable.flagged / reliable.scored:.1%}" + (f" ({flags})" if flags else "")
        ranking = MISSING if reliable.half_ranking is None else reliable.half_ranking.text()
        end = ranking, f"{reliable.reordered:.1e}", flagged, f"{reliable.failed}"
        for aspect, difference in reliable.half_difference.items():
            half = MISSING if difference.value is None else f"{difference.value:.3f} [{difference.high:.3f}]"
            lines.append((metric.metric, _aspect(aspect), half, *end))
    columns = ("metric", "ratings", "two halves: r", "system ranking", "reverse order", "rows flagged", "failed")
    return TextTable("Halves, order and flags", columns, tuple(lines), 2)


def _notes(audit: Audit) -> list[str]:
    plan = audit.plan
    sample = "all rows" if not plan.sample_rows else f"at most about {plan.sample_rows} rows, whole items"
    lines = [f"scored: {sample}; changes on {min(plan.changed, audit.sampled)} of them; seed {plan.resampling.seed}"]
    lines += audit.notes
    for metric in audit.metrics:
        for aspect, levels in metric.agreement.items():
            for level, estimates in levels.items():
                lines += [f"{metric.metric}, {_aspect(aspect)}, {level}, {name}: {flag}"
                          for name, estimate in estimates.items() for flag in estimate.flags]  # fmt: skip
    for aspect, ratings in audit.data.ratings.items():
        lines += [f"raters, {_aspect(aspect)}: {flag}" for flag in (ratings.alpha.flags if ratings.alpha else ())]
    return [*dict.fromkeys(lines), *dict.fromkeys(metric.signature for metric in audit.metrics)]


def _aspect(aspect: str) -> str:
    return "people" if aspect == PLAIN else aspect


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return MISSING
    same = spread.low == spread.high
    return f"{spread.low:g}" if same else f"{spread.low:g}, {spread.median:g}, {spread.high:g}"


def _time(spent: Spread) -> str:
    return f"{spent.median:.3g} [{spent.low:.3g}, {spent.high:.3g}]"
