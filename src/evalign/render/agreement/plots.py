"""Figures of agreement with people: forest, scatter, violins, correlation matrix, error by length.

In: names and arrays, one panel per metric. Out: matplotlib Figures in the look of `figures.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evalign.core import Floats
from evalign.render.figures import INK, MAIN, MARKERS, OTHER, PALETTE, Panel, colour_map, grid, in_style
from evalign.render.tables import labels, showable, wrap

if TYPE_CHECKING:
    from evalign.render.figures import Axes, Figure

MAX_COLOURED_GROUPS = len(PALETTE)
MAX_MARKS = 4000  # points or hexagons in one figure, so that its SVG stays well below a megabyte
MAX_COLUMNS = 3
TITLE_WIDTH = 40  # characters above a panel
MAX_NUMBERED_COLUMNS = 16  # a wider matrix has no numbers in its cells
COLOUR_STEPS = 24


@dataclass(frozen=True)
class Bar:
    """One line of a forest plot."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    rank: int | None = None


@dataclass(frozen=True, eq=False)
class Curve:
    """Means with intervals over bins."""

    centre: Floats
    mean: Floats
    low: Floats
    high: Floats


@in_style
def forest(panels: Mapping[str, Sequence[Bar]], statistic: str) -> Figure:
    """Draw estimates with intervals, one panel per aspect, best metric on top; the best cluster is blue circles."""
    columns = 1 if len(panels) == 1 else 2
    names = list(dict.fromkeys(bar.label for bars in panels.values() for bar in bars))
    fitted = labels(names, 30, max_lines=2)
    label_of = dict(zip(names, fitted.names, strict=True))
    heights = [sum(0.16 + 0.17 * (1 + label_of[bar.label].count("\n")) for bar in bars) for bars in panels.values()]
    size = 7.6 if columns == 1 else 12.6, -(-len(panels) // columns) * (max(heights) + 0.9)
    figure, axes = grid(len(panels), columns, size, sharex=True)
    for ax, (aspect, bars) in zip(axes, panels.items(), strict=True):
        _forest_panel(ax, [(label_of[bar.label], bar) for bar in bars])
        ax.set_title(_line(aspect, 60), loc="left", fontweight="bold")
        ax.tick_params(labelbottom=True)
    for ax in axes[-columns:]:
        ax.set_xlabel(f"agreement with people ({statistic})")
    _write_key(figure, fitted.key)
    return figure


@in_style
def scatter(
    human: Floats, panels: Sequence[Panel], people: str, groups: Sequence[str] | None = None,
    links: Sequence[str] | None = None,
) -> Figure:  # fmt: skip
    """Draw each metric against people; if there are too many points, as hexagons coloured by number of rows.

    Args:
        human: Human scores.
        panels: Scores of the metrics.
        people: Label of the human scores.
        groups: Group of each point, shown as colour and marker.
        links: Target of a click on each point.
    """
    figure, axes = _panels(panels)
    dense = too_many(len(human), len(panels))
    names = sorted(set(groups or ()))
    coloured = not dense and 1 < len(names) <= MAX_COLOURED_GROUPS
    for ax, panel in zip(axes, panels, strict=True):
        if dense:
            # n across makes about n / 1.7 rows of two interleaved lattices
            across = max(8, min(32, int((MAX_MARKS / len(panels) / 1.2) ** 0.5)))
            colours = colour_map("cividis_r", COLOUR_STEPS)
            hexagons = ax.hexbin(human, panel.values, gridsize=across, mincnt=1, cmap=colours, linewidths=0)
            _colour_bar(figure, hexagons, ax, label="rows", pad=0.02)
        else:
            labelled = np.array(groups if coloured else [""] * len(human), dtype=object)
            size = 24 if len(human) <= 200 else 14
            for index, group in enumerate(names if coloured else [""]):
                rows = labelled == group
                points = ax.scatter(human[rows], panel.values[rows], s=size, c=PALETTE[index], marker=MARKERS[index],
                                    alpha=0.65, linewidths=0, label=_line(group, 24))  # fmt: skip
                if links is not None:
                    points.set_urls([links[row] for row in np.flatnonzero(rows).tolist()])
        _trend(ax, human, panel.values)
    _outer_labels(axes, _line(people, 50), "metric")
    if coloured:
        columns = min(len(names), 2 * _columns(len(panels)))
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=columns, markerscale=1.6)
    return figure


