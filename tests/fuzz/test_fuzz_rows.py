"""Files of rows and of scores: JSONL, CSV, TSV, Parquet, text, plain and compressed."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from fuzzing import NESTED, any_text, damaged, examples, fuzz, json_values, little_memory, value_or_sentence
from hypothesis import given
from hypothesis import strategies as st

from evalign.core import Row
from evalign.io.records import DELIMITERS
from evalign.io.rows import Columns, TableFile
from evalign.io.score_files import read_scores

pytestmark = pytest.mark.slow


near_rows = st.fixed_dictionaries(
    {},
    optional={
        "id": json_values,
        "candidate": st.one_of(any_text, json_values),
        "references": st.one_of(st.lists(any_text, max_size=3), json_values),
        "source": st.one_of(any_text, json_values),
        "system": json_values,
        "human": json_values,
    },
)
good_rows = st.fixed_dictionaries(
    {"candidate": any_text, "references": st.one_of(any_text, st.lists(any_text, max_size=3))},
    optional={"id": json_values, "source": st.one_of(st.none(), any_text), "system": json_values, "human": json_values},
)
# Content of a file, and the candidates of its rows; None: it is refused.
FILES: dict[str, list[tuple[bytes, list[str] | None]]] = {
    "jsonl": [
        (b'{"candidate": "a", "references": ["b"]}\n', ["a"]),
        (b'\xef\xbb\xbf{"candidate": "a"}\n\n{"candidate": "\\ud800"}', ["a", "\ud800"]),
        (b'{"candidate": "a", "references": "b", "source": null, "id": 3, "x": NaN}', ["a"]),
        (NESTED.encode(), None),
        (b"\xff\n", None),
        (b"\xef\xbb\xbf{}", None),
        (b"[]\n", None),
        (b'{"candidate": "a"} {"candidate": "b"}', None),
        (b'{"candidate": "a", "candidate": "b"}', None),
        (b'{"candidate": "a", "references": [1]}', None),
        (b"", []),
    ],
    "csv": [
        (b"candidate,references\na,b\n", ["a"]),
        (b"candidate\r\n\r\na\r\n", ["a"]),
        (b'candidate\n"a\nb ""c"""', ['a\nb "c"']),
        (b"candidate\n\x00\n", ["\x00"]),
        (b'candidate\n"open', None),
        (b"candidate\n" + b"x" * 200_000, ["x" * 200_000]),
        (b"candidate\n\xff", None),
        (b"", []),
    ],
    "tsv": [
        (b"candidate\treferences\na\tb\n", ["a"]),
        (b"candidate\ncandidate\textra\n", None),
        (b"candidate\tcandidate\na\tb\n", None),
        (b"\t\t\n\t\n", None),
    ],
    "parquet": [
        (b"", None),
        (b"PAR1", None),
        (b"PAR1\xff\xff\xff\xffPAR1", None),
        (b"PAR1" + b"\x00" * 64 + b"\x08\x00\x00\x00PAR1", None),
    ],
}


def read_rows(file: Path, kind: str, raw: bytes) -> list[Row] | None:
    """The rows, which are texts throughout, whatever stood in the file; None if it is refused."""
    file.write_bytes(raw)
    rows = value_or_sentence(lambda: list(TableFile(str(file), Columns(), kind)))
    for row in rows or []:
        assert type(row.id) is str
        assert type(row.candidate) is str
        assert type(row.system) is str
        assert row.source is None or type(row.source) is str
        assert all(type(text) is str for text in row.references)
    return None if rows is None else list(rows)


@pytest.mark.parametrize(
    ("kind", "raw", "expected"), [(kind, *case) for kind, cases in FILES.items() for case in cases]
)
def test_hostile_row_files(tmp_path: Path, kind: str, raw: bytes, expected: list[str] | None) -> None:
    rows = read_rows(tmp_path / "rows", kind, raw)
    assert (None if rows is None else [row.candidate for row in rows]) == expected


