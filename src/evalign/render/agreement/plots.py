"""Figures of agreement with people: forest, scatter, violins, correlation matrix, error by length.

In: names and arrays, one panel per metric. Out: matplotlib Figures in the look of `figures.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evalign.render.figures import INK, MAIN, MARKERS, OTHER, PALETTE, Panel, colour_map, grid, in_style
from evalign.render.labels import labels, showable, wrap
from evalign.types import Floats

if TYPE_CHECKING:
    from evalign.render.figures import Axes, Figure

MOST_GROUPS = len(PALETTE)
MOST_MARKS = 4000  # points or hexagons in one figure, so that its SVG stays well below a megabyte
COLUMNS = 3
TITLE_WIDTH = 40  # characters over a panel
NUMBERED = 16  # a matrix wider than this has no numbers in its cells
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
    """Estimates with their intervals, one panel per aspect, best metric on top; the best cluster is blue and round."""
    columns = 1 if len(panels) == 1 else 2
    names = list(dict.fromkeys(bar.label for bars in panels.values() for bar in bars))
    fitted = labels(names, 30, most_lines=2)
    shown = dict(zip(names, fitted.shown, strict=True))
    heights = [sum(0.16 + 0.17 * (1 + shown[bar.label].count("\n")) for bar in bars) for bars in panels.values()]
    size = 7.6 if columns == 1 else 12.6, -(-len(panels) // columns) * (max(heights) + 0.9)
    figure, axes = grid(len(panels), columns, size, sharex=True)
    for ax, (aspect, bars) in zip(axes, panels.items(), strict=True):
        _forest_panel(ax, [(shown[bar.label], bar) for bar in bars])
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
    """Each metric against people; hexagons coloured by their number of rows where there are too many points.

    `links` are where the points lead.
    """
    figure, axes = _panels(panels)
    dense = too_many(len(human), len(panels))
    names = sorted(set(groups or ()))
    coloured = not dense and 1 < len(names) <= MOST_GROUPS
    for ax, panel in zip(axes, panels, strict=True):
        if dense:
            # n across makes about n / 1.7 rows of two interleaved lattices
            across = max(8, min(32, int((MOST_MARKS / len(panels) / 1.2) ** 0.5)))
            colours = colour_map("cividis_r", COLOUR_STEPS)
            hexagons = ax.hexbin(human, panel.values, gridsize=across, mincnt=1, cmap=colours, linewidths=0)
            _colour_bar(figure, hexagons, ax, label="rows", pad=0.02)
        else:
            labelled = np.array(groups if coloured else [""] * len(human), dtype=object)
            size = 24 if len(human) <= 200 else 14
            for place, group in enumerate(names if coloured else [""]):
                rows = labelled == group
                points = ax.scatter(human[rows], panel.values[rows], s=size, c=PALETTE[place], marker=MARKERS[place],
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
    """Whether a scatter plot has hexagons instead of points."""
    return points * panels > MOST_MARKS


@in_style
def violins(bins: Sequence[str], panels: Sequence[Panel], people: str) -> Figure:
    """The spread of each metric's scores in each bin of human scores, with quartiles; `values` is a list of arrays."""
    figure, axes = _panels(panels)
    places = np.arange(1, len(bins) + 1)
    colours = colour_map("cividis")(np.linspace(0.15, 0.9, len(bins)))
    for ax, panel in zip(axes, panels, strict=True):
        bodies: Any = ax.violinplot(panel.values, positions=places, widths=0.85, showextrema=False, points=60)["bodies"]
        for body, colour in zip(bodies, colours, strict=True):
            body.set(facecolor=colour, edgecolor=INK, alpha=0.75, linewidth=0.6)
        quartiles = np.array([np.quantile(values, [0.25, 0.5, 0.75]) for values in panel.values])
        ax.vlines(places, quartiles[:, 0], quartiles[:, 2], color="black", linewidth=4)
        ax.scatter(places, quartiles[:, 1], s=26, c="white", edgecolors="black", linewidths=1, zorder=3)
        ax.set_xticks(places, bins)
        ax.grid(visible=False, axis="x")
        ax.tick_params(labelbottom=True)
    _outer_labels(axes, _line(people, 50), "metric")
    return figure


