"""JSON objects whose keys occur twice: an error with the key and the line, since one of the values would be lost."""

import json

import pytest

from evalign.core import Row
from evalign.errors import FileFormatError
from evalign.io.records import BadRecord, Record, read_records
from evalign.io.rows import Columns, TableFile
from evalign.io.score_files import read_scores

GOOD = '{"candidate": "a", "references": ["b"], "human": {"x": 1, "y": 1}}'
TWICE = {
    "in a row": '{"candidate": "a", "candidate": "a", "references": ["b"]}',
    "inside a field": '{"candidate": "a", "references": ["b"], "human": {"candidate": 1, "candidate": 2}}',
    "spelled in two ways": '{"candidate": "a", "\\u0063andidate": "b", "references": ["b"]}',
}


@pytest.mark.parametrize("case", TWICE)
def test_rows(tmp_path, case):
    file = tmp_path / "rows.jsonl"
    file.write_text(f"{GOOD}\n{TWICE[case]}\n{GOOD}\n")
    kinds = [type(record) for record in read_records(str(file), "jsonl")]
    assert kinds == [Record, BadRecord, Record]
    with pytest.raises(FileFormatError, match=r"rows\.jsonl:2: .*'candidate' occurs twice"):
        list(TableFile(str(file), Columns()))


def test_the_same_key_in_different_objects_is_fine(tmp_path):
    file = tmp_path / "rows.jsonl"
    fields = {"candidate": "a", "references": ["b"], "human": {"candidate": 1}, "list": [{"id": 1}, {"id": 1}]}
    file.write_text(json.dumps(fields))
    (record,) = read_records(str(file), "jsonl")
    assert record.fields == fields


def test_scores(tmp_path):
    file = tmp_path / "scores.jsonl"
    file.write_text('{"id": "1", "score": 0.5}\n{"id": "2", "score": 0.5, "score": 0.9}\n')
    rows = [Row("1", "a", ("b",)), Row("2", "a", ("b",))]
    with pytest.raises(FileFormatError, match=r"scores\.jsonl:2: .*'score' occurs twice"):
        read_scores(str(file), rows)