def good_row(record: Any) -> bool:
    """Whether a record is a row by the rules of the documentation."""
    if type(record) is not dict or type(record.get("candidate")) is not str:
        return False
    references = [record[name] for name in ("references", "reference") if name in record]
    texts = [text for value in references for text in (value if type(value) is list else [value])]
    return all(type(text) is str for text in texts) and type(record.get("source")) in (str, type(None))


def is_utf8(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


@fuzz
@given(st.lists(st.one_of(json_values, near_rows, good_rows), max_size=4), st.booleans())
def test_random_json_rows(tmp_path: Path, records: list[Any], ascii_only: bool) -> None:
    lines = [json.dumps(record, ensure_ascii=ascii_only) for record in records]
    rows = read_rows(tmp_path / "rows", "jsonl", "\n".join(lines).encode("utf-8", "surrogatepass"))
    assert (rows is not None) == (all(map(good_row, records)) and all(map(is_utf8, lines)))
    for row, record in zip(rows or [], map(json.loads, lines), strict=rows is not None):
        assert row.candidate == record["candidate"]
        assert row.source == record.get("source")
        references = record.get("references", [])
        assert row.references == tuple(references if type(references) is list else [references])


cells = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\ufeff"), max_size=20)


@fuzz
@given(st.sampled_from(["csv", "tsv"]), st.lists(st.tuples(cells, cells), max_size=5), st.booleans())
def test_good_tables_are_read(tmp_path: Path, kind: str, table: list[tuple[str, str]], quoted: bool) -> None:
    written = io.StringIO()
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(written, delimiter=DELIMITERS[kind], quoting=quoting, lineterminator="\n")
    writer.writerows([("candidate", "references"), *table])
    rows = read_rows(tmp_path / "rows", kind, written.getvalue().encode())
    assert rows is not None
    assert [(row.candidate, row.references) for row in rows] == [(left, (right,)) for left, right in table]
    writer.writerow(["one", "two", "three"])
    assert read_rows(tmp_path / "rows", kind, written.getvalue().encode()) is None


def test_good_parquet_is_read(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"candidate": ["a", "b"], "references": [["c"], ["d", "e"]]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "good")
    rows = read_rows(tmp_path / "rows", "parquet", (tmp_path / "good").read_bytes())
    assert rows is not None
    assert [(row.candidate, row.references) for row in rows] == [("a", ("c",)), ("b", ("d", "e"))]


@fuzz
@given(st.sampled_from(["none", "snappy", "gzip", "zstd"]), st.booleans(), st.data())
def test_damaged_parquet(tmp_path: Path, compression: str, dictionary: bool, data: st.DataObject) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"candidate": ["a", "b"] * 20, "references": [["c"], ["d", "e"]] * 20, "human": [0.5, None] * 20}
    parquet.write_table(
        pyarrow.table(columns), tmp_path / "good", compression=compression, use_dictionary=dictionary, row_group_size=16
    )
    read_rows(tmp_path / "rows", "parquet", data.draw(damaged((tmp_path / "good").read_bytes())))


@fuzz
@given(
    st.sampled_from(sorted(FILES)),
    st.one_of(st.binary(max_size=80), any_text.map(lambda t: t.encode("utf-8", "replace"))),
)
def test_random_row_files(tmp_path: Path, kind: str, raw: bytes) -> None:
    read_rows(tmp_path / "rows", kind, raw)
    rows = read_rows(tmp_path / "rows", kind, b"candidate,references\n" + raw)
    assert rows is None or kind in DELIMITERS or not raw.strip()


# Compressed files ----------------------------------------------------------------------------------------------


def compress(kind: str, parts: list[bytes]) -> bytes:
    """Return a stream with one member or frame, with a checksum, for each part."""
    if kind == "gz":
        return b"".join(gzip.compress(part) for part in parts)
    zstandard = pytest.importorskip("zstandard")
    return b"".join(zstandard.ZstdCompressor(write_checksum=True).compress(part) for part in parts)


def candidates(folder: Path, kind: str, raw: bytes) -> list[str] | None:
    with little_memory():
        rows = read_rows(folder / f"rows.{kind}", "jsonl", raw)
    return None if rows is None else [row.candidate for row in rows]


