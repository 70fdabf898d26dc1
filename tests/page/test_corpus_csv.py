"""The page's readers of CSV and JSON lines against Python's own, in pieces of any size."""

import csv
import io
import json
import random

import pytest
from corpus_samples import module_page

READ = """([text, delimiter, sizes]) => {
  const reader = csvReader(delimiter);
  const found = [];
  let start = 0;
  for (const size of sizes) { found.push(...reader.push(text.slice(start, start + size))); start += size; }
  return [...found, ...reader.push(text.slice(start)), ...reader.end()];
}"""


@pytest.fixture(scope="module")
def readers(tmp_path_factory, browser):
    exports = {"upload/read_file.js": "csvReader jsonlReader guessDelimiter", "shared/format.js": "csvText"}
    page = browser.new_page()
    page.goto(module_page(tmp_path_factory.mktemp("page") / "csv.html", exports).as_uri())
    yield page
    page.close()


def test_what_python_writes_is_read_back(readers):
    draw = random.Random(7)
    cases, expected = [], []
    for _ in range(200):
        width = draw.randint(2, 4)
        texts = ["".join(draw.choices('a",;\t\n\r é\U0001f600', k=draw.randint(0, 6))) for _ in range(width * 4)]
        rows = [texts[start : start + width] for start in range(0, width * draw.randint(1, 4), width)]
        delimiter, stream = draw.choice(",;\t"), io.StringIO()
        # Python leaves a lone \r unquoted unless lines end with it: such files say something else.
        quoting, end = draw.choice([(csv.QUOTE_MINIMAL, "\r\n"), (csv.QUOTE_ALL, draw.choice(["\n", "\r\n", "\r"]))])
        csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
        text = stream.getvalue() if draw.random() < 0.7 else stream.getvalue().removesuffix(end)
        cases.append([text, delimiter, [draw.randint(1, 7) for _ in range(draw.randint(0, 10))]])
        expected.append(rows)
    found = readers.evaluate(f"(cases) => cases.map({READ})", cases)
    assert [[record.get("cells") for record in records] for records in found] == expected


def test_what_is_written_python_reads_back(readers):
    draw = random.Random(9)
    rows = [["".join(draw.choices('a", ;\t\n\ré', k=draw.randint(1, 6))) for _ in range(3)] for _ in range(200)]
    text = readers.evaluate("(rows) => csvText([...rows, [null, undefined, 0.5]])", rows)
    assert list(csv.reader(io.StringIO(text, newline=""), strict=True)) == [*rows, ["", "", "0.5"]]


def test_any_text_is_read_as_python_reads_it_or_refused_as_python_refuses_it(readers):
    draw = random.Random(8)
    texts = ["".join(draw.choices('ab",\n\r', weights=[4, 2, 3, 4, 2, 1], k=draw.randint(0, 25))) for _ in range(400)]
    texts = [text.removesuffix("\r") for text in texts]
    found = readers.evaluate(f"(cases) => cases.map({READ})", [[text, ",", [3, 1, 4, 1, 5]] for text in texts])
    refused = 0
    for text, records in zip(texts, found, strict=True):
        try:
            expected = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
        except csv.Error:
            refused += 1
            assert any("error" in record for record in records), repr(text)
        else:
            assert [record.get("cells") for record in records] == expected, repr(text)
    assert 20 < refused < 380


def test_a_record_knows_the_line_it_begins_in_and_a_bad_one_loses_only_itself(readers):
    text = 'a,b\r\n"two\r\nlines",1\n"x"y,2\nz,3\n\n"open,4\n'
    assert readers.evaluate(READ, [text, ",", [6, 5, 3]]) == [
        {"line": 1, "cells": ["a", "b"]},
        {"line": 2, "cells": ["two\r\nlines", "1"]},
        {"line": 4, "error": "after the closing quote of field 1 a delimiter or the end of the line must follow"},
        {"line": 5, "cells": ["z", "3"]},
        {"line": 7, "error": "a quote that opens here is never closed, so the rest of the file could not be read"},
    ]


def test_json_lines_are_read_one_by_one(readers):
    lines = ['{"a": "é\\n"}', "", '{"a": NaN}', "[1]", '{"a": 1', '{"b": "\u2028"}\r', "null", '{"c": 3}']
    found = readers.evaluate(
        """([text]) => { const reader = jsonlReader();
        return [...reader.push(text.slice(0, 9)), ...reader.push(text.slice(9)), ...reader.end()]; }""",
        ["\n".join(lines)],
    )
    good = {record["line"]: record["value"] for record in found if "value" in record}
    assert good == {1: json.loads(lines[0]), 6: {"b": "\u2028"}, 8: {"c": 3}}
    bad = {record["line"]: record["error"] for record in found if "error" in record}
    assert sorted(bad) == [3, 4, 5, 7]
    assert bad[3].startswith("not JSON")
    assert bad[4] == "expected a JSON object, found a list"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("id,candidate\n1;2;3;4", ","),
        ('"a,b,c";x\n', ";"),
        ("a\tb,c\td\n", "\t"),
        ("only\n", ","),
        ("candidate|reference\nOne, two, three|a, b\nFour, five|c\n", "|"),
        ("Well, yes, no;he said, she said\nOne, two;three\n", ";"),
        ("One, two|three, four\nOne, two, three|four\n", "|"),
        ('"a|b|c|d","x"\n"a|b|c|d","y"\n', ","),
    ],
)
def test_the_delimiter_is_what_the_first_lines_speak_for(readers, head, expected):
    assert readers.evaluate("(head) => guessDelimiter(head)", head) == expected
