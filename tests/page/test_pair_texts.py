"""Texts of every kind in the pair view: hostile, right to left, without spaces, beyond the basic plane, long, cut."""

from dataclasses import replace

import numpy as np
import pytest
from laid_out_words import assert_letters_stay_joined
from pair_samples import FAKE, LINES, MISPLACED, facts, pair_file, settle, unfold, unit, words
from screens import on_every_screen

import evalign
from evalign.core import Tokens
from evalign.matching.greedy import Greedy

ARABIC = "ذهبت القطة الصغيرة إلى السوق", "القطة السوداء ذهبت إلى المدرسة"
HEBREW = "החתול ישב על המחצלת", "חתול שחור יושב על שטיח"
CHINESE = "今天天气很好,我们去公园散步。", "今天的天氣不錯,我們到公園走走吧。"
JAPANESE = "猫が窓のそばで寝ている。", "窓辺で猫が眠っています。"
HOSTILE = "</script><img src=x onerror=\"document.title='hit'\"> <b>&amp; {{7*7}} ${x} \u202eturned\u202c \x07 end"

# The text of a pane without its special tokens.
WRITTEN = """(side) => {
  const copy = document.querySelector(`.pair-${side} .pair-text`).cloneNode(true);
  const special = [...copy.querySelectorAll(".special")];
  special.forEach((one) => one.remove());
  return copy.textContent;
}"""


# Of every word of a pane: where its minimap, the pane's text as large as fits, has it (window's pixels), and how opaque
# the minimap is there and halfway between this line of words and the next.
MINIMAP = """(canvas) => {
  const pane = canvas.parentElement.querySelector(".pair-pane");
  const text = pane.querySelector(".pair-text");
  const [corner, edge] = [text.getBoundingClientRect(), canvas.getBoundingClientRect()];
  const across = canvas.clientWidth / pane.scrollWidth;
  const down = Math.min(across, pane.clientHeight / pane.scrollHeight);
  const ratio = canvas.width / canvas.clientWidth;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const opacity = (x, y) => data[4 * (Math.floor(y * ratio) * canvas.width + Math.floor(x * ratio)) + 3];
  const lineHeight = parseFloat(getComputedStyle(text).lineHeight);
  return [...pane.querySelectorAll(".pair-unit")].map((span) => {
    const box = span.getBoundingClientRect();
    const [x, top] = [across * ((box.left + box.right) / 2 - corner.left), box.top - corner.top];
    const [bar, gap] = [down * top + 0.5, down * (top + (0.6 * box.height + lineHeight) / 2)];
    return { x: edge.left + x, y: edge.top + bar, word: opacity(x, bar), between: opacity(x, gap) };
  });
}"""


# How many rows and columns of pixels have ink in the margins of the heatmap.
LABELLED = """(canvas) => {
  const ratio = canvas.width / canvas.clientWidth;
  const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const inked = (x, y) => data[4 * (Math.floor(y) * width + Math.floor(x)) + 3] > 100;
  const rows = new Set();
  const columns = new Set();
  for (let y = 80; y < height / ratio; y += 1)
    for (let x = 20; x < 40; x += 1) if (inked(x * ratio, y * ratio)) rows.add(y);
  for (let x = 80; x < width / ratio; x += 1)
    for (let y = 20; y < 40; y += 1) if (inked(x * ratio, y * ratio)) columns.add(x);
  return { left: rows.size, top: columns.size };
}"""


@on_every_screen
@pytest.mark.parametrize("texts", [ARABIC, pytest.param(HEBREW, marks=pytest.mark.slow)], ids=["arabic", "hebrew"])
def test_letters_stay_joined_and_run_from_right_to_left(texts, tmp_path, open_page, minilm):
    page = open_page(pair_file(tmp_path, *texts, spec="bertscore", every=False)[0])
    unfold(page)
    page.get_by_label("Subword pieces").check()
    settle(page)
    for side, text in zip(("candidate", "reference"), texts, strict=True):
        assert page.evaluate(WRITTEN, side).strip() == text
        assert page.locator(f".pair-{side} .pair-text").evaluate("(one) => getComputedStyle(one).direction") == "rtl"
        assert_letters_stay_joined(page.locator(f".pair-{side} .pair-text"))
        boxes = [unit(page, side, place).bounding_box() for place in (1, 2)]
        assert boxes[0]["x"] > boxes[1]["x"]
    assert page.evaluate(MISPLACED)["wrong"] == []
    unit(page, "candidate", 2).focus()
    page.keyboard.press("ArrowLeft")  # onwards, in a text that runs to the left
    assert page.evaluate("document.activeElement.dataset.unit") == "3"
    assert page.problems == []


