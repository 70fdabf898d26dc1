"""The pair view by keyboard, to axe, on a screen of 320 pixels, and with its state from an address."""

import base64
import json

import pytest
from pair_samples import LINES, choose, facts, pair_file, settle, unfold, unit, words
from screens import on_every_screen

from evalign.render.export import bundle, page_file

FOCUSED = "() => { const one = document.activeElement; return [one.dataset.side, Number(one.dataset.unit)]; }"


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    return pair_file(tmp_path_factory.mktemp("short"))


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    return pair_file(tmp_path_factory.mktemp("long"), words(90, 1), words(80, 3))


def focused(page):
    settle(page)
    return page.evaluate(FOCUSED)


def test_a_journey_by_keyboard(short, open_page):
    file, alignments, _ = short
    greedy = alignments["greedy"]
    page = open_page(file)
    page.keyboard.press("Tab")  # nothing stands before the picture
    assert focused(page) == ["candidate", 1]  # the first word, not the special token before it
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert focused(page) == ["candidate", 3]
    assert facts(page, "value") == [f"{greedy.candidate_values[3]:.4f}"]
    assert f"{greedy.candidate_values[3]:.4f}" in page.get_by_role("status").inner_text()
    page.keyboard.press("ArrowDown")
    partner = int(greedy.candidate_partners[3])
    assert focused(page) == ["reference", partner]
    assert facts(page, "value") == [f"{greedy.reference_values[partner]:.4f}"]
    page.keyboard.press("ArrowUp")
    assert focused(page) == ["candidate", int(greedy.reference_partners[partner])]
    page.keyboard.press("End")
    assert focused(page) == ["candidate", len(greedy.candidate) - 1]
    page.keyboard.press("ArrowRight")  # nothing lies behind the end
    assert focused(page) == ["candidate", len(greedy.candidate) - 1]
    page.keyboard.press("Home")
    assert focused(page) == ["candidate", 0]
    page.keyboard.press("Tab")
    assert focused(page)[0] == "reference"
    for wanted in ("input[value=greedy]", ".pair-more-matchings summary", ".pair-options summary", ".pair-card"):
        page.keyboard.press("Tab")
        assert page.evaluate("(wanted) => document.activeElement.matches(wanted)", wanted), wanted
    settle(page)
    assert page.locator(".pair-stage.focusing").count() == 0  # the focus left the texts


def test_enter_pins_and_escape_lets_go(short, open_page):
    page = open_page(short[0])
    unit(page, "candidate", 5).focus()
    page.keyboard.press("Enter")
    settle(page)
    assert unit(page, "candidate", 5).get_attribute("aria-selected") == "true"
    pinned = facts(page, "value")
    unit(page, "reference", 3).hover()
    page.get_by_role("heading", level=1).hover()
    settle(page)
    assert facts(page, "value") == pinned
    assert page.locator(".pair-card").get_by_text("pinned").count() == 1
    unit(page, "candidate", 5).focus()
    page.keyboard.press("Escape")
    settle(page)
    assert page.locator('[aria-selected="true"]').count() == 0
    unit(page, "candidate", 2).click()
    unit(page, "candidate", 2).click()  # a second click lets go as well
    page.mouse.move(2, 2)
    settle(page)
    assert page.locator(".pair-facts").count() == 0


def test_hovering_dims_the_rest(short, open_page):
    page = open_page(short[0])
    unit(page, "candidate", 3).hover()
    settle(page)
    bright = {
        tuple(one.values())
        for one in page.locator(".pair-unit.on").evaluate_all("(all) => all.map((one) => ({ ...one.dataset }))")
    }
    ends = {(side, str(line[side]["unit"])) for line in page.evaluate(LINES) for side in ("candidate", "reference")}
    assert bright == ends
    colour = "(one) => getComputedStyle(one).backgroundColor"
    assert unit(page, "candidate", 9).evaluate(colour) == "rgba(0, 0, 0, 0)"
    assert unit(page, "candidate", 3).evaluate(colour) != "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), pytest.param("dark", 320, marks=pytest.mark.slow)])
def test_axe_finds_nothing(short, open_page, axe, scheme, width):
    page = open_page(short[0], color_scheme=scheme, viewport={"width": width, "height": 800})
    assert axe(page) == []
    unit(page, "candidate", 3).click()
    unfold(page)
    page.get_by_label("Subword pieces").check()
    page.get_by_label("Show what changed against").select_option("exact")
    page.locator(".pair-more > .pair-table summary").click()
    settle(page)
    assert axe(page) == []
    assert page.problems == []


