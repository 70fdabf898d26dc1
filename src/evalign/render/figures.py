"""Pictures of agreement: arrays in, a matplotlib Figure out; `save` writes PNG and SVG, `svg` gives the text.

The only module that knows matplotlib (extra `plots`), loaded when the first figure is drawn. Nothing global is kept:
figures are made with the object API, and the style holds only while one is drawn or written. Colours are Okabe and
Ito's and cividis, safe for colour-blind readers; whatever a colour says, a marker, a line or a number says again.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from evalign.atomic_files import whole_file
from evalign.errors import MissingExtraError, SpecError
from evalign.render.labels import labels, showable, wrap
from evalign.types import Floats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure as Figure  # also for those who may not import matplotlib

INK = "#1b1f24"  # text, axes: pages that know dark and light turn these two
GRID = "#d5d9de"
MAIN = "#0072b2"
OTHER = "#d55e00"
PALETTE = (MAIN, OTHER, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b7280")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MOST_GROUPS = len(PALETTE)
MOST_MARKS = 4000  # points or hexagons in one figure, so that its SVG stays well below a megabyte
COLUMNS = 3
PANEL = (3.6, 2.9)  # inches
TITLE_WIDTH = 40  # characters over a panel
NUMBERED = 16  # a matrix wider than this has no numbers in its cells
STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"], "font.size": 9.5, "axes.titlesize": 9.5, "axes.labelsize": 9.5,
    "xtick.labelsize": 9, "ytick.labelsize": 9, "legend.fontsize": 9, "text.parse_math": False,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": GRID, "grid.linewidth": 0.6, "axes.linewidth": 0.8, "svg.fonttype": "none",
    "svg.hashsalt": "evalign", "figure.facecolor": "white", "axes.facecolor": "none", "legend.frameon": False,
}  # fmt: skip

Parameters = ParamSpec("Parameters")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Bar:
    """One line of a forest plot."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    rank: int | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """One metric's part of a figure: its name, a line below it, and its values."""

    title: str
    note: str
    values: Any


@dataclass(frozen=True, eq=False)
class Curve:
    """Means with intervals over bins."""

    centre: Floats
    mean: Floats
    low: Floats
    high: Floats


