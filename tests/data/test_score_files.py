"""Other people's scores, in every layout they come in, and every way they do not fit."""

import json

import pytest

from evalign.data.score_files import read_scores
from evalign.errors import FileFormatError, LengthMismatchError
from evalign.types import Row

ROWS = [Row(f"r{place}", "c", ("r",), system="AB"[place % 2]) for place in range(4)]


def written(tmp_path, text: str, name: str = "scores.tsv") -> str:
    (tmp_path / name).write_text(text, "utf-8")
    return str(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\n2\n3\n4\n", {0: 1, 1: 2, 2: 3, 3: 4}),
        ("score\n1\n2\n3\n4\n", {0: 1, 1: 2, 2: 3, 3: 4}),
        ("1\nNone\n3\nnan\n", {0: 1, 2: 3}),
        ("1\n\n3\n\n", {0: 1, 2: 3}),
        ("r3\t4\nr0\t1\n", {3: 4, 0: 1}),
        ("id\tscore\nr3\t4e-1\nr0\tNone\n", {3: 0.4}),
        ("A\t1\nA\t2\nB\t3\nB\t4\n", {0: 1, 2: 2, 1: 3, 3: 4}),
        ("B\t3\nA\t1\nB\tNone\nA\t2\nhuman-C\t9\n", {1: 3, 0: 1, 2: 2}),
        ('{"id": "r1", "score": 5}\n{"id": "r2", "scores": {"precision": 1, "f1": 0.5}}\n', {1: 5, 2: 0.5}),
        ('{"id": "r0", "scores": {}, "error": "too long"}\n{"id": "r1", "scores": {"f1": 0.5}}\n', {1: 0.5}),
    ],
)
def test_layouts(tmp_path, text, expected):
    assert read_scores(written(tmp_path, text), ROWS) == expected


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", FileFormatError, "empty"),
        ("1\n2\n3\n", LengthMismatchError, "3 scores for 4 rows"),
        ("1\n2\n3\n4\n5\n6\n", LengthMismatchError, "6 scores for 4 rows"),
        ("1\n2\nthree\n4\n", FileFormatError, ":3: 'three' is not a number"),
        ("1\t2\t3\n", FileFormatError, "id<TAB>value"),
        ("1\n2\t3\n", FileFormatError, "id<TAB>value"),
        ("x\t1\ny\t2\n", FileFormatError, "nor a system; its first line names 'x'"),
        ("r0\t1\nr1\t2\nzzz\t3\n", FileFormatError, "1 lines name rows that the data does not have, the first 'zzz'"),
        ("r1\t1\nr1\t2\n", FileFormatError, "'r1' has two scores"),
        ("r1\tgood\n", FileFormatError, "'good' is not a number"),
        ("A\t1\nB\t2\nB\t3\n", LengthMismatchError, "1 scores of system 'A', the data 2 rows"),
        ('{"id": "r1"}\n', FileFormatError, "id and score"),
        ("{broken\n", FileFormatError, "id and score"),
    ],
)
def test_what_does_not_fit(tmp_path, text, error, said):
    with pytest.raises(error, match=said):
        read_scores(written(tmp_path, text), ROWS)


def test_what_evalign_writes_can_be_read_back(tmp_path):
    lines = [{"system": row.system, "metric": "m", "id": row.id, "scores": {"f1": 0.25}, "flags": []} for row in ROWS]
    path = written(tmp_path, "\n".join(map(json.dumps, lines)), "segments.jsonl")
    assert read_scores(path, ROWS) == dict.fromkeys(range(4), 0.25)
