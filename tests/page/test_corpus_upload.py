"""Files opened in the page of a real server: reading, columns, row errors, scoring in parts, cancelling, saving."""

import csv
import io
import json
import re

import jsonschema
import pytest
from corpus_samples import module_page, sample_document, synthetic_rows
from pair_samples import pair_file
from upload_steps import choose_metrics, jsonl, panel, saved_document, scored, upload
from waiting import wait_until

from evalign.analysis.comparison import compare_sources
from evalign.analysis.comparison_results import ComparisonPlan
from evalign.analysis.scoring import score_source
from evalign.core.registry import metric
from evalign.io.rows import Columns, InMemory, TableFile
from evalign.render.documents import schema
from evalign.stats.bootstrap import Resampling

HOSTILE = '</script><img src=x onerror="window.hit=1">'


@pytest.fixture
def page(server, open_page):
    return panel(open_page(server))


@pytest.fixture(scope="module")
def reading(tmp_path_factory, browser):
    """The modules that read files, without a server."""
    page = browser.new_page()
    exports = {"upload/columns.js": "guessColumns", "upload/read_file.js": "readRecords"}
    page.goto(module_page(tmp_path_factory.mktemp("page") / "file.html", exports).as_uri())
    yield page
    page.close()


def test_a_csv_with_other_names_is_understood_and_scored_as_python_scores_it(page, tmp_path):
    rows = synthetic_rows(30, 2, rated=True)
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["Seg ID", "model", "hypothesis", "ref1", "ref2", "src", "rating"])
    for number, row in enumerate(rows):
        second = "a second reference, with\nlines" if number % 30 >= 20 else ""  # the first chunk has one each
        writer.writerow([row.id, row.system, row.candidate, row.references[0], second, "a source", row.human])
    upload(page, "scores.csv", stream.getvalue() + "one,too few\r\n")
    page.locator("#u-preview").wait_for()
    chosen = {label: page.get_by_label(label, exact=True).input_value()
              for label in ("Candidate (required)", "Source", "System", "Human rating", "Id")}  # fmt: skip
    assert list(chosen.values()) == ["hypothesis", "src", "model", "rating", "Seg ID"]
    assert page.locator(".u-references :checked").evaluate_all("(all) => all.map((one) => one.value)") == [
        "ref1",
        "ref2",
    ]
    assert page.locator("#u-preview tbody tr").count() == 5
    assert "line 82: 2 fields, the header has 7" in page.inner_text(".u-problems")
    choose_metrics(page, "rougeL", "bleu", "ter")
    document = scored(page)
    jsonschema.validate(document, schema("corpus"))

    (tmp_path / "same.jsonl").write_text(
        "".join(json.dumps({name: row[name] for name in ("id", "system", "candidate", "references", "source", "human")})
                + "\n" for row in document["rows"])
    )  # fmt: skip
    source = InMemory(list(TableFile(str(tmp_path / "same.jsonl"), Columns())))
    assert [row.candidate for row in source.rows] == [row.candidate for row in rows]
    assert sorted({len(row.references) for row in source.rows}) == [1, 2]
    metrics, segments = [metric(spec) for spec in ("rougeL", "bleu", "ter")], {}
    results = score_source(source, metrics, lambda result, one: segments.setdefault(result.metric, []).append(one))
    for place, one in enumerate(metrics):
        for row, segment in zip(document["rows"], segments[str(one)], strict=True):
            assert row["scores"][place] == pytest.approx(dict(segment.scores))
    shown = {(result["system"], result["metric"]): result for result in document["results"]}
    for result in results:
        found = shown[result.system, result.metric]
        assert found["scores"] == pytest.approx(result.scores)
        assert found.get("corpus", {}) == pytest.approx(result.pooled)
        assert (found["n"], found["signature"]) == (result.n, result.signature)
    plan = ComparisonPlan(resampling=Resampling(samples=1000), examples=0)
    expected = compare_sources([source], metrics, plan).to_dict()
    for found, one in zip(document["comparison"]["results"], expected["results"], strict=True):
        for system, other in zip(found["systems"], one["systems"], strict=True):
            assert system["score"] == pytest.approx(other["score"])
            for name in ("difference", "wins", "losses", "ties"):
                assert system.get(name) == pytest.approx(other.get(name))
    assert document["problems"] == [{"place": "line 82", "message": "2 fields, the header has 7"}]
    assert page.problems == []


