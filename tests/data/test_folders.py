"""Folders on a disk and at a URL: the same calls give the same names, contents and errors."""

import dataclasses
import os
import sys
from pathlib import Path

import fsspec
import pytest

from evalign.errors import FileFormatError, MissingExtraError
from evalign.io.files import LOCK
from evalign.io.folders import LocalFolder, RemoteFolder, is_folder, open_folder

LOG = "log.jsonl"


@pytest.fixture(params=["disk", "url"])
def folder(request, tmp_path):
    """An empty folder of either type."""
    if request.param == "disk":
        (tmp_path / "job").mkdir()
        yield open_folder(tmp_path / "job")
        return
    url = f"memory://{tmp_path.name}/job"
    yield open_folder(url + "/")
    fsspec.filesystem("memory").store.clear()


def test_folders_are_opened_by_path_or_url(tmp_path):
    assert open_folder("a/b") == open_folder(Path("a/b")) == LocalFolder(Path("a/b"))
    assert open_folder(f"file://{tmp_path}/a") == open_folder(f"local://{tmp_path}/a") == LocalFolder(tmp_path / "a")
    assert open_folder("s3://a/b/") == RemoteFolder("s3://a/b")
    assert str(open_folder("s3://a/b")) == "s3://a/b"
    assert str(open_folder("a/b")) == "a/b"
    assert open_folder("s3://a/b").path("c/d") == "s3://a/b/c/d"
    assert open_folder("a/b").path("c/d") == "a/b/c/d"


def test_contents_are_read_as_they_were_written(folder):
    folder.prepare(["sub"])
    folder.write("b", b"1")
    folder.write("sub/c", b"22")
    folder.write("sub/a", b"")
    folder.write("b", b"333")
    assert (folder.read("b"), folder.read("sub/c"), folder.read("sub/a")) == (b"333", b"22", b"")
    assert folder.names() == ["b", "sub"]
    assert folder.names("sub") == ["a", "c"]
    assert folder.names("none") == []
    assert folder.sizes(["b", "sub/c", "sub/a", "none", "sub"]) == {"b": 3, "sub/c": 2, "sub/a": 0}
    with pytest.raises(OSError, match=r"none|No such file"):
        folder.read("none")


def test_a_folder_that_does_not_exist_is_empty(tmp_path):
    for folder in (open_folder(tmp_path / "none"), open_folder(f"memory://{tmp_path.name}/none")):
        assert folder.names() == []
        assert folder.sizes(["a"]) == {}
        assert folder.log_lines(LOG) == []
        folder.mend_log(LOG)
        folder.remove_parts()
    assert not (tmp_path / "none").exists()


def test_a_log_has_its_lines_in_order(folder):
    assert folder.log_lines(LOG) == []
    for number in (1, 2, 10):
        folder.add_to_log(LOG, f"score-{number:06}", b"line %d\n" % number)
    assert folder.log_lines(LOG) == [b"line 1", b"line 2", b"line 10"]
    folder.mend_log(LOG)
    assert len(folder.log_lines(LOG)) == 3


def test_a_line_without_an_end_is_left_out_and_removed(tmp_path):
    folder = open_folder(tmp_path)
    for content, lines in ((b"1\n2", [b"1"]), (b"12", []), (b"1\n\n", [b"1", b""]), (b"", [])):
        (tmp_path / LOG).write_bytes(content)
        assert folder.log_lines(LOG) == lines
        folder.mend_log(LOG)
        assert (tmp_path / LOG).read_bytes() == content[: content.rfind(b"\n") + 1]
        assert folder.log_lines(LOG) == lines


def test_a_copy_of_a_log_at_a_url_is_read_on_a_disk(tmp_path):
    (tmp_path / "log").mkdir()
    for name, line in (("b.jsonl", b"2\n"), ("a.jsonl", b"1\n"), ("c.txt", b"no line\n")):
        (tmp_path / "log" / name).write_bytes(line)
    folder = open_folder(tmp_path)
    assert folder.log_lines(LOG) == [b"1", b"2"]
    folder.add_to_log(LOG, "key", b"3\n")
    assert folder.log_lines(LOG) == [b"3", b"1", b"2"]


def test_a_new_file_at_a_url_stays_that_of_the_first(folder, tmp_path):
    folder.write_new("job.json", b"first")
    if isinstance(folder, RemoteFolder):
        folder.write_new("job.json", b"second")
    assert folder.read("job.json") == b"first"


