"""Matplotlib figures of all reports: style, panels and files (PNG, SVG, CSV), and the plot of a similarity matrix.

The only module that imports matplotlib (extra `plots`), when the first figure is drawn. Nothing global is changed:
figures use the object API, and the style applies only while a figure is drawn or written. Colours are Okabe and Ito's
and cividis, safe for colour-blind readers; markers, lines or numbers repeat what colours show.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from evalign.core import Alignment, Ints, Tokens
from evalign.errors import FileFormatError, MissingExtraError, SpecError
from evalign.io.files import whole_file
from evalign.render.tables import harmless, showable

if TYPE_CHECKING:  # named again for modules that may not import matplotlib
    from matplotlib.axes import Axes as Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure as Figure

INK = "#1b1f24"  # text, axes; pages with light and dark mode replace these two colours
GRID = "#d5d9de"
MAIN = "#0072b2"
OTHER = "#d55e00"
PALETTE = (MAIN, OTHER, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b7280")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"], "font.size": 9.5, "axes.titlesize": 9.5, "axes.labelsize": 9.5,
    "xtick.labelsize": 9, "ytick.labelsize": 9, "legend.fontsize": 9, "text.parse_math": False,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": GRID, "grid.linewidth": 0.6, "axes.linewidth": 0.8, "svg.fonttype": "none",
    "svg.hashsalt": "evalign", "figure.facecolor": "white", "axes.facecolor": "none", "legend.frameon": False,
}  # fmt: skip

LINK = re.compile(r'<a xlink:href="#[^>]*>\s*|</a>\s*')
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
DARK_VALUE = 0.5  # higher cells have white text


@dataclass(frozen=True, eq=False)
class Panel:
    """One metric's part of a figure: its name, a line below it, and its values."""

    title: str
    note: str
    values: Any


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure that is drawn when it is needed, its caption, and the numbers behind it."""

    caption: str
    draw: Callable[[], Figure]
    columns: tuple[str, ...]
    numbers: Sequence[Sequence[Any]]

    @cached_property
    def figure(self) -> Figure:
        """Return the figure, drawn once for all files."""
        return self.draw()

    @cached_property
    def svg(self) -> str:
        """Return the figure as SVG, for page and file; its links point into the page and are removed from the file."""
        return svg(self.figure)

    def save(self, folder: Path, name: str) -> list[Path]:
        """Write the figure as PNG and SVG and its numbers as CSV; return the three paths."""
        files = [folder / f"{name}{ending}" for ending in (".png", ".svg", ".csv")]
        save(self.figure, files[0])
        with whole_file(files[1]) as stream:
            stream.write(LINK.sub("", self.svg))
        save_numbers(files[2], self.columns, self.numbers)
        return files


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style of all figures; raise an error that names the extra if matplotlib is missing."""
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


def in_style(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function that draws a figure, to apply the style of all figures."""

    @wraps(function)
    def wrapped(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        with styled():
            return function(*arguments, **options)

    return wrapped


@in_style
def svg(figure: Figure) -> str:
    """Return the figure as SVG: the same bytes for the same figure, without a date."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return text.getvalue()


@in_style
def png(figure: Figure) -> bytes:
    """Return the figure as PNG, 150 dots per inch, without a date."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150, metadata={"Software": None})
    return picture.getvalue()


FILES: dict[str, Callable[[Figure], bytes]] = {".png": png, ".svg": lambda figure: svg(figure).encode("utf-8")}


def save(figure: Figure, path: Path) -> None:
    """Write a file in the format of its suffix, whole or not at all."""
    if path.suffix not in FILES:
        raise SpecError(f"{path.name}: a plot is saved as {' or '.join(FILES)}")
    content = FILES[path.suffix](figure)
    with whole_file(path, binary=True) as stream:
        stream.write(content)


def save_numbers(path: Path, columns: Sequence[str], lines: Sequence[Sequence[Any]]) -> None:
    """Write a CSV file, whole or not at all: floats with six digits, None as an empty cell."""
    with whole_file(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([_csv_cell(value) for value in line] for line in (columns, *lines))


def make_folder(folder: Path) -> None:
    """Create a folder unless it exists; raise an error with the reason if that fails."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FileFormatError(f"{folder}: cannot create the folder ({error.strerror or error})") from error


def grid(count: int, columns: int, size: tuple[float, float], **shared: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure with axes for `count` panels in rows of `columns`; `size` is that of the figure, in inches."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08))
    axes = list(figure.subplots(-(-count // columns), columns, squeeze=False, **shared).flat)
    for ax in axes[count:]:
        ax.remove()
    return figure, axes[:count]


def colour_map(name: str, steps: int | None = None) -> Colormap:
    """Return a colour map of matplotlib; with `steps`, its colour bar is drawn in an SVG, not embedded as a bitmap."""
    from matplotlib import colormaps

    return colormaps[name] if steps is None else colormaps[name].resampled(steps)


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}" if np.isfinite(value) else ""
    return harmless(showable(str(value)))


@in_style
def similarity_plot(alignment: Alignment, title: str = "Similarity Matrix") -> Figure:
    """Draw the similarities of candidate tokens (rows) and reference tokens (columns), without special tokens."""
    rows, columns = (np.flatnonzero(~side.special) for side in (alignment.candidate, alignment.reference))
    values = alignment.similarity[np.ix_(rows, columns)]
    size = (1.6 + 0.75 * max(1, len(columns)), 1.2 + 0.55 * max(1, len(rows)))
    figure, (axes,) = grid(1, 1, size)
    image = axes.imshow(values, cmap=colour_map("Blues"), vmin=0, vmax=1, aspect="auto")
    axes.grid(visible=False)
    axes.set_xticks(range(len(columns)), _labels(alignment.reference, columns), rotation=45)
    axes.set_yticks(range(len(rows)), _labels(alignment.candidate, rows))
    axes.set(xlabel="Reference (tokenized)", ylabel="Candidate (tokenized)", title=title)
    for row, column in np.ndindex(values.shape):
        colour = "white" if values[row, column] > DARK_VALUE else "black"
        axes.text(column, row, f"{values[row, column]:.3f}", ha="center", va="center", color=colour)
    figure.colorbar(image, ax=axes)
    return figure


def _labels(tokens: Tokens, indices: Ints) -> list[str]:
    return [showable(tokens.surface(int(index))) for index in indices]