def test_idf_of_the_file_gives_pythons_scores(page):
    rows = synthetic_rows(12, 1)
    upload(page, "rows.jsonl", jsonl(rows))
    choose_metrics(page, "bertscore")
    page.locator("#corpus").get_by_label("Weigh rare words more").check()
    document = scored(page)
    report = metric("bertscore(idf=references)").score(
        [row.candidate for row in rows], [row.references for row in rows]
    )
    assert document["metrics"][0]["signature"] == report.signature
    assert [row["scores"][0]["f1"] for row in document["rows"]] == pytest.approx(report["f1"], abs=1e-5)


def test_bad_lines_fail_alone_and_are_named(page):
    lines = [
        '{"candidate": "a b", "references": "a b c"}',
        '{"candidate": NaN, "references": "x"}',
        '{"candidate": "a b", "references": ["a", "b"]}',
        '{"candidate": 3, "references": ["a"]}',
        '{"candidate": "a b", "references": [1]}',
        "not json at all",
        json.dumps({"candidate": "long " * 2500, "references": ["a"]}),
        '{"candidate": "the last", "references": ["the last"]}',
    ]
    upload(page, "rows.jsonl", "\ufeff" + "\n".join(lines))
    choose_metrics(page, "rougeL", "fkgl")
    said = page.inner_text(".u-problems")
    assert [line for line in range(1, 9) if f"line {line}:" in said] == [2, 4, 5, 6]
    assert "line 4: candidate: expected a text, found a number" in said
    document = scored(page)
    assert [row["id"] for row in document["rows"]] == ["1", "3", "7", "8"]  # the lines they stand in
    errors = [row["errors"][0] for row in document["rows"]]
    assert [error is None for error in errors] == [True, True, False, True]
    assert errors[2].startswith("candidate has 2,500 tokens")
    assert document["results"][0]["n"] == 3
    assert document["results"][0]["failed"] == 1
    assert document["rows"][3]["scores"][0]["f1"] == 1


def test_a_row_that_one_metric_cannot_take_is_scored_by_the_others(page):
    rows = [{"candidate": "one two three", "references": ["one two"]}] * 4
    rows[2] = {"candidate": "word " * 300, "references": ["word " * 60]}  # too much for TER's search alone
    upload(page, "rows.jsonl", "\n".join(map(json.dumps, rows)))
    choose_metrics(page, "rouge1", "ter", "bleu")
    document = scored(page)
    names = [entry["metric"] for entry in document["metrics"]]
    assert names == ["rouge1", "bleu", "ter"]
    assert [[error is None for error in row["errors"]] for row in document["rows"]] == [
        [True, True, True], [True, True, True], [True, True, False], [True, True, True],
    ]  # fmt: skip
    assert [result["n"] for result in document["results"]] == [4, 4, 3]
    lengths = [[None if one is None else len(one) for one in row["statistics"]] for row in document["rows"]]
    assert lengths[0][0] is None
    assert lengths[2][1] == lengths[0][1] > 1
    assert "corpus" in document["results"][1]


def test_cancelling_keeps_what_was_scored(page):
    asked = []

    def some_answers(route):
        asked.append(route)
        if len(asked) == 1:
            route.continue_()  # all others wait for ever

    page.route("**/api/score", some_answers)
    upload(page, "rows.jsonl", jsonl(synthetic_rows(60, 1)))
    choose_metrics(page, "rouge1")
    page.get_by_role("button", name="Score 60 rows").click()
    page.get_by_text(re.compile(r"^8 of 60 rows, about .* left")).first.wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.locator(".c-head").wait_for()
    document = saved_document(page)
    assert len(document["rows"]) == document["results"][0]["n"] == 8
    assert document["problems"] == [{"place": "line 9 and after", "message": "52 of 60 rows not scored: cancelled"}]
    assert page.locator(".u-progress").last.is_hidden()