@pytest.mark.parametrize(
    "texts", [CHINESE, pytest.param(JAPANESE, marks=pytest.mark.slow)], ids=["chinese", "japanese"]
)
def test_texts_without_spaces_are_whole_and_their_unknown_tokens_flagged(texts, tmp_path, open_page, minilm):
    file, _, document = pair_file(tmp_path, *texts, spec="bertscore(specials=drop)", every=False)
    page = open_page(file)
    settle(page)
    for side, text in zip(("candidate", "reference"), texts, strict=True):
        assert page.evaluate(WRITTEN, side) == text
        unknown = {document[side]["words"][token] for token in document[side]["unknown"]}
        assert page.locator(f'.pair-unit.unknown[data-side="{side}"]').count() == len(unknown)
    assert any(document[side]["unknown"] for side in ("candidate", "reference"))
    unknown = page.locator(".pair-unit.unknown").first
    unknown.hover()
    settle(page)
    assert page.locator(".pair-card").get_by_text("Unknown token").count() == 1
    assert page.evaluate(MISPLACED)["wrong"] == []


def test_offsets_count_code_points(tmp_path, open_page):
    text = "𝒳 is 👩‍👩‍👧 and e\u0301 and 𝒴"
    page = open_page(pair_file(tmp_path, text, "𝒴 and 𝒳")[0])
    assert page.evaluate(WRITTEN, "candidate").strip() == text
    assert page.get_by_role("option", name="𝒳").count() == 2


def test_tokens_that_share_or_lack_characters_join_a_neighbour(tmp_path, open_page):
    """As byte-level and sentencepiece vocabularies have them: three tokens of one emoji, a mark without characters."""
    pieces = ("hi", "Ġð", "Ł", "Ĭ", "▁", "Ġyo")
    offsets = np.array([(0, 2), (3, 4), (3, 4), (3, 4), (5, 5), (4, 7)])
    tokens = Tokens("hi 🎉 yo", pieces, np.arange(6), offsets, np.zeros(6, dtype=bool))
    alignment = evalign.metric(FAKE).align("a", "b c")
    similarity = np.random.default_rng(0).random((6, len(alignment.reference)))
    result = Greedy().solve(similarity)
    names = ("similarity", "candidate_values", "reference_values", "candidate_partners", "reference_partners")
    solved = {name: getattr(result, name) for name in names} | {"cells": np.argwhere(result.cells)}
    alignment = replace(alignment, candidate=tokens, candidate_weights=np.ones(6), **solved)
    file = tmp_path / "joined.html"
    alignment.to_html(file)
    page = open_page(file)
    settle(page)
    for pieces_shown in (False, True):
        unfold(page)
        page.get_by_label("Subword pieces").set_checked(pieces_shown)
        settle(page)
        assert page.locator('.pair-unit[data-side="candidate"]').all_inner_texts() == ["hi", "🎉", "yo"]
        assert page.evaluate(WRITTEN, "candidate") == "hi 🎉 yo"
    unit(page, "candidate", 1).hover()
    settle(page)
    assert facts(page, "value") == [f"{alignment.candidate_values[1:4].mean():.4f}"]
    assert page.evaluate(MISPLACED)["wrong"] == []


def test_hostile_texts_stay_texts(tmp_path, open_page):
    page = open_page(pair_file(tmp_path, HOSTILE, f"plain {HOSTILE[:40]}")[0])
    settle(page)
    unfold(page)
    page.get_by_label("Subword pieces").check()
    page.get_by_label("Show what changed against").select_option("exact")
    page.locator(".pair-more > .pair-table summary").click()
    for place in range(page.locator('.pair-unit[data-side="candidate"]').count()):
        unit(page, "candidate", place).dispatch_event("pointerover")
    settle(page)
    assert HOSTILE.replace("\r", "\n") in page.evaluate(WRITTEN, "candidate")
    assert page.locator("main img, main script, main b[onclick]").count() == 0
    assert "hit" not in page.title()
    assert page.problems == []


