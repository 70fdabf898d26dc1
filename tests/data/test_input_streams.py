"""Bytes of an input: local, remote, compressed; and the sentences about one that cannot be read."""

import gzip
import io
import os
import sys

import pytest
import zstandard

from evalign.errors import FileFormatError, InputError, MissingExtraError
from evalign.io import streams
from evalign.io.streams import (
    check_readable,
    count_lines,
    fsspec_of,
    is_remote,
    open_input,
    read_errors,
    remote_errors,
    rereadable,
    shown,
)

TEXT = b"".join(b"line %d\n" % number for number in range(3000))
PACK = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}


def content(path):
    with open_input(str(path)) as stream:
        return stream.read()


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("text", [b"", TEXT])
def test_files_are_decompressed_by_their_names(tmp_path, ending, text):
    path = tmp_path / f"in.jsonl{ending}"
    path.write_bytes(PACK[ending](text))
    assert content(path) == text
    with open_input(str(path)) as stream:
        assert stream.readline() == text[:7]
        assert b"".join(stream) == text[7:]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_files_may_be_joined(tmp_path, ending):
    path = tmp_path / f"in{ending}"
    path.write_bytes(PACK[ending](b"a\n") + PACK[ending](b"") + PACK[ending](TEXT))
    assert content(path) == b"a\n" + TEXT


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("damage", ["cut short", "other bytes", "something after the end"])
def test_a_damaged_compressed_file_is_a_sentence(tmp_path, ending, damage):
    whole = PACK[ending](TEXT)
    damaged = {"cut short": whole[:-20], "other bytes": b"plain" * 9, "something after the end": whole + b"plain" * 9}
    path = tmp_path / f"in{ending}"
    path.write_bytes(damaged[damage])
    with pytest.raises(FileFormatError, match=rf"in\{ending}: damaged compressed file \(.+\); get it again"):
        content(path)


@pytest.mark.parametrize("ending", PACK)
def test_files_are_closed_with_their_stream(tmp_path, monkeypatch, ending):
    path = tmp_path / f"in{ending}"
    path.write_bytes(PACK[ending](TEXT))
    opened, real = [], streams._opened

    def recorded(name):
        opened.append(real(name))
        return opened[-1]

    monkeypatch.setattr(streams, "_opened", recorded)
    with open_input(str(path)) as stream:
        stream.read(10)
        assert not opened[0].closed
    assert opened[0].closed


def test_standard_input_is_read_and_stays_open(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"typed"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert content("-") == b"typed"
    assert not stdin.buffer.closed


def test_urls_of_fsspec_are_read(tmp_path):
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(TEXT))
    assert content(f"file://{tmp_path}/in.jsonl.gz") == TEXT
    system, path = fsspec_of("memory://folder/in.jsonl")
    with system.open(path, "wb") as stream:
        stream.write(TEXT)
    assert content("memory://folder/in.jsonl") == TEXT
    system.rm(path)
    with pytest.raises(FileFormatError, match=r"memory://folder/in\.jsonl: cannot be read"):
        content("memory://folder/in.jsonl")
    with pytest.raises(FileFormatError, match=r"nowhere://in\.jsonl: cannot be opened \(.*nowhere"):
        content("nowhere://in.jsonl")


@pytest.mark.parametrize(("library", "path"), [("fsspec", "s3://a/b"), ("zstandard", "in.zst")])
def test_a_missing_library_is_named_with_its_extra(tmp_path, monkeypatch, library, path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.zst").write_bytes(b"")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"reading .*evalign\[data\]"):
        content(path)


def test_a_store_whose_library_is_missing_is_a_sentence(monkeypatch):
    def missing(url):
        raise ImportError("Please install gcsfs")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(FileFormatError, match=r"gs://a/b: cannot be opened \(Please install gcsfs\)"):
        fsspec_of("gs://a/b")


def test_what_can_be_read_twice_and_what_is_a_url(tmp_path):
    (tmp_path / "in").touch()
    cases = {str(tmp_path / "in"): True, str(tmp_path): False, "-": False, "s3://a/b": True, "none": False}
    assert {path: rereadable(path) for path in cases} == cases
    assert [is_remote(path) for path in ("s3://a/b", "a:b", "/a//b", "-")] == [True, False, False, False]
    assert [shown(path) for path in ("-", "a")] == ["standard input", "a"]


def test_a_check_is_a_sentence_about_local_files_only(tmp_path, monkeypatch):
    (tmp_path / "in").touch()
    for path in (str(tmp_path / "in"), "-", "s3://a/b"):
        check_readable(path)
    with pytest.raises(FileFormatError, match="this is a directory, expected a file"):
        check_readable(str(tmp_path))
    with pytest.raises(FileFormatError, match="none: no such file"):
        check_readable(str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileFormatError, match=r"\+none: no such file"):
        check_readable("+none")


def test_lines_are_counted_where_that_is_cheap(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "COUNT_CHUNK_BYTES", 1000)
    (tmp_path / "in").write_bytes(TEXT + b"no end")
    assert count_lines(str(tmp_path / "in")) == 3000
    for name in ("in.gz", "in.zst", "in.parquet"):
        (tmp_path / name).write_bytes(TEXT)
        assert count_lines(str(tmp_path / name)) is None
    for path in ("-", f"file://{tmp_path}/in", str(tmp_path / "none"), str(tmp_path)):
        assert count_lines(path) is None


def test_a_pipe_is_not_read_to_count_its_lines(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr("pathlib.Path.open", lambda *_: pytest.fail("its lines would be lost"))
    assert count_lines(str(tmp_path / "pipe")) is None


def test_a_file_that_cannot_be_opened_is_not_counted(tmp_path, monkeypatch):
    (tmp_path / "in").write_bytes(TEXT)
    monkeypatch.setattr("pathlib.Path.open", lambda *_: exec("raise PermissionError(13, 'Permission denied')"))
    assert count_lines(str(tmp_path / "in")) is None
    with pytest.raises(FileFormatError, match=r"in: cannot be read \(Permission denied\)"):
        content(tmp_path / "in")


def raised(context, error):
    with context:
        raise error


def test_errors_of_reading_are_a_sentence():
    with pytest.raises(FileFormatError, match=r"^standard input: cannot be read \(no number\)$"):
        raised(read_errors("-"), OSError("no number"))
    with pytest.raises(FileFormatError, match=r"^a\.gz: damaged compressed file \(short\); get it again"):
        raised(read_errors("a.gz"), EOFError("short"))
    with pytest.raises(ValueError, match="another"):
        raised(read_errors("a"), ValueError("another"))


def test_errors_of_stores_are_a_sentence_but_for_a_missing_file():
    with pytest.raises(FileNotFoundError):
        raised(remote_errors("s3://a", "read"), FileNotFoundError("none"))
    with pytest.raises(FileFormatError, match=r"^s3://a: cannot be written \(none\); wait$"):
        raised(remote_errors("s3://a", "written", "; wait"), FileNotFoundError("none"))
    with pytest.raises(FileFormatError, match=r"^s3://a: cannot be read \(no such bucket\)$"):
        raised(remote_errors("s3://a", "read"), RuntimeError("no\n  such bucket"))
    with pytest.raises(FileFormatError, match=r"^s3://a: cannot be read \(KeyError\)$"):
        raised(remote_errors("s3://a", "read"), KeyError())
    with pytest.raises(InputError, match=r"^ours$"):
        raised(remote_errors("s3://a", "read"), InputError("ours"))