@pytest.mark.slow
def test_a_file_opened_while_another_is_scored_takes_its_place(page):
    asked = []

    def some_answers(route):
        asked.append(route)
        if len(asked) != 2:
            route.continue_()  # the second waits for ever

    page.route("**/api/score", some_answers)
    upload(page, "first.jsonl", jsonl(synthetic_rows(60, 1)))
    choose_metrics(page, "bleu")
    page.get_by_role("button", name="Score 60 rows").click()
    page.get_by_text(re.compile(r"^8 of 60 rows, about .* left")).first.wait_for()
    assert page.get_by_label("Candidate (required)", exact=True).is_disabled()
    assert page.get_by_role("button", name="Score 60 rows").is_disabled()
    assert page.locator(".u-metrics input:enabled").count() == 0
    upload(page, "second.jsonl", jsonl(synthetic_rows(3, 1)))
    page.get_by_role("heading", name="second.jsonl").wait_for()
    page.evaluate("() => new Promise((done) => setTimeout(done, 200))")
    assert page.locator(".c-head").count() == 0
    assert page.locator(".u-progress:visible").count() == 0
    choose_metrics(page, "rouge1")
    document = scored(page)
    assert [len(document["rows"]), document["metrics"][0]["metric"]] == [3, "rouge1"]
    assert page.get_by_label("Candidate (required)", exact=True).is_enabled()


def test_reading_can_be_cancelled_and_overtaken(page):
    page.evaluate("""() => {
      const real = Blob.prototype.arrayBuffer;
      window.held = [];
      Blob.prototype.arrayBuffer = async function () {
        await new Promise((go) => { if (window.free) go(); else window.held.push(go); });
        return real.call(this);
      };
    }""")
    upload(page, "first.jsonl", jsonl(synthetic_rows(3, 1)))
    page.get_by_text("Reading first.jsonl").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.evaluate("() => { window.held.splice(0).forEach((go) => go()); }")
    page.get_by_text("first.jsonl was not read.").wait_for()
    assert page.locator(".u-progress:visible").count() == 0
    assert page.evaluate("document.activeElement.id") == "u-file"
    upload(page, "second.jsonl", jsonl(synthetic_rows(4, 1)))
    page.get_by_text("Reading second.jsonl").wait_for()
    upload(page, "third.jsonl", jsonl(synthetic_rows(5, 1)))
    page.get_by_text("Reading third.jsonl").wait_for()
    page.evaluate("() => { window.held.shift()(); }")  # the second goes on, and sees that nobody waits for it
    page.evaluate("() => new Promise((done) => setTimeout(done, 100))")
    assert page.get_by_text("Reading third.jsonl").is_visible()
    page.evaluate("() => { window.free = true; window.held.forEach((go) => go()); }")
    page.get_by_role("heading", name="third.jsonl").wait_for()
    assert page.problems == []


def test_the_same_file_can_be_chosen_again_after_it_was_edited(page, tmp_path):
    for count in (2, 3):
        (tmp_path / "rows.jsonl").write_text(jsonl(synthetic_rows(count, 1)))
        with page.expect_file_chooser() as chooser:
            page.locator("#u-file").click()
        assert page.locator("#u-file").input_value() == ""  # or the browser would see no change
        chooser.value.set_files(tmp_path / "rows.jsonl")
        page.get_by_role("button", name=f"Score {count} rows").wait_for()


@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_a_failure_stays_in_its_column_when_two_specs_are_one_metric(page, count):
    rows = [{"candidate": "word " * 300, "references": ["word " * 60]}]  # too much for TER's search alone
    rows += [{"candidate": "one two three", "references": ["one two"]}] * (count - 1)
    upload(page, "rows.jsonl", "\n".join(map(json.dumps, rows)))
    choose_metrics(page, "chrf")
    page.get_by_text("Other metrics and settings").click()
    page.get_by_label("One metric per line").fill("chrf(char_order=6)\nchrf()\nter\nrouge1")
    document = scored(page)
    assert [entry["metric"] for entry in document["metrics"]] == ["chrf", "ter", "rouge1"]
    errors = document["rows"][0]["errors"]
    assert [error is None for error in errors] == [True, False, True]
    assert "too many for ter" in errors[1]
    assert [result["n"] for result in document["results"]] == [count, count - 1, count]
    assert [set(one or ()) for one in document["rows"][0]["scores"]] == [
        {"score"}, set(), {"precision", "recall", "f1"},
    ]  # fmt: skip


