"""Other people's scores, in every layout they come in, and every way they do not fit."""

import json
import tracemalloc
from contextlib import nullcontext

import pytest

from evalign.core import Row
from evalign.errors import FileFormatError, InputError, LengthMismatchError
from evalign.io.score_files import read_scores

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
        ("score\n1\n\n3\n\n", {0: 1, 2: 3}),
        ("score\n1\n2\n3\n4\n\n\n", {0: 1, 1: 2, 2: 3, 3: 4}),
        ("\n2\n3\n4\n\n", {1: 2, 2: 3, 3: 4}),
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
        (f"{'x' * 9999}\t1\n", FileFormatError, "nor a system; its first line names 'x{79}$"),
        (f"r0\t1\n{'x' * 9999}\t2\n", FileFormatError, "does not have, the first 'x{79}$"),
        ("r1\tgood\n", FileFormatError, "'good' is not a number"),
        ("A\t1\nB\t2\nB\t3\n", LengthMismatchError, "1 scores of system 'A', the data 2 rows"),
        ('{"id": "r1"}\n', FileFormatError, "id and score"),
        ("{broken\n", FileFormatError, "id and score"),
    ],
)
def test_what_does_not_fit(tmp_path, text, error, said):
    with pytest.raises(error, match=said):
        read_scores(written(tmp_path, text), ROWS)


LONG = {  # lines that fit no row
    "blank lines": ("1\n2\n3\n4\n", "\n"),
    "values": ("", "1\n"),
    "systems": ("A\t1\n", "C\t1\n"),
    "rows": ("r0\t1\n", "x\t1\n"),
    "objects": ('{"id": "r0", "score": 1}\n', '{"id": "x", "score": 1}\n'),
    "metrics": ("", '{{"id": "r0", "metric": "{}", "score": 1}}\n'),
}


@pytest.mark.parametrize(("start", "line"), LONG.values(), ids=LONG)
def test_memory_is_that_of_the_rows(tmp_path, start, line):
    path = written(tmp_path, start + "".join(line.format(number) if "{}" in line else line for number in range(50_000)))
    tracemalloc.start()
    try:
        with nullcontext() if line == "\n" else pytest.raises(InputError):
            read_scores(path, ROWS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * 2**20  # 50,000 lines in memory take more than twice as much


def test_what_evalign_writes_can_be_read_back(tmp_path):
    lines = [{"system": row.system, "metric": "m", "id": row.id, "scores": {"f1": 0.25}, "flags": []} for row in ROWS]
    path = written(tmp_path, "\n".join(map(json.dumps, lines)), "segments.jsonl")
    assert read_scores(path, ROWS) == dict.fromkeys(range(4), 0.25)


OBJECTS = '{"id": "r0", "metric": "chrf", "score": 1}\n{"id": "r0", "metric": "bleu(smooth=none)", "score": 2}\n'


@pytest.mark.parametrize(("name", "value"), [("chrf", 1), ("bleu", 2), ("bleu(smooth=none)", 2)])
def test_one_of_several_metrics_is_named(tmp_path, name, value):
    path = written(tmp_path, OBJECTS)
    assert read_scores(path, ROWS, name) == {0: value}
    for unnamed in ("", "ble", "bleu(smooth"):
        with pytest.raises(FileFormatError, match=r"has scores of chrf, bleu\(smooth=none\); name one of them"):
            read_scores(path, ROWS, unnamed)


@pytest.mark.parametrize("count", [1000, 1001])
def test_the_most_metrics_of_one_file(tmp_path, count):
    lines = [json.dumps({"id": "r0", "metric": f"m{number}", "score": number}) for number in range(count)]
    path = written(tmp_path, "\n".join([*lines, lines[0].replace("r0", "r1")]))
    if count == 1000:
        assert read_scores(path, ROWS, "m999") == {0: 999}
        return
    with pytest.raises(FileFormatError, match=r":1001: has scores of more than 1000 metrics"):
        read_scores(path, ROWS, "m999")


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("r0\t1\ny\t2\nz\t3\ny\t4\n", FileFormatError, "3 lines name rows that the data does not have, the first 'y'"),
        ("id\t0\nr0\t1\nz\t3\n", FileFormatError, "1 lines name rows that the data does not have, the first 'z'"),
        ("r0\t1\nr1\t2\nr1\t3\nr0\t4\n", FileFormatError, "'r1' has two scores"),
        ("A\t1\nA\t2\nA\t3\nB\t4\nB\t5\n", LengthMismatchError, "has 3 scores of system 'A', the data 2 rows"),
        ("r0\tinf\n", FileFormatError, r"scores\.tsv:1: 'inf' is not a number"),
        (f"1\n2\n3\n{'x' * 41}\n", FileFormatError, rf":4: '{'x' * 40}' is not a number"),
        ('\n\n{"id": "r0", "score": [1]}\n', FileFormatError, r":3: '\[1\]' is not a number"),
        ('{"id": "r0", "score": 1}\n\n{"id": "r1", "scores": []}\n', FileFormatError, r":3: expected JSON with id"),
        ('{"id": "r0", "score": 1e400}\n', FileFormatError, "'inf' is not a number"),
        ("\n\n\n\n", FileFormatError, "empty, expected one score per row"),
        ("score\nscore\n1\n2\n3\n", FileFormatError, ":2: 'score' is not a number"),
        ("score\n1\n2\n3\n", LengthMismatchError, "3 scores for 4 rows"),
        ("score\n1\n2\n3\n4\n5\n", LengthMismatchError, "5 scores for 4 rows"),
        ("1\n2\n3\n\n\n", LengthMismatchError, "3 scores for 4 rows"),
        ("r0\t1\n\nr1\n", FileFormatError, "expected one value, or id<TAB>value, on every line"),
    ],
)
def test_what_does_not_fit_is_said_with_its_line(tmp_path, text, error, reason):
    with pytest.raises(error, match=reason):
        read_scores(written(tmp_path, text), ROWS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nan\n2\n3\n4\n", {1: 2, 2: 3, 3: 4}),
        ("A\tNone\nA\t2\nB\t3\nB\tNULL\n", {2: 2, 1: 3}),
        ("  r3 \t 1\n", None),
        ("r3\t 1e2 \n\n", {3: 100}),
        ("system\tscore\nA\t1\nA\t2\nB\t3\nB\t4\n", {0: 1, 2: 2, 1: 3, 3: 4}),
        ('  {"id": "r0", "score": "1.5"}\n', {0: 1.5}),
        ('{"id": "r0", "score": null}\n\n{"id": "r1", "scores": {"a": 1, "b": null}}\n', {}),
        ('{"id": "A", "score": 1}\n{"id": "A", "score": 2}\n', {0: 1, 2: 2}),
    ],
)
def test_layouts_with_gaps(tmp_path, text, expected):
    path = written(tmp_path, text)
    if expected is None:
        with pytest.raises(FileFormatError, match="no line names the id of a row, nor a system"):
            read_scores(path, ROWS)
    else:
        assert read_scores(path, ROWS) == expected