@in_style
def correlations(names: Sequence[str], matrix: Floats, statistic: str) -> Figure:
    """Columns against columns; the columns are numbered as the rows are. NaN cells are empty."""
    fitted = labels(names, 34, most_lines=2)
    numbers = [str(place + 1) for place in range(len(names))]
    shown = [
        label if label.endswith(f"[{number}]") else f"{label} [{number}]"
        for label, number in zip(fitted.shown, numbers, strict=True)
    ]
    side = max(2.0, 0.46 * len(names))
    longest = max(len(line) for label in shown for line in label.split("\n"))
    figure, (ax,) = grid(1, 1, (side + 1.3 + 0.085 * longest, side + 0.7))
    lowest = min(0.0, float(np.nanmin(matrix))) if np.isfinite(matrix).any() else 0.0
    edges = np.arange(len(names) + 1) - 0.5
    mesh = ax.pcolormesh(edges, edges, np.ma.masked_invalid(matrix), cmap=colour_map("cividis", COLOUR_STEPS),
                         vmin=lowest, vmax=1, edgecolors="white", linewidth=1)  # fmt: skip
    for (row, column), value in np.ndenumerate(matrix if len(names) <= NUMBERED else np.zeros((0, 0))):
        light = np.isfinite(value) and (value - lowest) / (1 - lowest) > 0.47
        colour = INK if not np.isfinite(value) else "black" if light else "white"
        ax.text(column, row, f"{value:.2f}" if np.isfinite(value) else "–", ha="center", va="center", color=colour)
    ax.set_xticks(range(len(names)), numbers)
    ax.set_yticks(range(len(names)), shown)
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
    """Each metric's distance from people by length of the text, `values` being a `Curve`; the mean of all is dashed."""
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
    """How many panels stand side by side."""
    return 2 if panels == 4 else min(COLUMNS, panels)


def _panels(panels: Sequence[Panel], **shared: Any) -> tuple[Figure, list[Axes]]:
    """Axes with a title for each panel, and the key of the titles that were shortened."""
    columns = _columns(len(panels))
    fitted = labels([panel.title for panel in panels], TITLE_WIDTH)
    width, height = (5.2, 3.9) if len(panels) == 1 else (3.6, 2.9)
    size = columns * width, -(-len(panels) // columns) * height + 0.35
    figure, axes = grid(len(panels), columns, size, **shared)
    for ax, panel, title in zip(axes, panels, fitted.shown, strict=True):
        ax.set_title(f"{title}\n{panel.note}" if panel.note else title)
    _write_key(figure, fitted.key)
    return figure, axes


def _colour_bar(figure: Figure, drawn: Any, ax: Axes, **options: Any) -> None:
    bar = figure.colorbar(drawn, ax=ax, **options)
    bar.outline.set_visible(False)
    if bar.solids is not None:
        bar.solids.set_edgecolor("face")  # no seams between the steps


def _forest_panel(ax: Axes, bars: Sequence[tuple[str, Bar]]) -> None:
    for place, (_, bar) in enumerate(bars):
        best = bar.rank == 1
        colour, marker = (MAIN, "o") if best else (OTHER, "s") if bar.rank is not None else (PALETTE[-1], "D")
        if bar.value is not None:
            low, high = (bar.value if end is None else end for end in (bar.low, bar.high))
            ax.plot([low, high], [place, place], color=colour, linewidth=2.2, solid_capstyle="butt")
            ax.plot([bar.value], [place], color=colour, marker=marker, markersize=7)
        if place and bar.rank != bars[place - 1][1].rank:
            ax.axhline(place - 0.5, color=INK, linewidth=0.6, linestyle=(0, (2, 3)))
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
    """The least-squares line, where there is one."""
    spread = human - human.mean()
    if (spread**2).sum() > 0:
        slope = (spread * (scores - scores.mean())).sum() / (spread**2).sum()
        ends = np.array([human.min(), human.max()])
        ax.plot(ends, scores.mean() + slope * (ends - human.mean()), color=OTHER, linewidth=1.8, linestyle=(0, (5, 2)))


def _outer_labels(axes: Sequence[Axes], below: str, beside: str) -> None:
    columns = _columns(len(axes))
    for place, ax in enumerate(axes):
        if place + columns >= len(axes):
            ax.set_xlabel(below)
        if place % columns == 0:
            ax.set_ylabel(beside)


def _write_key(figure: Figure, key: Sequence[str]) -> None:
    """Writes the shortened names in full below the panels."""
    if key:
        columns = int(figure.get_figwidth() * 13)
        lines = [line for entry in key for line in wrap(entry, columns)]
        figure.set_figheight(figure.get_figheight() + 0.17 * len(lines))
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=9)


def _line(text: str, width: int) -> str:
    """One line, cut if it is longer."""
    first, *more = wrap(showable(text), width - 1)
    return first + ("…" if more else "")