def test_a_text_too_long_to_be_counted_for_idf_fails_alone(page):
    rows = synthetic_rows(6, 1)
    lines = jsonl(rows).splitlines()
    lines.insert(2, json.dumps({"id": "long", "candidate": "a", "references": ["fine", "a " * 60_000]}))
    upload(page, "rows.jsonl", "\n".join(lines))
    choose_metrics(page, "bertscore")
    page.locator("#corpus").get_by_label("Weigh rare words more").check()
    document = scored(page)
    assert [problem["place"] for problem in document["problems"]] == ["line 3"]
    assert "left out of the IDF table: it has 120,000 characters" in document["problems"][0]["message"]
    assert [row["id"] for row in document["rows"] if row["errors"][0]] == ["long"]
    counted = [*(reference for row in rows for reference in row.references), "fine"]
    report = metric("bertscore(idf=references)").score(
        [*(row.candidate for row in rows), "a"], [*(row.references for row in rows), counted[-1:]]
    )
    found = [row["scores"][0]["f1"] for row in document["rows"] if row["id"] != "long"]
    assert found == pytest.approx(report["f1"][:6], abs=1e-5)


def test_a_system_and_a_file_may_have_any_name(page):
    names = {"system A": "__proto__", "system B": "constructor"}
    lines = [f"{row.id},{names[row.system]},{row.candidate},{row.references[0]}\n" for row in synthetic_rows(5, 2)]
    upload(page, "rows.constructor", "id,system,candidate,reference\n" + "".join(lines))
    choose_metrics(page, "bleu")
    document = scored(page)
    assert document["systems"] == ["__proto__", "constructor"]
    compared = document["comparison"]["results"][0]["systems"]
    assert [one["system"] for one in compared] == ["__proto__", "constructor"]
    assert [result["n"] for result in document["results"]] == [5, 5]
    assert page.problems == []


def test_a_metric_that_is_none_is_said_at_once(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/api/s" in request.url else None)
    upload(page, "rows.jsonl", jsonl(synthetic_rows(20, 1)))
    choose_metrics(page)
    page.get_by_role("button", name="Score 20 rows").click()
    assert page.get_by_text("Choose at least one metric.").is_visible()
    page.get_by_text("Other metrics and settings").click()
    page.get_by_label("One metric per line").fill("bertscor")
    page.get_by_role("button", name="Score 20 rows").click()
    page.get_by_text("unknown metric 'bertscor'").wait_for()
    assert len(asked) == 1


def test_files_that_cannot_be_read_are_refused_in_a_sentence(page):
    for name, content, said in (
        ("a.csv", "candidate,reference\nfine,fine\nna\u00efve,x\n".encode("latin-1"), "not UTF-8: line 3"),
        ("a.csv", "candidate,reference\n".encode("utf-16"), "is UTF-16, not UTF-8"),
        ("a.jsonl", b"", "has no rows"),
        ("a.csv", b"candidate,reference\n", "has no rows"),
        ("a.json", b'{"format": "evalign.corpus", "version": 1}', 'damaged: it has no list "metrics"'),
        ("a.json", b'{"format": "evalign.corpus", "version": 9, "rows": []}', "reads version 1 of evalign.corpus"),
        ("a.json", b'{"format": "evalign.alignment", "version": 1}', "damaged: it has no candidate"),
        ("a.json", b'{"format": "evalign.other", "version": 1}', "not of evalign.other"),
        ("a.json", b'{"format": "evalign.likelihood", "version": 1}', "not of evalign.likelihood"),
    ):
        upload(page, name, content)
        page.get_by_role("alert").filter(has_text=said).wait_for()


def test_a_saved_document_is_opened_again_and_a_pair_from_it(page):
    document = sample_document(synthetic_rows(5, 2), ["bertscore"], samples=0)
    upload(page, "saved.json", json.dumps(document))
    page.locator(".c-head").wait_for()
    page.get_by_role("button", name="Test the differences").click()
    page.locator(".c-verdict-words").wait_for()
    page.locator(".c-open").first.click()
    page.locator("#pair").wait_for()
    worst = min(document["rows"], key=lambda row: row["scores"][0]["f1"])
    wait_until(page, "(text) => document.getElementById('candidate').value === text", worst["candidate"])
    with page.expect_download() as started:
        page.locator("#tab-corpus").click()
        page.get_by_role("button", name="Save as one HTML file").last.click()
    assert "evalign.corpus" in started.value.path().read_text("utf-8")


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("rows", [{"id": "1", "system": "", "scores": [None]}], "row 1 has not scores, flags, errors of every metric"),
        ("metrics", [{"metric": "rougeL"}], "metric 1 is not described"),
        ("results", [None], "a result has no scores"),
        ("systems", [3], "a system has no name"),
    ],
)
def test_a_damaged_document_is_refused_before_it_is_drawn(reading, part, value, said):
    document = sample_document(synthetic_rows(2, 2), ["rougeL"], samples=0)
    read = """async (text) => { try { return (await readRecords(new File([text], "a.json"))).document.format; }
      catch (error) { return error.message; } }"""
    assert reading.evaluate(read, json.dumps(document)) == "evalign.corpus"
    assert said in reading.evaluate(read, json.dumps(document | {part: value}))


