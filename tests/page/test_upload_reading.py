"""Files as people have them: other separators, no header, metrics that cannot be computed, lines to be found again."""

import json

import pytest
from corpus_samples import module_page, synthetic_rows
from upload_steps import choose_metrics, jsonl, panel, scored, upload

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe |"}
READ = """async ([text, name, said]) => {
  const table = await readRecords(new File([text], name), () => {}, undefined, said);
  return { delimiter: table.delimiter, header: table.header, columns: table.columns, unit: table.unit,
    rows: rowsFrom(table, guessColumns(table.columns, table.header)) };
}"""


@pytest.fixture
def page(server, open_page):
    return panel(open_page(server))


@pytest.fixture(scope="module")
def reading(tmp_path_factory, browser):
    page = browser.new_page()
    exports = {"upload/columns.js": "guessColumns rowsFrom", "upload/read_file.js": "readRecords"}
    page.goto(module_page(tmp_path_factory.mktemp("page") / "file.html", exports).as_uri())
    yield page
    page.close()


def table_text(separator, header=True):
    rows = [["One, two; three", "One, two"], ["Four; five", "Four, five"], ["Six", "Six, seven; eight"]]
    quoted = [[f'"{cell}"' if separator in cell else cell for cell in row] for row in rows]
    return "\n".join(separator.join(row) for row in [["candidate", "reference"]] * header + quoted) + "\n"


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.tsv"])
def test_the_separator_is_found_whatever_the_file_is_called(reading, separator, name):
    found = reading.evaluate(READ, [table_text(separator), name, {}])
    assert (found["delimiter"], found["header"], found["columns"]) == (separator, True, ["candidate", "reference"])
    assert [row["candidate"] for row in found["rows"]["rows"]] == ["One, two; three", "Four; five", "Six"]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_without_a_header_the_first_line_is_a_row_once_that_is_said(reading, separator):
    text = table_text(separator, header=False)
    assert reading.evaluate(READ, [text, "a.csv", {}])["header"] is None
    found = reading.evaluate(READ, [text, "a.csv", {"header": False}])
    assert found["columns"] == ["column 1", "column 2"]
    assert [(row["id"], row["candidate"], row["references"]) for row in found["rows"]["rows"]] == [
        ("1", "One, two; three", ["One, two"]),
        ("2", "Four; five", ["Four, five"]),
        ("3", "Six", ["Six, seven; eight"]),
    ]
    assert reading.evaluate(READ, [text, "a.csv", {"header": True}])["columns"] == ["One, two; three", "One, two"]


def test_rows_without_an_id_are_called_by_the_line_they_begin_in(reading):
    text = 'candidate,reference\n\n"two\nlines",x\ntoo,many,fields\nlast,y\n'
    found = reading.evaluate(READ, [text, "a.csv", {}])["rows"]
    assert [row["id"] for row in found["rows"]] == ["3", "6"]
    assert found["places"] == ["line 3", "line 6"]
    entries = json.dumps(
        [{"candidate": "a", "references": "b"}, {"candidate": 3}, {"candidate": "c", "references": []}], indent=2
    )
    found = reading.evaluate(READ, [entries, "a.json", {}])
    assert found["unit"] == "entry"
    assert [row["id"] for row in found["rows"]["rows"]] == ["1", "3"]
    assert found["rows"]["problems"][0]["place"] == "entry 2"


def test_a_missing_header_is_asked_about_before_anything_is_scored(page, axe):
    upload(page, "pairs.csv", "The cat sat.|A cat was sitting.\nDogs bark.|A dog barked.\n")
    page.locator("#u-preview").wait_for()
    assert page.locator("#u-separator").input_value() == "|"
    assert page.locator("#u-preview tbody tr").count() == 2
    question = page.get_by_role("group", name="Does the first line name the columns?")
    assert "None of the usual names stands in it: The cat sat. | A cat was sitting." in question.inner_text()
    assert question.locator(":checked").count() == 0
    assert page.get_by_role("button", name="Say first whether the first line is a header").is_disabled()
    assert axe(page) == []
    page.locator("#u-header-no").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Score 2 rows").wait_for()
    assert page.evaluate("document.activeElement.id") == "u-header-no"
    assert page.get_by_label("Candidate (required)", exact=True).input_value() == "column 1"
    page.keyboard.press("ArrowLeft")  # to the other answer
    page.get_by_role("button", name="Score 0 rows").wait_for()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Score 2 rows").wait_for()
    choose_metrics(page, "rouge1")
    document = scored(page)
    assert [row["id"] for row in document["rows"]] == ["1", "2"]
    assert document["rows"][0]["references"] == ["A cat was sitting."]
    assert page.problems == []


def test_another_separator_can_be_chosen(page):
    upload(page, "pairs.csv", "candidate,x;reference,y\na,b;c,d\n")
    page.locator("#u-preview").wait_for()
    for separator, name in SEPARATORS.items():
        page.locator("#u-separator").select_option(label=name)
        expected = {",": ["candidate", "x;reference", "y"], ";": ["candidate,x", "reference,y"]}
        columns = expected.get(separator, ["candidate,x;reference,y"])
        page.locator(".u-references label").nth(len(columns) - 1).wait_for()
        page.get_by_text(f"{len(columns)} column{'s' if len(columns) > 1 else ''}", exact=False).first.wait_for()
        assert page.locator(".u-references label").all_inner_texts() == columns
        assert page.evaluate("document.activeElement.id") == "u-separator"


def test_why_a_metric_is_greyed_stands_below_its_name(page, axe):
    rows = [json.dumps({"candidate": row.candidate, "references": []}) for row in synthetic_rows(3, 1)]
    upload(page, "rows.jsonl", "\n".join(rows))
    page.locator("#u-preview").wait_for()
    greyed = page.locator(".u-metric:has(:disabled)")
    assert greyed.count() > 3
    for label in greyed.all_inner_texts():
        assert "Not possible: needs " in label
        assert label.rstrip().endswith("which no row has")
    assert "needs references and sources, which no row has" in page.locator(".u-metric", has_text="sari").inner_text()
    assert "Not possible" not in page.locator(".u-metric", has_text="fkgl").inner_text()
    assert axe(page) == []
    upload(page, "more.jsonl", jsonl(synthetic_rows(3, 1)))
    page.get_by_role("heading", name="more.jsonl").wait_for()
    assert page.locator(".u-metric:has(:disabled)").count() == 1  # sari, which needs sources


def test_a_metric_that_the_server_lacks_says_why(tmp_path, open_page):
    page = open_page(module_page(tmp_path / "panel.html", {"upload/metric_choice.js": "metricChoice"}))
    page.evaluate("""() => { const metric = { name: "bleu", about: "n-grams (2002)", needs: [], options: [] };
      const known = [metric, { ...metric, name: "evalign", reason: "evalign is made for minilm" }];
      const choice = metricChoice({ metrics: () => known });
      choice.available({});
      document.body.append(choice.node); }""")
    assert page.locator(".u-metric").all_inner_texts() == [
        "evalignNot possible: evalign is made for minilm", "bleun-grams",
    ]  # fmt: skip
    assert page.locator(".u-metric input:disabled").get_attribute("value") == "evalign"
