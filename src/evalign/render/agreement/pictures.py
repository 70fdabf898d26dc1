"""Pictures of an `Agreement`: a caption, the figure, and the numbers behind it.

In: an `Agreement`. Out: `Picture`s for the HTML report, or files: PNG, SVG and CSV for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np

from evalign.analysis.agreement import Agreement
from evalign.analysis.rated_tables import PLAIN, percentiles
from evalign.core import Floats
from evalign.errors import UndefinedStatisticError
from evalign.render.agreement import plots
from evalign.render.agreement.tables import of_aspect
from evalign.render.figures import Drawing, Panel, make_folder
from evalign.render.tables import showable
from evalign.stats.correlation import CORRELATIONS, correlation

PANELS_PER_FIGURE = 12  # metrics; the rest goes to the next figure
MAX_CATEGORIES = 6  # human scores with at most this number of values have a bin per value
HUMAN_BINS = 5
LENGTH_BINS = 8
MIN_BIN_ROWS = 5
MAX_END_CHARACTERS = 7  # of a bin's ends below a violin; bins with longer ends are numbered


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawing with the id of its section and its file name without ending."""

    section: str
    name: str
    drawing: Drawing


def pictures(agreement: Agreement) -> list[Picture]:
    """Return all pictures in reading order; for pairs without ratings only the estimates."""
    forest = Picture("forest", "forest", _forest(agreement))
    if not agreement.table.human:
        return [forest]
    by_aspect = [
        Picture(section, name, drawing)
        for section, draw in (("scatter", _scatter), ("violins", _violins), ("length", _length))
        for aspect in agreement.table.human
        for name, drawing in _pages(agreement, section, aspect, draw)
    ]
    return [forest, *by_aspect, Picture("correlation", "correlation", _correlation(agreement))]


def save_pictures(agreement: Agreement, folder: Path) -> list[Path]:
    """Write every picture as PNG and SVG and its numbers as CSV; the folder is created if its parent exists."""
    make_folder(folder)
    return [path for picture in pictures(agreement) for path in picture.drawing.save(folder, picture.name)]


def _forest(agreement: Agreement) -> Drawing:
    """Draw every estimate with its interval."""
    first = agreement.plan.statistics[0]
    bars = {
        aspect: [
            plots.Bar(judgement.metric, estimate.value, estimate.low, estimate.high, judgement.rank)
            for judgement in of_aspect(agreement, aspect)
            for estimate in (judgement.estimates[first],)
        ]
        for aspect in agreement.aspects
    }
    numbers = [(aspect, bar.label, bar.rank, bar.value, bar.low, bar.high) for aspect in bars for bar in bars[aspect]]
    confidence = f"{agreement.plan.resampling.confidence:.0%}"
    caption = f"Agreement with people ({first}) with {confidence} intervals, best metric on top"
    if agreement.p_values:
        caption += "; blue circles are the best cluster, dotted lines separate the clusters"
    panels = {"people" if aspect == PLAIN else aspect: bars[aspect] for aspect in bars}
    columns = ("aspect", "metric", "rank", first, "low", "high")
    return Drawing(f"{caption}.", lambda: plots.forest(panels, first), columns, numbers)


def _scatter(agreement: Agreement, aspect: str, metrics: Sequence[str]) -> Drawing:
    """Draw every metric against one aspect; at system level a point is a system, else a row."""
    points = _points(agreement, aspect)
    first = agreement.plan.statistics[0]
    notes = {
        judgement.metric: f"{first} {judgement.estimates[first].text()}" for judgement in of_aspect(agreement, aspect)
    }
    panels = [Panel(metric, notes[metric], points.scores[metric]) for metric in metrics]
    links = [row_link(index) for index in range(len(points.ids))] if points.unit == "row" else None
    dense = plots.too_many(len(points.human), len(panels))
    leads = "; click a point to see its row" if links and not dense else ""
    drawn = "each hexagon is several rows" if dense else f"one point per {points.unit}{leads}"
    return Drawing(
        f"Scores of each metric against people's{_of(aspect)}, {drawn}; the dashed line is the least-squares line.",
        lambda: plots.scatter(points.human, panels, _people(aspect), points.groups, links),
        (points.unit, "group", _people(aspect), *metrics),
        list(zip(points.ids, points.groups, points.human, *(panel.values for panel in panels), strict=True)),
    )