def too_many(points: int, panels: int) -> bool:
    """Return whether a scatter plot needs hexagons instead of points."""
    return points * panels > MAX_MARKS


@in_style
def violins(bins: Sequence[str], panels: Sequence[Panel], people: str) -> Figure:
    """Draw the distribution of each metric's scores in each bin of human scores, with quartiles."""
    figure, axes = _panels(panels)
    positions = np.arange(1, len(bins) + 1)
    colours = colour_map("cividis")(np.linspace(0.15, 0.9, len(bins)))
    for ax, panel in zip(axes, panels, strict=True):
        bodies: Any = ax.violinplot(panel.values, positions=positions, widths=0.85, showextrema=False, points=60)[
            "bodies"
        ]
        for body, colour in zip(bodies, colours, strict=True):
            body.set(facecolor=colour, edgecolor=INK, alpha=0.75, linewidth=0.6)
        quartiles = np.array([np.quantile(values, [0.25, 0.5, 0.75]) for values in panel.values])
        ax.vlines(positions, quartiles[:, 0], quartiles[:, 2], color="black", linewidth=4)
        ax.scatter(positions, quartiles[:, 1], s=26, c="white", edgecolors="black", linewidths=1, zorder=3)
        ax.set_xticks(positions, bins)
        ax.grid(visible=False, axis="x")
        ax.tick_params(labelbottom=True)
    _outer_labels(axes, _line(people, 50), "metric")
    return figure


@in_style
def correlations(names: Sequence[str], matrix: Floats, statistic: str) -> Figure:
    """Draw a correlation matrix; columns are identified by the numbers of the rows. NaN cells are empty."""
    fitted = labels(names, 34, max_lines=2)
    numbers = [str(number) for number in range(1, len(names) + 1)]
    row_labels = [
        label if label.endswith(f"[{number}]") else f"{label} [{number}]"
        for label, number in zip(fitted.names, numbers, strict=True)
    ]
    side = max(2.0, 0.46 * len(names))
    longest = max(len(line) for label in row_labels for line in label.split("\n"))
    figure, (ax,) = grid(1, 1, (side + 1.3 + 0.085 * longest, side + 0.7))
    lowest = min(0.0, float(np.nanmin(matrix))) if np.isfinite(matrix).any() else 0.0
    edges = np.arange(len(names) + 1) - 0.5
    mesh = ax.pcolormesh(edges, edges, np.ma.masked_invalid(matrix), cmap=colour_map("cividis", COLOUR_STEPS),
                         vmin=lowest, vmax=1, edgecolors="white", linewidth=1)  # fmt: skip
    for (row, column), value in np.ndenumerate(matrix if len(names) <= MAX_NUMBERED_COLUMNS else np.zeros((0, 0))):
        light = np.isfinite(value) and (value - lowest) / (1 - lowest) > 0.47
        colour = INK if not np.isfinite(value) else "black" if light else "white"
        ax.text(column, row, f"{value:.2f}" if np.isfinite(value) else "–", ha="center", va="center", color=colour)
    ax.set_xticks(range(len(names)), numbers)
    ax.set_yticks(range(len(names)), row_labels)
    ax.xaxis.tick_top()
    ax.invert_yaxis()
    ax.set_aspect("equal")
    ax.grid(visible=False)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    _colour_bar(figure, mesh, ax, label=statistic, pad=0.03, shrink=min(1.0, 3 / side))
    _write_key(figure, fitted.key)
    return figure


@in_style
def length_errors(panels: Sequence[Panel], mean: Floats, length: str) -> Figure:
    """Draw each metric's distance from people by length of the text (a `Curve`); the mean of all metrics is dashed."""
    figure, axes = _panels(panels, sharey=True)
    for ax, panel in zip(axes, panels, strict=True):
        curve: Curve = panel.values
        if len(panels) > 1:
            ax.plot(curve.centre, mean, color=INK, linewidth=1, linestyle=(0, (4, 3)), label="mean of these metrics")
        ends = np.stack([curve.mean - curve.low, curve.high - curve.mean])
        ax.errorbar(curve.centre, curve.mean, ends, color=MAIN, marker="o", markersize=5, linewidth=1.4, capsize=3,
                    label="metric, with interval")  # fmt: skip
    axes[0].set_ylim(0, 1.08 * max(float(panel.values.high.max()) for panel in panels) or 1)
    _outer_labels(axes, length, "distance in ranks\n(percentage points)")
    if len(panels) > 1:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return figure


