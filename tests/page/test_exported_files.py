"""Exported files and notebook output: they open from disk without a request, stay inert, and keep their state."""

import dataclasses
import json
import re

import pytest
from waiting import wait_until

import evalign
from evalign.errors import InputError
from evalign.render.documents import alignment_document
from evalign.render.export import SLOT, STARTER, bundle, imported, page_file, views, write_html

MOST_HEIGHT = 4000  # pixels; a higher view scrolls in its frame
HOSTILE = "</script><script>document.title='hit'</script><img src=x onerror=\"document.title='hit'\"> \u202e\x00 end"


@pytest.fixture(scope="module")
def alignment():
    return evalign.metric("bertscore").align("The old bridge was closed.", "The bridge was shut because of cracks.")


@pytest.fixture(scope="module")
def report():
    return evalign.metric("bertscore").score(["one cat", HOSTILE, "three"], ["a cat", "two dogs", "three"])


def test_an_alignment_opens_from_disk_with_one_request(alignment, tmp_path, open_page):
    file = tmp_path / "a.html"
    alignment.to_html(file)
    asked = []
    page = open_page("about:blank")
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.get_by_text(f"{alignment.scores['f1']:.4f}").first.wait_for()
    assert page.get_by_text(alignment.signature).count() >= 1
    assert asked == [file.as_uri()]
    assert page.problems == []


def test_a_report_opens_from_disk_and_shows_hostile_texts_as_texts(report, tmp_path, open_page):
    file = tmp_path / "r.html"
    report.to_html(file)
    page = open_page(file)
    page.get_by_text(report.signature).first.wait_for()
    assert "onerror" in page.locator("main").inner_text()
    assert page.title() != "hit"
    assert page.locator("main img").count() == 0
    assert page.problems == []


def test_hostile_tokens_stay_inert_in_an_alignment(tmp_path, open_page):
    file = tmp_path / "h.html"
    evalign.metric("bertscore").align(HOSTILE, "<b onclick=alert(1)>two</b> dogs").to_html(file)
    page = open_page(file)
    page.locator("main h1, main h2").first.wait_for()
    assert page.title() != "hit"
    assert page.locator("main img, main b[onclick], main script").count() == 0
    assert page.problems == []


def test_data_cannot_end_its_element(alignment):
    text = evalign.metric("bertscore").align(HOSTILE, "x").to_html()
    data = re.search(r'id="evalign-document">(.*?)</script>', text, re.DOTALL)[1]
    assert json.loads(data)["candidate"]["text"] == HOSTILE
    assert SLOT not in text


def test_a_damaged_document_is_said_in_a_sentence(alignment, tmp_path, open_page):
    document = alignment_document({"greedy": alignment}) | {"version": 99}
    file = tmp_path / "v.html"
    write_html(document, file)
    page = open_page(file)
    page.get_by_role("alert").wait_for()
    assert "version 99" in page.get_by_role("alert").inner_text()


def test_the_state_lies_in_the_address(alignment, tmp_path, open_page):
    every = {name: evalign.metric(f"bertscore(matching={name})").align("one cat sat", "a cat sits") for name in
             ("greedy", "exact")}  # fmt: skip
    file = tmp_path / "s.html"
    write_html(alignment_document(every, packed=True), file)
    page = open_page(file)
    page.locator("input[value=exact]").check()
    wait_until(page, "location.hash.length > 5")
    again = open_page(page.url)
    again.locator("input[value=exact]").wait_for()
    assert again.locator("input[value=exact]").is_checked()
    for broken in ("#v1=%%%", "#v1=bnVsbA", "#v1=W10", "#other"):
        again.goto("about:blank")  # or only the fragment would change
        again.goto(file.as_uri() + broken)
        assert again.problems == []


def test_a_file_that_cannot_be_written_is_said(alignment, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        alignment.to_html(tmp_path / "no" / "folder" / "a.html")


@pytest.mark.parametrize("value", ["alignment", "report"])
def test_a_notebook_without_scripts_still_shows_everything_that_matters(value, request):
    shown = request.getfixturevalue(value)._repr_html_()
    static = re.sub(r"<iframe.*?</iframe>|<script.*?</script>", "", shown, flags=re.DOTALL)
    assert "<script" not in static
    assert 'onerror="' not in static
    expected = request.getfixturevalue(value)
    number = expected.scores["f1"] if value == "alignment" else expected.corpus("f1")
    assert f"{number:.4f}" in static
    assert expected.signature in static


@pytest.mark.parametrize("value", ["alignment", "report"])
def test_a_trusted_notebook_gets_the_view_in_a_sandbox_of_the_right_height(value, request, tmp_path, open_page):
    file = tmp_path / "notebook.html"
    file.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{request.getfixturevalue(value)._repr_html_()}", "utf-8")
    page = open_page(file)
    frame = page.locator("iframe")
    assert frame.get_attribute("sandbox").split() == ["allow-scripts", "allow-downloads"]
    page.frame_locator("iframe").get_by_role("heading").first.wait_for()
    wait_until(page, "document.querySelector('.evalign-static').style.display === 'none'")
    for _ in range(600):
        inside = page.frames[1].evaluate("document.documentElement.offsetHeight")
        outside = frame.evaluate("(frame) => frame.offsetHeight")
        if outside == min(inside, MOST_HEIGHT):
            break
        page.wait_for_timeout(100)
    assert outside == min(inside, MOST_HEIGHT)
    assert page.frames[1].evaluate("document.documentElement.scrollHeight") == inside  # nothing hangs out below
    assert page.problems == []


def test_a_notebook_shows_the_worst_rows_of_a_metric_where_less_is_better():
    words = [f"w{place}" for place in range(12)]
    candidates = [" ".join(words[: 12 - place]) for place in range(12)]
    shown = evalign.metric("ter").score(candidates, [" ".join(words)] * 12)._repr_html_().partition("<iframe")[0]
    assert "The 10 worst of 12 rows" in shown
    assert "<td>12</td>" in shown
    assert "<td>1</td>" not in shown


def test_a_rating_that_json_cannot_hold_is_left_out():
    report = evalign.metric("rouge1").score(["a"], ["a"])
    rows = [dataclasses.replace(row, human=float("nan")) for row in report.rows]
    text = dataclasses.replace(report, rows=rows).to_html()
    [row] = json.loads(re.search(r'id="evalign-document">(.*?)</script>', text, re.DOTALL)[1])["rows"]
    assert "human" not in row


def test_notebook_output_is_small(alignment):
    shown = alignment._repr_html_()
    static = shown.partition("<iframe")[0]
    assert len(static.encode()) < 60_000
    assert len(shown.encode()) < 93_000  # before its page was packed: 140,000


def test_what_is_inlined_lost_nothing_but_comments_and_blanks():
    for kind, view in views().items():
        script = bundle(STARTER, view.module).rstrip()
        assert not re.search(r"^\s|^//|^/\*\*|^$", script, re.MULTILINE), kind
        whole = "".join(page_file(name).decode() for name in modules_of(STARTER, view.module))
        strings = re.findall(
            r'"[^"\n]*"', re.sub(r"^\s*(?://|/\*\*|\*|import|export \{).*$| // .*$", "", whole, flags=re.MULTILINE)
        )
        assert [one for one in strings if not one.startswith('".') and one not in script] == [], kind


def modules_of(*entries):
    found = list(entries)
    for name in found:
        found += [file for _names, file in imported(name) if file not in found]
    return found
