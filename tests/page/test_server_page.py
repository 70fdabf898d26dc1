"""The page of a real `evalign serve` in a real browser: from the empty form to an exported file, and what may fail."""

import json
import re

import pytest
from pair_samples import MISPLACED, choose, unfold
from screens import on_every_screen

import evalign
from evalign.metrics.all_matchings import align_all
from evalign.metrics.weighting import count_idf

PAIR = ("The storm closed two schools.", "Two schools were shut because of the storm.")
EXAMPLES = 10


@pytest.fixture
def open_server(server, open_page):
    """Opens the server's page, or an address of it, and waits until its form is ready."""

    def opened(place=server, **options):
        page = open_page(place, **options)
        page.locator("#main:not([aria-busy])").wait_for()
        return page

    return opened


@pytest.fixture
def page(open_server):
    """A first visit, once its example is aligned."""
    opened = open_server()
    opened.locator(".pair-stage").wait_for()
    until_aligned(opened)
    return opened


def until(page, expression):
    """Waits for an expression; playwright's own waiting evaluates strings in the page, which the policy forbids."""
    for _ in range(1200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never came true: {expression}")


def until_aligned(page):
    until(page, "!document.querySelector('#pair-result').hasAttribute('aria-busy')")


def until_address(page, matching):
    """Waits until the address has a view of this matching."""
    read = "JSON.parse(atob(location.hash.slice(4).replaceAll('-', '+').replaceAll('_', '/')))"
    until(page, f"location.hash.startsWith('#v1=') && {read}.view.matching === '{matching}'")


def align(page, candidate=PAIR[0], reference=PAIR[1]):
    page.fill("#candidate", candidate)
    page.fill("#reference", reference)
    page.click("#align")
    until_aligned(page)


def shown_scores(page):
    """The numbers of the headline."""
    return page.locator("#pair-result .pair-score dd").all_inner_texts()


def shown_text(page):
    return page.locator("#pair-result").inner_text()


def four(scores):
    return [f"{value:.4f}" for value in scores.values()]


def test_a_first_visit_sees_an_aligned_example_and_a_message_that_covers_nothing(page):
    page.locator(".pair-stage").wait_for()
    assert page.locator("#example option").count() == EXAMPLES + 1
    first = page.evaluate("fetch('/page/examples.json').then((a) => a.json())")[0]
    assert page.input_value("#candidate") == first["candidate"]
    assert page.locator("#example-about").inner_text() == first["about"]
    alignment = evalign.metric("bertscore").align(first["candidate"], first["reference"])
    assert shown_scores(page) == four(alignment.scores)
    assert page.locator(".pair-sentence").inner_text().startswith("Lines join each word with its best match")
    assert not page.locator("#model").is_visible()  # behind "Options"
    offered = page.locator(".pair-choice:visible").all_inner_texts()
    assert [text.split()[0] for text in offered] == ["greedy", "assignment", "transport"]
    assert_messages_cover_nothing(page)
    assert page.problems == []


def test_a_word_stays_pinned_in_a_hidden_tab(page):
    page.locator('.pair-unit[data-side="candidate"]').nth(3).click()
    page.locator(".pair-beside").wait_for()
    page.locator("#tab-corpus").click()
    page.set_viewport_size({"width": 1100, "height": 900})  # the hidden stage is laid out again
    page.wait_for_timeout(200)
    page.locator("#tab-pair").click()
    page.locator(".pair-beside").wait_for()
    assert page.problems == []


def assert_messages_cover_nothing(page):
    status = page.get_by_role("status")
    assert status.inner_text().startswith("Aligned")
    assert status.evaluate("(one) => getComputedStyle(one).position") == "static"
    assert status.evaluate("(one) => one.closest('header') !== null")


@on_every_screen
@pytest.mark.parametrize("size", [(1366, 768), (375, 667)], ids=["wide", "phone"])
def test_words_and_their_lines_are_on_the_first_screen(open_server, size):
    page = open_server(viewport={"width": size[0], "height": size[1]})
    page.locator(".pair-stage").wait_for()
    page.wait_for_timeout(100)
    assert page.evaluate(MISPLACED.replace('getElementById("view")', 'getElementById("pair-result")'))["wrong"] == []
    seen = page.evaluate(WHOLE_LINES)
    assert seen >= (20 if size[0] > 1000 else 3)
    boxes = {name: page.locator(name).bounding_box() for name in ("#reference", ".pair-stage", ".pair-scores")}
    if size[0] > 1000:  # the scores stand beside the picture
        assert boxes[".pair-scores"]["x"] > boxes[".pair-stage"]["x"] + boxes[".pair-stage"]["width"]
        assert boxes[".pair-scores"]["y"] < boxes[".pair-stage"]["y"] + boxes[".pair-stage"]["height"]
    else:  # texts, one row of controls, one sentence, picture, scores
        assert boxes[".pair-stage"]["y"] < boxes["#reference"]["y"] + boxes["#reference"]["height"] + 190
        assert boxes[".pair-scores"]["y"] > boxes[".pair-stage"]["y"] + boxes[".pair-stage"]["height"]


# How many lines have both ends in the window.
WHOLE_LINES = """() => document.getElementById("pair-result").evalignLines().filter((line) =>
  ["candidate", "reference"].every((side) => line[side].y > 0 && line[side].y < innerHeight)).length"""


@pytest.mark.slow
def test_all_layers_are_shown_side_by_side_and_a_click_takes_one(page, axe):
    align(page)
    page.locator(".pair-layers-fold summary").click()
    until(page, "document.querySelectorAll('.pair-layers li').length === 7")
    shown = page.locator(".pair-layers li").all_inner_texts()
    for layer in (0, 3, 6):
        alignment = evalign.metric(f"bertscore(layer={layer})").align(*PAIR)
        assert shown[layer] == f"layer {layer}: f1 {alignment.scores['f1']:.4f}"
        size = page.locator(".pair-layers canvas").nth(layer).evaluate("(one) => [one.height, one.width]")
        assert size == list(alignment.similarity.shape)
    assert page.locator(".pair-layers [aria-pressed=true]").inner_text().startswith("layer 4")
    assert axe(page) == []
    page.locator(".pair-layers button").nth(2).click()
    until(page, "document.querySelector('#pair-result .recipe').textContent.includes('layer:2')")
    assert page.problems == []


def test_empty_texts_are_said_on_the_page(page, axe):
    page.locator(".pair-stage").wait_for()
    page.fill("#candidate", "  ")
    page.fill("#reference", " \u00a0")
    page.click("#align")
    page.get_by_role("alert").wait_for()
    assert "candidate is empty" in page.get_by_role("alert").inner_text()
    assert axe(page) == []
    assert page.problems == []


def test_nothing_can_be_sent_before_the_models_are_known(server, browser):
    context = browser.new_context()
    page = context.new_page()
    held = []
    page.route("**/api/models", lambda route: held.append(route))
    page.goto(server)
    while not held:
        page.wait_for_timeout(20)
    page.fill("#candidate", "written early")
    assert page.locator("#align").is_disabled()
    held[0].continue_()
    page.locator("#main:not([aria-busy])").wait_for()
    assert page.locator("#align").is_enabled()
    assert page.input_value("#candidate") == "written early"
    context.close()


def test_numbers_are_the_librarys_for_every_matching(page):
    align(page)
    for name, alignment in align_all(evalign.metric("bertscore"), *PAIR).alignments.items():
        choose(page, name)
        assert shown_scores(page) == four(alignment.scores), name
        assert page.locator("#pair-result .recipe").inner_text() == alignment.signature
    assert page.problems == []


def test_numbers_are_the_librarys_with_idf_another_layer_and_without_special_tokens(page):
    align(page)
    unfold(page)
    page.check("#idf")
    page.select_option("#layer", "6")
    page.uncheck("#specials")
    until(page, "document.querySelector('#pair-result').textContent.includes('specials:drop')")
    until(page, "document.querySelector('#pair-result').textContent.includes('layer:6')")
    until(page, "document.querySelector('#pair-result').textContent.includes('idf:table')")
    references = page.evaluate("fetch('/page/examples.json').then((a) => a.json())")
    metric = evalign.metric("bertscore(layer=6, specials=drop)")
    table = count_idf(metric.scorer().cache.encoder, [one["reference"] for one in references])
    for name, alignment in align_all(metric, *PAIR, weights=table).alignments.items():
        choose(page, name)
        assert shown_scores(page) == four(alignment.scores), name
    assert page.problems == []


def test_a_late_answer_does_not_overwrite_a_newer_one(page):
    held = []

    def slow(route):
        if "first text" in route.request.post_data:
            held.append(route)
            return
        route.continue_()

    page.route("**/api/align", slow)
    page.fill("#candidate", "the first text")
    page.fill("#reference", "a reference")
    page.click("#align")
    while not held:
        page.wait_for_timeout(20)
    align(page, "the second one", "a reference")
    held[0].continue_()
    page.wait_for_timeout(500)
    assert "second" in shown_text(page)
    assert "first" not in shown_text(page)
    assert page.problems == []


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        ("word " * 2500, "token"),
        pytest.param("x" * (1 << 20), "too large|bytes|MiB|1,048,576", marks=pytest.mark.slow),
    ],
    ids=["tokens", "bytes"],
)
def test_what_the_server_refuses_is_said_on_the_page(page, candidate, said):
    align(page, candidate, "reference")
    page.get_by_role("alert").wait_for()
    assert re.search(said, page.get_by_role("alert").inner_text())
    align(page)
    assert page.locator("#pair-error").is_hidden()