@contextmanager
def styled() -> Iterator[None]:
    """The look of all figures, and the sentence that is due where matplotlib is missing."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("drawing plots", "plots") from error
    with ExitStack() as stack:
        stack.enter_context(matplotlib.rc_context(STYLE))
        stack.enter_context(warnings.catch_warnings())
        # A name in a script that the font lacks is drawn by the reader's browser, in a PNG as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def in_style(function: Callable[Parameters, Made]) -> Callable[Parameters, Made]:
    """Draws in the look of all figures; for functions that make one."""

    @wraps(function)
    def wrapped(*arguments: Parameters.args, **options: Parameters.kwargs) -> Made:
        with styled():
            return function(*arguments, **options)

    return wrapped


@in_style
def forest(panels: Mapping[str, Sequence[Bar]], statistic: str) -> Figure:
    """Estimates with their intervals, one panel per aspect, best metric on top; the best cluster is blue and round."""
    columns = 1 if len(panels) == 1 else 2
    names = list(dict.fromkeys(bar.label for bars in panels.values() for bar in bars))
    made = labels(names, 30, most_lines=2)
    shown = dict(zip(names, made.shown, strict=True))
    heights = [sum(0.16 + 0.17 * (1 + shown[bar.label].count("\n")) for bar in bars) for bars in panels.values()]
    rows = -(-len(panels) // columns)
    figure, axes = grid(rows, columns, (7.6 if columns == 1 else 12.6, rows * (max(heights) + 0.9)), sharex=True)
    for ax, (aspect, bars) in zip(axes, panels.items(), strict=False):
        _forest_panel(ax, [(shown[bar.label], bar) for bar in bars])
        ax.set_title(_line(aspect, 60), loc="left", fontweight="bold")
        ax.tick_params(labelbottom=True)
    for ax in axes[max(0, len(panels) - columns) : len(panels)]:
        ax.set_xlabel(f"agreement with people ({statistic})")
    _finish(figure, axes, len(panels), made.key)
    return figure


@in_style
def scatter(human: Floats, panels: Sequence[Panel], people: str, groups: Sequence[str] | None = None) -> Figure:
    """Each metric against people; hexagons coloured by their number of rows where there are too many points."""
    figure, axes, shown, key = _panels(panels)
    dense = len(human) * len(panels) > MOST_MARKS
    known = sorted(set(groups or ()))
    coloured = not dense and 1 < len(known) <= MOST_GROUPS
    for ax, panel, title in zip(axes, panels, shown, strict=False):
        if dense:
            # n across makes about n / 1.7 rows of two interleaved lattices
            across = max(8, min(32, int((MOST_MARKS / len(panels) / 1.2) ** 0.5)))
            drawn = ax.hexbin(human, panel.values, gridsize=across, mincnt=1, cmap=_steps("cividis_r"), linewidths=0)
            _colour_bar(figure, drawn, ax, label="rows", pad=0.02)
        else:
            labelled = np.array(groups if coloured else [""] * len(human), dtype=object)
            size = 24 if len(human) <= 200 else 14
            for place, group in enumerate(known if coloured else [""]):
                rows = labelled == group
                ax.scatter(human[rows], panel.values[rows], s=size, c=PALETTE[place], marker=MARKERS[place],
                           alpha=0.65, linewidths=0, label=_line(group, 24))  # fmt: skip
        _trend(ax, human, panel.values)
        ax.set_title(f"{title}\n{panel.note}" if panel.note else title)
    _outer_labels(axes, len(panels), _line(people, 50), "metric")
    if coloured:
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(
            handles,
            names,
            loc="outside upper left",
            ncols=min(len(known), 2 * figure_columns(len(panels))),
            markerscale=1.6,
        )
    _finish(figure, axes, len(panels), key)
    return figure


@in_style
def violins(bins: Sequence[str], panels: Sequence[Panel], people: str) -> Figure:
    """The spread of each metric's scores in each bin of human scores, with quartiles; `values` is a list of arrays."""
    from matplotlib import colormaps

    figure, axes, shown, key = _panels(panels)
    places = np.arange(1, len(bins) + 1)
    colours = colormaps["cividis"](np.linspace(0.15, 0.9, len(bins)))
    for ax, panel, title in zip(axes, panels, shown, strict=False):
        bodies: Any = ax.violinplot(panel.values, positions=places, widths=0.85, showextrema=False, points=60)["bodies"]
        for body, colour in zip(bodies, colours, strict=True):
            body.set(facecolor=colour, edgecolor=INK, alpha=0.75, linewidth=0.6)
        quartiles = np.array([np.quantile(values, [0.25, 0.5, 0.75]) for values in panel.values])
        ax.vlines(places, quartiles[:, 0], quartiles[:, 2], color="black", linewidth=4)
        ax.scatter(places, quartiles[:, 1], s=26, c="white", edgecolors="black", linewidths=1, zorder=3)
        ax.set_xticks(places, bins)
        ax.grid(visible=False, axis="x")
        ax.set_title(f"{title}\n{panel.note}" if panel.note else title)
    _outer_labels(axes, len(panels), _line(people, 50), "metric", every_tick=True)
    _finish(figure, axes, len(panels), key)
    return figure


@in_style
def correlations(names: Sequence[str], matrix: Floats, statistic: str) -> Figure:
    """Columns against columns; the columns are numbered as the rows are. NaN cells are empty."""
    made = labels(names, 34, most_lines=2)
    numbers = [str(place + 1) for place in range(len(names))]
    shown = [
        label if label.endswith(f"[{number}]") else f"{label} [{number}]"
        for label, number in zip(made.shown, numbers, strict=True)
    ]
    side = max(2.0, 0.46 * len(names))
    longest = max(len(line) for label in shown for line in label.split("\n"))
    figure, (ax,) = grid(1, 1, (side + 1.3 + 0.085 * longest, side + 0.7))
    lowest = min(0.0, float(np.nanmin(matrix))) if np.isfinite(matrix).any() else 0.0
    edges = np.arange(len(names) + 1) - 0.5
    mesh = ax.pcolormesh(edges, edges, np.ma.masked_invalid(matrix), cmap=_steps("cividis"), vmin=lowest, vmax=1,
                         edgecolors="white", linewidth=1)  # fmt: skip
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
    _finish(figure, [ax], 1, made.key)
    return figure


@in_style
def length_errors(panels: Sequence[Panel], mean: Floats, length: str) -> Figure:
    """Each metric's distance from people by length of the text, `values` being a `Curve`; the mean of all is dashed."""
    figure, axes, shown, key = _panels(panels, sharey=True)
    for ax, panel, title in zip(axes, panels, shown, strict=False):
        curve: Curve = panel.values
        if len(panels) > 1:
            ax.plot(curve.centre, mean, color=INK, linewidth=1, linestyle=(0, (4, 3)), label="mean of these metrics")
        ends = np.stack([curve.mean - curve.low, curve.high - curve.mean])
        ax.errorbar(curve.centre, curve.mean, ends, color=MAIN, marker="o", markersize=5, linewidth=1.4, capsize=3,
                    label="metric, with interval")  # fmt: skip
        ax.set_title(title)
    axes[0].set_ylim(0, 1.08 * max(float(panel.values.high.max()) for panel in panels) or 1)
    _outer_labels(axes, len(panels), length, "distance in ranks\n(percentage points)")
    if len(panels) > 1:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    _finish(figure, axes, len(panels), key)
    return figure


