"""Figures of studies: lengths, ranges of scores, violins in rows, and positives against negatives.

In: labelled panels of plain arrays and curves. Out: matplotlib Figures in the look of `figures.py`. Markers, line
styles or positions repeat what colours show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evalign.core import Floats
from evalign.render.figures import GRID, INK, MAIN, MARKERS, OTHER, PALETTE, Panel, grid, in_style
from evalign.render.tables import wrap

if TYPE_CHECKING:
    from evalign.render.figures import Axes, Figure

LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
FIGURE_INCHES = 11.0  # width: two panels in a row are readable on a page
MAX_BINS = 30
TITLE_CHARACTERS = 58  # above a panel of half the width
LABEL_CHARACTERS = 24  # next to a row
ROW_INCHES = 0.42
LEGEND_CHARACTERS_PER_INCH = 12
MIN_AXIS_SPAN = 0.02  # of a figure of ranges


@dataclass(frozen=True, eq=False)
class Shape:
    """A sample as a density with quartiles."""

    points: Floats
    heights: Floats
    quartiles: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Violin:
    """A row of violins: a single shape, or two back to back."""

    label: str
    shapes: Sequence[Shape]


@in_style
def histograms(panels: Sequence[Panel], x_label: str, marks: Sequence[float] = ()) -> Figure:
    """Draw outlines of histograms; `values` is name -> sample, `marks` are vertical lines."""
    figure, axes = _grid(panels, 2.9, sharex=True)
    highest = max(int(np.max(sample)) for panel in panels for sample in panel.values.values())
    bins = np.arange(0, highest + 2 + highest // MAX_BINS, 1 + highest // MAX_BINS)  # equally many integers per bin
    for ax, panel in zip(axes, panels, strict=True):
        for index, (name, sample) in enumerate(panel.values.items()):
            counts, _ = np.histogram(sample, bins)
            line = LINES[index % len(LINES)]
            ax.stairs(counts, bins, color=PALETTE[index], linestyle=line, linewidth=1.8, label=name)
        for mark in marks:
            ax.axvline(mark, color=INK, linewidth=0.9, linestyle=(0, (2, 3)))
            ax.annotate(f"{mark:g}", (mark, 1), xycoords=("data", "axes fraction"), xytext=(-3, -3),
                        textcoords="offset points", ha="right", va="top")  # fmt: skip
        ax.set_xlim(0, 1.03 * max(highest, *marks, 0))
        _label(ax, panel, x_label)
    axes[0].set_ylabel("texts")
    _name_series(figure, axes)
    return figure


@in_style
def ranges(panels: Sequence[Panel], series: Sequence[str], x_label: str, packed: bool = False) -> Figure:
    """Draw rows of dots with ranges; `values` is row -> series -> (low, middle, high).

    A series has the same offset in every row, unless rows are `packed`: then the series of a row share its height.
    """
    rows = list(dict.fromkeys(row for panel in panels for row in panel.values))
    height = max(0.45, 0.11 * len(series) + 0.16)
    figure, axes = _grid(panels, height * len(rows) + 1.2, sharex=True, sharey=True)
    offsets = _row_offsets(panels, rows, series, packed)
    for ax, panel in zip(axes, panels, strict=True):
        for index, name in enumerate(series):
            values = {row: panel.values[row][name] for row in panel.values if name in panel.values[row]}
            if not values:
                continue
            y = np.array([rows.index(row) + offsets[row, name] for row in values])
            low, middle, high = np.array(list(values.values())).T
            colour, marker = PALETTE[index % len(PALETTE)], MARKERS[index % len(MARKERS)]
            ax.hlines(y, low, high, color=colour, linewidth=1.6)
            ax.plot(middle, y, color=colour, marker=marker, markersize=5, linestyle="none", label=name)
        for border in range(1, len(rows)):
            ax.axhline(border - 0.5, color=INK, linewidth=0.4, linestyle=(0, (1, 3)))
        _name_rows(ax, rows)
        _label(ax, panel, x_label)
    _at_least(axes[0], MIN_AXIS_SPAN)
    _name_series(figure, axes)
    return figure


@in_style
def violin_rows(
    panels: Sequence[Panel], x_label: str, names: Sequence[str] = (), marks: Sequence[float] = ()
) -> Figure:
    """Draw horizontal violins, bar: middle half, dot: median; with two `names`, the first is above the second.

    `marks` are vertical lines.
    """
    most = max(len(panel.values) for panel in panels)
    each = ROW_INCHES * (1.5 if len(names) > 1 else 1)
    figure, axes = _grid(panels, each * most + 1.1, sharex=len(panels) > 1)
    for ax, panel in zip(axes, panels, strict=True):
        for row, violin in enumerate(panel.values):
            paired = len(violin.shapes) > 1
            for side, shape in enumerate(violin.shapes):
                _violin(ax, row, shape, side, paired)
        for mark in marks:
            ax.axvline(mark, color=INK, linewidth=0.9, linestyle=(0, (2, 3)))
        _name_rows(ax, [violin.label for violin in panel.values])
        _label(ax, panel, x_label)
    if len(names) > 1:
        sides = ((MAIN, "above"), (OTHER, "x_label"))
        patches = [axes[0].fill_between([], [], [], color=colour, alpha=0.55, label=f"{name} ({side} the line)")
                   for name, (colour, side) in zip(names, sides, strict=False)]  # fmt: skip
        figure.legend(handles=patches, loc="outside upper left", ncols=2)
    return figure


@in_style
def mirrored_densities(panels: Sequence[Panel], x_label: str, sides: tuple[str, str]) -> Figure:
    """Draw densities of several samples per panel on a common axis; `values` is side -> name -> Shape.

    The first of `sides` points up, the second down, each as high as its highest curve.
    """
    figure, axes = _grid(panels, 2.9, 3 if len(panels) % 3 == 0 else 2, sharex=True)
    for ax, panel in zip(axes, panels, strict=True):
        for side, sign in zip(sides, (1, -1), strict=True):
            highest = max(float(shape.heights.max()) for shape in panel.values[side].values())
            for index, (name, shape) in enumerate(panel.values[side].items()):
                colour, line = PALETTE[index], LINES[index % len(LINES)]
                heights = sign * shape.heights / highest
                ax.fill_between(shape.points, 0, heights, color=colour, alpha=0.22, linewidth=0)
                ax.plot(shape.points, heights, color=colour, linestyle=line, linewidth=1.7, label=name)
                ax.vlines(shape.quartiles[1], 0, sign, color=colour, linestyle=line, linewidth=0.9)
            ax.annotate(side, (0.99, 0.5 + 0.47 * sign), xycoords="axes fraction", ha="right",
                        va="top" if sign > 0 else "bottom")  # fmt: skip
        ax.axhline(0, color=INK, linewidth=0.8)
        ax.set_ylim(-1.3, 1.3)
        ax.set_yticks([])
        ax.locator_params(axis="x", nbins=6)
        _label(ax, panel, x_label, 54)
    _name_series(figure, axes)
    return figure


@in_style
def bands(panels: Sequence[Panel], x_label: str, marked: tuple[int, int]) -> Figure:
    """Draw curves with intervals; `values` is name -> (points, 3) low, middle, high at the points 0, 1, 2, ...

    A panel's note labels the y axis; the range of the `marked` points is grey.
    """
    figure, axes = _grid(panels, 2.9, sharex=True)
    for ax, panel in zip(axes, panels, strict=True):
        for index, (name, values) in enumerate(panel.values.items()):
            points = np.arange(len(values))
            colour, line = PALETTE[index % len(PALETTE)], LINES[index % len(LINES)]
            ax.fill_between(points, values[:, 0], values[:, 2], color=colour, alpha=0.18, linewidth=0)
            ax.plot(points, values[:, 1], color=colour, linestyle=line, linewidth=1.5, label=name,
                    marker=MARKERS[index % len(MARKERS)], markersize=3.5)  # fmt: skip
            ax.set_xticks(points[::2])
        ax.axvspan(marked[0] - 0.5, marked[1] + 0.5, color=GRID, alpha=0.6, linewidth=0)
        _label(ax, replace(panel, note=""), x_label)
        ax.set_ylabel("\n".join(wrap(panel.note, 34)))
    _name_series(figure, axes)
    return figure


def _violin(ax: Any, row: int, shape: Shape, side: int, paired: bool) -> None:
    """Draw a violin, or the half above (side 0) or below (side 1) the row's line."""
    reach = 0.44 * shape.heights / max(float(shape.heights.max()), 1e-12)
    above, below = (reach if side == 0 or not paired else 0), (reach if side == 1 or not paired else 0)
    colour = OTHER if paired and side else MAIN
    ax.fill_between(shape.points, row - above, row + below, color=colour, alpha=0.55, linewidth=0)
    y = row + ((-0.13, 0.13)[side] if paired else 0)
    ax.hlines(y, shape.quartiles[0], shape.quartiles[2], color=INK, linewidth=2.6)
    marker = "s" if paired and side else "o"
    ax.plot([shape.quartiles[1]], [y], marker=marker, markersize=4.6, color="white", markeredgecolor="black")