def _columns(panels: int) -> int:
    """Return the number of panels in a row."""
    return 2 if panels == 4 else min(MAX_COLUMNS, panels)


def _panels(panels: Sequence[Panel], **shared: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure with titled axes for each panel, and a key of the shortened titles."""
    columns = _columns(len(panels))
    fitted = labels([panel.title for panel in panels], TITLE_WIDTH)
    width, height = (5.2, 3.9) if len(panels) == 1 else (3.6, 2.9)
    size = columns * width, -(-len(panels) // columns) * height + 0.35
    figure, axes = grid(len(panels), columns, size, **shared)
    for ax, panel, title in zip(axes, panels, fitted.names, strict=True):
        ax.set_title(f"{title}\n{panel.note}" if panel.note else title)
    _write_key(figure, fitted.key)
    return figure, axes


def _colour_bar(figure: Figure, mappable: Any, ax: Axes, **options: Any) -> None:
    bar = figure.colorbar(mappable, ax=ax, **options)
    bar.outline.set_visible(False)
    if bar.solids is not None:
        bar.solids.set_edgecolor("face")  # no seams between the steps


def _forest_panel(ax: Axes, bars: Sequence[tuple[str, Bar]]) -> None:
    for row, (_, bar) in enumerate(bars):
        best = bar.rank == 1
        colour, marker = (MAIN, "o") if best else (OTHER, "s") if bar.rank is not None else (PALETTE[-1], "D")
        if bar.value is not None:
            low, high = (bar.value if end is None else end for end in (bar.low, bar.high))
            ax.plot([low, high], [row, row], color=colour, linewidth=2.2, solid_capstyle="butt")
            ax.plot([bar.value], [row], color=colour, marker=marker, markersize=7)
        if row and bar.rank != bars[row - 1][1].rank:
            ax.axhline(row - 0.5, color=INK, linewidth=0.6, linestyle=(0, (2, 3)))
    ax.set_yticks(range(len(bars)), [label for label, _ in bars])
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    right = ax.secondary_yaxis("right")
    right.set_yticks(range(len(bars)), [_bar_text(bar) for _, bar in bars])
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)
    low, high = ax.get_xlim()
    if low < 0 < high:
        ax.axvline(0, color=INK, linewidth=0.8)


def _bar_text(bar: Bar) -> str:
    if bar.value is None:
        return "no value"
    ends = "" if bar.low is None or bar.high is None else f" [{bar.low:.3f}, {bar.high:.3f}]"
    return f"{bar.value:.3f}{ends}" + ("" if bar.rank is None else f"  rank {bar.rank}")


def _trend(ax: Axes, human: Floats, scores: Floats) -> None:
    """Draw the least-squares line, unless the human scores are constant."""
    spread = human - human.mean()
    if (spread**2).sum() > 0:
        slope = (spread * (scores - scores.mean())).sum() / (spread**2).sum()
        ends = np.array([human.min(), human.max()])
        ax.plot(ends, scores.mean() + slope * (ends - human.mean()), color=OTHER, linewidth=1.8, linestyle=(0, (5, 2)))


def _outer_labels(axes: Sequence[Axes], x_label: str, y_label: str) -> None:
    columns = _columns(len(axes))
    for index, ax in enumerate(axes):
        if index + columns >= len(axes):
            ax.set_xlabel(x_label)
        if index % columns == 0:
            ax.set_ylabel(y_label)


def _write_key(figure: Figure, key: Sequence[str]) -> None:
    """Write the full names of shortened labels below the panels."""
    if key:
        columns = int(figure.get_figwidth() * 13)
        lines = [line for entry in key for line in wrap(entry, columns)]
        figure.set_figheight(figure.get_figheight() + 0.17 * len(lines))
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=9)


def _line(text: str, width: int) -> str:
    """Return one line, cut if it is longer than `width`."""
    first, *more = wrap(showable(text), width - 1)
    return first + ("…" if more else "")
