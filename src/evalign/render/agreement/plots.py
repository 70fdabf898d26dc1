"""The pictures of an `Agreement`: what each shows in words, the figure, and the numbers behind it.

In: an `Agreement`. Out: `Picture`s for the HTML report, or files: PNG, SVG and CSV for each.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evalign.analysis.agreement import Agreement
from evalign.analysis.disagreement import places
from evalign.analysis.rated_tables import PLAIN
from evalign.atomic_files import whole_file
from evalign.errors import FileFormatError, UndefinedStatisticError
from evalign.render import figures
from evalign.render.agreement.tables import interval
from evalign.render.labels import showable
from evalign.stats.correlation import CORRELATIONS, correlation
from evalign.types import Floats

if TYPE_CHECKING:
    from evalign.render.figures import Figure

PANELS = 12  # metrics in one figure; more go on the next one
CATEGORIES = 6  # people's scores with at most this many values are bins themselves
FIFTHS = 5
LENGTH_BINS = 8
FEWEST_IN_BIN = 5
LONGEST_END = 7  # characters of a bin's end below a violin; bins with longer ones are numbered


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure that is drawn when asked for; `kind` is the section it belongs to, `name` a file name without ending."""

    kind: str
    name: str
    caption: str
    draw: Callable[[], Figure]
    columns: tuple[str, ...]
    numbers: Sequence[Sequence[Any]]


def pictures(agreement: Agreement) -> list[Picture]:
    """All pictures, in the order in which they are read; of pairs without ratings only the estimates."""
    made = [forest_picture(agreement)]
    for kind in (scatter_pictures, violin_pictures, length_pictures):
        for aspect in agreement.table.human:
            made += kind(agreement, aspect)
    return [*made, correlation_picture(agreement)] if agreement.table.human else made


