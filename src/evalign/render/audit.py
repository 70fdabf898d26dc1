"""An audit for readers: the same tables in the terminal and on one HTML page, and JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Group, RenderableType
from rich.text import Text

from evalign.analysis.audit.values import Audit, DataQuality, MetricAudit, Ratings, Spread
from evalign.analysis.rated_tables import PLAIN
from evalign.render.html import items, page, paragraphs, section, table
from evalign.render.study.page import Plate, StudyTable
from evalign.render.tables import signature_line, terminal_table
from evalign.version import __version__

MISSING = "-"


def audit_table(audit: Audit) -> RenderableType:
    """Every part below its heading; then how it was made."""
    shown: list[RenderableType] = []
    for part in parts(audit):
        shown += [Text(part.title, style="bold underline"), *map(Text, part.said)]
        for content in part.tables:
            kinds = "f" * content.names + "n" * (len(content.columns) - content.names)
            shown += [Text(content.caption, style="bold"), terminal_table(content.columns, kinds, content.lines)]
        shown.append(Text())
    return Group(*shown, *map(signature_line, _made(audit)))


def audit_html(audit: Audit) -> str:
    """The same as one page that needs no other file."""
    contents = []
    for part in parts(audit):
        tables = (table(each.caption, each.columns, [("", line) for line in each.lines]) for each in part.tables)
        contents.append((part.name, part.title, paragraphs(part.said) + "".join(tables)))
    contents.append(("made", "How this was made", f"<ul>{items(_made(audit))}</ul>\n"))
    names = [(name, title) for name, title, _ in contents]
    return page("Audit of metrics", "", names, "".join(section(*content) for content in contents))


def audit_json(audit: Audit) -> str:
    """Everything, for programs."""
    document = {
        "evalign": __version__,
        "sampled": audit.sampled,
        "plan": asdict(audit.plan),
        "data": asdict(audit.data),
        "metrics": [asdict(metric) for metric in audit.metrics],
        "notes": list(audit.notes),
    }
    return json.dumps(document, ensure_ascii=False, indent=2)


def parts(audit: Audit) -> Iterator[Plate]:
    """The five questions of the log book."""
    yield Plate("data", "Quality of the data and the raters", tables=(_facts(audit.data), _ratings(audit.data)))
    said = (_agreement_sentence(audit),)
    yield Plate("agreement", "Agreement with people", said=said, tables=(_agreement(audit),))
    yield Plate("cost", "Cost and its growth", said=(
        "Milliseconds of processor time per pair, on texts as long as the data's, twice and four times as long; k of "
        "time ~ words^k. In brackets: lowest and highest of three rounds.",
    ), tables=(_cost(audit),))  # fmt: skip
    yield Plate("robustness", "Robustness: what each change of the candidate does", said=(
        "Mean change of the score, also in standard deviations of the untouched scores, and the share of rows whose "
        "score falls or rises. Scores of metrics where lower is better are turned round.",
    ), tables=tuple(map(_robustness, audit.metrics)))  # fmt: skip
    yield Plate("reliability", "Reliability", said=(
        "Two halves: how far apart Pearson's r with people lies in two random halves of the items (median of 200 "
        "splits; 95 % lie below the number in brackets), and how alike the halves rank the systems (mean tau). Other "
        "order: the largest change of a score when rows come one at a time, the last first.",
    ), tables=(_reliability(audit),))  # fmt: skip


def _facts(data: DataQuality) -> StudyTable:
    rows = [
        ("rows", f"{data.rows}"),
        ("rows without a human score", f"{data.unrated}"),
        ("systems", f"{data.systems}" if data.systems else "none named"),
        ("rows per system", _spread(data.rows_per_system)),
        ("items (references and source)", f"{data.items}"),
        ("references per row", _spread(data.references)),
        ("words of a candidate", _spread(data.candidate_words)),
        ("words of a reference", _spread(data.reference_words)),
        ("empty candidates", f"{data.empty_candidates}"),
        ("rows without a reference, or with an empty one", f"{data.empty_references}"),
        ("rows that came before", f"{data.duplicates}"),
        ("candidates that are a reference", f"{data.copies}"),
    ]
    return StudyTable("All rows (low, median, high)", ("what", "how many"), tuple(rows))


def _ratings(data: DataQuality) -> StudyTable:
    lines = [(_aspect(aspect), *_rating_cells(ratings)) for aspect, ratings in data.ratings.items()]
    columns = ("ratings", "rows", "mean", "sd", "low", "high", "distinct", "tied pairs", "raters", "per row", "alpha")
    return StudyTable("Ratings; alpha is Krippendorff's, for interval data", columns, tuple(lines))


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
        "of items, rows that share references and source."
    )


def _agreement(audit: Audit) -> StudyTable:
    lines = []
    for metric in audit.metrics:
        for aspect, levels in metric.agreement.items():
            for level, estimates in levels.items():
                shown = [estimate.text() for estimate in estimates.values()]
                count = str(next(iter(estimates.values())).n)
                lines.append((metric.metric, _aspect(aspect), level, *shown, count))
    columns = ("metric", "ratings", "level", "Pearson", "Spearman", "Kendall", "n")
    return StudyTable("Correlation with ratings", columns, tuple(lines), 3)


def _cost(audit: Audit) -> StudyTable:
    lines = []
    for metric in audit.metrics:
        by_times = {length.times: length for length in metric.cost.lengths}
        cells = [_time(by_times[times].milliseconds) if times in by_times else MISSING for times in (1, 2, 4)]
        words = " ".join(f"{by_times[times].words:.0f}" if times in by_times else MISSING for times in (1, 2, 4))
        lines.append((metric.metric, *cells, words, metric.cost.exponent.text(2)))
    columns = ("metric", "1x", "2x", "4x", "words of both texts", "k")
    return StudyTable("Time per pair, by length", columns, tuple(lines))


def _robustness(metric: MetricAudit) -> StudyTable:
    lines = []
    for change in metric.robustness:
        deviations = MISSING if change.deviations is None else f"{change.deviations:+.2f}"
        lines.append((
            f"{change.change}: {change.about}", change.expected, f"{change.mean:+.4f}", deviations,
            f"{change.fell:.0%}", f"{change.rose:.0%}",
        ))  # fmt: skip
    rows = max((change.rows for change in metric.robustness), default=0)
    columns = ("change", "should", "mean change", "in sd", "falls", "rises")
    return StudyTable(f"{metric.metric}, {rows} rows", columns, tuple(lines))


def _reliability(audit: Audit) -> StudyTable:
    lines = []
    for metric in audit.metrics:
        reliable = metric.reliability
        flags = ", ".join(f"{flag} {count}" for flag, count in reliable.flags.items())
        flagged = f"{reliable.flagged / reliable.scored:.1%}" + (f" ({flags})" if flags else "")
        ranking = MISSING if reliable.half_ranking is None else reliable.half_ranking.text()
        end = ranking, f"{reliable.reordered:.1e}", flagged, f"{reliable.failed}"
        for aspect, apart in reliable.half_difference.items():
            half = MISSING if apart.value is None else f"{apart.value:.3f} [{apart.high:.3f}]"
            lines.append((metric.metric, _aspect(aspect), half, *end))
    columns = ("metric", "ratings", "two halves: r", "systems' order", "other order", "rows flagged", "failed")
    return StudyTable("Halves, order and flags", columns, tuple(lines), 2)


def _made(audit: Audit) -> list[str]:
    plan = audit.plan
    asked = "all rows" if not plan.sample else f"at most about {plan.sample} rows, whole items (--sample)"
    lines = [f"scored: {asked}; changes on {min(plan.changed, audit.sampled)} of them; seed {plan.resampling.seed}"]
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
