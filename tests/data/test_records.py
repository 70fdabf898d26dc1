"""Records of every format: their lines, bytes and fields, where reading can start again, and what is bad about one."""

import gzip
import io

import pytest

from evalign.errors import FileFormatError
from evalign.io import records as records_module
from evalign.io.records import (
    BadRecord,
    FilePosition,
    Record,
    format_of,
    has_format,
    location,
    open_records,
    parse_json,
    read_lines,
    read_records,
    read_values,
    seekable,
)


def written(tmp_path, content, name="in"):
    (tmp_path / name).write_bytes(content)
    return str(tmp_path / name)


def read(tmp_path, content, file_format):
    return list(read_records(written(tmp_path, content), file_format))


def test_lines_of_text(tmp_path):
    lines = "a\n\nb\r\n c\rd \u2028e\n\xe4".encode()
    expected = ["a", "", "b", " c\rd \u2028e", "ä"]
    records = read(tmp_path, lines, "text")
    assert [record.line for record in records] == [1, 2, 3, 4, 5]
    assert [record.fields["text"] for record in records] == expected == list(read_lines(str(tmp_path / "in")))
    assert [record.raw for record in records] == [text.encode() for text in expected]


def test_lines_of_json(tmp_path):
    records = read(tmp_path, b'{"a": 1}\n \t\n\n{"a": {"b": [2]}}\r\n[1]\n{\n"x"\nnull\n{"a": 1, "a": 2}', "jsonl")
    good, bad = records[:2], records[2:]
    assert good == [Record(1, b'{"a": 1}', {"a": 1}), Record(4, b'{"a": {"b": [2]}}', {"a": {"b": [2]}})]
    assert [record.line for record in bad] == [5, 6, 7, 8, 9]
    assert bad[0] == BadRecord(5, b"[1]", "expected a JSON object, found list")
    assert bad[1].error.startswith("not JSON (")
    assert [record.error for record in bad[2:4]] == [f"expected a JSON object, found {x}" for x in ("str", "NoneType")]
    assert "the key 'a' occurs twice" in bad[4].error


def test_json_that_is_only_counted_is_not_parsed(tmp_path):
    with open_records(written(tmp_path, b"{}\n\n{broken\n"), "jsonl", parse=False) as records:
        assert list(records) == [Record(1, b"{}", {}), Record(3, b"{broken", {})]
        assert (records.header, list(records.field_names)) == (b"", [])


@pytest.mark.parametrize(("file_format", "mark"), [("csv", ","), ("tsv", "\t")])
def test_records_of_several_lines(tmp_path, file_format, mark):
    content = f'\n"a"{mark}b\n\n1{mark}"x\n""y"""\r\n\n2{mark}\n3\n"4"{mark}5{mark}6\n'.encode()
    with open_records(written(tmp_path, content), file_format) as records:
        assert (records.header, records.field_names) == (f'"a"{mark}b'.encode(), ["a", "b"])
        found = list(records)
    assert found[0] == Record(5, f'1{mark}"x\n""y"""'.encode(), {"a": "1", "b": 'x\n"y"'})
    assert found[1] == Record(7, f"2{mark}".encode(), {"a": "2", "b": ""})
    assert [(bad.line, bad.error) for bad in found[2:]] == [
        (8, "1 fields, the header has 2"),
        (9, "3 fields, the header has 2"),
    ]


def test_a_quote_without_an_end_is_one_bad_record(tmp_path):
    good, bad = read(tmp_path, b'a\nx\n"y\nz\n', "csv")
    assert good == Record(2, b"x", {"a": "x"})
    assert (bad.line, bad.raw) == (4, b'"y\nz')
    assert bad.error.startswith("not ','-separated (")


