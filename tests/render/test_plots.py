"""Plots from arrays: labels that can be read and do not meet, bounded files, no state left behind."""

import sys
from pathlib import Path

import numpy as np
import pytest

from evalign.errors import MissingExtraError, SpecError
from evalign.render.tables import labels, showable, wrap

matplotlib = pytest.importorskip("matplotlib", reason="plots need the extra 'plots'")

from matplotlib._pylab_helpers import Gcf  # noqa: E402

from evalign.render import figures  # noqa: E402
from evalign.render.agreement import plots  # noqa: E402
from evalign.render.agreement.plots import Bar, Curve  # noqa: E402
from evalign.render.figures import Panel  # noqa: E402

LONG = "bertscore(model=/models/a-folder-with-a-name/german-bert-base-cased-{}, layer={}, idf=references, rescale=true)"
NAMES = {
    2: ["bertscore", "sbert"],
    12: [LONG.format(place, place) for place in range(12)],
    3: ["$a$ 日本語", "b\nc", "<&>"],
}


def forest(names, aspects=1):
    values = np.linspace(0.7, -0.1, len(names))
    bars = [Bar(name, value, value - 0.1, value + 0.1, 1 + place // 3) for place, (name, value) in
            enumerate(zip(names, values.tolist(), strict=True))]  # fmt: skip
    bars[-1] = Bar(names[-1], None)
    return plots.forest({f"aspect {place}": bars for place in range(aspects)}, "pearson")


def panels(names, rows):
    rng = np.random.default_rng(3)
    human = rng.normal(size=rows)
    return human, [Panel(name, "pearson 0.5", human + rng.normal(size=rows)) for name in names]


def scatter(names, rows, groups):
    human, made = panels(names, rows)
    return plots.scatter(human, made, "people", [f"group {row % groups}" for row in range(rows)])


def violins(names):
    human, made = panels(names, 100)
    part = np.digitize(human, np.quantile(human, [0.2, 0.4, 0.6, 0.8]))
    split = [Panel(one.title, "", [one.values[part == place] for place in range(5)]) for one in made]
    return plots.violins(["-0.55\nto\n-0.26"] * 5, split, "people: coherence")


def matrix(names):
    _, made = panels(names, 50)
    values = np.corrcoef([one.values for one in made])
    values[0, -1] = np.nan
    return plots.correlations(names, values, "pearson")


def length(names):
    mean = np.linspace(20, 30, 8)
    curve = Curve(np.arange(8.0) * 5, mean, mean - 4, mean + 4)
    return plots.length_errors([Panel(name, "", curve) for name in names], mean, "words in the reference")


FIGURES = {
    **{f"forest {count} {aspects}": (lambda c=count, a=aspects: forest(NAMES[c], a)) for count in NAMES
       for aspects in (1, 4)},
    **{f"scatter {count} {rows} {groups}": (lambda c=count, r=rows, g=groups: scatter(NAMES[c], r, g))
       for count in NAMES for rows, groups in ((50, 7), (50, 30), (10_000, 7))},
    **{f"{draw.__name__} {count}": (lambda d=draw, c=count: d(NAMES[c])) for draw in (violins, matrix, length)
       for count in NAMES},
}  # fmt: skip


def shown_texts(figure, monkeypatch):
    """All texts that a figure draws, with the boxes they cover; ticks outside the axes exist but are not drawn."""
    drawn, draw = [], matplotlib.text.Text.draw

    def spy(text, renderer):
        drawn.append(text)
        draw(text, renderer)

    with figures.styled(), monkeypatch.context() as patch:
        patch.setattr(matplotlib.text.Text, "draw", spy)
        figure.draw_without_rendering()
        texts = [text for text in dict.fromkeys(drawn) if text.get_visible() and text.get_text().strip()]
        return [(text, text.get_window_extent()) for text in texts]


QUICK = ("forest 12 4", "scatter 12 50 7")  # most texts; the others are slow tests


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FIGURES]
)
def test_no_text_meets_another_or_leaves_the_figure(name, tmp_path, monkeypatch):
    figure = FIGURES[name]()
    found = shown_texts(figure, monkeypatch)
    assert len(found) > 4
    page = figure.bbox
    for place, (text, box) in enumerate(found):
        assert text.get_fontsize() >= 9
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
        assert inside, f"{text.get_text()!r} leaves the figure"
        for other, its_box in found[place + 1 :]:
            wide = min(box.x1, its_box.x1) - max(box.x0, its_box.x0)
            high = min(box.y1, its_box.y1) - max(box.y0, its_box.y0)
            assert wide < 1 or high < 1, f"{text.get_text()!r} meets {other.get_text()!r}"
    figures.save(figure, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size < 1_000_000


def test_png_and_svg_and_nothing_else(tmp_path):
    figure = forest(NAMES[2])
    figures.save(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SpecError, match=r"saved as \.png or \.svg"):
        figures.save(figure, tmp_path / "a.pdf")


@pytest.mark.parametrize(
    "name",
    [
        "scatter 2 50 7",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("forest 12 4", "scatter 2 10000 7", "matrix 12")),
    ],
)
def test_the_same_figure_is_the_same_bytes(name):
    first, second = FIGURES[name](), FIGURES[name]()
    assert figures.svg(first) == figures.svg(second)
    assert figures.png(first) == figures.png(second)


def test_nothing_global_is_kept():
    before = dict(matplotlib.rcParams)
    figures.svg(forest(NAMES[2]))
    assert dict(matplotlib.rcParams) == before
    assert Gcf.figs == {}


def test_matplotlib_is_known_in_one_place():
    source = Path(figures.__file__).parents[1]
    naming = [path for path in source.rglob("*.py") if "import matplotlib" in path.read_text("utf-8")
              or "from matplotlib" in path.read_text("utf-8")]  # fmt: skip
    assert [path.relative_to(source).as_posix() for path in naming] == ["render/figures.py"]
    assert "pyplot" not in naming[0].read_text("utf-8")


def test_constant_and_single_values_are_drawn():
    one = np.full(4, 0.5)
    figures.svg(plots.scatter(one, [Panel("a", "", one)], "people"))
    figures.svg(plots.violins(["1", "2"], [Panel("a", "", [one, one[:1]])], "people"))
    figures.svg(plots.correlations(["a", "b"], np.full((2, 2), np.nan), "pearson"))
    flat = Curve(one[:1], one[:1] * 0, one[:1] * 0, one[:1] * 0)
    figures.svg(plots.length_errors([Panel("a", "", flat)], one[:1], "words"))


def test_groups_differ_in_colour_and_marker():
    assert len(set(figures.PALETTE)) == len(set(figures.MARKERS)) == plots.MAX_COLOURED_GROUPS == 7
    assert len(scatter(NAMES[2], 50, 7).legends[0].get_texts()) == 7
    assert scatter(NAMES[2], 50, 30).legends == []


def test_a_missing_extra_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'evalign\[plots\]'"):
        forest(NAMES[2])


def test_labels_are_wrapped_or_cut_with_a_key():
    assert labels(["short", "a, b"], 10).names == ("short", "a, b")
    made = labels(["x", LONG.format(1, 1)], 30)
    assert made.names[1].endswith("… [2]")
    assert all(len(line) <= 30 for line in made.names[1].split("\n"))
    assert made.key == (f"[2] {LONG.format(1, 1)}",)
    assert wrap("日本語日本語", 6) == ["日本語", "日本語"]
    assert wrap("日本", 1) == ["日", "本"]
    assert showable("a\nb\x1b\ud800\u202e") == "a b\ufffd\ufffd\ufffd"