def test_texts_of_512_tokens_have_panes_and_minimaps(tmp_path, open_page):
    file, alignments, _ = pair_file(tmp_path, words(510, 1), words(510, 3), every=False)
    assert len(alignments["greedy"].candidate) == 512
    page = open_page(file)
    settle(page)
    assert page.locator(".pair-stage.long .pair-minimap").count() == 2
    for token in (3, 500):
        span = unit(page, "candidate", token)
        span.scroll_into_view_if_needed()
        span.hover()
        settle(page)
        assert facts(page, "value") == [f"{alignments['greedy'].candidate_values[token]:.4f}"]
        found = page.evaluate(MISPLACED)
        assert found["wrong"] == []
        assert found["lines"] == len(page.evaluate(LINES)) > 0
    page.locator(".pair-heat summary").click()
    settle(page)
    cells = page.locator(".heat-cells")
    assert cells.evaluate("(canvas) => canvas.width") > 512  # no cell is lost
    board, scroll = page.locator(".heat-board"), page.locator(".heat-scroll")
    assert scroll.evaluate("(one) => one.scrollWidth <= one.clientWidth")  # all of it is seen
    narrow = board.bounding_box()["width"]
    range_shown = page.locator(".heat-scale").inner_text()
    page.get_by_label("Zoom").fill("3")
    page.get_by_label("More contrast").check()
    settle(page)
    assert board.bounding_box()["width"] > 2 * narrow
    assert scroll.evaluate("(one) => one.scrollWidth > one.clientWidth")
    assert page.locator(".heat-scale").inner_text() != range_shown
    margin = cells.evaluate(LABELLED)
    assert margin["left"] > 20  # words of the candidate stand before the cells, at every so many rows
    assert margin["top"] > 20
    assert page.problems == []


@on_every_screen
def test_a_minimap_has_every_word_of_its_text_and_a_click_leads_there(tmp_path, open_page):
    page = open_page(pair_file(tmp_path, words(510, 1), words(510, 3), every=False)[0])
    settle(page)
    places = page.locator(".pair-reference .pair-minimap").evaluate(MINIMAP)
    assert len(places) == 512
    assert all(place["word"] > 0 for place in places)
    assert sum(place["between"] for place in places) < sum(place["word"] for place in places) / 2
    page.mouse.click(places[400]["x"], places[400]["y"])
    settle(page)
    word, pane = unit(page, "reference", 400).bounding_box(), page.locator(".pair-reference .pair-pane").bounding_box()
    assert pane["y"] < word["y"] < word["y"] + word["height"] < pane["y"] + pane["height"]


@pytest.mark.slow
def test_windows_and_cuts_are_shown_in_place(tmp_path, open_page, minilm):
    text, other = words(400, 1), words(60, 3)
    whole, _, document = pair_file(tmp_path, text, other, spec="bertscore", every=False)
    assert document["candidate"]["windows"]
    page = open_page(whole)
    marks = page.locator(".pair-candidate .pair-mark")
    assert marks.count() == len(document["candidate"]["windows"])
    word = document["candidate"]["words"][document["candidate"]["windows"][0]]
    following = marks.first.evaluate("(mark) => mark.nextElementSibling.textContent")
    assert following == text.split()[word]
    assert page.evaluate(WRITTEN, "candidate").strip() == text

    cut, _, document = pair_file(tmp_path, text, other, spec="bertscore(overlong=truncate)", every=False)
    page = open_page(cut)
    rest = page.locator(".pair-candidate .pair-cut").inner_text()
    assert text.endswith(rest.strip())
    assert 0 < len(rest) < len(text)
    label = page.locator(".pair-candidate .pair-mark").get_attribute("data-label")
    assert str(document["candidate"]["dropped"]) in label
    assert "truncated" in page.locator(".pair-notice").inner_text()
    assert page.problems == []


def test_an_empty_text_is_shown_as_such(tmp_path, open_page):
    page = open_page(pair_file(tmp_path, "", "something")[0])
    settle(page)
    assert page.locator(".pair-candidate .pair-empty").inner_text() == "(empty text)"
    assert page.locator(".pair-score dd").first.inner_text() == "0.0000"
    assert page.problems == []


def test_opposites_are_marked_at_their_words_and_named(tmp_path, open_page, axe):
    page = open_page(pair_file(tmp_path, "Prices did not rise, he said", "Prices did rise, she said")[0])
    settle(page)
    assert page.locator(".pair-notice").inner_text() == 'polarity: "not" is only in the candidate'
    marked = page.locator(".pair-unit.opposite")
    assert marked.all_inner_texts() == ["not"]
    assert "≠" in marked.evaluate("(one) => getComputedStyle(one, '::after').content")
    assert axe(page) == []
    assert page.problems == []


def test_what_a_model_cannot_read_is_grey_and_said(tmp_path, open_page, minilm, axe):
    file, _, document = pair_file(tmp_path, *ARABIC, spec="bertscore", every=False)
    page = open_page(file)
    settle(page)
    assert page.get_by_role("note").inner_text() == document["meaningless"]
    panel = "rgb(244, 246, 248)"
    looks = page.locator(".pair-unit:not(.special)").evaluate_all(
        "(all) => all.map((one) => [getComputedStyle(one).backgroundColor, getComputedStyle(one).textDecorationLine])"
    )
    assert {tuple(look) for look in looks} == {(panel, "none")}
    assert page.locator(".pair-canvas").evaluate("(one) => getComputedStyle(one).filter") == "grayscale(1)"
    assert axe(page) == []
    assert page.problems == []
