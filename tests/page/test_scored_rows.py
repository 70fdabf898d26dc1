"""A row of a corpus opens as it was scored: in the page of a real server, and in files that carry alignments."""

import json
import re

import jsonschema
import pytest
from click.testing import CliRunner
from corpus_samples import sample_document, synthetic_rows
from pair_samples import MISPLACED
from test_corpus_upload import choose_metrics, jsonl, panel, upload

from evalign.analysis.scoring import score_source
from evalign.cli.main import cli
from evalign.core import Row
from evalign.core.registry import metric
from evalign.io.rows import InMemory
from evalign.render.documents import alignment_document, row_alignments, schema, scores_document
from evalign.render.export import write_html

REFERENCES = [
    ("Two schools were shut because of the storm.", "The storm closed two schools on Monday."),
    ("After three years the library is open again.", "The city library opened on Saturday after long work."),
    ("Police held a man close to the station.", "A man was arrested near the station at night."),
]
CANDIDATES = {
    "old": ["The storm closed schools on Monday.", "The library opened on Saturday.", "A man was seen at night."],
    "new": ["Two schools were shut.", "After three years it is open.", "A man was arrested near the station."],
    "third": ["Storm.", "The museum opened again.", "Police held a man."],
}
ROWS = [
    Row(f"r{number}", text, texts, None, system)
    for system, own in CANDIDATES.items()
    for number, (text, texts) in enumerate(zip(own, REFERENCES, strict=True), 1)
]
TOKEN_METRICS = [
    "bertscore(idf=references)",
    "bertscore(layer=5, rescale=true)",
    "bertscore(layer=4+6, specials=drop)",
    "bertscore(matching=exact)",
    "lisascore(denominator=min)",
    "lisascore(method=recursive-argmax, preset=paper)",
    "moverscore",
    "moverscore(ngram=2)",
]
BEST_DIFFERS = "bertscore"  # its best reference is the second of some rows, and the first of others


def settled(page):
    page.locator("#pair-result:not([aria-busy])").wait_for()


def pair_numbers(page):
    return page.locator("#pair-result .pair-score dd").all_inner_texts()


@pytest.fixture
def scored_page(server, open_page):
    """The page with rows that were scored by these metrics."""

    def scored(*specs, rows=ROWS):
        page = panel(open_page(server))
        upload(page, "rows.jsonl", jsonl(rows))
        choose_metrics(page)
        page.get_by_text("Other metrics and settings").click()
        page.fill("#u-specs", "\n".join(specs))
        page.get_by_role("button", name=re.compile("^Score ")).click()
        page.locator(".c-head").wait_for()
        return page

    return scored


def test_every_token_metric_opens_with_the_number_and_the_reference_of_the_list(scored_page):
    page = scored_page(*TOKEN_METRICS)
    names = page.locator("[data-metric] > span").all_inner_texts()
    assert len(names) == len(TOKEN_METRICS)
    best = set()
    for place, name in enumerate(names):
        page.locator("#tab-corpus").click()
        page.locator(f"[data-metric='{place}']").click()
        row = page.locator(".c-row").nth(place)
        listed = row.locator(".c-number").inner_text().replace("\u2212", "-")
        reference, said = row.locator(".c-line-text").nth(1).inner_text(), row.locator(".c-tag").inner_text()
        identity, system = row.locator(".c-open bdi").inner_text(), row.locator(".c-system").inner_text()
        row.locator(".c-open").click()
        settled(page)
        assert pair_numbers(page)[-1] == listed, name
        assert page.input_value("#reference") == reference
        above = page.locator("#pair-row").inner_text()
        assert f"Row {identity}" in above
        assert f"system {system}" in above
        assert f"{name} " in above
        assert f"{said}, the best" in above
        assert page.locator("#pair-row .pair-notice").count() == 0
        best.add(said)
        texts = next(one for one in ROWS if (one.id, one.system) == (identity, system))
        segment = metric(name).scorer(ROWS).score([texts])[0]
        assert texts.references[segment.reference] == reference
    assert best == {"reference 1 of 2", "reference 2 of 2"}
    assert page.problems == []


def test_the_options_show_what_the_row_was_scored_with_and_a_change_leaves_the_row(scored_page):
    page = scored_page("lisascore(layer=5, specials=drop, denominator=min)")
    page.locator(".c-open").first.click()
    settled(page)
    page.locator("#options > summary").click()
    shown = {name: page.input_value(f"#{name}") for name in ("metric", "model", "layer")}
    assert shown == {"metric": "lisascore(denominator=min)", "model": "minilm", "layer": "5"}
    assert not page.is_checked("#specials")
    assert not page.is_checked("#idf")
    page.select_option("#layer", "2")
    settled(page)
    assert not page.locator("#pair-row").is_visible()
    expected = metric("lisascore(layer=2, specials=drop, denominator=min)").align(
        page.input_value("#candidate"), page.input_value("#reference")
    )
    assert pair_numbers(page) == [f"{value:.4f}" for value in expected.scores.values()]