compressions = st.sampled_from(["gz", "zst"])
texts = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=40), max_size=5)


@fuzz
@given(compressions, st.lists(texts, min_size=1, max_size=3), st.integers(1, 30))
def test_good_compressed_files_are_read(tmp_path: Path, kind: str, members: list[list[str]], cut: int) -> None:
    lines = [b"".join(json.dumps({"candidate": text}).encode() + b"\n" for text in member) for member in members]
    raw = compress(kind, lines)
    expected = [text for member in members for text in member]
    assert candidates(tmp_path, kind, raw) == expected
    assert candidates(tmp_path, kind, raw[: -min(cut, len(compress(kind, lines[-1:])) - 1)]) is None


@fuzz
@given(compressions, st.data())
def test_damaged_compressed_files(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    lines = b"".join(json.dumps({"candidate": f"text {number}"}).encode() + b"\n" for number in range(20))
    raw = data.draw(st.one_of(damaged(compress(kind, [lines])), st.binary(max_size=80)))
    found = candidates(tmp_path, kind, raw)
    whole = [f"text {number}" for number in range(20)]  # members have checksums: one may be lost or repeated, no more
    assert found is None or found == whole * (len(found) // 20)


# Scores of other programs --------------------------------------------------------------------------------------

ROWS = [Row(name, "", (), system=system) for name, system in zip("abcdef", "xxxyyy", strict=True)]
finite = st.floats(allow_nan=False, allow_infinity=False)
no_score = st.sampled_from(["", "None", "nan", "null", "NaN"])
near_scores = st.one_of(finite.map(repr), no_score, st.sampled_from(["inf", "1_0", "٤", "0x1", "1e999", "-"]), any_text)
near_lines = st.one_of(
    near_scores,
    st.tuples(st.one_of(st.sampled_from("abcdefxy"), any_text), near_scores).map("\t".join),
    st.fixed_dictionaries(
        {}, optional={"id": json_values, "score": json_values, "scores": json_values, "metric": json_values}
    ).map(json.dumps),
    st.just('{"id": ' + "[" * 3000),
)


def read_score_file(file: Path, text: str) -> dict[int, float] | None:
    """Return the scores, which are finite numbers of rows that there are; None if the file is refused."""
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    scores = value_or_sentence(lambda: read_scores(str(file), ROWS))
    for row, value in (scores or {}).items():
        assert 0 <= row < len(ROWS)
        assert type(value) is float
        assert math.isfinite(value)
    return scores


@fuzz
@given(st.lists(near_lines, max_size=8), st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))
def test_random_score_files(tmp_path: Path, lines: list[str], end: str) -> None:
    read_score_file(tmp_path / "scores", end.join(lines))


@examples(2)
@given(st.lists(st.one_of(st.none(), finite), min_size=6, max_size=6), st.permutations(range(6)), no_score)
def test_good_score_files_are_read(tmp_path: Path, values: list[float | None], order: list[int], gap: str) -> None:
    written = [gap if value is None else repr(value) for value in values]
    expected = {row: value for row, value in enumerate(values) if value is not None}
    by_row = [f"{ROWS[row].id}\t{written[row]}" for row in order]
    by_system = [f"{ROWS[row].system}\t{written[row]}" for row in sorted(order, key=lambda row: row % 3)]
    as_json = [json.dumps({"id": ROWS[row].id, "score": values[row]}) for row in order]
    as_fields = [json.dumps({"id": ROWS[row].id, "scores": {"f1": values[row]}}) for row in order]
    for lines in (by_row, by_system, as_json, as_fields):
        assert read_score_file(tmp_path / "scores", "\n".join(lines) + "\n") == expected
    if written[0]:  # a first line that is empty has no layout
        assert read_score_file(tmp_path / "scores", "\n".join(written) + "\n") == expected
    for lines in ([*by_row, "g\t1"], [*by_row, by_row[0]], [*by_system, by_system[0]], [*as_json, as_json[0]]):
        assert read_score_file(tmp_path / "scores", "\n".join(lines)) is None
