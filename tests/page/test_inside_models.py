"""Inside models: the gates of an LSTM and the probabilities of tokens, in files and from a real server."""

import csv
import io
import json
import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
from page_server import running_server

from evalign.metrics.bartscore import BARTScore
from evalign.render.export import write_html
from evalign.research.lstm.encoder import demonstration_file
from evalign.research.lstm.explain import lstm_document
from evalign.research.lstm.metric import LSTM

TEXT = "The film was not good, but the music was."
HOSTILE = "</script><img src=x onerror=\"document.title='hit'\"> & zażółć ŵ"
ROWS = {"forget": 0, "input": 1, "output": 3, "kept": 4, "written": 5, "cell": 6, "hidden": 7}  # of the table


@pytest.fixture(scope="module")
def metric():
    return LSTM(str(demonstration_file()))


@pytest.fixture(scope="module")
def file(metric, tmp_path_factory):
    place = tmp_path_factory.mktemp("lstm") / "gates.html"
    write_html(lstm_document(metric, TEXT), place)
    return place


def numbers(page):
    """The table's numbers: quantities down, words across."""
    rows = page.locator(".lstm-words tbody tr").all()
    return [[float(cell) for cell in row.locator("td").all_inner_texts()] for row in rows]


def saved(page, kind):
    with page.expect_download() as waiting:
        page.locator(f'[data-export="{kind}"]').click()
    return waiting.value.path().read_bytes()


def test_the_table_has_the_librarys_numbers_in_both_directions(file, metric, open_page):
    page = open_page(file)
    trace = metric.trace(TEXT)
    for direction in ("forward", "backward"):
        page.get_by_role("radio", name=direction).check()
        words = trace.directions[direction]
        shown = page.locator(".lstm-words thead button").all_inner_texts()
        assert shown == [word.word + ("" if word.known else "*") for word in words]
        table = numbers(page)
        for name, row in ROWS.items():
            assert table[row] == pytest.approx([getattr(word, name) for word in words], abs=0.0051)
    assert f"32 numbers, length {math.hypot(*trace.vector):.3f}" in page.locator("#view").inner_text()
    assert page.problems == []


def test_the_diagram_and_the_sentence_follow_the_word(file, metric, open_page):
    page = open_page(file)
    words = metric.trace(TEXT).directions["forward"]
    assert "there is no memory yet" in page.locator(".lstm-sentence").inner_text()
    page.locator(".lstm-words thead button").nth(3).click()
    said = page.locator(".lstm-sentence").inner_text()
    assert said.startswith(f"Word 4, “not”: the forget gate keeps {round(100 * words[3].forget)} % of the memory")
    drawn = page.locator(".lstm-cell svg text").all_text_contents()
    for text in (f"f σ {words[3].forget:.2f}", f"i σ {words[3].input:.2f}", f"o σ {words[3].output:.2f}",
                 f"kept {words[3].kept:.2f}", f"written {words[3].written:.2f}", f"{words[2].cell:.2f}",
                 f"{words[3].cell:.2f}", f"{words[3].hidden:.2f}"):  # fmt: skip
        assert text in drawn
    page.get_by_role("button", name="Next").click()
    assert "word 5 of 9" in page.locator(".lstm-place").inner_text()
    page.get_by_text("All numbers of this word as a table").click()
    page.locator(".pair-table tbody tr").first.wait_for()  # the table is made once its fold is open
    cells = page.locator(".pair-table tbody tr").first.locator("td").all_inner_texts()
    state = words[4].states
    expected = [state["forget"][0], state["input"][0], state["candidate"][0], state["output"][0]]
    assert [float(cell) for cell in cells[:4]] == pytest.approx(expected, abs=6e-5)
    assert float(cells[6]) == pytest.approx(float(cells[4]) + float(cells[5]), abs=2e-4)  # c' = kept + written


def test_bars_of_the_diagram_have_the_height_of_their_numbers(file, metric, open_page):
    """Sixteen bars for each of eight lines; gates stand on their line, states go up and down."""
    page = open_page(file)
    picture = ElementTree.fromstring(saved(page, "svg"))
    rects = [one for one in picture.iter("{http://www.w3.org/2000/svg}rect") if float(one.get("x")) >= 190]
    bars = [one for one in rects if float(one.get("y")) >= 370]
    assert len(bars) == 8 * 16
    forget = metric.trace(TEXT).directions["forward"][0].states["forget"]
    assert [float(one.get("height")) / 30 for one in bars[:16]] == pytest.approx(forget, abs=0.001)
    candidate = metric.trace(TEXT).directions["forward"][0].states["candidate"]
    sides = [float(one.get("y")) for one in bars[32:48]]
    zero = max(sides)
    assert [side < zero for side in sides] == [value > 0 for value in candidate]


def test_files_hold_every_number(file, metric, open_page):
    page = open_page(file)
    rows = list(csv.DictReader(io.StringIO(saved(page, "csv").decode())))
    trace = metric.trace(TEXT)
    assert len(rows) == 2 * 9 * 8
    chosen = next(row for row in rows if (row["direction"], row["place"], row["quantity"]) == ("backward", "2", "cell"))
    own = trace.directions["backward"][1]
    assert chosen["word"] == own.word
    assert float(chosen["mean_or_length"]) == pytest.approx(own.cell, abs=1e-5)
    assert [float(chosen[f"number_{at + 1}"]) for at in range(16)] == pytest.approx(own.states["cell"], abs=1e-5)
    assert saved(page, "png").startswith(b"\x89PNG")


