"""Whose results are shown: after another file, after an error, after a reload; and what may be called the best."""

import json
import random
import re

import numpy as np
import pytest
from corpus_samples import sample_document, synthetic_rows
from upload_steps import choose_metrics, jsonl, panel, saved_document, scored, upload

from evalign.analysis.comparison import compare_scored
from evalign.analysis.comparison_results import ComparisonPlan, PairedScores
from evalign.core.registry import metric
from evalign.stats.bootstrap import Resampling


@pytest.fixture
def page(server, open_page):
    return panel(open_page(server))


def results_head(page):
    return " ".join(page.locator("#corpus-head").inner_text().split())


def kept(page):
    page.get_by_text("Saved in this browser").wait_for()


def reloaded(page):
    page.reload()
    page.locator("#main:not([aria-busy])").wait_for()


def score_some(page, name="first.jsonl", count=4):
    upload(page, name, jsonl(synthetic_rows(count, 1)))
    page.get_by_role("heading", name=name, exact=True).wait_for()
    choose_metrics(page, "rouge1")
    scored(page)
    kept(page)


@pytest.mark.slow
def test_results_carry_the_name_of_their_file_when_another_is_opened(page, axe):
    score_some(page)
    assert results_head(page).startswith("Scores of first.jsonl ")
    upload(page, "second.jsonl", jsonl(synthetic_rows(3, 1)))
    page.get_by_role("heading", name="second.jsonl").wait_for()
    assert "These are not the scores of second.jsonl, which was opened after them." in results_head(page)
    assert results_head(page).startswith("Scores of first.jsonl ")
    assert axe(page) == []
    upload(page, "broken.csv", b"\xff\xfe\x00")
    page.get_by_role("alert").filter(has_text="broken.csv is UTF-16").wait_for()
    assert "not the scores of broken.csv" in results_head(page)
    upload(page, "first.jsonl", jsonl(synthetic_rows(2, 1)))
    page.get_by_role("button", name="Score 2 rows").wait_for()
    assert "before it was opened again" in results_head(page)
    page.locator("#c-search").fill("nothing has this")
    choose_metrics(page, "chrf")
    page.get_by_role("button", name="Score 2 rows").click()
    page.get_by_role("columnheader", name="chrf").wait_for()
    assert page.locator("#c-search").input_value() == ""  # the choices of the other view are gone
    assert page.locator(".c-head").count() == 1


def test_a_reload_restores_a_finished_run(page, axe):
    score_some(page, count=4)
    page.get_by_role("radio", name="recall").check(force=True)  # a choice that the address keeps
    shown = page.locator(".c-summary").inner_text()
    reloaded(page)
    page.locator(".c-head").wait_for()
    assert page.locator("#tab-corpus").get_attribute("aria-selected") == "true"
    assert page.locator(".c-summary").inner_text() == shown
    assert results_head(page).startswith("Scores of first.jsonl Restored: scored on ")
    assert axe(page) == []
    assert page.locator(".c-line-text").first.inner_text()  # the texts are there, too
    page.get_by_role("button", name="Delete these scores").focus()
    page.keyboard.press("Enter")
    page.locator(".c-head").wait_for(state="detached")
    assert page.locator("#corpus-head").is_hidden()
    assert page.evaluate("document.activeElement.id") == "u-file"
    page.get_by_text("The scores were deleted.").wait_for(state="attached")
    reloaded(page)
    assert page.locator(".c-head").count() == 0
    assert page.locator("#link-problem").is_hidden()  # the address does not speak of them any more
    assert page.problems == []


@pytest.mark.slow
def test_leaving_is_warned_about_while_rows_are_scored_or_if_nothing_can_be_kept(server, open_page):
    page, asked = panel(open_page(server, alone=True)), []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.route("**/api/score", lambda route: None)  # never answered
    upload(page, "first.jsonl", jsonl(synthetic_rows(4, 1)))
    choose_metrics(page, "rouge1")
    page.get_by_role("button", name="Score 4 rows").click()
    page.get_by_text("0 of 4 rows").first.wait_for()
    reloaded(page)
    assert asked == ["beforeunload"]
    page.unroute("**/api/score")
    page.evaluate("() => { IDBObjectStore.prototype.put = () => { throw new Error('full'); }; }")
    panel(page)
    upload(page, "first.jsonl", jsonl(synthetic_rows(4, 1)))
    choose_metrics(page, "rouge1")
    scored(page)
    page.get_by_text("This browser cannot save them").wait_for()
    reloaded(page)
    assert asked == ["beforeunload"] * 2
    assert page.locator(".c-head").count() == 0
    reloaded(page)
    assert asked == ["beforeunload"] * 2


