"""Figures of studies: lengths, ranges of scores, violins in rows, and positives against negatives.

In: labelled panels of plain arrays and curves. Out: matplotlib Figures in the look of `plots`, which alone knows
matplotlib. What a colour says, a marker, a line style or a place says again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evalign.render.figures import INK, MAIN, MARKERS, OTHER, PALETTE, Panel, grid, in_style
from evalign.render.labels import wrap
from evalign.types import Floats

if TYPE_CHECKING:
    from evalign.render.figures import Figure

LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
WIDTH = 11.0  # inches: two panels side by side can be read on a page
BINS = 30
TITLE = 58  # characters over a panel of half the width
LABEL = 24  # characters beside a row
ROW = 0.42  # inches
LETTERS = 12  # of a legend that go into an inch
LEAST_SPAN = 0.02  # of the axis of a figure of ranges


@dataclass(frozen=True, eq=False)
class Shape:
    """A sample as it is drawn: its density, and quartiles."""

    places: Floats
    heights: Floats
    quartiles: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Violin:
    """One row of violins: a single shape, or two that lie back to back."""

    label: str
    shapes: Sequence[Shape]


@in_style
def histograms(panels: Sequence[Panel], below: str, marks: Sequence[float] = ()) -> Figure:
    """Outlines of histograms, `values` being name -> sample; `marks` are lines across, where they fall inside."""
    figure, axes = _half_panels(len(panels), 2.9, sharex=True)
    highest = max(int(np.max(sample)) for panel in panels for sample in panel.values.values())
    bins = np.arange(0, highest + 2 + highest // BINS, 1 + highest // BINS)  # as many whole numbers in every bin
    for ax, panel in zip(axes, panels, strict=False):
        for place, (name, sample) in enumerate(panel.values.items()):
            counts, _ = np.histogram(sample, bins)
            ax.stairs(
                counts, bins, color=PALETTE[place], linestyle=LINES[place % len(LINES)], linewidth=1.8, label=name
            )
        for mark in marks:
            if mark <= highest:
                ax.axvline(mark, color=INK, linewidth=0.9, linestyle=(0, (2, 3)))
        _head(ax, panel)
        ax.set_xlabel(below)
        ax.tick_params(labelbottom=True)
    axes[0].set_ylabel("texts")
    _name_series(figure, axes[: len(panels)])
    return figure


@in_style
def ranges(panels: Sequence[Panel], series: Sequence[str], below: str, packed: bool = False) -> Figure:
    """Rows of dots with the range around each; `values` is row -> series -> (low, middle, high).

    A series has the same place in every row, unless rows are `packed`: then those that a row has share its height.
    """
    rows = list(dict.fromkeys(row for panel in panels for row in panel.values))
    height = max(0.45, 0.11 * len(series) + 0.16)
    figure, axes = _half_panels(len(panels), height * len(rows) + 1.2, sharex=True, sharey=True)
    places = _places(panels, rows, series, packed)
    for ax, panel in zip(axes, panels, strict=False):
        for place, name in enumerate(series):
            found = [(row, panel.values[row][name]) for row in panel.values if name in panel.values[row]]
            if not found:
                continue
            y = np.array([rows.index(row) + places[row, name] for row, _ in found])
            low, middle, high = np.array([numbers for _, numbers in found]).T
            colour = PALETTE[place % len(PALETTE)]
            ax.hlines(y, low, high, color=colour, linewidth=1.6)
            ax.plot(
                middle,
                y,
                color=colour,
                marker=MARKERS[place % len(MARKERS)],
                markersize=5,
                linestyle="none",
                label=name,
            )
        for border in range(1, len(rows)):
            ax.axhline(border - 0.5, color=INK, linewidth=0.4, linestyle=(0, (1, 3)))
        ax.set_yticks(range(len(rows)), ["\n".join(wrap(row, LABEL)) for row in rows])
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.grid(visible=False, axis="y")
        ax.tick_params(labelbottom=True)
        ax.set_xlabel(below)
        _head(ax, panel)
    _at_least(axes[0], LEAST_SPAN)
    _name_series(figure, axes[: len(panels)])
    return figure


@in_style
def violin_rows(panels: Sequence[Panel], below: str, names: Sequence[str] = ()) -> Figure:
    """Violins lying in rows, bar: middle half, dot: median; with two `names` the first lies above, the second below."""
    most = max(len(panel.values) for panel in panels)
    each = ROW * (1.5 if len(names) > 1 else 1)
    figure, axes = _half_panels(len(panels), each * most + 1.1, sharex=len(panels) > 1)
    for ax, panel in zip(axes, panels, strict=False):
        for row, violin in enumerate(panel.values):
            paired = len(violin.shapes) > 1
            for side, shape in enumerate(violin.shapes):
                _violin(ax, row, shape, side, paired)
        ax.set_yticks(range(len(panel.values)), ["\n".join(wrap(violin.label, LABEL)) for violin in panel.values])
        ax.set_ylim(len(panel.values) - 0.5, -0.5)
        ax.grid(visible=False, axis="y")
        ax.tick_params(labelbottom=True)
        ax.set_xlabel(below)
        _head(ax, panel)
    if len(names) > 1:
        patches = [axes[0].fill_between([], [], [], color=colour, alpha=0.55, label=name)
                   for colour, name in zip((MAIN, OTHER), _placed(names), strict=False)]  # fmt: skip
        figure.legend(handles=patches, loc="outside upper left", ncols=2)
    return figure


@in_style
def densities(panels: Sequence[Panel], below: str) -> Figure:
    """Curves of several samples in each panel, filled; `values` is name -> Shape. Panels have their own scales."""
    figure, axes = _grid_of(len(panels), 3 if len(panels) % 3 == 0 else 2, 2.6)
    for ax, panel in zip(axes, panels, strict=False):
        for place, (name, shape) in enumerate(panel.values.items()):
            colour, line = PALETTE[place], LINES[place % len(LINES)]
            ax.fill_between(shape.places, 0, shape.heights, color=colour, alpha=0.22, linewidth=0)
            ax.plot(shape.places, shape.heights, color=colour, linestyle=line, linewidth=1.7, label=name)
            ax.axvline(shape.quartiles[1], color=colour, linestyle=line, linewidth=0.9)
        ax.set_ylim(bottom=0)
        ax.set_yticks([])
        ax.locator_params(axis="x", nbins=6)
        _head(ax, panel, 40)
        ax.set_xlabel(below)
    _name_series(figure, axes[: len(panels)])
    return figure


def _violin(ax: Any, row: int, shape: Shape, side: int, paired: bool) -> None:
    """A whole violin, or the half above (side 0) or below (side 1) the row's line."""
    reach = 0.44 * shape.heights / max(float(shape.heights.max()), 1e-12)
    above, below = (reach if side == 0 or not paired else 0), (reach if side == 1 or not paired else 0)
    colour = OTHER if paired and side else MAIN
    ax.fill_between(shape.places, row - above, row + below, color=colour, alpha=0.55, linewidth=0)
    place = row + ((-0.13, 0.13)[side] if paired else 0)
    ax.hlines(place, shape.quartiles[0], shape.quartiles[2], color=INK, linewidth=2.6)
    marker = "s" if paired and side else "o"
    ax.plot([shape.quartiles[1]], [place], marker=marker, markersize=4.6, color="white", markeredgecolor="black")