def test_ids_that_occur_twice_name_no_row(tmp_path):
    rows = [Row("r0", "c", ("r",), system=system) for system in "AAB"]
    assert read_scores(written(tmp_path, "A\t1\nB\t2\nA\t3\n"), rows) == {0: 1, 1: 3, 2: 2}
    with pytest.raises(FileFormatError, match="the id 'r0' occurs twice in the data, nor a system"):
        read_scores(written(tmp_path, "r0\t1\n"), rows)


def test_ids_that_systems_share_are_found_by_the_system_in_json_lines(tmp_path):
    rows = [Row("r0", "c", ("r",), system="A"), Row("r0", "c", ("r",), system="B")]
    lines = '{"id": "r0", "system": "B", "score": 2}\n{"id": "r0", "system": "A", "score": 1}\n'
    assert read_scores(written(tmp_path, lines), rows) == {0: 1, 1: 2}
    with pytest.raises(FileFormatError, match="the id 'r0' occurs twice in the data, nor a system"):
        read_scores(written(tmp_path, lines), [*rows, rows[0]])
    with pytest.raises(FileFormatError, match="'r0' has two scores"):
        read_scores(written(tmp_path, lines + lines), rows)


def test_scores_of_a_finished_job_are_read_from_its_shards(tmp_path):
    shards = tmp_path / "shards"
    shards.mkdir()
    for name, line in (("000001.jsonl", "r2"), ("000000.jsonl", "r1"), ("000000.errors.jsonl", "x"), ("a.jsonl", "x")):
        (shards / name).write_text(json.dumps({"id": line, "score": 1}) + "\n")
    with pytest.raises(FileFormatError, match="the folder of a finished batch job with JSON lines"):
        read_scores(str(tmp_path), ROWS)
    (tmp_path / "summary.json").touch()
    assert read_scores(str(tmp_path), ROWS) == {1: 1, 2: 1}
    for name in ("000001.jsonl", "000000.jsonl"):
        (shards / name).unlink()
    with pytest.raises(FileFormatError, match="the folder of a finished batch job with JSON lines"):
        read_scores(str(tmp_path), ROWS)


def test_a_name_that_two_metrics_have_is_refused(tmp_path):
    path = written(tmp_path, '{"id": "r0", "metric": "bleu", "score": 1}\n' + OBJECTS)
    with pytest.raises(FileFormatError, match=r"has scores of bleu, chrf, bleu\(smooth=none\); name one"):
        read_scores(path, ROWS, "bleu")


def test_a_number_that_no_float_holds_is_none(tmp_path):
    with pytest.raises(FileFormatError, match="is not a number"):
        read_scores(written(tmp_path, f'{{"id": "r0", "score": 1{"0" * 400}}}'), ROWS)


def test_many_rows_have_ids_of_their_own(tmp_path):
    rows = [Row(f"r{number}", "c", ("r",)) for number in range(300)]
    assert read_scores(written(tmp_path, "r299\t1\nr0\t2\n"), rows) == {299: 1, 0: 2}