def _row_offsets(
    panels: Sequence[Panel], rows: Sequence[str], series: Sequence[str], packed: bool
) -> dict[tuple[str, str], float]:
    """Return the offset of each series from the middle of its row."""
    offsets: dict[tuple[str, str], float] = {}
    for row in rows:
        present = [name for name in series if not packed or any(name in panel.values.get(row, ()) for panel in panels)]
        reach = 0.34 * (len(present) - 1) / max(1, len(series) - 1)
        steps = np.linspace(-reach, reach, len(present))
        offsets |= {(row, name): float(y) for name, y in zip(present, steps, strict=True)}
    return offsets


def _at_least(ax: Any, span: float) -> None:
    """Widen an axis of almost equal values, so that rounding errors do not fill the figure."""
    low, high = ax.get_xlim()
    if high - low < span:
        ax.set_xlim(high - span, high + 0.05 * span)


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), ["\n".join(wrap(name, LABEL_CHARACTERS)) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")


def _name_series(figure: Figure, axes: Sequence[Axes]) -> None:
    """Draw a common legend above the panels."""
    handles: dict[str, Any] = {}
    for ax in axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    columns = int(figure.get_figwidth() * LEGEND_CHARACTERS_PER_INCH / (max(map(len, handles)) + 6)) if handles else 1
    figure.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=max(1, min(columns, len(handles))))


def _label(ax: Axes, panel: Panel, x_label: str, width: int = TITLE_CHARACTERS) -> None:
    """Set title, note and x label of a panel."""
    lines = [*wrap(panel.title, width), *(wrap(panel.note, width) if panel.note else [])]
    ax.set_title("\n".join(lines), loc="left")
    ax.set_xlabel(x_label)
    ax.tick_params(labelbottom=True)


def _grid(panels: Sequence[Panel], height: float, columns: int = 2, **shared: Any) -> tuple[Figure, list[Axes]]:
    """Return axes for all panels, at most `columns` in a row; `height` is that of a panel in inches."""
    columns = min(columns, len(panels))
    size = FIGURE_INCHES if columns > 1 else 0.66 * FIGURE_INCHES, -(-len(panels) // columns) * height + 0.4
    return grid(len(panels), columns, size, **shared)
