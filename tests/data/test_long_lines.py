"""A line longer than the maximum: one bad record, read in pieces, and the next record follows."""

import gzip
import tracemalloc

import pytest

from evalign.io import records
from evalign.io.records import BadRecord, Record, read_records

LINE_BYTES = 256 * 2**20
GOOD = {"jsonl": b'{"a": "x"}\n', "csv": b"x\n", "tsv": b"x\n", "text": b"x\n"}
HEADER = {"csv": b"a\n", "tsv": b"a\n"}


@pytest.mark.parametrize("packing", ["zst", "gz"])
def test_memory_does_not_grow_with_what_a_compressed_line_becomes(tmp_path, monkeypatch, packing):
    """256 MiB in 8 kB of zstd: decompressing them at once took all of it, and copying the rest for each read hours."""
    compress = pytest.importorskip("zstandard").compress if packing == "zst" else gzip.compress
    monkeypatch.setattr(records, "MAX_LINE_BYTES", 2**20)
    file = tmp_path / f"rows.txt.{packing}"
    file.write_bytes(compress(b"first\n" + bytes(LINE_BYTES) + b"\nlast\n"))
    tracemalloc.start()
    try:
        read = [(type(record), record.line) for record in read_records(str(file), "text")]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert read == [(Record, 1), (BadRecord, 2), (Record, 3)]
    assert peak < 32 * 2**20


@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_a_record_of_several_lines_is_bad_whichever_is_too_long(tmp_path, monkeypatch, where):
    """Letters of two bytes: the field has fewer characters than csv's limit, and was cut in silence."""
    monkeypatch.setattr(records, "MAX_LINE_BYTES", 1000)
    long, short = "é" * 600, "é"
    lines = {"first": [long, short, short], "middle": [short, long, short], "last": [short, short, long]}[where]
    (tmp_path / "rows.csv").write_text("a\n" + '"{}"\n'.format("\n".join(lines)) + "b\n", "utf-8")
    bad, good = read_records(str(tmp_path / "rows.csv"), "csv")
    assert isinstance(bad, BadRecord)
    assert bad.error == records.TOO_LONG
    assert good == Record(5, b"b", {"a": "b"})


@pytest.mark.parametrize("file_format", GOOD)
def test_memory_is_that_of_the_longest_line_allowed(tmp_path, monkeypatch, file_format):
    monkeypatch.setattr(records, "MAX_LINE_BYTES", 2**20)
    monkeypatch.setattr(records, "SKIP_BYTES", 2**16)
    file = tmp_path / "rows"
    with file.open("wb") as stream:
        stream.write(HEADER.get(file_format, b"") + GOOD[file_format])
        stream.seek(LINE_BYTES, 1)  # a hole, which takes no space on the disk
        stream.write(b"\n" + GOOD[file_format])
    tracemalloc.start()
    try:
        read = [(type(record), record.line) for record in read_records(str(file), file_format)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    first = 1 + (file_format in HEADER)
    assert read == [(Record, first), (BadRecord, first + 1), (Record, first + 2)]
    assert peak < 16 * 2**20