def _placed(names: Sequence[str]) -> list[str]:
    return [f"{name} ({where} the line)" for name, where in zip(names, ("above", "below"), strict=False)]


def _places(
    panels: Sequence[Panel], rows: Sequence[str], series: Sequence[str], packed: bool
) -> dict[tuple[str, str], float]:
    """How far above or below the middle of its row a series lies."""
    places: dict[tuple[str, str], float] = {}
    for row in rows:
        own = [name for name in series if not packed or any(name in panel.values.get(row, ()) for panel in panels)]
        reach = 0.34 * (len(own) - 1) / max(1, len(series) - 1)
        places |= {(row, name): float(y) for name, y in zip(own, np.linspace(-reach, reach, len(own)), strict=True)}
    return places


def _at_least(ax: Any, span: float) -> None:
    """Values that hardly differ are shown so: rounding errors must not fill a picture."""
    low, high = ax.get_xlim()
    if high - low < span:
        ax.set_xlim(high - span, high + 0.05 * span)


def _name_series(figure: Figure, axes: Sequence[Any]) -> None:
    """Above the panels every name once, as many side by side as fit; a panel may lack some."""
    found: dict[str, Any] = {}
    for ax in axes:
        handles, names = ax.get_legend_handles_labels()
        for handle, name in zip(handles, names, strict=True):
            found.setdefault(name, handle)
    columns = int(figure.get_figwidth() * LETTERS / (max(map(len, found)) + 6)) if found else 1
    figure.legend(found.values(), found.keys(), loc="outside upper left", ncols=max(1, min(columns, len(found))))


def _head(ax: Any, panel: Panel, width: int = TITLE) -> None:
    lines = [*wrap(panel.title, width), *(wrap(panel.note, width) if panel.note else [])]
    ax.set_title("\n".join(lines), loc="left")


def _half_panels(count: int, height: float, **shared: Any) -> tuple[Figure, list[Any]]:
    return _grid_of(count, 2, height, **shared)


def _grid_of(count: int, columns: int, height: float, **shared: Any) -> tuple[Figure, list[Any]]:
    """At most so many panels side by side; places without a panel are removed."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure, axes = grid(rows, columns, (WIDTH if columns > 1 else 0.66 * WIDTH, rows * height + 0.4), **shared)
    for ax in axes[count:]:
        ax.remove()
    return figure, axes
