"""Levels and lines can be told apart by every eye: colours far apart, and a mark for each that needs no colour."""

from itertools import combinations

import pytest
from colour_vision import VISION, apart, contrast, difference
from pair_samples import LINES, choose, pair_file, settle, unfold, unit
from screens import on_every_screen

LEVELS = ("q3", "q2", "q1", "q0")
APART = 10  # CIEDE2000; 2 to 3 is what trained eyes just see
SHARMA = [  # published test data: two colours, their distance
    ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
    ((50.0, -1.3802, -84.2814), (50.0, 0.0, -82.7485), 1.0),
    ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
    ((22.7233, 20.0904, -46.694), (23.0331, 14.973, -42.5619), 2.0373),
    ((90.8027, -2.0831, 1.441), (91.1528, -1.6435, 0.0447), 1.4441),
]
COLOURS = """(names) => {
  const style = getComputedStyle(document.documentElement);
  const hex = (name) => style.getPropertyValue(`--${name}`).trim().replace(/^#(.)(.)(.)$/, "#$1$1$2$2$3$3");
  return Object.fromEntries(names.map((name) => [name, hex(name)]));
}"""
MARKS = """(kinds) => kinds.map((kind) => {
  const style = getComputedStyle(document.querySelector(`.pair-legend .pair-sample.${kind}`));
  return [style.textDecorationLine, style.textDecorationStyle, style.outlineStyle].join(" ");
})"""


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    return pair_file(tmp_path_factory.mktemp("short"))


@pytest.mark.parametrize(("first", "second", "distance"), SHARMA)
def test_the_distance_is_the_published_one(first, second, distance):
    assert difference(first, second) == pytest.approx(distance, abs=1e-4)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_levels_are_far_apart_for_every_eye_and_lines_have_contrast(short, open_page, scheme):
    page = open_page(short[0], color_scheme=scheme)
    lines = ["precision", "recall", "flow", "new", "lost", "control", "ink", "never"]
    colours = page.evaluate(COLOURS, [*LEVELS, *[f"{level}-edge" for level in LEVELS], *lines, "paper"])
    for first, second in combinations(LEVELS, 2):
        for vision in VISION:
            assert apart(colours[first], colours[second], vision) > APART, (first, second, vision)
    for level in LEVELS:
        assert contrast(colours["ink"], colours[level]) > 4.5, level
    for level in LEVELS[1:]:  # the underline, on the tint that it lies on
        assert contrast(colours[f"{level}-edge"], colours[level]) > 3, level
    for line in lines:
        assert contrast(colours[line], colours["paper"]) > 3, line


@pytest.mark.parametrize("forced", ["none", "active"])
def test_every_mark_is_known_without_colour(short, open_page, forced):
    page = open_page(short[0], forced_colors=forced)
    settle(page)
    marks = page.evaluate(MARKS, [*LEVELS, "never"])
    assert len(set(marks)) == 5, marks
    assert not any("dashed" in mark for mark in marks)  # dashed is a line of recall
    assert page.problems == []


@on_every_screen
def test_the_less_similar_the_thicker_and_weak_matches_are_crossed(short, open_page):
    """Pixels of the canvas: every line is opaque, and thicker by level."""
    file, _, document = short
    page = open_page(file, viewport={"width": 1280, "height": 1000})
    unfold(page)
    page.get_by_label("Recall lines").uncheck()
    settle(page)
    lines = page.evaluate(LINES)
    bounds = document["similarity_bounds"]
    level = {line["candidate"]["unit"]: sum(line["similarity"] < bound for bound in bounds) for line in lines}
    inked = {}
    for place, own in level.items():
        unit(page, "candidate", place).hover()
        settle(page)
        inked.setdefault(own, []).append(page.evaluate(OPACITY))
    assert {0, 3} <= set(inked), "the pair must have good and weak matches"
    assert all(most == 255 for some in inked.values() for most, _ in some)
    assert min(width for _, width in inked[3]) > 2 * max(width for _, width in inked[0])


# Of the drawn line: its greatest opacity, and its mean width, which is all its ink by its length.
OPACITY = """() => {
  const canvas = document.querySelector(".pair-canvas");
  const ratio = canvas.width / canvas.getBoundingClientRect().width;
  const [{ candidate: from, reference: to }] = document.getElementById("view").evalignLines();
  const bend = (from.y + to.y) / 2;
  const at = (t) => [
    (1 - t) ** 2 * (1 + 2 * t) * from.x + t * t * (3 - 2 * t) * to.x,
    (1 - t) ** 3 * from.y + 3 * t * (1 - t) * bend + t ** 3 * to.y,
  ];
  let length = 0;
  for (let step = 0; step < 100; step += 1) {
    const [[x1, y1], [x2, y2]] = [at(step / 100), at((step + 1) / 100)];
    length += Math.hypot(x2 - x1, y2 - y1);
  }
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let [most, ink] = [0, 0];
  for (let place = 3; place < data.length; place += 4) {
    most = Math.max(most, data[place]);
    ink += data[place] / 255;
  }
  return [most, ink / ratio ** 2 / length];
}"""


@on_every_screen
@pytest.mark.parametrize("matching", ["greedy", pytest.param("transport", marks=pytest.mark.slow)])
def test_the_partner_stands_beside_the_word_and_covers_no_other(short, open_page, matching):
    file, alignments, _ = short
    page = open_page(file, viewport={"width": 700, "height": 1000})  # each text has several lines
    choose(page, matching)
    alignment = alignments[matching]
    for side, other in (("candidate", "reference"), ("reference", "candidate")):
        for place in (2, 6, 10):
            unit(page, side, place).hover()
            settle(page)
            label = page.locator(".pair-beside")
            partner = int(getattr(alignment, f"{side}_partners")[place])
            text = label.inner_text()
            assert text.startswith(getattr(alignment, other).surface(partner))
            assert text.endswith(f"{getattr(alignment, f'{side}_values')[place]:.2f}")
            assert label.evaluate(COVERED) == []
            word, beside = unit(page, side, place).bounding_box(), label.bounding_box()
            gap = word["y"] - beside["y"] - beside["height"] if side == "candidate" else (
                beside["y"] - word["y"] - word["height"]
            )  # fmt: skip
            assert -1 <= gap < 4
    page.mouse.move(1, 1)
    settle(page)
    assert page.locator(".pair-beside").is_hidden()


# Words that lie under the label, by more than the pixel that boxes are rounded to.
COVERED = """(label) => {
  const own = label.getBoundingClientRect();
  const meets = (box) => box.right > own.left + 1 && box.left < own.right - 1
    && box.bottom > own.top + 1.5 && box.top < own.bottom - 1.5;
  return [...document.querySelectorAll(".pair-unit")].filter((word) => [...word.getClientRects()].some(meets))
    .map((word) => word.textContent);
}"""