@in_style
def svg(figure: Figure) -> str:
    """The figure as SVG text: the same bytes for the same figure, no date."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return text.getvalue()


@in_style
def png(figure: Figure) -> bytes:
    """The figure as PNG, 150 dots per inch, without a date."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150, metadata={"Software": None})
    return picture.getvalue()


def save(figure: Figure, path: Path) -> None:
    """Writes `.png` or `.svg`, whole or not at all."""
    if path.suffix not in (".png", ".svg"):
        raise SpecError(f"{path.name}: a plot is saved as .png or .svg")
    content = png(figure) if path.suffix == ".png" else svg(figure).encode("utf-8")
    with whole_file(path, binary=True) as stream:
        stream.write(content)


def figure_columns(panels: int) -> int:
    """How many panels stand side by side."""
    return 2 if panels == 4 else min(COLUMNS, panels)


def grid(rows: int, columns: int, size: tuple[float, float], **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure with places for panels that keep out of each other's way."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08))
    return figure, list(figure.subplots(rows, columns, squeeze=False, **shared).flat)


def _panels(panels: Sequence[Panel], **shared: Any) -> tuple[Figure, list[Axes], tuple[str, ...], tuple[str, ...]]:
    """A grid with a place for each panel, the titles, and the key of those that were shortened."""
    columns = figure_columns(len(panels))
    rows = -(-len(panels) // columns)
    made = labels([panel.title for panel in panels], TITLE_WIDTH)
    width, height = (5.2, 3.9) if len(panels) == 1 else PANEL
    figure, axes = grid(rows, columns, (columns * width, rows * height + 0.35), **shared)
    return figure, axes, made.shown, made.key


def _steps(name: str) -> Colormap:
    """A colour map in few steps: its colour bar is then drawn in an SVG, not embedded as a bitmap."""
    from matplotlib import colormaps

    return colormaps[name].resampled(24)


def _colour_bar(figure: Figure, drawn: Any, ax: Axes, **options: Any) -> None:
    bar = figure.colorbar(drawn, ax=ax, **options)
    bar.outline.set_visible(False)
    if bar.solids is not None:
        bar.solids.set_edgecolor("face")  # no seams between the steps


def _forest_panel(ax: Axes, bars: Sequence[tuple[str, Bar]]) -> None:
    values = []
    for place, (_, bar) in enumerate(bars):
        best = bar.rank == 1
        colour, marker = (MAIN, "o") if best else (OTHER, "s") if bar.rank is not None else (PALETTE[-1], "D")
        if bar.value is not None:
            low, high = (bar.value if end is None else end for end in (bar.low, bar.high))
            ax.plot([low, high], [place, place], color=colour, linewidth=2.2, solid_capstyle="butt")
            ax.plot([bar.value], [place], color=colour, marker=marker, markersize=7)
        if place and bar.rank != bars[place - 1][1].rank:
            ax.axhline(place - 0.5, color=INK, linewidth=0.6, linestyle=(0, (2, 3)))
        values.append(_bar_text(bar))
    ax.set_yticks(range(len(bars)), [label for label, _ in bars])
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    right = ax.secondary_yaxis("right")
    right.set_yticks(range(len(bars)), values)
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


def _outer_labels(axes: Sequence[Axes], used: int, below: str, beside: str, every_tick: bool = False) -> None:
    columns = figure_columns(used)
    for place, ax in enumerate(axes[:used]):
        if place + columns >= used:
            ax.set_xlabel(below)
        if place % columns == 0:
            ax.set_ylabel(beside)
        if every_tick:
            ax.tick_params(labelbottom=True)


def _finish(figure: Figure, axes: Sequence[Axes], used: int, key: Sequence[str]) -> None:
    """Empties the unused places of the grid and writes the key of shortened names below."""
    for ax in axes[used:]:
        ax.remove()
    if key:
        columns = int(figure.get_figwidth() * 13)
        lines = [line for entry in key for line in wrap(entry, columns)]
        figure.set_figheight(figure.get_figheight() + 0.17 * len(lines))
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=9)


def _line(text: str, width: int) -> str:
    """One line, cut if it is longer."""
    first, *more = wrap(showable(text), width - 1)
    return first + ("…" if more else "")