def test_nothing_is_called_the_best_untested(page):
    rows = synthetic_rows(40, 2)
    upload(page, "plain.json", json.dumps(sample_document(rows, ["rougeL", "bleu"], samples=0)))
    page.locator(".c-summary").wait_for()
    assert page.locator(".c-best").count() == 0
    page.get_by_role("button", name="Test the differences").click()
    page.locator(".c-verdict-words").first.wait_for()
    assert page.locator(".c-best").count() == 2  # under both metrics, A is clearly better
    assert page.locator("tr", has=page.locator(".c-best")).locator("th").inner_text() == "system A"
    page.get_by_role("radio", name="precision").check(force=True)  # which nobody has tested
    assert page.locator(".c-now .c-best").count() == 0


@pytest.mark.parametrize("systems", [2, 3])
def test_equals_share_no_star(page, systems):
    same = synthetic_rows(20, 1)
    rows = [row for name in "ABC"[:systems] for row in (type(row)(**vars_of(row) | {"system": name}) for row in same)]
    rows[0] = type(rows[0])(**vars_of(rows[0]) | {"candidate": "other words"})  # a little worse, by one row
    document = sample_document(rows, ["rougeL"])
    upload(page, "same.json", json.dumps(document))
    page.locator(".c-summary").wait_for()
    means = {result["system"]: result["scores"]["f1"] for result in document["results"]}
    assert means["A"] < means["B"]
    assert page.locator(".c-best").count() == 0
    assert re.search("No clear difference", page.locator(".c-verdicts").inner_text())


def scores_of(document, place):
    """One metric's scores of a document whose systems have the same rows in the same order; NaN where one failed."""
    entry = document["metrics"][place]
    by_system = {name: [row for row in document["rows"] if row["system"] == name] for name in document["systems"]}
    table = PairedScores(metric(entry["metric"]), len(document["rows"]) // 2, signatures=[entry["signature"]])
    for name, rows in by_system.items():
        scored = [row["scores"][place] for row in rows]
        table.values[name] = np.array([one[entry["main"]] if one else np.nan for one in scored])
        if table.metric.pools:
            statistics = [row["statistics"][place] for row in rows]
            table.statistics[name] = np.array([one or [0.0] * len(statistics[-1]) for one in statistics])
    return table


def vars_of(row):
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def test_a_comparison_larger_than_a_request_is_made_in_parts(server, open_page):
    """The page is told of a smaller limit; the server itself would have taken it at once."""
    asked = []
    page = open_page("about:blank")
    page.on("request", lambda request: asked.append((request.url.rpartition("/")[2], len(request.post_data or ""))))

    def smaller(route):
        answer = route.fetch()
        about = answer.json()
        route.fulfill(json=about | {"limits": about["limits"] | {"body": 30_000}})

    page.route("**/api/about", smaller)
    page.goto(server)
    panel(page)
    rows = synthetic_rows(400, 2)
    document = sample_document(rows, ["rougeL", "bleu"], samples=100)
    for entry in document["rows"][:3]:  # three inputs that a system failed on
        entry["scores"], entry["errors"] = [None, None], ["too long", "too long"]
        entry["statistics"] = [None, None]
    upload(page, "large.json", json.dumps(document | {"comparison": None}))
    page.get_by_role("button", name="Test the differences").click()
    page.locator(".c-verdict-words").first.wait_for()
    sizes = [size for path, size in asked if path in ("resample", "compare")]
    assert [path for path, _size in asked].count("resample") >= 2
    assert max(sizes) <= 30_000
    compared = saved_document(page)["comparison"]
    assert [(one["n"], one["failed"]) for one in compared["results"]] == [(397, 3)] * 2
    plan = ComparisonPlan(resampling=Resampling(samples=compared["samples"]))
    expected = compare_scored([scores_of(document, place) for place in range(2)], plan).to_dict()
    for found, whole in zip(compared["results"], expected["results"], strict=True):
        for system, same in zip(found["systems"], whole["systems"], strict=True):
            for name in (
                "score",
                "low",
                "high",
                "difference",
                "difference_low",
                "difference_high",
                "p",
                "wins",
                "ties",
            ):
                assert system.get(name) == pytest.approx(same.get(name), abs=1e-9), name
    assert page.problems == []


@pytest.mark.slow
def test_two_systems_on_twenty_thousand_rows_are_compared(page):
    count, draw = 20_000, random.Random(3)
    rows = [
        {
            "id": str(number),
            "system": system,
            "candidate": f"{number} {draw.choice('ab')} c d e f",
            "references": "a b c d",
        }
        for system in "AB"
        for number in range(count)
    ]
    refused = []
    page.on("response", lambda answer: refused.append(answer.url) if answer.status == 413 else None)
    upload(page, "large.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    choose_metrics(page, "bleu", "chrf", "rouge1")
    page.set_default_timeout(900_000)
    document = scored(page)
    assert len(document["rows"]) == 2 * count
    assert [result["n"] for result in document["comparison"]["results"]] == [count] * 3
    assert document["comparison"]["samples"] == 1000
    assert refused == []
