"""An audit for readers: the same tables in the terminal and on one HTML page, and JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from evalign.analysis.audit.values import Audit, CostAt, DataQuality, MetricAudit, Ratings, Spread
from evalign.analysis.rated_tables import PLAIN
from evalign.render.agreement.tables import interval
from evalign.render.html import items, page, section, table, text
from evalign.render.study.page import StudyTable
from evalign.render.tables import signature_line, terminal_table
from evalign.stats.estimate import Estimate
from evalign.version import __version__

MISSING = "-"


@dataclass(frozen=True)
class Part:
    """One question of the audit: what is said, and its tables."""

    name: str
    title: str
    said: tuple[str, ...]
    tables: tuple[StudyTable, ...]


def audit_table(audit: Audit) -> RenderableType:
    """Every part below its heading; then how it was made."""
    shown: list[RenderableType] = []
    for part in parts(audit):
        shown += [Text(part.title, style="bold underline"), *map(Text, part.said)]
        for one in part.tables:
            kinds = "f" * one.names + "n" * (len(one.columns) - one.names)
            shown += [Text(one.caption, style="bold"), terminal_table(one.columns, kinds, one.lines)]
        shown.append(Text())
    return Group(*shown, *map(signature_line, _made(audit)))


def audit_html(audit: Audit) -> str:
    """The same as one page that needs no other file."""
    found = list(parts(audit))
    contents = "".join(
        section(
            part.name,
            part.title,
            "".join(f"<p>{text(sentence)}</p>\n" for sentence in part.said)
            + "".join(table(one.caption, one.columns, [("", line) for line in one.lines]) for one in part.tables),
        )
        for part in found
    )
    contents += section("made", "How this was made", f"<ul>{items(_made(audit))}</ul>\n")
    names = [(part.name, part.title) for part in found]
    return page("Audit of metrics", "", [*names, ("made", "How this was made")], contents)


def audit_json(audit: Audit) -> str:
    """Everything, for programs."""
    document = {
        "evalign": __version__,
        "sampled": audit.sampled,
        "plan": asdict(audit.plan),
        "data": asdict(audit.data),
        "metrics": [asdict(one) for one in audit.metrics],
        "notes": list(audit.notes),
    }
    return json.dumps(document, ensure_ascii=False, indent=2)


def parts(audit: Audit) -> Iterator[Part]:
    """The five questions of the log book."""
    yield Part("data", "Quality of the data and the raters", (), (_facts(audit.data), _ratings(audit.data)))
    yield Part("agreement", "Agreement with people", (_agreement_sentence(audit),), (_agreement(audit),))
    yield Part("cost", "Cost and its growth", (
        "Milliseconds of processor time per pair, on texts as long as the data's, twice and four times as long; k of "
        "time ~ words^k. In brackets: lowest and highest of three rounds.",
    ), (_cost(audit),))  # fmt: skip
    yield Part("robustness", "Robustness: what each change of the candidate does", (
        "Mean change of the score, also in standard deviations of the untouched scores, and the share of rows whose "
        "score falls or rises. Scores of metrics where lower is better are turned round.",
    ), tuple(map(_robustness, audit.metrics)))  # fmt: skip
    yield Part("reliability", "Reliability", (
        "Two halves: how far apart Pearson's r with people lies in two random halves of the items (median of 200 "
        "splits; 95 % lie below the number in brackets), and how alike the halves rank the systems (mean tau). Other "
        "order: the largest change of a score when rows come one at a time, the last first.",
    ), (_reliability(audit),))  # fmt: skip


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
    alpha = interval(ratings.alpha) if ratings.alpha is not None else "one rating each"
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
    for one in audit.metrics:
        for aspect, levels in one.agreement.items():
            for level, estimates in levels.items():
                count = str(next(iter(estimates.values())).n)
                lines.append((one.metric, _aspect(aspect), level, *map(interval, estimates.values()), count))
    return StudyTable(
        "Correlation with ratings",
        ("metric", "ratings", "level", "Pearson", "Spearman", "Kendall", "n"),
        tuple(lines),
        3,
    )


def _cost(audit: Audit) -> StudyTable:
    lines = []
    for one in audit.metrics:
        by_times = {length.times: length for length in one.cost.lengths}
        cells = [_time(by_times[times]) if times in by_times else MISSING for times in (1, 2, 4)]
        words = " ".join(f"{by_times[times].words:.0f}" if times in by_times else MISSING for times in (1, 2, 4))
        lines.append((one.metric, *cells, words, _number(one.cost.exponent, 2)))
    return StudyTable(
        "Time per pair, by length", ("metric", "1x", "2x", "4x", "words of both texts", "k"), tuple(lines)
    )


def _robustness(one: MetricAudit) -> StudyTable:
    lines = []
    for found in one.robustness:
        deviations = MISSING if found.deviations is None else f"{found.deviations:+.2f}"
        lines.append((
            f"{found.change}: {found.about}", found.expected, f"{found.mean:+.4f}", deviations, f"{found.fell:.0%}",
            f"{found.rose:.0%}",
        ))  # fmt: skip
    rows = max((found.rows for found in one.robustness), default=0)
    columns = ("change", "should", "mean change", "in sd", "falls", "rises")
    return StudyTable(f"{one.metric}, {rows} rows", columns, tuple(lines))


def _reliability(audit: Audit) -> StudyTable:
    lines = []
    for one in audit.metrics:
        found = one.reliability
        flags = ", ".join(f"{flag} {count}" for flag, count in found.flags.items())
        for aspect, apart in found.half_difference.items():
            half = MISSING if apart.value is None else f"{apart.value:.3f} [{apart.high:.3f}]"
            ranking = MISSING if found.half_ranking is None else interval(found.half_ranking)
            lines.append((
                one.metric, _aspect(aspect), half, ranking, f"{found.reordered:.1e}",
                f"{found.flagged / found.scored:.1%}" + (f" ({flags})" if flags else ""), f"{found.failed}",
            ))  # fmt: skip
    columns = ("metric", "ratings", "two halves: r", "systems' order", "other order", "rows flagged", "failed")
    return StudyTable("Halves, order and flags", columns, tuple(lines), 2)


def _made(audit: Audit) -> list[str]:
    plan = audit.plan
    asked = "all rows" if not plan.sample else f"at most about {plan.sample} rows, whole items (--sample)"
    lines = [f"scored: {asked}; changes on {min(plan.changed, audit.sampled)} of them; seed {plan.resampling.seed}"]
    lines += audit.notes
    for one in audit.metrics:
        for aspect, levels in one.agreement.items():
            for level, estimates in levels.items():
                lines += [f"{one.metric}, {_aspect(aspect)}, {level}, {name}: {flag}"
                          for name, estimate in estimates.items() for flag in estimate.flags]  # fmt: skip
    for aspect, ratings in audit.data.ratings.items():
        lines += [f"raters, {_aspect(aspect)}: {flag}" for flag in (ratings.alpha.flags if ratings.alpha else ())]
    return [*dict.fromkeys(lines), *dict.fromkeys(one.signature for one in audit.metrics)]


def _aspect(aspect: str) -> str:
    return "people" if aspect == PLAIN else aspect


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return MISSING
    same = spread.low == spread.high
    return f"{spread.low:g}" if same else f"{spread.low:g}, {spread.median:g}, {spread.high:g}"


def _time(length: CostAt) -> str:
    spent = length.milliseconds
    return f"{spent.median:.3g} [{spent.low:.3g}, {spent.high:.3g}]"


def _number(estimate: Estimate, digits: int) -> str:
    if estimate.value is None:
        return MISSING
    ends = "" if estimate.low is None else f" [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
    return f"{estimate.value:.{digits}f}{ends}"
