"""The corpus view in an exported file: numbers, filters, mouse and keyboard, both themes, 320 px, hostile texts."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from corpus_samples import sample_document, synthetic_rows
from screens import on_every_screen
from waiting import wait_until

from evalign.core import Row
from evalign.render.export import write_html

HOSTILE = '</script><img src=x onerror="window.hit=1"><b>\u202e'
MINUS = "\u2212"


@pytest.fixture(scope="module")
def document():
    """Three systems, rated by people, with a metric whose scores fall as texts get better."""
    return sample_document(synthetic_rows(60, 3, rated=True), ["rougeL", "bleu", "ter"])


@pytest.fixture(scope="module")
def broken():
    """Rows that cannot be scored, empty texts, and lines of a file that could not be read."""
    rows = synthetic_rows(40, 2)
    rows = [replace(row, references=()) if row.id == "s7" else row for row in rows]
    rows = [replace(row, candidate="") if row.id == "s9" else row for row in rows]
    problems = [{"place": "line 7", "message": "4 fields, the header has 5"}]
    return sample_document(rows, ["rougeL", "fkgl"], problems)


@pytest.fixture
def opened(tmp_path, open_page):
    def show(shown, **options):
        write_html(shown, tmp_path / "corpus.html")
        page = open_page(tmp_path / "corpus.html", **options)
        page.wait_for_selector(".corpus")
        return page

    return show


def table_rows(page, selector):
    return page.eval_on_selector_all(
        f"{selector} tbody tr", "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()))"
    )


def listed(page):
    return page.locator(".c-row .c-open bdi").all_text_contents()


def choose(page, label, value):
    page.get_by_label(label, exact=True).select_option(value)


def test_the_summary_has_the_librarys_numbers(document, opened):
    page = opened(document)
    shown = page.eval_on_selector_all(
        ".c-summary tbody tr", "(rows) => rows.map((row) => [...row.cells].slice(1, 4).map((cell) => cell.innerText))"
    )
    for system, cells in zip(document["systems"], shown, strict=True):
        for metric, digits, cell in zip(document["metrics"], (4, 2, 2), cells, strict=True):
            result = next(r for r in document["results"] if (r["system"], r["metric"]) == (system, metric["metric"]))
            score = result.get("corpus", result["scores"])[metric["main"]]
            assert cell.split()[0] == f"{score:.{digits}f}"
            compared = next(r for r in document["comparison"]["results"] if r["metric"] == metric["metric"])
            ends = next(one for one in compared["systems"] if one["system"] == system)
            assert f"[{ends['low']:.{digits}f}, {ends['high']:.{digits}f}]" in cell
    assert document["metrics"][0]["signature"] in page.inner_text(".recipe")
    best = page.eval_on_selector_all(".c-best", "(cells) => cells.map((cell) => cell.closest('tr').rowIndex)")
    assert best == [1, 1, 1]  # the first system, under TER too, where lower is better
    assert page.problems == []


def test_the_tables_behind_the_picture_have_numpys_numbers(document, opened):
    page = opened(document)
    page.get_by_text("The picture as tables").click()
    values = {
        system: [row["scores"][0]["f1"] for row in document["rows"] if row["system"] == system]
        for system in document["systems"]
    }
    for system, cells in zip(document["systems"], table_rows(page, "#c-quantiles"), strict=True):
        expected = np.quantile(values[system], [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1])
        assert cells == [system, "60", *(f"{x:.4f}" for x in (np.mean(values[system]), *expected))]
    bins = table_rows(page, "#c-bins")
    edges = [float(cells[0].split(" to ")[0]) for cells in bins] + [float(bins[-1][0].split(" to ")[1])]
    for place, system in enumerate(document["systems"], 1):
        assert [int(cells[place]) for cells in bins] == np.histogram(values[system], edges)[0].tolist()


@pytest.mark.parametrize("spec", [pytest.param("rougeL", marks=pytest.mark.slow), "ter"])
def test_worst_rows_come_first_whatever_the_direction(document, opened, spec):
    page = opened(document)
    place = [metric["metric"] for metric in document["metrics"]].index(spec)
    page.locator(f"[data-metric='{place}']").click()
    metric = document["metrics"][place]
    scores = np.array([row["scores"][place][metric["main"]] for row in document["rows"]])
    order = np.argsort(scores if metric["higher_is_better"] else -scores, kind="stable")
    assert listed(page) == [document["rows"][row]["id"] for row in order[:20]]
    page.get_by_role("button", name="Next").click()
    assert listed(page) == [document["rows"][row]["id"] for row in order[20:40]]


def test_rows_are_listed_by_difference_by_people_and_by_disagreement(document, opened):
    page = opened(document)
    scores = {(row["system"], row["id"]): row["scores"][0]["f1"] for row in document["rows"]}
    ids = [row["id"] for row in document["rows"][:60]]
    differences = np.array([scores["system B", name] - scores["system A", name] for name in ids])
    choose(page, "Sort by", "losses")
    assert listed(page) == [ids[row] for row in np.argsort(differences, kind="stable")[:20]]
    first = page.locator(".c-row .c-number").first.inner_text().replace(MINUS, "-")
    assert float(first) == pytest.approx(differences.min(), abs=5e-5)
    choose(page, "Sort by", "human-low")
    human = np.array([row["human"] for row in document["rows"]])
    assert listed(page) == [document["rows"][row]["id"] for row in np.argsort(human, kind="stable")[:20]]
    choose(page, "Sort by", "over")
    assert "above the human rating" in page.locator(".c-row").first.inner_text()


def test_brushing_text_and_flags_narrow_the_list(broken, opened):
    page = opened(broken)
    scores = [(row["scores"][0] or {}).get("f1") for row in broken["rows"]]
    page.get_by_label("from", exact=True).fill("0.5")
    page.get_by_label("to", exact=True).fill("0.9")
    page.keyboard.press("Tab")
    expected = sum(1 for score in scores if score is not None and 0.5 <= score < 0.9)
    assert page.inner_text(".c-filters strong") == f"{expected} rows"
    page.get_by_role("button", name="Remove the filter").click()
    choose(page, "Show", "failed")
    assert page.inner_text(".c-filters strong") == "2 rows"
    assert listed(page) == ["s7", "s7"]
    choose(page, "Show", "all")
    word = broken["rows"][3]["candidate"].split()[0]
    page.get_by_label("Text or id contains").fill(f" {word.upper()}")
    texts = ["\n".join([row["id"], row["candidate"], *row["references"], ""]).lower() for row in broken["rows"]]
    expected = sum(word.lower() in text for text in texts)
    wait_until(page, "(said) => document.querySelector('.c-filters strong').textContent === said", f"{expected} rows")


@on_every_screen
def test_dragging_over_the_histogram_lists_those_rows(document, opened):
    page = opened(document)
    page.locator(".c-bin").first.scroll_into_view_if_needed()
    boxes = [page.locator(".c-bin").nth(bin_number).bounding_box() for bin_number in (1, 3)]
    first, last = ((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes)
    page.mouse.move(*first)
    page.mouse.down()
    page.mouse.move(*last, steps=4)
    page.mouse.up()
    counted = sum(int(cell) for cells in table_rows(page, "#c-bins")[1:4] for cell in cells[1:4])
    assert page.inner_text(".c-filters strong") == f"{counted} rows"
    page.locator(".c-bin[data-bin='1']").focus()
    page.keyboard.press("Escape")
    assert page.inner_text(".c-filters strong") == "180 rows"


def test_the_verdict_says_who_is_better_in_words(document, opened):
    page = opened(document)
    said = page.locator(".c-verdict-words").all_inner_texts()
    for sentence, result, digits in zip(said, document["comparison"]["results"], (4, 2, 2), strict=True):
        versus = result["systems"][1]
        p_value = versus["p_corrected"]  # of three systems
        better = (versus["difference"] > 0) == result["higher_is_better"]
        words = f"system B is {'better' if better else 'worse'} than system A"
        assert sentence.startswith(words if p_value < 0.05 else "No clear difference between system B and system A")
        ends = ", ".join(f"{versus[end]:.{digits}f}" for end in ("difference_low", "difference_high"))
        assert f"{versus['difference']:+.{digits}f} [{ends}]" in sentence.replace(MINUS, "-")
        assert f"p\u00a0=\u00a0{p_value:.3f}"[:11] in sentence or p_value >= 0.1
    counts = document["comparison"]["results"][0]["systems"][1]
    told = f"system B wins {counts['wins']}, loses {counts['losses']}, ties {counts['ties']}"
    assert told in page.locator(".c-verdict").first.inner_text()


def test_a_comparison_read_from_the_other_side_is_turned_round(document, opened):
    page = opened(document)
    before = page.locator(".c-verdict").first.inner_text()
    choose(page, "Baseline", "=system B")
    after = page.locator(".c-verdict").first.inner_text()
    versus = document["comparison"]["results"][0]["systems"][1]
    assert f"wins {versus['losses']}, loses {versus['wins']}" in after
    assert "system B is worse than system A" in before
    assert "system A is better than system B" in after
    choose(page, "compared with", "=system C")
    (pair,) = document["comparison"]["results"][0]["pairs"]  # all pairs are tested
    assert f"wins {pair['wins']}, loses {pair['losses']}" in page.locator(".c-verdict").first.inner_text()


def test_failures_are_listed_with_their_places(broken, opened):
    page = opened(broken)
    said = page.inner_text(".c-problems")
    assert "line 7" in said
    assert "4 fields, the header has 5" in said
    assert "row s7, system A" in said
    assert "needs references" in said
    assert page.locator(".c-summary .c-failed").first.inner_text() == "1 failed"
    assert "empty 1" in page.inner_text(".c-summary")


def test_the_journey_by_keyboard(document, opened):
    """From the metric to a filter, a row's texts, two candidates side by side, and a saved file; no mouse."""
    page = opened(document)
    page.locator("[data-metric='2']").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    page.locator(".c-bin[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.bin") == "1"
    assert page.locator(".c-filters button").count() == 1
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator(".c-bin[aria-pressed='true']").count() == 2
    page.keyboard.press("Escape")
    page.get_by_role("slider").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.locator(".c-pair-details .c-text").count() == 3
    words = page.get_by_role("slider").get_attribute("aria-valuetext")
    assert words.startswith("row s")
    assert words in page.inner_text(".c-cursor-words")
    page.locator(".c-open").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator(".c-row").nth(1).locator(".c-details").is_visible()
    page.get_by_role("button", name="Save rows and scores as CSV").focus()
    with page.expect_download() as saved:
        page.keyboard.press("Enter")
    assert saved.value.suggested_filename == "evalign-rows.csv"
    assert page.problems == []