def _violins(agreement: Agreement, aspect: str, metrics: Sequence[str]) -> Drawing:
    """Draw the distribution of scores for low, medium and high human scores."""
    bins, rows_of, even = _human_bins(agreement.table.human[aspect])
    parts = f"{len(bins)} parts of the rows"
    scores = agreement.table.scores
    panels = [Panel(metric, "", [scores[metric][rows] for rows in rows_of]) for metric in metrics]
    return Drawing(
        f"Spread of each metric's scores by people's {f'score in {parts}' if even else 'score'}{_of(aspect)}; bar: "
        "middle half, dot: median. The better the metric, the less the violins overlap.",
        lambda: plots.violins(bins, panels, f"{_people(aspect)}, {parts if even else 'score'}"),
        ("metric", "people", "n", "lowest", "quarter", "median", "three_quarters", "highest"),
        [
            (metric, label.replace("\n", " "), len(rows), *np.quantile(scores[metric][rows], [0, 0.25, 0.5, 0.75, 1]))
            for metric in metrics
            for label, rows in zip(bins, rows_of, strict=True)
        ],
    )


def _correlation(agreement: Agreement) -> Drawing:
    """Every column against every column, over all rows."""
    first = agreement.plan.statistics[0]
    statistic = first if first in CORRELATIONS else "spearman"
    metrics = [judgement.metric for judgement in of_aspect(agreement, agreement.aspects[0])]
    columns = {_people(aspect): values for aspect, values in agreement.table.human.items()}
    columns |= {metric: agreement.table.scores[metric] for metric in metrics}
    values = list(columns.values())
    matrix = np.empty((len(values), len(values)))
    for row, column in combinations_with_replacement(range(len(values)), 2):
        matrix[row, column] = matrix[column, row] = _correlated(statistic, values[row], values[column])
    return Drawing(
        f"Correlation ({statistic}) between people and metrics over all {len(agreement.table.rows)} rows. Metrics that "
        "correlate highly say the same; an empty cell is a constant column.",
        lambda: plots.correlations(list(columns), matrix, statistic),
        ("", *columns),
        [(name, *line) for name, line in zip(columns, matrix.tolist(), strict=True)],
    )