def test_the_keyboard_walks_through_the_words(file, open_page):
    page = open_page(file)
    page.locator(".lstm-words thead [tabindex='0']").focus()
    for key, word in (("ArrowRight", "film"), ("End", "was"), ("Home", "the"), ("ArrowLeft", "the")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.textContent").startswith(word)
        assert f"“{word}”" in page.locator(".lstm-sentence").inner_text()
    page.get_by_role("radio", name="forward").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("radio", name="backward").is_checked()
    linked = page.url
    page.reload()
    assert page.url == linked
    assert page.get_by_role("radio", name="backward").is_checked()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_the_view_is_accessible_narrow_and_inert(metric, tmp_path, open_page, axe, scheme):
    write_html(lstm_document(metric, HOSTILE), tmp_path / "gates.html")
    page = open_page(tmp_path / "gates.html", viewport={"width": 320, "height": 640}, color_scheme=scheme)
    for summary in page.locator("summary").all():
        summary.click()
    assert axe(page) == []
    size = page.context.new_cdp_session(page).send("Page.getLayoutMetrics")["cssContentSize"]
    assert size["width"] <= 320
    assert page.title() == "LSTM gates · evalign"
    assert page.problems == []


def test_a_text_without_words_says_so(metric, tmp_path, open_page):
    write_html(lstm_document(metric, " \n"), tmp_path / "gates.html")
    page = open_page(tmp_path / "gates.html")
    assert "This text has no words" in page.locator("#view").inner_text()
    assert page.problems == []


def test_a_damaged_link_is_said_in_a_file_too(file, open_page):
    page = open_page(f"{file.as_uri()}#v1=damaged!")
    assert "This link is damaged" in page.get_by_role("alert").inner_text()
    assert page.locator(".lstm-cell svg").is_visible()


def test_the_server_traces_a_text_and_says_what_it_lacks(server, open_page, axe):
    page = open_page(server)
    page.locator("#main:not([aria-busy])").wait_for()
    page.locator("#tab-pair").focus()
    page.keyboard.press("ArrowLeft")  # round to the last tab
    assert page.evaluate("document.activeElement.id") == "tab-inside"
    assert "this server has none: start it with one (`bartscore`)" in page.locator(".inside-reason").inner_text()
    page.locator("#inside-lstm-text").fill("It was not bad.")
    page.get_by_role("button", name="Trace the gates").press("Enter")
    page.locator(".lstm-cell svg").wait_for()
    assert page.locator(".lstm-words thead button").first.inner_text().startswith("it")
    assert axe(page) == []
    with page.expect_download() as started:
        page.get_by_role("button", name="Save as one HTML file").last.click()
    held = started.value.path().read_text("utf-8")
    assert (
        json.loads(re.search(r'id="evalign-document">(.*?)</script>', held, re.DOTALL)[1])["text"] == "It was not bad."
    )
    page.locator("#inside-lstm-text").fill("word " * 201)
    page.get_by_role("button", name="Trace the gates").click()
    page.get_by_role("alert").filter(has_text="text has 201 words; this server traces 200").wait_for()
    page.reload()
    page.locator("#main:not([aria-busy])").wait_for()
    assert page.locator("#inside").is_visible()


# What a reader can use, radio buttons of one group as one, and what Tab leads to.
USABLE = """() =>
  [...document.querySelectorAll("#inside :is(button, input, select, textarea, summary, [tabindex='0'])")]
  .filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0 && (one.type !== "radio" || one.checked))
  .map((one) => one.dataset.visited = one.dataset.visited ?? "no").length"""
VISITED = """() => { const one = document.activeElement; if (one.dataset.visited) one.dataset.visited = "yes";
  return document.querySelectorAll("[data-visited=no]").length; }"""


def test_tab_leads_to_everything_inside(server, open_page):
    page = open_page(server)
    page.locator("#main:not([aria-busy])").wait_for()
    page.locator("#tab-inside").click()
    page.locator("#inside-lstm-text").press("Tab")
    page.keyboard.press("Enter")  # Trace the gates
    page.locator(".lstm-cell svg").wait_for()
    count = page.evaluate(USABLE)
    assert count > 10
    page.locator("#tab-inside").focus()
    for _ in range(count + 2):
        page.keyboard.press("Tab")
        left = page.evaluate(VISITED)
    assert left == 0


@pytest.mark.slow
def test_the_server_shows_the_log_probabilities_of_a_listed_model(tmp_path, open_page, axe):
    build = pytest.importorskip("tiny_torch_models", reason="needs the extra torch").build
    model = str(build("bart", tmp_path / "tiny-bart", generates=True))
    with running_server(tmp_path, "--bartscore", model) as address:
        page = open_page(address)
        page.locator("#main:not([aria-busy])").wait_for()
        page.locator("#tab-inside").click()
        pair = "The bridge was closed.", "The bridge was shut."
        page.locator("#inside-candidate").fill(pair[0])
        page.locator("#inside-reference").fill(pair[1])
        page.get_by_role("button", name="Predict the tokens").click()
        page.locator(".likely-stage").wait_for()
        expected = BARTScore(model=model, threads=1).likelihoods(*pair)
        assert page.locator("#inside .pair-score dd").inner_text() == f"{expected.scores['score']:.4f}"
        assert page.locator("#inside [role=option]").count() == len(
            expected.directions["reference-to-candidate"].log_probs
        )
        assert axe(page) == []
        page.get_by_label("What is predicted").select_option("source-to-candidate")
        page.get_by_role("button", name="Predict the tokens").click()
        page.get_by_role("alert").filter(has_text="source").wait_for()
        assert all("422" in problem for problem in page.problems)  # the console tells of the refusal, too