def test_a_full_queue_is_waited_for_and_a_server_that_is_gone_is_said_on_the_page(page):
    asked = []

    def busy(route):
        asked.append(route.request)
        if len(asked) == 1:
            told = {"error": {"code": "busy", "message": "full"}}
            route.fulfill(status=429, headers={"Retry-After": "1"}, body=json.dumps(told))
            return
        route.continue_()

    page.route("**/api/align", busy)
    align(page)
    assert len(asked) == 2
    assert page.locator("#pair-error").is_hidden()
    page.unroute("**/api/align")
    page.route("**/api/align", lambda route: route.abort("connectionrefused"))
    align(page)
    page.get_by_role("alert").wait_for()
    assert "does not answer" in page.get_by_role("alert").inner_text()


def test_the_address_brings_back_texts_options_and_view(page, open_server):
    unfold(page)
    page.select_option("#layer", "5")
    align(page)
    choose(page, "exact")
    until_address(page, "exact")
    again = open_server(page.url)
    until(again, "document.querySelector('#pair-result').textContent.includes('layer:5')")
    assert again.input_value("#candidate") == PAIR[0]
    assert again.locator("input[value=exact]").is_checked()
    for broken in ("#v1=%%%", "#v1=eyJwYWlyIjo3fQ", "#v1=eyJ0YWIiOlsxXX0"):
        again.goto("about:blank")  # or only the fragment would change
        again.goto(page.url.partition("#")[0] + broken)
        again.locator("#main:not([aria-busy])").wait_for()
        assert again.problems == []