def save_pictures(agreement: Agreement, folder: Path) -> list[Path]:
    """Writes every picture as PNG and SVG and its numbers as CSV; the folder is made if its parent exists."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileFormatError(f"{folder}: no folder can be made there ({error.strerror or error})") from error
    written = []
    for picture in pictures(agreement):
        figure = picture.draw()
        for ending in (".png", ".svg"):
            written.append(folder / f"{picture.name}{ending}")
            figures.save(figure, written[-1])
        written.append(folder / f"{picture.name}.csv")
        with whole_file(written[-1]) as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([showable(name) for name in picture.columns])
            writer.writerows([_cell(value) for value in line] for line in picture.numbers)
    return written


def forest_picture(agreement: Agreement) -> Picture:
    """The main one: every estimate with its interval."""
    first = agreement.plan.statistics[0]
    lines: dict[str, list[figures.Bar]] = {aspect: [] for aspect in agreement.aspects}
    shown = {"people" if aspect == PLAIN else aspect: bars for aspect, bars in lines.items()}
    for one in agreement.judgements:
        estimate = one.estimates[first]
        lines[one.aspect].append(figures.Bar(one.metric, estimate.value, estimate.low, estimate.high, one.rank))
    numbers = [
        (aspect, bar.label, bar.rank, bar.value, bar.low, bar.high) for aspect, bars in lines.items() for bar in bars
    ]
    confidence = f"{agreement.plan.resampling.confidence:.0%}"
    caption = f"Agreement with people ({first}) with {confidence} intervals, best metric on top"
    if agreement.p_values:
        caption += "; blue circles are the best cluster, dotted lines part the clusters"
    return Picture("forest", "forest", caption + ".", lambda: figures.forest(shown, first),
                   ("aspect", "metric", "rank", first, "low", "high"), numbers)  # fmt: skip


def scatter_pictures(agreement: Agreement, aspect: str) -> Iterator[Picture]:
    """Every metric against one aspect; at system level a point is a system, else a row."""
    columns = _points(agreement, aspect)
    first = agreement.plan.statistics[0]
    notes = {
        one.metric: f"{first} {interval(one.estimates[first])}" for one in agreement.judgements if one.aspect == aspect
    }
    for name, metrics in _pages(agreement, "scatter", aspect):
        panels = [figures.Panel(metric, notes[metric], columns.scores[metric]) for metric in metrics]
        lines = zip(columns.ids, columns.groups, columns.human, *(panel.values for panel in panels), strict=True)
        yield Picture(
            "scatter",
            name,
            f"Scores of each metric against people's{_of(aspect)}, one point per {columns.unit}; "
            "the dashed line is the least-squares line.",
            lambda panels=panels: figures.scatter(columns.human, panels, _people(aspect), columns.groups),  # type: ignore[misc]
            (columns.unit, "group", _people(aspect), *metrics),
            list(lines),
        )


def violin_pictures(agreement: Agreement, aspect: str) -> Iterator[Picture]:
    """The spread of scores where people gave low, middling and high scores."""
    human = agreement.table.human[aspect]
    bins, rows_of, even = _human_bins(human)
    what = f"{len(bins)} parts of the rows" if even else "score"
    scale = f"score in {len(bins)} parts of the rows" if even else "score"
    for name, metrics in _pages(agreement, "violins", aspect):
        scores = {metric: agreement.table.scores[metric] for metric in metrics}
        panels = [figures.Panel(metric, "", [scores[metric][rows] for rows in rows_of]) for metric in metrics]
        numbers = [
            (metric, label.replace("\n", " "), len(rows), *np.quantile(scores[metric][rows], [0, 0.25, 0.5, 0.75, 1]))
            for metric in metrics
            for label, rows in zip(bins, rows_of, strict=True)
        ]
        yield Picture(
            "violins",
            name,
            f"Spread of each metric's scores by people's {scale}{_of(aspect)}; bar: middle half, dot: median. The "
            "better the metric, the less the violins overlap.",
            lambda panels=panels: figures.violins(bins, panels, f"{_people(aspect)}, {what}"),  # type: ignore[misc]
            ("metric", "people", "n", "lowest", "quarter", "median", "three_quarters", "highest"),
            numbers,
        )


def correlation_picture(agreement: Agreement) -> Picture:
    """Every column against every column, over all rows."""
    first = agreement.plan.statistics[0]
    statistic = first if first in CORRELATIONS else "spearman"
    best = [one.metric for one in agreement.judgements if one.aspect == agreement.aspects[0]]
    columns = {_people(aspect): values for aspect, values in agreement.table.human.items()}
    columns |= {metric: agreement.table.scores[metric] for metric in best}
    values = list(columns.values())
    matrix = np.empty((len(values), len(values)))
    for one, two in combinations_with_replacement(range(len(values)), 2):
        matrix[one, two] = matrix[two, one] = _correlated(statistic, values[one], values[two])
    return Picture(
        "correlation",
        "correlation",
        f"Correlation ({statistic}) between people and metrics over all {len(agreement.table.rows)} rows. Metrics that "
        "correlate highly say the same; an empty cell is a constant column.",
        lambda: figures.correlations(list(columns), matrix, statistic),
        ("", *columns),
        [(name, *line) for name, line in zip(columns, matrix.tolist(), strict=True)],
    )


def length_pictures(agreement: Agreement, aspect: str) -> Iterator[Picture]:
    """How far each metric's order is from people's, by length."""
    lengths, what = _lengths(agreement)
    people = places(agreement.table.human[aspect])
    rows_of = _length_bins(lengths)
    curves = {name: _curve(np.abs(places(scores) - people), lengths, rows_of)
              for name, scores in agreement.table.scores.items()}  # fmt: skip
    for name, metrics in _pages(agreement, "length", aspect):
        panels = [figures.Panel(metric, "", curves[metric]) for metric in metrics]
        mean = np.mean([curves[metric].mean for metric in metrics], axis=0)
        numbers = [
            (metric, lengths[rows].min(), lengths[rows].max(), len(rows), mean, low, high)
            for metric in metrics
            for rows, mean, low, high in zip(
                rows_of, curves[metric].mean, curves[metric].low, curves[metric].high, strict=True
            )
        ]
        yield Picture(
            "length",
            name,
            f"Distance between the metric's and people's order of the rows{_of(aspect)}, by {what}: mean in "
            f"each of {len(rows_of)} equally large bins, with normal 95% intervals. 33 is what random orders give.",
            lambda panels=panels, mean=mean: figures.length_errors(panels, mean, what),  # type: ignore[misc]
            ("metric", "shortest", "longest", "n", "mean_distance", "low", "high"),
            numbers,
        )


@dataclass(frozen=True, eq=False)
class _Points:
    """What a scatter plot shows, and what a point is."""

    unit: str
    ids: list[str]
    groups: list[str]
    human: Floats
    scores: dict[str, Floats]


def _points(agreement: Agreement, aspect: str) -> _Points:
    table, plan = agreement.table, agreement.plan
    human, scores = table.human[aspect], dict(table.scores)
    groups = table.labels(plan.by or "system")
    if plan.level != "system":
        return _Points("row", [row.id for row in table.rows], groups, human, scores)
    together: dict[tuple[str, str], list[int]] = {}
    for place, key in enumerate(zip(groups if plan.by else [""] * len(groups), table.labels("system"), strict=True)):
        together.setdefault(key, []).append(place)

    def means(values: Floats) -> Floats:
        return np.array([values[rows].mean() for rows in together.values()])

    systems = [system for _, system in together]
    return _Points("system", systems, [group for group, _ in together], means(human),
                   {name: means(values) for name, values in scores.items()})  # fmt: skip


def _pages(agreement: Agreement, kind: str, aspect: str) -> Iterator[tuple[str, list[str]]]:
    """File name and metrics of each figure, best metrics first."""
    metrics = [one.metric for one in agreement.judgements if one.aspect == aspect]
    number = agreement.aspects.index(aspect) + 1
    base = kind if len(agreement.aspects) == 1 else f"{kind}_{number}_{re.sub(r'[^a-z0-9]+', '-', aspect.lower())[:40]}"
    for page, first in enumerate(range(0, len(metrics), PANELS), 1):
        yield base if len(metrics) <= PANELS else f"{base}_page{page}", metrics[first : first + PANELS]


def _human_bins(human: Floats) -> tuple[list[str], list[Any], bool]:
    """Labels, the rows of each bin, and whether the bins are fifths (else single values)."""
    values = np.unique(human)
    if len(values) <= CATEGORIES:
        return [f"{value:.4g}" for value in values], [np.flatnonzero(human == value) for value in values], False
    inner = np.unique(np.quantile(human, np.arange(1, FIFTHS) / FIFTHS))
    bin_of_row = np.searchsorted(inner, human)
    rows_of = [np.flatnonzero(bin_of_row == place) for place in np.unique(bin_of_row)]
    spread = float(np.ptp(human))
    digits = max(0, 2 - int(np.floor(np.log10(spread))))
    ends = [(f"{human[rows].min():.{digits}f}", f"{human[rows].max():.{digits}f}") for rows in rows_of]
    if max(len(end) for pair in ends for end in pair) > LONGEST_END:
        return [str(place + 1) for place in range(len(rows_of))], rows_of, True
    return [low if low == high else f"{low}\nto\n{high}" for low, high in ends], rows_of, True


def _lengths(agreement: Agreement) -> tuple[Floats, str]:
    rows = agreement.table.rows
    if all(row.references for row in rows):
        return np.array([np.mean([len(text.split()) for text in row.references]) for row in rows]), (
            "words in the reference" if all(len(row.references) == 1 for row in rows) else "mean words per reference"
        )
    return np.array([float(len(row.candidate.split())) for row in rows]), "words in the candidate"


def _length_bins(lengths: Floats) -> list[Any]:
    """Rows of equally large bins, fewer if lengths are tied or rows are few; no bin is empty."""
    count = max(1, min(LENGTH_BINS, len(lengths) // FEWEST_IN_BIN))
    inner = np.unique(np.quantile(lengths, np.arange(1, count) / count))
    bin_of_row = np.searchsorted(inner, lengths)
    return [np.flatnonzero(bin_of_row == place) for place in np.unique(bin_of_row)]


def _curve(apart: Floats, lengths: Floats, rows_of: Sequence[Any]) -> figures.Curve:
    mean = np.array([apart[rows].mean() for rows in rows_of])
    half = np.array([1.96 * apart[rows].std(ddof=1) / len(rows) ** 0.5 if len(rows) > 1 else 0.0 for rows in rows_of])
    return figures.Curve(
        np.array([lengths[rows].mean() for rows in rows_of]), mean, np.maximum(mean - half, 0), mean + half
    )


def _correlated(statistic: str, one: Floats, two: Floats) -> float:
    try:
        return correlation(statistic)(one, two)
    except UndefinedStatisticError:
        return float("nan")


def _people(aspect: str) -> str:
    return "people" if aspect == PLAIN else f"people: {showable(aspect)}"


def _of(aspect: str) -> str:
    return "" if aspect == PLAIN else f" ({showable(aspect)})"


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else showable(str(value))