@pytest.mark.slow
def test_a_chosen_matching_of_another_pair_does_not_stay(scored_page):
    page = scored_page("bertscore")
    page.locator(".c-open").first.click()
    settled(page)
    page.get_by_label(re.compile("^assignment")).check()
    page.get_by_role("button", name="Back to the rows").click()
    assert page.evaluate("document.activeElement.className") == "c-open"
    listed = page.locator(".c-row .c-number").nth(1).inner_text()
    page.locator(".c-open").nth(1).click()
    settled(page)
    assert pair_numbers(page)[-1] == listed
    assert page.locator(".pair-choice :checked").get_attribute("value") == "greedy"


def test_metrics_without_a_picture_say_so_and_offer_those_that_have_one(scored_page, axe):
    page = scored_page("chrf", "bertscore")
    assert "chrf does not match tokens" in page.inner_text(".c-about-rows")
    page.locator(".c-open").first.click()
    assert page.locator("#corpus").is_visible()
    assert "chrf does not match tokens" in page.inner_text(".c-details")
    assert axe(page) == []
    page.get_by_role("button", name=re.compile("^Alignment under bertscore of row")).click()
    settled(page)
    assert "bertscore f1" in page.inner_text("#pair-row")
    assert page.locator("#pair-row .pair-notice").count() == 0
    assert axe(page) == []


def test_a_mean_over_references_is_said_to_be_no_number_of_one_reference(scored_page):
    page = scored_page("bertscore(multiref=mean)")
    listed = page.locator(".c-number").first.inner_text()
    page.locator(".c-open").first.click()
    settled(page)
    assert "the score is of all of them" in page.inner_text("#pair-row")
    assert f"f1 {listed}, for it has 2 references" in page.inner_text("#pair-row .pair-notice")


@pytest.mark.slow
def test_a_link_shows_the_row_again_and_says_when_its_idf_is_not_there(scored_page, open_page):
    page = scored_page("bertscore(idf=references)")
    page.locator(".c-open").first.click()
    settled(page)
    above, numbers = page.inner_text("#pair-row"), pair_numbers(page)
    other = open_page(page.url)
    other.locator("#pair-result .pair-stage").wait_for()
    settled(other)
    assert (
        above.replace("Back to the rows", "").split() == other.inner_text("#pair-row").split()[: len(above.split()) - 4]
    )
    assert pair_numbers(other) != numbers  # without the file its IDF table is not known
    said = other.inner_text("#pair-row .pair-notice")
    assert "idf:references@" in said
    assert f"f1 {numbers[-1]}" in said


@pytest.mark.slow
def test_a_row_that_cannot_be_shown_leaves_no_other_picture(scored_page):
    rows = [Row("empty", "", REFERENCES[0], None, "old"), *ROWS]
    page = scored_page("bertscore", rows=rows)
    page.get_by_label("Text or id contains", exact=True).fill("empty")
    page.locator(".c-row").nth(1).wait_for(state="detached")
    page.locator(".c-open").click()
    page.locator("#pair-error").get_by_text("The candidate is empty: there is nothing to align").wait_for()
    assert "Row empty" in page.inner_text("#pair-row")
    assert not page.locator("#pair-result").is_visible()


def test_a_new_result_leaves_the_focus_in_the_matchings(server, open_page):
    page = open_page(server)
    page.locator(".pair-stage").wait_for()
    settled(page)
    page.get_by_label(re.compile("^transport")).focus()
    page.evaluate("document.getElementById('pair-form').requestSubmit()")
    page.locator("#pair-result[aria-busy]").wait_for()
    settled(page)
    assert page.evaluate("document.activeElement.value") == "transport"