def test_a_store_that_cannot_refuse_a_file_that_exists_writes_it(tmp_path, monkeypatch):
    system = fsspec.filesystem("memory")
    real = type(system).pipe_file

    def no_conditions(self, path, value, mode="overwrite", **options):
        if mode == "create":
            raise NotImplementedError
        return real(self, path, value, **options)

    monkeypatch.setattr(type(system), "pipe_file", no_conditions)
    folder = open_folder(f"memory://{tmp_path.name}")
    folder.write_new("job.json", b"first")
    assert folder.read("job.json") == b"first"
    system.store.clear()


def test_attempts_are_counted_by_name_until_they_are_forgotten(folder):
    folder.prepare(["shards"])
    folder.write("shards/000001.jsonl", b"kept")
    assert [folder.count_attempt("shards/000001.jsonl") for _ in range(3)] == [1, 2, 3]
    assert folder.count_attempt("shards/000002.jsonl") == 1
    folder.forget_attempts("shards/000001.jsonl")
    folder.forget_attempts("shards/000003.jsonl")
    assert folder.count_attempt("shards/000001.jsonl") == 1
    assert folder.count_attempt("shards/000002.jsonl") == 2
    folder.remove_parts()
    assert [folder.count_attempt(f"shards/00000{number}.jsonl") for number in (1, 2)] == [1, 1]
    assert folder.read("shards/000001.jsonl") == b"kept"


def test_only_what_killed_runs_left_is_removed(folder):
    folder.write("job.json", b"{}")
    folder.write("a.particle", b"1")
    folder.write(".a.part", b"1")
    folder.remove_parts()
    assert folder.names() == ["a.particle", "job.json"]


def test_a_disk_is_locked_and_a_url_is_not(folder):
    with folder.locked("is busy"):
        if isinstance(folder, LocalFolder):
            assert (folder.root / LOCK).exists()
            with pytest.raises(FileFormatError, match="is busy"), folder.locked("is busy"):
                pass
        else:
            with folder.locked("is busy"):
                pass
    assert folder.names() == []


def test_errors_of_a_disk_name_the_file_and_the_advice(tmp_path):
    (tmp_path / LOG).mkdir()
    folder = open_folder(tmp_path)
    for call in (folder.log_lines, folder.mend_log, lambda name: folder.add_to_log(name, "key", b"1\n")):
        with pytest.raises(FileFormatError, match=r"log\.jsonl: .*run the same command again: it resumes"):
            call(LOG)
    (tmp_path / "file").touch()
    with pytest.raises(FileFormatError, match="it resumes"):
        open_folder(tmp_path / "file").prepare(["a"])


def test_errors_of_a_store_say_what_could_not_be_done(tmp_path, monkeypatch):
    def fails(self, *_, **__):
        raise RuntimeError("no connection")

    system = fsspec.filesystem("memory")
    folder = open_folder(f"memory://{tmp_path.name}")
    folder.count_attempt("a")
    calls = [
        ("cat_file", lambda: folder.read("b"), "b: cannot be read"),
        ("pipe_file", lambda: folder.write("b", b""), "b: cannot be written"),
        ("pipe_file", lambda: folder.write_new("b", b""), "b: cannot be written"),
        ("find", lambda: folder.names(), "cannot be read"),
        ("find", lambda: folder.log_lines(LOG), "cannot be read"),
        ("rm_file", lambda: folder.forget_attempts("a"), "cannot be removed"),
    ]
    for method, call, reason in calls:
        with monkeypatch.context() as patch:
            patch.setattr(type(system), method, fails)
            with pytest.raises(FileFormatError, match=rf"{reason} \(no connection\); .*it resumes"):
                call()
    system.store.clear()


def test_a_folder_is_told_from_a_file(tmp_path, monkeypatch):
    (tmp_path / "job").mkdir()
    (tmp_path / "file").touch()
    assert [is_folder(str(tmp_path / name), "job.json") for name in ("job", "file", "none")] == [True, False, False]
    url = f"memory://{tmp_path.name}/job"
    assert not is_folder(url, "job.json")
    open_folder(url).write("job.json", b"{}")
    assert is_folder(url, "job.json")
    assert not is_folder(url, "summary.json")
    open_folder(f"{url}.jsonl").write("job.json", b"{}")
    assert not is_folder(f"{url}.jsonl", "job.json")
    fsspec.filesystem("memory").store.clear()
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError):
        is_folder(url, "job.json")


def test_folders_are_values(tmp_path):
    assert dataclasses.replace(open_folder(tmp_path), root=tmp_path / "a") == open_folder(tmp_path / "a")
    assert open_folder("s3://a") != open_folder("s3://b")


def test_prepared_folders_exist_and_keep_their_files(tmp_path):
    folder = open_folder(tmp_path)
    folder.prepare(["a", "b"])
    (tmp_path / "a" / "x").touch()
    folder.prepare(["a", "c"])
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]
    assert os.listdir(tmp_path / "a") == ["x"]