@pytest.mark.parametrize("file_format", ["text", "jsonl", "csv"])
def test_bytes_that_are_not_utf8_are_a_bad_record_with_their_position(tmp_path, file_format):
    bad = b'{"a": "\xff"}'
    start = b"a\n" if file_format == "csv" else b""
    *_, found, after = read(tmp_path, start + bad + b'\n{"a": 1}\n', file_format)
    assert found == BadRecord(1 + len(start) // 2, bad, "not UTF-8 (invalid start byte at byte 7 of the line)")
    assert isinstance(after, Record)


def test_a_header_that_cannot_be_read_is_one_error(tmp_path):
    with pytest.raises(FileFormatError, match=r"in:1: the header cannot be read: not UTF-8"):
        read(tmp_path, b"\xff\na\n", "csv")
    assert read(tmp_path, b"", "csv") == read(tmp_path, b"\n\n", "tsv") == []


def test_a_byte_order_mark_is_removed_from_the_first_line_only(tmp_path):
    mark = b"\xef\xbb\xbf"
    first, second = read(tmp_path, mark + b"a\n" + mark + b"b\n", "text")
    assert (first.fields["text"], second.fields["text"]) == ("a", "\ufeffb")
    assert read(tmp_path, mark + b"a,b\n1,2\n", "csv") == [Record(2, b"1,2", {"a": "1", "b": "2"})]


CONTENTS = {
    "text": b"a\n\nb\r\nc",
    "jsonl": b'{"a": 1}\n\n{"a": 2}\r\n{"a": 3}',
    "csv": b'a,b\r\n1,"x\ny"\n\n2,z\n3,w',
    "tsv": b'a\tb\n1\t"x\ny"\n2\tz\n3\tw\n',
}


@pytest.mark.parametrize("file_format", CONTENTS)
def test_reading_starts_again_after_any_record(tmp_path, file_format):
    path = written(tmp_path, CONTENTS[file_format])
    with open_records(path, file_format) as records:
        positions, found = [records.position], []
        for record in records:
            found.append(record)
            positions.append(records.position)
    assert len(found) >= 3
    for number, start in enumerate(positions):
        with open_records(path, file_format, start) as records:
            assert list(records) == found[number:]
            assert records.header == (
                b"" if file_format in ("text", "jsonl") else CONTENTS[file_format].splitlines()[0]
            )
    assert positions[-1].offset == len(CONTENTS[file_format])
    assert positions[-1].line == CONTENTS[file_format].count(b"\n") + (not CONTENTS[file_format].endswith(b"\n"))


def test_values_without_a_header(tmp_path):
    path = written(tmp_path, b'a,"b,c"\n\n"d"\n')
    assert list(read_values(path, "csv")) == [["a", "b,c"], ["d"]]
    assert list(read_values(path, "csv", quoted=False)) == [["a", '"b', 'c"'], ['"d"']]
    assert list(read_values(path, "tsv", quoted=False)) == [['a,"b,c"'], ['"d"']]
    with pytest.raises(FileFormatError, match=r"in:2: not UTF-8"):
        list(read_values(written(tmp_path, b"a\n\xff\n"), "csv"))
    with pytest.raises(FileFormatError, match=r"in:2: not UTF-8"):
        list(read_lines(str(tmp_path / "in")))
    with pytest.raises(FileFormatError, match="no such file"):
        list(read_values(str(tmp_path / "none"), "csv"))


@pytest.mark.parametrize(
    ("size", "good"), [(9, True), (10, True), (11, False), (12, False), (25, False)]
)  # of a line with its end
def test_the_longest_line_allowed(tmp_path, monkeypatch, size, good):
    """The maximum counts a line without its end."""
    monkeypatch.setattr(records_module, "MAX_LINE_BYTES", 9)
    monkeypatch.setattr(records_module, "SKIP_BYTES", 4)
    line = b"x" * (size - 1)
    found, after = read(tmp_path, line + b"\n" + b"y\n", "text")
    assert isinstance(found, Record) is good
    assert found.line == 1
    assert found.raw == line[:10]
    assert after == Record(2, b"y", {"text": "y"})


LONG_RECORDS = {
    "open, and closed two lines later": b'"' + b"x" * 40 + b'\ny\ny"',
    "closed at its end": b'"' + b"x" * 40 + b'"',
    "with a quote, and closed two lines later": b'"' + b"x" * 40 + b'""\ny\ny"',
    "with quotes where it is cut": b'"' + b'""' * 30 + b'\ny"',
    "with fields before": b"1,2," * 10 + b'"x\ny"',
    "with quoted fields before": b'"1","2",' * 5 + b'"x\ny"',
    "with quotes that open nothing": b"x" * 20 + b'",' + b"y" * 20,
    "several too long": b'"' + b"\n".join([b"x" * 40] * 3) + b'"',
}


def test_the_maximum_that_is_named_is_that_of_lines():
    assert records_module.MAX_LINE_BYTES == 64 * 2**20
    assert "longer than 64 MiB, the maximum" in records_module.TOO_LONG


@pytest.mark.parametrize("name", LONG_RECORDS)
def test_a_record_of_csv_with_a_line_that_is_too_long_ends_where_it_ends(tmp_path, monkeypatch, name):
    """No line of it becomes a record, and the record after it is whole."""
    monkeypatch.setattr(records_module, "MAX_LINE_BYTES", 30)
    monkeypatch.setattr(records_module, "SKIP_BYTES", 7)
    bad, after = read(tmp_path, b"a\n" + LONG_RECORDS[name] + b"\nlast\n", "csv")
    assert (type(bad), bad.error) == (BadRecord, records_module.TOO_LONG)
    assert after.fields == {"a": "last"}


def test_parquet_rows_are_numbered_and_their_bytes_are_json(tmp_path, monkeypatch):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(records_module, "BATCH_ROWS", 2)
    path = str(tmp_path / "in.parquet")
    parquet.write_table(arrow.table({"a": ["x", None, "y"], "b": [b"1", b"2", b"3"]}), path)
    records = list(read_records(path, "parquet"))
    assert [record.line for record in records] == [1, 2, 3]
    assert records[1].fields == {"a": None, "b": b"2"}
    assert records[1].raw == b'{"a": null, "b": "b\'2\'"}'
    packed = written(tmp_path, gzip.compress((tmp_path / "in.parquet").read_bytes()), "in.parquet.gz")
    assert list(read_records(packed, "parquet")) == records
    with pytest.raises(FileFormatError, match=r"in: not a Parquet file \(.+\)$"):
        list(read_records(written(tmp_path, b"PAR1 no PAR1"), "parquet"))


def test_parquet_of_a_stream_that_cannot_seek_is_copied(tmp_path):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    with records_module._with_seek(Pipe(b"content")) as stream:
        assert (stream.read(), stream.seek(3), stream.read()) == (b"content", 3, b"tent")
    whole = io.BytesIO(b"content")
    with records_module._with_seek(whole) as stream:
        assert stream is whole


NAMES = {
    "a.jsonl": "jsonl",
    "a.json": "jsonl",
    "a.ndjson": "jsonl",
    "a.csv.gz": "csv",
    "a.tsv.zst": "tsv",
    "s3://a.b/c.parquet": "parquet",
    "-": "jsonl",
}


@pytest.mark.parametrize("path", NAMES)
def test_formats_by_name(path):
    assert format_of(path) == NAMES[path]
    assert format_of(path, "tsv") == "tsv"
    assert has_format(path) is (path != "-")


@pytest.mark.parametrize("path", ["a", "a.txt", "csv", "a.csv.bz2", "a.gz"])
def test_formats_that_no_name_tells(path):
    assert not has_format(path)
    assert format_of(path, "csv") == "csv"
    with pytest.raises(FileFormatError, match=r"give `input_format` \(jsonl, csv, tsv, parquet\)"):
        format_of(path)


def test_where_a_record_is_and_where_reading_can_start():
    assert location("a", 3, "csv") == "a:3"
    assert location("-", 3, "parquet") == "standard input row 3"
    cases = [("a.csv", "csv"), ("a", "text"), ("a.parquet", "parquet"), ("a.csv.gz", "csv"), ("a.zst", "jsonl")]
    assert [seekable(*case) for case in cases] == [True, True, False, False, False]
    assert FilePosition() == FilePosition(0, 0)


def test_a_key_that_occurs_twice_is_named():
    assert parse_json('{"a": {"b": 1}, "b": 2}') == {"a": {"b": 1}, "b": 2}
    with pytest.raises(ValueError, match="the key 'b' occurs twice"):
        parse_json('[{"a": 1, "b": 1, "b": 1}]')