@pytest.mark.slow
def test_axe_finds_nothing_in_long_texts(long, open_page, axe):
    page = open_page(long[0], color_scheme="dark")
    choose(page, "transport")
    unit(page, "candidate", 3).click()
    page.locator(".pair-heat summary").click()
    settle(page)
    assert axe(page) == []


@on_every_screen
@pytest.mark.parametrize("name", [pytest.param("short", marks=pytest.mark.slow), "long"])
def test_nothing_is_wider_than_a_narrow_screen(name, request, open_page):
    page = open_page(request.getfixturevalue(name)[0], viewport={"width": 320, "height": 640})
    page.locator(".pair-more > .pair-table summary").click()
    page.locator(".pair-heat").evaluate("(box) => { box.open = true; }")
    unfold(page)
    page.get_by_label("Show what changed against").select_option("exact")
    for step in (lambda: None, lambda: unit(page, "candidate", 3).click(), page.get_by_label("Subword pieces").check):
        step()
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") == 320
    targets = page.evaluate("""() => [...document.querySelectorAll("button, select, summary, label")]
      .filter((one) => one.offsetParent).map((one) => one.getBoundingClientRect().height)""")
    assert min(targets) >= 24


def test_the_state_comes_back_from_the_address(short, open_page):
    page = open_page(short[0])
    choose(page, "exact")
    unfold(page)
    page.get_by_label("Subword pieces").check()
    page.get_by_label("Hide lines below").fill("0.3")
    page.get_by_label("Lines per word").fill("2")
    unit(page, "candidate", 4).click()
    settle(page)
    again = open_page(page.url)
    settle(again)
    assert again.locator('.pair-matchings input[value="exact"]').is_checked()
    assert again.get_by_label("Subword pieces").is_checked()
    assert again.get_by_label("Hide lines below").input_value() == "0.3"
    assert unit(again, "candidate", 4).get_attribute("aria-selected") == "true"
    assert again.evaluate(LINES) == page.evaluate(LINES) != []


def test_a_forged_state_is_no_more_than_the_defaults(short, open_page):
    forged = {
        "matching": "x",
        "compare": 3,
        "topk": 1e9,
        "threshold": "a",
        "pinned": {"side": "candidate", "token": 999},
    }
    text = base64.urlsafe_b64encode(json.dumps({"view": forged}).encode()).decode().rstrip("=")
    page = open_page(f"{short[0].as_uri()}#v1={text}")
    settle(page)
    assert page.problems == []
    assert page.locator('.pair-matchings input[value="greedy"]').is_checked()
    assert page.locator(".pair-facts").count() == 0


def test_another_document_keeps_the_state_that_fits_it(short, long, tmp_path, open_page):
    """`update`, `apply` and `destroy`, as the server's page uses them."""
    styles = "".join(page_file(name).decode() for name in ("shared/base.css", "pair/pair.css"))
    script = f"{bundle('pair/view.js')}\nwindow.pairView = $modules['pair/view.js'].createView;"
    file = tmp_path / "own.html"
    body = f"<style>{styles}</style><main id=view></main><script type=module>{script}</script>"
    file.write_text(f"<!DOCTYPE html><meta charset=utf-8>{body}", "utf-8")
    other_layer = pair_file(tmp_path, spec="bertscore(model=fake, layer=1)")[2]
    page = open_page(file)
    page.evaluate(
        """(doc) => {
          window.told = [];
          window.view = pairView(document.getElementById("view"), doc, { onState: (state) => told.push(state) });
        }""",
        short[2],
    )
    choose(page, "exact")
    unit(page, "candidate", 4).click()
    settle(page)
    pinned = {"matching": "exact", "pinned": {"side": "candidate", "token": 4}}
    assert page.evaluate("view.state()") == page.evaluate("told.at(-1)") == pinned
    page.evaluate("(doc) => view.update(doc)", other_layer)
    assert page.evaluate("view.state()") == pinned  # the same words
    assert page.locator(".pair-recipe").inner_text() == other_layer["matchings"][1]["signature"]
    page.evaluate("(doc) => view.update(doc)", long[2])
    assert page.evaluate("view.state()") == {"matching": "exact"}
    page.evaluate("view.apply({ subwords: true, topk: 2 })")
    assert page.evaluate("view.state()") == {"subwords": True, "topk": 2}
    page.evaluate("view.destroy(); dispatchEvent(new Event('resize'))")
    settle(page)
    assert page.locator("#view *").count() == 0
    assert page.problems == []
