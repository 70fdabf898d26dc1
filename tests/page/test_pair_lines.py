"""Lines end on their words, whatever is scrolled, resized or zoomed; the pixels say the same as the geometry."""

import numpy as np
import pytest
from line_pixels import REACH, LinePixels, end_of_curve
from pair_samples import LINES, MISPLACED, choose, pair_file, settle, unfold, unit, words
from screens import on_every_screen
from waiting import wait_until


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    return pair_file(tmp_path_factory.mktemp("short"))


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    return pair_file(tmp_path_factory.mktemp("long"), words(300, 1), words(280, 3))


def well_placed(page, least=1):
    settle(page)
    drawn = page.evaluate(MISPLACED)
    assert drawn["wrong"] == []
    assert drawn["lines"] >= least
    return drawn["lines"]


@on_every_screen
def test_there_is_a_line_for_every_choice(short, open_page):
    file, alignments, _ = short
    page = open_page(file)
    greedy = alignments["greedy"]
    drawn = {(one["kind"], one["candidate"]["unit"], one["reference"]["unit"]) for one in page.evaluate(LINES)}
    own = {("precision", i, int(j)) for i, j in enumerate(greedy.candidate_partners)}
    assert drawn == own | {("recall", int(i), j) for j, i in enumerate(greedy.reference_partners)}
    well_placed(page, len(drawn))


@pytest.mark.parametrize("matching", ["exact", pytest.param("transport", marks=pytest.mark.slow)])
def test_lines_of_other_matchings_are_their_cells(short, open_page, matching):
    file, alignments, _ = short
    page = open_page(file)
    choose(page, matching)
    well_placed(page)
    drawn = {(one["candidate"]["unit"], one["reference"]["unit"]) for one in page.evaluate(LINES)}
    assert drawn == {tuple(cell) for cell in alignments[matching].cells.tolist()}


@on_every_screen
def test_lines_stay_on_their_words_after_scrolling_resizing_and_zooming(short, open_page):
    page = open_page(short[0], viewport={"width": 1100, "height": 420})
    count = well_placed(page)
    page.mouse.wheel(0, 260)
    wait_until(page, "scrollY > 50")
    assert well_placed(page) == count
    page.set_viewport_size({"width": 420, "height": 700})
    assert well_placed(page) == count
    page.evaluate("document.documentElement.style.fontSize = '150%'")
    assert well_placed(page) == count
    page.evaluate("document.documentElement.style.fontSize = ''; document.body.style.zoom = 1.6")
    assert well_placed(page) == count
    page.evaluate(
        "document.body.style.zoom = ''; document.body.style.transform = 'scale(.7)'; dispatchEvent(new Event('resize'))"
    )
    assert well_placed(page) == count


@on_every_screen
def test_lines_stay_on_their_words_when_the_browser_zooms(short, open_page):
    page = open_page(short[0], alone=True)
    count = well_placed(page)
    session = page.context.new_cdp_session(page)
    for ratio in (1.5, 0.67, 3):  # what a browser's zoom does: fewer, larger CSS pixels
        size = {"width": round(1280 / ratio), "height": round(900 / ratio), "deviceScaleFactor": ratio, "mobile": False}
        session.send("Emulation.setDeviceMetricsOverride", size)
        assert well_placed(page) == count
        canvas = page.locator(".pair-canvas")
        wide = canvas.bounding_box()["width"] * ratio
        assert canvas.evaluate("(canvas) => canvas.width") == pytest.approx(wide, abs=0.51)  # whole device pixels


@on_every_screen
def test_panes_of_long_texts_scroll_alone_and_lines_follow(long, open_page):
    file, alignments, _ = long
    page = open_page(file)
    settle(page)
    assert page.evaluate(LINES) == []  # lines of the word in focus only
    unit(page, "candidate", 20).click()
    well_placed(page)
    partner = int(alignments["greedy"].candidate_partners[20])
    assert partner in {one["reference"]["unit"] for one in page.evaluate(LINES)}
    panes = page.locator(".pair-pane")
    for pane, place in ((0, 130), (1, 340), (0, 0), (1, 2000), (0, 2000)):
        panes.nth(pane).evaluate("(pane, place) => { pane.scrollTop = place; }", place)
        well_placed(page)
    word, pane = unit(page, "candidate", 20).bounding_box(), panes.nth(0).bounding_box()
    assert word["y"] + word["height"] < pane["y"]  # scrolled off at the top
    assert {line["candidate"]["hidden"] for line in page.evaluate(LINES)} == {-1}
    page.set_viewport_size({"width": 500, "height": 800})
    well_placed(page)


@on_every_screen
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_lines_are_drawn_in_their_colours_up_to_the_edges_of_their_words(short, open_page, scheme):
    page = open_page(short[0], color_scheme=scheme, viewport={"width": 1280, "height": 1200})
    unfold(page)
    page.get_by_label("Hide lines below").fill("0.9")
    unit(page, "candidate", 3).hover()  # "bridge", which both texts have: one line of each kind, nearly opaque
    assert well_placed(page) == 2
    lines = {line["kind"]: line for line in page.evaluate(LINES)}
    assert set(lines) == {"precision", "recall"}
    pixels = LinePixels(page)
    for side in ("candidate", "reference"):
        apart = lines["recall"][side]["x"] - lines["precision"][side]["x"]
        assert apart > 4  # else no pixel lies clearly between the two lines
        halfway = np.array([apart / 2, 0])
        for kind, line in lines.items():
            points = end_of_curve(line, side)
            strength = pixels.strength(points, kind)
            painted = points[strength > line["similarity"] / 2]  # opacity stands for similarity
            assert len(painted), f"no {kind} line within {REACH} pixels of the {side}"
            assert pixels.colour(painted) == kind, side
            for beside in (points - halfway, points + halfway):
                assert np.abs(pixels.strength(beside, kind)).mean() < strength.mean() / 2, (kind, side)


def test_the_threshold_hides_lines_and_top_k_adds_them(short, open_page):
    file, alignments, _ = short
    page = open_page(file)
    settle(page)
    every = page.evaluate(LINES)
    bound = sorted(one["similarity"] for one in every)[len(every) // 2]
    unfold(page)
    slider = page.get_by_label("Hide lines below")
    slider.fill(f"{bound:.2f}")
    settle(page)
    left = page.evaluate(LINES)
    assert 0 < len(left) < len(every)
    assert all(one["similarity"] >= float(f"{bound:.2f}") for one in left)
    slider.fill(slider.get_attribute("min"))
    page.get_by_label("Lines per word").fill("3")
    unit(page, "candidate", 3).hover()
    settle(page)
    row = alignments["greedy"].similarity[3]
    nearest = {int(place) for place in row.argsort()[::-1][:3]}
    assert nearest <= {one["reference"]["unit"] for one in page.evaluate(LINES)}
    well_placed(page)
    unfold(page)
    page.get_by_label("Recall lines").uncheck()
    page.mouse.move(0, 0)
    settle(page)
    assert "recall" not in {one["kind"] for one in page.evaluate(LINES)}