def test_what_was_aligned_is_what_the_address_says(page, open_server):
    align(page)
    page.fill("#candidate", "written later")
    choose(page, "exact")
    until_address(page, "exact")
    assert open_server(page.url).input_value("#candidate") == PAIR[0]


@pytest.mark.slow
def test_an_address_opened_in_the_same_tab_brings_its_view(page, open_server):
    align(page)
    other = open_server(page.url)
    align(other, "a third text", "a reference")
    choose(other, "exact")
    until_address(other, "exact")
    page.evaluate("(hash) => { location.hash = hash; }", other.evaluate("location.hash"))
    until(page, "document.querySelector('#candidate').value === 'a third text'")
    until(page, "document.querySelector('#pair-result .recipe').textContent.includes('match:exact')")


def test_the_skip_link_leaves_everything_as_it_is(page):
    align(page)
    page.fill("#candidate", "half a sentence")
    page.evaluate("document.querySelector('.skip-link').click()")
    page.wait_for_timeout(300)
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.input_value("#candidate") == "half a sentence"
    assert "#v1=" in page.url


def scored_file(page, tmp_path, name, references):
    rows = [{"candidate": "the storm closed a school", "references": [reference]} for reference in references]
    file = tmp_path / name
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    page.click("#tab-corpus")
    page.set_input_files("input[type=file]", file)
    page.get_by_role("heading", name=name).wait_for()
    page.get_by_role("button", name=re.compile("^Score")).click()
    page.locator("#corpus-result").get_by_text(references[-1]).first.wait_for()


def test_idf_is_counted_anew_for_every_file_and_back_leads_to_the_scores(page, tmp_path):
    files = {"one.jsonl": ["the storm", "the school", "the cat"], "two.jsonl": ["the storm", "a storm", "storms here"]}
    shown = []
    for name, references in files.items():
        scored_file(page, tmp_path, name, references)
        page.locator("#corpus-result .c-open").first.click()
        unfold(page)
        page.check("#idf")
        until(page, "!document.querySelector('#pair-result').hasAttribute('aria-busy')")
        until(page, "document.querySelector('#pair-result').textContent.includes('idf:table')")
        page.wait_for_timeout(500)
        shown.append(re.search(r"idf:table@\w+", shown_text(page))[0])
        page.go_back()
        until(page, "!document.querySelector('#corpus').hidden")
        assert page.locator("#corpus-result").get_by_text(references[-1]).count() >= 1
    assert shown[0] != shown[1]
    assert page.problems == []


