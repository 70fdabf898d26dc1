"""The likelihood view in a real browser: the numbers, every kind of text, keyboard, axe, 320 pixels, files."""

import base64
import csv
import io
import json
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from laid_out_words import assert_letters_stay_joined
from likelihood_samples import CANDIDATE, REFERENCE, fact, likelihood_file, settle, token
from screens import on_every_screen

from evalign.render.export import write_html
from tiny_torch_models import build

SVG = "{http://www.w3.org/2000/svg}"
DIRECTIONS = ("reference-to-candidate", "candidate-to-reference")
HOSTILE = "</script><img src=x onerror=\"document.title='hit'\"> <b>&amp; ${x} \u202eturned\u202c \x07 end"
ARABIC = "ذهبت القطة الصغيرة إلى السوق", "القطة السوداء ذهبت إلى المدرسة"
FOCUSED = "document.activeElement.dataset.unit"

# The predicted text without its special tokens.
WRITTEN = """() => {
  const copy = document.querySelector("[role=listbox]").cloneNode(true);
  copy.querySelectorAll(".special").forEach((one) => one.remove());
  return copy.textContent.trim();
}"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return build("bart", tmp_path_factory.mktemp("likelihood") / "tiny-bart", generates=True)


@pytest.fixture(scope="module")
def plain(model, tmp_path_factory):
    file = tmp_path_factory.mktemp("plain") / "likelihood.html"
    return file, likelihood_file(model, file)


def ranks(log_probs):
    """1 for the least likely, the earlier first among equals."""
    order = np.argsort(np.round(log_probs, 8), kind="stable")
    return {int(place): rank for rank, place in enumerate(order, start=1)}


def saved(page, kind):
    with page.expect_download() as waiting:
        page.locator(f'[data-export="{kind}"]').click()
    with open(waiting.value.path(), "rb") as stream:
        return waiting.value.suggested_filename, stream.read()


def test_the_numbers_are_the_librarys(plain, open_page):
    file, found = plain
    page = open_page(file)
    assert page.locator(".pair-score dd").inner_text() == f"{found.scores['score']:.4f}"
    assert page.locator(".pair-recipe").inner_text() == found.signature
    page.locator(".pair-table summary").click()
    page.locator(".pair-table tbody tr").first.wait_for()
    for direction in DIRECTIONS:
        one = found.directions[direction]
        page.get_by_role("radio", name=direction).check()
        assert f"{one.score:.4f}" in page.locator(".pair-choice", has_text=direction).inner_text()
        assert f"mean log-probability {one.score:.4f}" in page.locator(".likely-stage").inner_text()
        place = ranks(one.log_probs)
        rows = page.locator(".pair-table tbody tr").all()
        assert len(rows) == len(one.log_probs) == page.locator("[role=option]").count()
        for index, row in enumerate(rows):
            cells = row.locator("th, td").all_inner_texts()
            assert cells[1] == f"{one.log_probs[index]:.4f}"
            assert cells[3] == str(place[index])
        for index in (0, 3, len(rows) - 1):
            token(page, index).hover()
            settle(page)
            assert fact(page, "log_prob") == f"{one.log_probs[index]:.4f}"
            assert fact(page, "rank") == f"{place[index]} of {len(rows)}"
            assert fact(page, "share") == f"{one.log_probs[index] / len(rows):.4f}"
            said = fact(page, "probability")
            expected = 100 * math.exp(one.log_probs[index])
            assert said == "< 0.001 %" or float(said.removesuffix(" %")) == pytest.approx(expected, rel=0.06)
            assert (expected < 0.001) == (said == "< 0.001 %")
        listed = page.locator(".likely-list button span:first-of-type").all_inner_texts()
        assert listed == [f"{value:.4f}" for value in np.sort(one.log_probs)[:10]]
    assert page.problems == []


def test_the_slider_marks_what_is_below(plain, open_page):
    file, found = plain
    values = found.directions[DIRECTIONS[0]].log_probs
    page = open_page(file)
    for bound in (float(np.floor(10 * np.median(values)) / 10), 0.0):
        page.get_by_label("Unlikely below").fill(str(bound))
        below = int((values < bound).sum())
        marked = page.locator("[role=option].weak").evaluate_all("(all) => all.map((one) => Number(one.dataset.unit))")
        assert marked == np.flatnonzero(values < bound).tolist()
        assert f"{below} of {len(values)} tokens are below {bound:.1f}" in page.locator(".pair-section").inner_text()
        assert page.get_by_label("Unlikely below").get_attribute("aria-valuetext").startswith(f"{bound:.1f} (")


def test_shades_follow_the_probability(plain, open_page):
    file, found = plain
    page = open_page(file)
    steps = [0.5, 0.1, 0.01, 0.001]
    expected = [
        f"l{sum(math.exp(value) < step for step in steps)}" for value in found.directions[DIRECTIONS[0]].log_probs
    ]
    classes = page.locator("[role=option]").evaluate_all("(all) => all.map((one) => one.className.match(/l[0-4]/)[0])")
    assert classes == expected
    assert len(set(expected)) > 1  # else nothing is tested
    for scheme, sign in (("light", 1), ("dark", -1)):
        page.emulate_media(color_scheme=scheme)
        colours = page.evaluate("""() => [0, 1, 2, 3, 4].map((place) => getComputedStyle(document.documentElement)
          .getPropertyValue(`--l${place}`).trim())""")
        grey = [
            sum(w * int(one[i : i + 2], 16) for w, i in ((0.3, 1), (0.59, 3), (0.11, 5)))
            for one in colours if len(one) == 7
        ]  # fmt: skip
        assert sorted(grey, key=lambda value: -sign * value) == grey  # told apart without any hue
        assert min(abs(np.diff(grey))) > 5


def test_a_journey_by_keyboard(plain, open_page):
    file, found = plain
    values = found.directions[DIRECTIONS[0]].log_probs
    by_rank = {rank: place for place, rank in ranks(values).items()}
    page = open_page(file)
    page.get_by_label("Unlikely below").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Read: reference"
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "1"  # the first token of the text, not the special one before it
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.evaluate(FOCUSED) == "2"
    assert fact(page, "log_prob") == f"{values[2]:.4f}"
    assert f"log-probability {values[2]:.4f}" in page.get_by_role("status").inner_text()
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")  # nothing lies behind the end
    assert page.evaluate(FOCUSED) == str(len(values) - 1)
    page.keyboard.press("Home")
    assert page.evaluate(FOCUSED) == "0"
    token(page, by_rank[2]).focus()
    page.keyboard.press("ArrowUp")
    assert page.evaluate(FOCUSED) == str(by_rank[1])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED) == str(by_rank[3])
    page.keyboard.press("Enter")
    settle(page)
    assert token(page, by_rank[3]).get_attribute("aria-selected") == "true"
    assert page.locator(".pair-card").get_by_text("pinned").count() == 1
    page.keyboard.press("Escape")
    settle(page)
    assert page.locator('[aria-selected="true"]').count() == 0
    page.locator(".likely-list button").nth(4).focus()
    page.keyboard.press("Enter")
    settle(page)
    assert page.evaluate(FOCUSED) == str(by_rank[5])
    assert fact(page, "rank") == f"5 of {len(values)}"
    page.get_by_role("radio", name=DIRECTIONS[0]).focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("radio", name=DIRECTIONS[1]).is_checked()
    assert page.get_by_role("listbox").get_attribute("aria-label") == "Tokens of the reference"
    assert page.evaluate(WRITTEN) == REFERENCE


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 320)])
def test_axe_finds_nothing(plain, open_page, axe, scheme, width):
    page = open_page(plain[0], color_scheme=scheme, viewport={"width": width, "height": 800})
    token(page, 3).click()
    page.locator(".pair-table summary").click()
    page.get_by_label("Unlikely below").fill("0")
    settle(page)
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.problems == []


@on_every_screen
def test_nothing_is_wider_than_a_narrow_screen_or_too_small(plain, open_page):
    page = open_page(plain[0], viewport={"width": 320, "height": 800})
    token(page, 3).click()
    page.locator(".pair-table summary").click()
    page.get_by_label("Unlikely below").fill("0")
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    targets = page.evaluate("""() => [...document.querySelectorAll("button, summary, label")]
      .filter((one) => one.offsetParent).map((one) => one.getBoundingClientRect().height)""")
    assert min(targets) >= 24


def test_hostile_texts_stay_texts_here_and_in_files(model, tmp_path, open_page):
    found = likelihood_file(model, tmp_path / "h.html", HOSTILE, "<b onclick=alert(1)>two</b> dogs")
    page = open_page(tmp_path / "h.html")
    page.locator(".pair-table summary").click()
    for index in range(page.locator("[role=option]").count()):
        token(page, index).dispatch_event("pointerover")
    settle(page)
    assert page.evaluate(WRITTEN) == HOSTILE
    assert page.locator("main img, main script, main b[onclick]").count() == 0
    assert "hit" not in page.title()
    assert "\ufffd" in "".join(ElementTree.fromstring(saved(page, "svg")[1]).itertext())  # XML cannot hold U+0007
    rows = list(csv.DictReader(io.StringIO(saved(page, "csv")[1].decode("utf-8"), newline="")))
    own = [row for row in rows if row["direction"] == DIRECTIONS[0]]
    pieces = found.directions[DIRECTIONS[0]].target.pieces
    assert [row["piece"] for row in own] == [f"'{piece}" if piece[0] in "=+-@" else piece for piece in pieces]
    assert page.problems == []


@on_every_screen
def test_right_to_left_with_several_tokens_to_a_letter(model, tmp_path, open_page):
    found = likelihood_file(model, tmp_path / "a.html", *ARABIC)
    one = found.directions[DIRECTIONS[0]]
    page = open_page(tmp_path / "a.html")
    assert page.evaluate(WRITTEN) == ARABIC[0]
    assert page.get_by_role("listbox").evaluate("(text) => getComputedStyle(text).direction") == "rtl"
    assert_letters_stay_joined(page.get_by_role("listbox"))
    token(page, 2).focus()
    page.keyboard.press("ArrowLeft")  # onwards, in a text that runs to the left
    settle(page)
    assert page.evaluate(FOCUSED) == "3"
    shared = [place for place, (start, stop) in enumerate(one.target.offsets.tolist()) if (start, stop) == (2, 3)]
    assert len(shared) == 2  # two bytes of one letter: two tokens, one place on the page
    assert fact(page, "log_prob") == f"{min(one.log_probs[place] for place in shared):.4f}"
    parts = page.locator(".pair-facts-tokens tbody td:nth-child(2)").all_inner_texts()
    assert parts == [f"{one.log_probs[place]:.4f}" for place in shared]


def test_what_was_cut_off_and_what_is_empty_is_shown(model, tmp_path, open_page):
    long = " ".join(f"{CANDIDATE} {REFERENCE}" for _ in range(3))
    options = {"max_length": 40, "prompt": "that is", "direction": DIRECTIONS[0]}
    found = likelihood_file(model, tmp_path / "c.html", long, long, **options)
    one = found.directions[DIRECTIONS[0]]
    page = open_page(tmp_path / "c.html")
    assert page.get_by_role("radio").count() == 0  # one direction: nothing to choose
    for pane, tokens in (("section:nth-child(1)", one.source), ("section:nth-child(2)", one.target)):
        mark = page.locator(f".likely-stage {pane} .pair-mark").get_attribute("data-label")
        assert mark == f"cut here: {tokens.dropped} tokens left out"
    read = page.get_by_role("region", name="Read: reference").locator("p")
    assert read.text_content() == f"{long} that is"
    assert not read.locator(".pair-cut").text_content().endswith("is")  # the prompt behind the cut was read
    cut = page.get_by_role("region", name="Left out: candidate").locator(".pair-cut").text_content()
    assert long.endswith(cut)
    assert len(cut) == len(long) - max(stop for start, stop in one.target.offsets.tolist() if start < stop)
    assert "truncated" in page.locator(".pair-notice").inner_text()

    likelihood_file(model, tmp_path / "e.html", " ", "something")
    page = open_page(tmp_path / "e.html")
    assert page.locator("[role=listbox] .pair-empty").inner_text() == "(nothing to read)"
    assert page.locator(".pair-score dd").inner_text() == "-87.3365"
    assert "empty" in page.locator(".pair-notice").inner_text()
    assert "the model was not asked" in page.locator(".pair-section").inner_text()
    assert page.locator("[role=option].weak").count() == 0
    assert page.problems == []


def test_a_text_without_any_token_is_shown_as_empty(tmp_path, open_page, axe):
    """A causal model predicts no special tokens, so that nothing at all is left of an empty text."""
    likelihood_file(build("gpt2", tmp_path / "tiny-gpt2", generates=True), tmp_path / "n.html", "", "something")
    page = open_page(tmp_path / "n.html")
    assert page.locator(".pair-empty").inner_text() == "(empty text)"
    assert page.locator("[role=option], [role=listbox]").count() == 0
    page.locator(".pair-table summary").click()
    assert axe(page) == []
    saved(page, "svg")
    assert page.problems == []


def test_unknown_and_impossible_tokens_are_marked(plain, tmp_path, open_page):
    document = plain[1].to_dict()
    one = document["directions"][0]
    one["log_probs"][3] = document["lowest"]
    one["predicted"]["unknown"] = [5]
    write_html(document, tmp_path / "m.html")
    page = open_page(tmp_path / "m.html")
    for index, said in ((3, "Impossible"), (5, "Unknown token")):
        token(page, index).hover()
        settle(page)
        marks = page.locator(".pair-facts-mark b").all_inner_texts()
        assert said in marks
        assert len(marks) <= 2  # beside it at most "Unlikely"
    assert page.locator("[role=option].unknown").count() == 1


def test_files_have_the_numbers_the_words_and_the_recipe(plain, open_page):
    file, found = plain
    page = open_page(file)
    page.get_by_role("radio", name=DIRECTIONS[1]).check()
    name, picture = saved(page, "svg")
    assert name == f"evalign-likelihood-{DIRECTIONS[1]}.svg"
    root = ElementTree.fromstring(picture)
    written = [one.text for one in root.iter(f"{SVG}text")]
    assert set(CANDIDATE.split()) | set(REFERENCE.split()) <= set(written)
    assert root.find(f"{SVG}desc").text == found.signature
    assert found.signature in "".join(written)
    assert f"mean {found.directions[DIRECTIONS[1]].score:.4f}" in " ".join(written)
    rows = list(csv.DictReader(io.StringIO(saved(page, "csv")[1].decode("utf-8"), newline="")))
    for direction, one in found.directions.items():
        own = [row for row in rows if row["direction"] == direction]
        assert [float(row["log_prob"]) for row in own] == pytest.approx(one.log_probs, abs=1e-7)
        assert [float(row["probability"]) for row in own] == pytest.approx(np.exp(one.log_probs), rel=1e-6)
        assert {int(row["token"]): int(row["rank"]) for row in own} == ranks(one.log_probs)
        assert [[int(row["start"]), int(row["stop"])] for row in own] == one.target.offsets.tolist()
    assert {row["signature"] for row in rows} == {found.signature}
    assert saved(page, "png")[1].startswith(b"\x89PNG")


def test_the_state_lies_in_the_address_and_a_forged_one_is_no_more_than_the_defaults(plain, open_page):
    page = open_page(plain[0])
    page.get_by_role("radio", name=DIRECTIONS[1]).check()
    page.get_by_label("Unlikely below").fill("-3")
    token(page, 4).click()
    settle(page)
    again = open_page(page.url)
    assert again.get_by_role("radio", name=DIRECTIONS[1]).is_checked()
    assert again.get_by_label("Unlikely below").input_value() == "-3"
    assert token(again, 4).get_attribute("aria-selected") == "true"
    forged = {"direction": "x", "threshold": "a", "pinned": 9999}
    text = base64.urlsafe_b64encode(json.dumps({"view": forged}).encode()).decode().rstrip("=")
    page = open_page(f"{plain[0].as_uri()}#v1={text}")
    assert page.get_by_role("radio", name=DIRECTIONS[0]).is_checked()
    assert page.get_by_label("Unlikely below").input_value() == "-4.6"
    assert page.locator('[aria-selected="true"]').count() == 0
    assert page.problems == []
