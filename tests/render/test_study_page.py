"""Pages of studies: names of other people stay names, what is missing is named, figures do not overlap their labels."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures need the extra 'plots'")

from evalign.render.figures import Panel, svg
from evalign.render.tables import TextTable
from evalign.research.studies import plots
from evalign.research.studies.page import Plate, StudyPage, study_html, study_markdown
from evalign.research.studies.plots import Shape, Violin

EVIL = '<script>alert(1)</script> | "x" *y*'
PAGE = StudyPage(
    EVIL,
    (EVIL,),
    TextTable(EVIL, ("name", "number"), ((EVIL, "1"),)),
    (Plate("one", EVIL, missing="too few pairs"), Plate("two", "Second", sentences=(EVIL,))),
    (EVIL,),
    ("model x: not here",),
)
SHAPE = Shape(np.linspace(0, 1, 9), np.ones(9), (0.2, 0.5, 0.7))


def test_what_comes_from_data_stays_text():
    page, report = study_html(PAGE), study_markdown(PAGE)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<script" not in report
    assert [line.replace(r"\|", "").count("|") for line in report.splitlines() if line.startswith("|")] == [3, 3, 3]


def test_what_is_missing_is_named_everywhere():
    assert PAGE.lacking == ("model x: not here", f"{EVIL}: too few pairs")
    for made in (study_html(PAGE), study_markdown(PAGE)):
        assert made.count("too few pairs") == 2  # above all, and in its place
        assert "model x: not here" in made


FIGURES = {
    "histograms": lambda names: plots.histograms(
        [Panel(name, "", {"source": np.arange(40), "reference": np.full(9, 3)}) for name in names], "tokens", (20, 900)
    ),
    "ranges": lambda names: plots.ranges(
        [Panel(name, "", {"greedy": {"a long name of a series": (1.0, 1.0, 1.0)}}) for name in names],
        ["a long name of a series", "one that no panel has"],
        "F1",
    ),
    "violin_rows": lambda names: plots.violin_rows(
        [Panel(name, "note", [Violin("a row", [SHAPE]), Violin("two", [SHAPE, SHAPE])]) for name in names],
        "F1",
        ("true pairs", "negatives"),
    ),
    "mirrored_densities": lambda names: plots.mirrored_densities(
        [Panel(name, "d 1.0", {side: {"true pairs": SHAPE, "negatives": SHAPE} for side in "ab"}) for name in names],
        "F1",
        ("a", "b"),
    ),
    "bands": lambda names: plots.bands(
        [Panel(name, "share of the optimum", {"paper": np.ones((9, 3))}) for name in names], "rounds", (6, 8)
    ),
}


@pytest.mark.parametrize("kind", FIGURES)
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_every_panel_is_drawn_and_nothing_is_cut(kind, count):
    figure = FIGURES[kind]([f"a model of a long name, number {place}, 128, pads weigh 1" for place in range(count)])
    assert svg(figure).count("number ") >= count
    figure.canvas.draw()
    assert len(figure.axes) == count
    right, top = figure.get_size_inches() * figure.dpi
    boxes = [ax.title.get_window_extent() for ax in figure.axes] + [
        ax._left_title.get_window_extent() for ax in figure.axes
    ]
    boxes += [legend.get_window_extent() for legend in figure.legends]
    assert all(box.x0 >= -1 and box.x1 <= right + 1 and box.y1 <= top + 1 for box in boxes if box.width > 1)
    titles = [ax._left_title.get_window_extent() for ax in figure.axes]
    assert not any(one.overlaps(other) for place, one in enumerate(titles) for other in titles[:place])