def test_saved_files_hold_everything(document, opened, tmp_path):
    page = opened(document)

    def saved(label):
        with page.expect_download() as started:
            page.get_by_role("button", name=label, exact=True).first.click()
        return started.value.path().read_bytes()

    rows = list(csv.DictReader(io.StringIO(saved("Save rows and scores as CSV").decode(), newline="")))
    assert [float(row["rougeL f1"]) for row in rows] == [row["scores"][0]["f1"] for row in document["rows"]]
    assert [row["candidate"] for row in rows] == [row["candidate"] for row in document["rows"]]
    assert all(metric["signature"] in rows[0]["signatures"] for metric in document["metrics"])
    lines = saved("Save rows and scores as JSONL").decode().splitlines()
    assert [json.loads(line)["scores"]["bleu"] for line in lines] == [row["scores"][1] for row in document["rows"]]
    assert json.loads(saved("Save the whole document as JSON")) == json.loads(json.dumps(document))
    picture = saved("Save distribution as SVG").decode()
    assert "<svg" in picture
    assert "var(" not in picture
    assert document["metrics"][0]["signature"][:40] in picture
    assert saved("Save distribution as PNG")[:8] == b"\x89PNG\r\n\x1a\n"
    assert "<svg" in saved("Save differences as SVG").decode()
    assert page.problems == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened, axe, scheme):
    """With everything open that can be opened: tables, details of a row and of a pair, problems, the other pictures."""
    rows = synthetic_rows(6, 3, rated=True)
    rows = [replace(row, references=()) if row.id == "s2" else row for row in rows]
    shown = sample_document(rows, ["rougeL", "fkgl"], [{"place": "line 3", "message": "no JSON"}])
    page = opened(shown, color_scheme=scheme)
    page.get_by_label("from", exact=True).fill("0.2")
    page.keyboard.press("Tab")
    assert axe(page) == []
    for summary in page.locator("summary").all():
        summary.click()
    page.get_by_role("radio", name="Violin").check()
    page.get_by_role("radio", name="Scatter").check()
    choose(page, "Sort by", "apart")
    page.locator(".c-open").first.click()
    page.get_by_role("slider").click()
    assert axe(page) == []