@pytest.mark.parametrize("wired", [True, False])
def test_a_saved_alignment_is_handed_on_or_refused_in_a_sentence(tmp_path, open_page, wired):
    page = open_page(module_page(tmp_path / "panel.html", {"upload/panel.js": "createPanel"}))
    page.evaluate(
        """(wired) => { window.given = [];
        const onAlignment = wired ? (doc) => window.given.push(doc.candidate.text) : undefined;
        createPanel(document.body.appendChild(document.createElement("div")), { onAlignment }); }""",
        wired,
    )
    _, _, document = pair_file(tmp_path, "a cat sat", "the cat sat", every=False)
    upload(page, "pair.json", json.dumps(document))
    if wired:
        wait_until(page, "window.given.length === 1")
        assert page.evaluate("window.given") == ["a cat sat"]
        assert page.get_by_role("alert").count() == 0
    else:
        page.get_by_role("alert").filter(has_text="pair.json holds the matches of one pair").wait_for()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_the_panel_is_accessible_narrow_and_inert(server, open_page, axe, scheme):
    page = panel(open_page(server, viewport={"width": 320, "height": 640}, color_scheme=scheme))
    stream = io.StringIO()
    csv.writer(stream).writerows([[HOSTILE, "candidate", "reference"], [HOSTILE, HOSTILE, HOSTILE], ["x"]])
    upload(page, f"{HOSTILE.replace('/', '')}.csv", stream.getvalue())
    page.locator("#u-preview").wait_for()
    page.get_by_text("What should be in it?").click()
    page.get_by_text("Other metrics and settings").click()
    assert axe(page) == []
    size = page.context.new_cdp_session(page).send("Page.getLayoutMetrics")["cssContentSize"]
    assert size["width"] <= 320
    assert page.evaluate("window.hit") is None
    assert page.locator(".upload img").count() == 0
    assert page.problems == []


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["source", "reference", "candidate"], ["candidate", ["reference"], "source"]),
        (["src", "mt", "ref", "da"], ["mt", ["ref"], "src"]),
        (["Output", "Gold", "Input"], ["Output", ["Gold"], "Input"]),
        (["reference_1", "reference_2", "system output"], ["system output", ["reference_1", "reference_2"], ""]),
        (["x", "y"], ["", [], ""]),
    ],
)
def test_usual_names_of_columns_are_guessed(reading, columns, expected):
    found = reading.evaluate("(columns) => guessColumns(columns)", columns)
    assert [found[name] for name in ("candidate", "references", "source")] == expected


def test_a_file_above_the_limit_is_refused_before_it_is_read(reading):
    said = reading.evaluate(
        """async () => { try { await readRecords({ name: "big.jsonl", size: 101 * 2 ** 20 }); return ""; }
        catch (error) { return error.message; } }"""
    )
    assert "101 MB" in said
    assert "evalign score big.jsonl" in said


def test_a_large_file_is_read_in_slices_that_may_cut_letters_and_records(reading):
    found = reading.evaluate(
        """async () => {
          const line = '"caf\u00e9 \U0001f600, ""said""\\nhe",b\\r\\n';
          const count = 400000;
          const shares = [];
          const file = new File(["h1,h2\\r\\n" + line.repeat(count)], "big.csv");
          const table = await readRecords(file, (share) => shares.push(share), undefined, { header: true });
          return { size: file.size, slices: shares.length, rows: table.records.length, problems: table.problems,
            same: table.records.every(({ cells }) => cells.join("|") === 'caf\u00e9 \U0001f600, "said"\\nhe|b'),
            last: table.records.at(-1).line };
        }"""
    )
    assert found["size"] > 10_000_000
    assert found["slices"] >= 3
    assert (found["rows"], found["problems"], found["same"]) == (400_000, [], True)
    assert found["last"] == 2 + 2 * 399_999