def press_until(page, key, selector, most=60):
    for _ in range(most):
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{selector} was not reached with {key}")


def test_the_whole_journey_by_keyboard(page, tmp_path, open_page):
    """From the first visit to an exported file, without a mouse."""
    first = page.input_value("#candidate")
    press_until(page, "Tab", "#example")
    page.keyboard.press("ArrowDown")  # the next example, as a select offers it
    until(page, f"document.querySelector('#candidate').value !== {json.dumps(first)}")
    until_aligned(page)
    press_until(page, "Tab", "#pair-result input[type=radio]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.checked")
    press_until(page, "Tab", "[aria-label='Save as one HTML file']")
    with page.expect_download() as given:
        page.keyboard.press("Enter")
    file = tmp_path / "saved.html"
    given.value.save_as(file)
    saved = open_page(file)
    saved.get_by_role("heading").first.wait_for()
    assert page.input_value("#candidate").split()[1] in saved.locator("main").inner_text()
    assert saved.problems == []
    assert page.problems == []


def test_tabs_follow_arrow_keys_and_the_theme_is_kept(page):
    page.focus("#tab-pair")
    page.keyboard.press("ArrowRight")
    assert page.locator("#corpus").is_visible()
    assert page.locator("#pair").is_hidden()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#pair").is_visible()
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    page.get_by_role("button", name="Light theme").wait_for()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "size"), [("light", (1366, 768)), ("dark", (375, 667))], ids=["wide", "phone"])
def test_axe_finds_nothing_in_any_state(server, open_server, open_page, axe, scheme, size):
    page = open_server(color_scheme=scheme, viewport=dict(zip(("width", "height"), size, strict=True)))
    page.locator(".pair-stage").wait_for()
    assert axe(page) == [], "first visit"
    unfold(page)
    page.locator(".pair-clauses details summary").click()
    page.locator(".pair-unit", has_text="pillars").click()
    assert axe(page) == [], "options, clauses, a pinned word"
    choose(page, "transport")
    page.get_by_label("Zoom").fill("3")
    assert axe(page) == [], "transport, a zoomed heatmap"
    page.get_by_label("Show what changed against").select_option("greedy")
    assert axe(page) == [], "what changed"
    page.select_option("#example", label="Without spaces")
    page.get_by_role("note").wait_for()
    assert axe(page) == [], "text that the model cannot read"
    page.click("#tab-corpus")
    assert axe(page) == [], "many pairs"
    assert axe(open_page(f"{server}docs", color_scheme=scheme)) == []


@on_every_screen
@pytest.mark.parametrize("width", [320, pytest.param(700, marks=pytest.mark.slow)])
def test_narrow_screens_do_not_scroll_sideways(open_server, width):
    page = open_server(viewport={"width": width, "height": 700})
    align(page)
    for tab in ("pair", "corpus"):
        page.click(f"#tab-{tab}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, tab


def test_a_file_is_opened_scored_and_a_pair_of_it_looked_at(page, tmp_path):
    rows = [
        {"id": "one", "system": "A", "candidate": "the cat sat", "references": ["a cat was sitting"]},
        {"id": "two", "system": "A", "candidate": "</td><img src=x onerror=1>", "references": ["a dog barked"]},
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    page.click("#tab-corpus")
    page.set_input_files("input[type=file]", file)
    page.get_by_role("button", name=re.compile("^Score")).click()
    page.locator("#corpus-result").get_by_text("bertscore|model", exact=False).first.wait_for()
    expected = evalign.metric("bertscore").score(
        [row["candidate"] for row in rows], [row["references"][0] for row in rows]
    )
    assert f"{expected.mean('f1'):.4f}" in page.locator("#corpus-result").inner_text()
    page.locator("#corpus-result").get_by_role("button", name=re.compile("^one ")).click()
    until(page, "document.querySelector('#candidate').value === 'the cat sat'")
    until(page, "document.querySelector('#pair-result').textContent.includes('sitting')")
    assert page.locator("img").count() == 0
    assert page.problems == []


def test_the_api_page_needs_nothing_from_elsewhere(server, open_page):
    page = open_page(f"{server}docs")
    assert "/api/align" in page.locator("body").inner_text()
    assert page.problems == []


def test_files_keep_strict_headers(server, open_page):
    page = open_page(server)
    for path in ("", "page/app.js", "export/alignment.html", "docs"):
        answer = page.request.get(server + path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
    assert page.request.get(f"{server}page/..%2f..%2ftypes.py").status == 404
