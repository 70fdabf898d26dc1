"""Saved and printed pictures are the screen's: words, lines and colours, in every direction of writing."""

import csv
import io
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from pair_samples import CANDIDATE, LINES, MISPLACED, REFERENCE, pair_file, settle, words
from pdf_shapes import PdfShapes
from screens import PLAIN, on_every_screen

SVG = "{http://www.w3.org/2000/svg}"
TEXTS = {
    "latin": (CANDIDATE, REFERENCE),
    "cjk": ("今天 天气 很好,我们去公园散步。", "今天的天氣 不錯,我們到公園走走吧。"),
    "arabic": ("ذهبت القطة الصغيرة إلى السوق (في 2024).", "القطة السوداء ذهبت إلى المدرسة."),
    "hebrew": ("החתול ישב על המחצלת!", "חתול שחור (קטן) יושב על שטיח."),
    "mixed": ("The word שלום means peace (in עברית) 12 times.", "كلمة peace تعني سلام, see page 7."),
}
TINTS = {"#9fd0f2", "#e0effa", "#ffe680", "#f2935c", "#f4f6f8"}
PRECISION = "#0072b2"  # the colour of solid lines
NEAR = 1.5  # pixels
BLUR = 9  # device pixels over which ink is summed: letters may be hinted differently


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return {name: pair_file(tmp_path_factory.mktemp(name), *texts)[0] for name, texts in TEXTS.items()}


def saved(page, kind):
    with page.expect_download() as waiting:
        page.locator(f'[data-export="{kind}"]').click()
    with open(waiting.value.path(), "rb") as stream:
        return stream.read()


def boxes_of(root):
    """The tinted boxes of the words, without those of the legend: x, y, right, bottom."""
    found = []
    for one in root.iter(f"{SVG}rect"):
        if one.get("rx") == "3" and one.get("fill") in TINTS and one.get("height") != "16":
            x, y, width, height = (float(one.get(name)) for name in ("x", "y", "width", "height"))
            found.append((x, y, x + width, y + height))
    return found


def touches(point, box, near=NEAR):
    """Whether a line's end lies within a word's box, and on its edge."""
    x, y = point
    left, top, right, bottom = box
    return left - near < x < right + near and min(abs(y - top), abs(y - bottom)) < near


# How many ends of lines lie on words, not on special tokens.
ENDS_ON_WORDS = """() => document.getElementById("view").evalignLines().flatMap((line) =>
  ["candidate", "reference"].map((side) => document.querySelector(
    `[data-side=${side}][data-unit="${line[side].unit}"]:not(.special)`))).filter(Boolean).length"""


@on_every_screen
@pytest.mark.parametrize("name", TEXTS)
def test_lines_on_the_screen_and_in_saved_pictures_end_on_their_words_and_letters_lie_in_them(
    files, open_page, screen, name
):
    page = open_page(files[name])
    settle(page)
    root = ElementTree.fromstring(saved(page, "svg"))
    if screen == PLAIN:
        assert_lines_end_on_their_words_on_the_screen_and_in_a_png(page, root)
    boxes = boxes_of(root)
    assert len(boxes) >= page.locator(".pair-unit:not(.special)").count()
    paths = [one.get("d") for one in root.iter(f"{SVG}path")]
    curves = [path.replace("M", "").replace("C", " ").split() for path in paths if "C" in path]
    assert len(curves) == len(page.evaluate(LINES))
    ends = [tuple(map(float, curve[at])) for curve in curves for at in (slice(0, 2), slice(-2, None))]
    on_words = sum(any(touches(end, box) for box in boxes) for end in ends)
    assert on_words == page.evaluate(ENDS_ON_WORDS)
    for text in root.iter(f"{SVG}text"):
        if text.get("textLength") and text.text.strip():
            x, y = float(text.get("x")), float(text.get("y"))
            near = [box for box in boxes if box[0] - 1 < x < box[2] + 1 and box[1] < y < box[3] + 1]
            assert near or text.text in ("[CLS]", "[SEP]") or len(text.text) > 1, text.text