def test_bars_are_scaled_by_the_metric_that_is_sorted_by(tmp_path, open_page):
    document = sample_document(synthetic_rows(12, 2), ["rougeL", "bleu"], samples=0)
    write_html(document, tmp_path / "corpus.html")
    page = open_page(tmp_path / "corpus.html")
    page.get_by_label("Sort by", exact=True).select_option("m:1:score")
    scores = sorted(row["scores"][1]["score"] for row in document["rows"])
    widths = page.eval_on_selector_all(".c-meter > span", "(all) => all.map((one) => parseFloat(one.style.width))")
    expected = [max(2, 100 * score / scores[-1]) for score in scores[: len(widths)]]
    assert widths == pytest.approx(expected, abs=0.01)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """What `evalign compare --html` writes of three systems."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / "rows.jsonl").write_text(jsonl(ROWS))
    specs = ["-m", "bertscore(idf=references)", "-m", "chrf", "--resamples", "200"]
    made = CliRunner().invoke(cli, ["compare", str(folder / "rows.jsonl"), *specs, "--html", str(folder / "out.html")])
    assert made.exit_code == 0, made.output
    return folder / "out.html"


def held_document(path):
    text = path.read_text("utf-8")
    return json.loads(re.search(r'id="evalign-document">(.*?)</script>', text, re.DOTALL)[1])


def test_an_exported_file_opens_its_rows_with_their_alignments(exported, open_page, axe):
    document = held_document(exported)
    jsonschema.validate(document, schema("corpus"))
    for entry in document["alignments"]["rows"]:
        jsonschema.validate(entry["alignment"], schema("alignment"))
        row = document["rows"][entry["row"]]
        assert entry["alignment"]["scores"] == pytest.approx(row["scores"][entry["metric"]], abs=1e-5)
        best = row["references"][row["best_reference"][entry["metric"]]]
        assert entry["alignment"]["reference"]["text"] == best
    page = open_page(exported)
    assert "the alignments of all rows that can be aligned: 9 rows" in page.inner_text(".c-about-rows")
    listed = page.locator(".c-number").first.inner_text()
    page.locator(".c-open").first.click()
    page.locator(".pair-stage").wait_for()
    assert page.locator(".pair-score dd").last.inner_text() == listed
    assert page.locator(".scored-row").inner_text().startswith("Row r")
    assert page.evaluate("document.activeElement.className") == "scored-row"
    page.wait_for_timeout(50)
    within = MISPLACED.replace('document.getElementById("view")', 'document.querySelector(".pair").parentNode')
    assert page.evaluate(within)["wrong"] == []
    assert axe(page) == []
    page.go_back()  # the pair is a step of the browser's history
    page.locator(".c-open").first.wait_for()
    page.go_forward()
    page.locator(".pair-stage").wait_for()
    page.get_by_role("button", name="Back to the rows").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.className") == "c-open"
    page.locator("[data-metric='1']").click()
    assert "chrf does not match tokens" in page.inner_text(".c-about-rows")
    assert page.problems == []


def test_alignments_stop_at_the_stated_size_with_the_worst_rows(tmp_path, open_page):
    spec, rows = metric("bertscore"), InMemory(ROWS)
    segments = []
    results = score_source(rows, [spec], lambda _result, segment: segments.append(segment))
    whole = row_alignments([spec], [(rows, ROWS)], [segments])
    sizes = [len(json.dumps(entry, ensure_ascii=False).encode()) for entry in whole["rows"]]
    order = sorted(range(len(ROWS)), key=lambda place: segments[place].scores["f1"])
    assert [entry["row"] for entry in whole["rows"]] == order
    some = row_alignments([spec], [(rows, ROWS)], [segments], max_bytes=sum(sizes[:4]) + 1)
    assert some["rows"] == whole["rows"][:4]
    assert "alignments of the 4 worst of 9 rows" in some["about"]
    document = scores_document([spec], [result.to_dict() for result in results], ROWS, [segments])
    write_html(document | {"alignments": some}, tmp_path / "some.html")
    page = open_page(tmp_path / "some.html")
    assert some["about"] in page.inner_text(".c-about-rows")
    page.locator(".c-open").nth(4).click()
    assert "does not hold the alignment of row" in page.inner_text(".c-details")
    write_html(document, tmp_path / "none.html")
    page = open_page(tmp_path / "none.html")
    assert page.inner_text(".c-about-rows") == "This file does not hold the alignments of its rows."
    assert row_alignments([metric("chrf")], [(rows, ROWS)], [segments])["rows"] == []


def test_the_pages_own_export_carries_alignments(scored_page, open_page):
    page = scored_page("bertscore(idf=references)", "chrf")
    with page.expect_download() as started:
        page.get_by_role("button", name="Save as one HTML file that works without a server").click()
    path = started.value.path()
    held = path.with_suffix(".html")
    held.write_bytes(path.read_bytes())
    document = held_document(held)
    jsonschema.validate(document, schema("corpus"))
    assert len(document["alignments"]["rows"]) == len(ROWS)
    own = metric("bertscore(idf=references)")
    scorer = own.scorer(ROWS)
    entry = document["alignments"]["rows"][0]
    row = document["rows"][entry["row"]]
    expected = scorer.align(row["candidate"], row["references"][row["best_reference"][0]])
    assert entry["alignment"]["signature"] == expected.signature
    assert entry["alignment"]["scores"] == pytest.approx(alignment_document({"greedy": expected})["scores"], abs=1e-6)
    opened = open_page(held)
    listed = opened.locator(".c-number").first.inner_text()
    opened.locator(".c-open").first.click()
    assert opened.locator(".pair-score dd").last.inner_text() == listed


def test_systems_stand_side_by_side_segment_by_segment(exported, open_page, axe):
    page = open_page(exported)
    document = held_document(exported)
    page.get_by_label("Sort by", exact=True).select_option("side-apart")
    assert page.inner_text(".c-filters").startswith("3 inputs")
    by_input = {}
    for row in document["rows"]:
        by_input.setdefault(row["id"], {})[row["system"]] = row
    spread = {
        name: max(one["scores"][0]["f1"] for one in rows.values())
        - min(one["scores"][0]["f1"] for one in rows.values())
        for name, rows in by_input.items()
    }
    order = sorted(spread, key=spread.get, reverse=True)
    assert page.locator(".c-open bdi").all_inner_texts() == order
    assert page.locator(".c-number").first.inner_text().split()[0] == f"{spread[order[0]]:.4f}"
    for name, item in zip(order, page.locator(".c-row").all(), strict=True):
        cells = item.locator(".c-cell")
        assert cells.count() == 3
        for system, cell in zip(CANDIDATES, cells.all(), strict=True):
            row = by_input[name][system]
            assert cell.locator(".c-system").inner_text() == system
            assert cell.locator(".c-cell-score").inner_text() == f"{row['scores'][0]['f1']:.4f}"
            assert cell.locator(".c-line-text").inner_text() == row["candidate"]
    boxes = [cell.bounding_box() for cell in page.locator(".c-row").first.locator(".c-cell").all()]
    assert len({round(box["y"]) for box in boxes}) == 1  # beside each other
    assert axe(page) == []
    page.get_by_role("button", name=f"Alignment of row {order[0]}, new").click()
    assert "system new" in page.inner_text(".scored-row")


@pytest.mark.parametrize("systems", [pytest.param(2, marks=pytest.mark.slow), 7])
def test_any_number_of_systems_fits_wide_and_narrow(tmp_path, open_page, axe, systems):
    rows = [row for row in synthetic_rows(4, systems) if (row.id, row.system) != ("s2", "system B")]
    write_html(sample_document(rows, ["rougeL"], samples=0), tmp_path / "corpus.html")
    for width in (1366, 375):
        page = open_page(tmp_path / "corpus.html", viewport={"width": width, "height": 700})
        page.get_by_label("Sort by", exact=True).select_option("side-file")
        assert page.locator(".c-open bdi").all_inner_texts() == ["s1", "s2", "s3", "s4"]
        assert [item.locator(".c-cell").count() for item in page.locator(".c-row").all()] == [systems] * 4
        assert page.get_by_text("no such row").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe(page) == []


def test_the_ranks_and_the_verdicts_never_contradict_each_other(tmp_path, open_page):
    """Differences that are clear alone, but not among all pairs, are called unclear, as their ranks say."""
    document = sample_document(synthetic_rows(25, 5, seed=4), ["rougeL"], samples=300)
    (result,) = document["comparison"]["results"]
    ranks = {one["system"]: one["rank"] for one in result["systems"]}
    tested = [one | {"baseline": result["systems"][0]["system"]} for one in result["systems"][1:]] + result["pairs"]
    alpha = document["comparison"]["alpha"]
    assert any(max(one["p"].values()) < alpha <= one["p_corrected"] for one in tested)  # else this shows nothing
    write_html(document, tmp_path / "corpus.html")
    page = open_page(tmp_path / "corpus.html")
    section = page.locator("section[aria-labelledby=c-compare]")
    listed = section.locator("table tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    assert {line[0]: int(line[1]) for line in listed} == ranks
    better = {line[0]: [] if line[4] == "none" else line[4].split(", ") for line in listed}
    for one in tested:
        first, second = one["baseline"], one["system"]
        page.get_by_label("Baseline", exact=True).select_option(f"={first}")
        page.get_by_label("compared with", exact=True).select_option(f"={second}")
        words = section.locator(".c-verdict-words").inner_text()
        clear = one["p_corrected"] < alpha
        ahead, behind = (second, first) if one["difference"] > 0 else (first, second)
        if clear:
            assert words.startswith(f"{second} is {'better' if ahead == second else 'worse'} than {first}")
            assert ranks[ahead] < ranks[behind]
            assert behind in better[ahead]
        else:
            assert words.startswith("No clear difference")
            assert behind not in better[ahead]
            assert ("their ranks differ because of other systems" in words) == (ranks[ahead] != ranks[behind])
        assert section.get_by_text("not tested").count() == 0