def _length(agreement: Agreement, aspect: str, metrics: Sequence[str]) -> Drawing:
    """Draw the distance between the order of rows by each metric and by people, by length."""
    lengths, unit = _lengths(agreement)
    people = percentiles(agreement.table.human[aspect])
    rows_of = _quantile_bins(lengths, max(1, min(LENGTH_BINS, len(lengths) // MIN_BIN_ROWS)))
    curves = [_curve(np.abs(percentiles(agreement.table.scores[name]) - people), lengths, rows_of) for name in metrics]
    panels = [Panel(metric, "", curve) for metric, curve in zip(metrics, curves, strict=True)]
    mean = np.mean([curve.mean for curve in curves], axis=0)
    return Drawing(
        f"Distance between the metric's and people's order of the rows{_of(aspect)}, by {unit}: mean in "
        f"each of {len(rows_of)} equally large bins, with normal 95% intervals. 33 is what random orders give.",
        lambda: plots.length_errors(panels, mean, unit),
        ("metric", "shortest", "longest", "n", "mean_distance", "low", "high"),
        [
            (panel.title, lengths[rows].min(), lengths[rows].max(), len(rows), *numbers)
            for panel, curve in zip(panels, curves, strict=True)
            for rows, *numbers in zip(rows_of, curve.mean, curve.low, curve.high, strict=True)
        ],
    )


@dataclass(frozen=True, eq=False)
class _Points:
    """Points of a scatter plot; `unit` is row or system."""

    unit: str
    ids: list[str]
    groups: list[str]
    human: Floats
    scores: dict[str, Floats]


def _points(agreement: Agreement, aspect: str) -> _Points:
    table, plan = agreement.table, agreement.plan
    human, scores = table.human[aspect], dict(table.scores)
    groups = table.labels(plan.within or "system")
    if plan.level != "system":
        return _Points("row", [row.id for row in table.rows], groups, human, scores)
    rows_by_system: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(groups if plan.within else [""] * len(groups), table.labels("system"), strict=True)):
        rows_by_system.setdefault(key, []).append(row)

    def means(values: Floats) -> Floats:
        return np.array([values[rows].mean() for rows in rows_by_system.values()])

    systems = [system for _, system in rows_by_system]
    return _Points("system", systems, [group for group, _ in rows_by_system], means(human),
                   {name: means(values) for name, values in scores.items()})  # fmt: skip


def _pages(
    agreement: Agreement, section: str, aspect: str, draw: Callable[[Agreement, str, Sequence[str]], Drawing]
) -> Iterator[tuple[str, Drawing]]:
    """Yield file name and drawing of each figure of a section, best metrics first."""
    metrics = [judgement.metric for judgement in of_aspect(agreement, aspect)]
    number = agreement.aspects.index(aspect) + 1
    base = (
        section
        if len(agreement.aspects) == 1
        else f"{section}_{number}_{re.sub(r'[^a-z0-9]+', '-', aspect.lower())[:40]}"
    )
    for page, first in enumerate(range(0, len(metrics), PANELS_PER_FIGURE), 1):
        name = base if len(metrics) <= PANELS_PER_FIGURE else f"{base}_page{page}"
        yield name, draw(agreement, aspect, metrics[first : first + PANELS_PER_FIGURE])


def _human_bins(human: Floats) -> tuple[list[str], list[Any], bool]:
    """Return labels, the rows of each bin, and whether the bins are quantiles (else single values)."""
    values = np.unique(human)
    if len(values) <= MAX_CATEGORIES:
        return [f"{value:.4g}" for value in values], [np.flatnonzero(human == value) for value in values], False
    rows_of = _quantile_bins(human, HUMAN_BINS)
    digits = max(0, 2 - int(np.floor(np.log10(float(np.ptp(human))))))
    ends = [(f"{human[rows].min():.{digits}f}", f"{human[rows].max():.{digits}f}") for rows in rows_of]
    if max(len(end) for pair in ends for end in pair) > MAX_END_CHARACTERS:
        return [str(number) for number in range(1, len(rows_of) + 1)], rows_of, True
    return [low if low == high else f"{low}\nto\n{high}" for low, high in ends], rows_of, True


def _lengths(agreement: Agreement) -> tuple[Floats, str]:
    rows = agreement.table.rows
    if all(row.references for row in rows):
        return np.array([np.mean([len(text.split()) for text in row.references]) for row in rows]), (
            "words in the reference" if all(len(row.references) == 1 for row in rows) else "mean words per reference"
        )
    return np.array([float(len(row.candidate.split())) for row in rows]), "words in the candidate"


def _quantile_bins(values: Floats, count: int) -> list[Any]:
    """Return the rows of equally large bins, fewer than `count` if values are tied; no bin is empty."""
    inner = np.unique(np.quantile(values, np.arange(1, count) / count))
    bin_of_row = np.searchsorted(inner, values)
    return [np.flatnonzero(bin_of_row == number) for number in np.unique(bin_of_row)]


def _curve(distances: Floats, lengths: Floats, rows_of: Sequence[Any]) -> plots.Curve:
    mean = np.array([distances[rows].mean() for rows in rows_of])
    half = np.array(
        [1.96 * distances[rows].std(ddof=1) / len(rows) ** 0.5 if len(rows) > 1 else 0.0 for rows in rows_of]
    )
    return plots.Curve(
        np.array([lengths[rows].mean() for rows in rows_of]), mean, np.maximum(mean - half, 0), mean + half
    )


def _correlated(statistic: str, first: Floats, second: Floats) -> float:
    try:
        return correlation(statistic)(first, second)
    except UndefinedStatisticError:
        return float("nan")


def _people(aspect: str) -> str:
    return "people" if aspect == PLAIN else f"people: {showable(aspect)}"


def _of(aspect: str) -> str:
    return "" if aspect == PLAIN else f" ({showable(aspect)})"


def row_link(row: int) -> str:
    """Return the link to a row of the table within the page."""
    return f"#row-{row + 1}"