@on_every_screen
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in ("hebrew", "mixed") else name for name in TEXTS]
)
def test_letters_of_a_saved_picture_are_those_of_the_screen(files, open_page, name):
    """Where ink lies in each word, column by column: screen and PNG agree, so the order and shape of letters do."""
    pictures = pytest.importorskip("PIL.Image")
    page = open_page(files[name], device_scale_factor=2, viewport={"width": 1280, "height": 1000})
    settle(page)
    boxes = boxes_of(ElementTree.fromstring(saved(page, "svg")))
    png = np.asarray(pictures.open(io.BytesIO(saved(page, "png"))).convert("L"), dtype=float)
    page.locator(".pair-canvas").evaluate("(canvas) => { canvas.style.visibility = 'hidden'; }")
    rects = page.evaluate(UNIT_RECTS)
    screen = np.asarray(pictures.open(io.BytesIO(page.screenshot(full_page=True))).convert("L"), dtype=float)
    assert len(rects) == len(boxes)
    alike, mirrored = [], []
    for (left, top, right, bottom), (x, y, _, _) in zip(rects, boxes, strict=True):
        size = slice(0, int(2 * 0.72 * (bottom - top))), slice(0, int(2 * (right - left)))
        first = screen[int(2 * top) :, int(2 * left) :][size]
        second = png[int(2 * y) :, int(2 * x) :][size]
        if right - left < 30:  # too few letters, and frames of neighbours among them
            continue
        inked = [np.convolve((part < 100).sum(axis=0), np.ones(BLUR)) for part in (first, second)]
        alike.append(np.corrcoef(inked)[0, 1])
        mirrored.append(np.corrcoef(inked[0], inked[1][::-1])[0, 1])
    assert len(alike) >= 2
    assert np.mean(alike) > 0.75, alike
    if name != "cjk" and np.mean(mirrored) < 0.8:  # without such a font equal boxes are drawn, their own mirror image
        assert np.mean(alike) > np.mean(mirrored) + 0.15, (alike, mirrored)  # what another order of letters would give


def assert_lines_end_on_their_words_on_the_screen_and_in_a_png(page, root):
    pictures = pytest.importorskip("PIL.Image")
    drawn = page.evaluate(MISPLACED)
    assert drawn["lines"] > 5
    assert drawn["wrong"] == []
    png = np.asarray(pictures.open(io.BytesIO(saved(page, "png"))).convert("RGB"), dtype=float)
    solid = [one.get("d") for one in root.iter(f"{SVG}path") if one.get("stroke") == PRECISION and "C" in one.get("d")]
    assert len(solid) == sum(line["kind"] == "precision" for line in page.evaluate(LINES))
    for path in solid:
        points = np.array(path.replace("M", "").replace("C", " ").split(), dtype=float).reshape(4, 2)
        for way in (points, points[::-1]):  # from the word that the line begins at, and from the one that it ends at
            distances = [_from_line(png, 2 * _bezier(way, share)) for share in np.linspace(0.005, 0.06, 8)]
            assert min(distances) < 60, path


def _bezier(points, share):
    weights = (1 - share) ** 3, 3 * share * (1 - share) ** 2, 3 * share**2 * (1 - share), share**3
    return np.array(weights) @ points


def _from_line(png, place):
    """The distance in RGB of the nearest colour within a device pixel of a place."""
    x, y = np.round(place).astype(int)
    near = png[max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].reshape(-1, 3)
    colour = [int(PRECISION[at : at + 2], 16) for at in (1, 3, 5)]
    return np.linalg.norm(near - colour, axis=1).min()