@on_every_screen
def test_nothing_is_wider_than_a_narrow_screen(document, opened):
    page = opened(document, viewport={"width": 320, "height": 640})
    for summary in page.locator("summary").all():
        summary.click()
    page.locator(".c-open").first.click()
    size = page.context.new_cdp_session(page).send("Page.getLayoutMetrics")["cssContentSize"]
    assert size["width"] <= 320


def test_hostile_texts_are_texts(opened):
    rows = [
        Row(f"{HOSTILE}{number}", HOSTILE, (HOSTILE,), HOSTILE, HOSTILE * 3 + name) for name in "AB" for number in "12"
    ]
    shown = sample_document(rows, ["rougeL"], [{"place": HOSTILE, "message": HOSTILE}])
    page = opened(shown)
    for opener in page.locator(".c-open").all():
        opener.click()
    page.get_by_role("radio", name="Scatter").check()
    page.get_by_role("slider").click()
    assert page.evaluate("window.hit") is None
    assert page.locator(".corpus img, .corpus b").count() == 0
    assert page.locator(".c-text p").first.inner_text() == HOSTILE
    assert page.problems == []


def test_ten_thousand_rows_are_few_nodes(opened):
    document = sample_document(synthetic_rows(5000, 2), ["rouge1"], samples=0)
    page = opened(document)
    assert page.evaluate("document.querySelectorAll('*').length") < 2500
    page.get_by_role("radio", name="Scatter").check()
    choose(page, "Sort by", "apart")
    assert page.evaluate("document.querySelectorAll('*').length") < 2500
    assert "10,000 rows" in page.inner_text(".c-head")
    assert page.inner_text(".c-filters strong") == "5,000 pairs"


def test_one_row_and_scores_without_texts_are_shown(opened):
    document = sample_document(synthetic_rows(1, 1), ["rougeL", "fkgl"])
    for row in document["rows"]:
        del row["candidate"], row["references"]
    page = opened(document)
    assert page.inner_text(".c-where") == "1\u20131 of 1" or page.locator(".c-pager").is_hidden()
    page.locator(".c-open").click()
    assert "scores without texts" in page.inner_text(".c-details")
    assert page.locator("#c-compare").count() == 0
    assert page.problems == []


def test_the_state_lies_in_the_address_and_comes_back(document, opened):
    page = opened(document)
    page.locator("[data-metric='1']").click()
    page.get_by_role("radio", name="Violin").check()
    choose(page, "Sort by", "best")
    address = page.url
    first = listed(page)
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector(".corpus")
    assert page.locator("[data-metric='1']").get_attribute("aria-pressed") == "true"
    assert page.get_by_role("radio", name="Violin").is_checked()
    assert listed(page) == first