# Boxes of all words in the page, one per line that a word stands on.
UNIT_RECTS = """() => [...document.querySelectorAll(".pair-unit:not(.special)")].flatMap((word) =>
  [...word.getClientRects()].map((box) => [box.left, box.top + scrollY, box.right, box.bottom + scrollY]))"""


@pytest.mark.parametrize("name", TEXTS)
def test_a_printed_page_has_all_words_lines_and_colours_of_the_picture(files, open_page, name):
    page = open_page(files[name], color_scheme="dark")
    settle(page)
    lines = [line for line in page.evaluate(LINES) if line["kind"] == "precision"]
    count = page.evaluate(UNIT_RECTS)
    solid = ENDS_ON_WORDS.replace("Lines()", "Lines().filter((one) => one.kind === 'precision')")
    ends = page.evaluate(solid)
    shapes = PdfShapes(page.pdf())
    tints = {tuple(int(tint[place : place + 2], 16) for place in (1, 3, 5)) for tint in TINTS}
    boxes = [box[1:] for box in shapes.boxes if box[0] in tints]
    scale = min(box[3] - box[1] for box in boxes)  # the samples of the legend are the smallest
    unit_boxes = [box for box in boxes if box[3] - box[1] > 1.2 * scale]
    assert len(unit_boxes) == len(count)
    blue = [curve[1:] for curve in shapes.curves if curve[0] == (0, 114, 178)]
    assert len(blue) == len(lines)
    on_words = sum(any(touches(end, box) for box in unit_boxes) for curve in blue for end in curve)
    assert on_words == ends
    written = [
        any(x1 - 1 < x < x2 + 1 and min(y1, y2) < y < max(y1, y2) for x, y in shapes.texts)
        for x1, y1, x2, y2 in unit_boxes
    ]
    assert sum(written) >= 0.5 * len(unit_boxes)  # letters of neighbouring words may be written at once


def test_all_words_of_long_texts_are_printed(tmp_path, open_page):
    page = open_page(pair_file(tmp_path, words(300, 1), words(280, 3), every=False)[0])
    settle(page)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    texts = page.locator(".print-only svg text").all_text_contents()
    assert set(words(300, 1).split()) <= set(texts)
    assert len(texts) > 580
    assert page.locator(".pair-stage").is_hidden()
    box, paper = page.locator(".print-only svg").bounding_box(), page.evaluate("innerWidth")
    assert box["width"] <= paper
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".print-only *").count() == 0


def test_pictures_are_light_unless_dark_ones_are_asked_for_and_have_a_legend(files, open_page):
    page = open_page(files["latin"], color_scheme="dark")
    settle(page)
    root = ElementTree.fromstring(saved(page, "svg"))
    assert next(root.iter(f"{SVG}rect")).get("fill") in ("#fff", "#ffffff")
    written = [one.text for one in root.iter(f"{SVG}text")]
    entries = page.locator(".pair-legend li").all_inner_texts()
    for entry in entries:
        if "unknown" not in entry:
            assert entry.removeprefix("word").strip() in written
    assert page.locator(".pair-legend p").inner_text().split("; ")[0] in " ".join(written)
    page.get_by_label("dark picture").check()
    dark = ElementTree.fromstring(saved(page, "svg"))
    assert next(dark.iter(f"{SVG}rect")).get("fill") == "#15181c"


def test_cells_that_spreadsheets_would_compute_are_made_harmless(tmp_path, open_page):
    texts = "=SUM(A1) +1 -x @me", "=HYPERLINK(b) - 5"
    page = open_page(pair_file(tmp_path, *texts)[0])
    settle(page)
    rows = list(csv.DictReader(io.StringIO(saved(page, "csv").decode("utf-8"), newline="")))
    cells = [row[name] for row in rows for name in ("piece", "surface", "partner_surface")]
    assert not [cell for cell in cells if cell and cell[0] in "=+-@" and not cell.lstrip("+-").isdigit()]
    assert any(cell.startswith("'=") for cell in cells)
