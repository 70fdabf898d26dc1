"""Files that appear only when they are whole, durable appends, and locks of folders."""

import fcntl
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from evalign.errors import FileFormatError
from evalign.io import files
from evalign.io.files import whole_file


def test_links_stay_and_directories_are_refused(tmp_path):
    target, link = tmp_path / "real.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with whole_file(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    with pytest.raises(FileFormatError, match="directory"), whole_file(tmp_path):
        pass


def test_a_file_that_fails_half_way_leaves_nothing(tmp_path):
    def fails_half_way():
        with whole_file(tmp_path / "out.txt") as stream:
            stream.write("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails_half_way()
    assert list(tmp_path.iterdir()) == []


PLATFORMS = [
    ("linux", {"EVALIGN_CACHE": "/c", "XDG_CACHE_HOME": "/x"}, "/c"),
    ("linux", {"XDG_CACHE_HOME": "/x", "LOCALAPPDATA": "/l"}, "/x/evalign"),
    ("linux", {}, "/home/.cache/evalign"),
    ("darwin", {"XDG_CACHE_HOME": "/x"}, "/home/Library/Caches/evalign"),
    ("win32", {"XDG_CACHE_HOME": "/x", "LOCALAPPDATA": "/l"}, "/l/evalign"),
    ("win32", {}, "/home/evalign"),
]


@pytest.mark.parametrize(("platform", "variables", "folder"), PLATFORMS)
def test_the_cache_is_where_the_platform_keeps_caches(monkeypatch, platform, variables, folder):
    for name in ("EVALIGN_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home"))
    assert files.cache_folder() == Path(folder)


def test_text_is_utf8_with_plain_ends_of_lines_and_bytes_are_as_given(tmp_path):
    with whole_file(tmp_path / "out.txt") as stream:
        stream.write("ä\r\n\n")
    assert (tmp_path / "out.txt").read_bytes() == b"\xc3\xa4\r\n\n"
    with whole_file(tmp_path / "out.txt", binary=True) as stream:
        stream.write(b"\xff\n")
        assert (tmp_path / "out.txt").read_bytes() == b"\xc3\xa4\r\n\n", "until all is written"
    assert (tmp_path / "out.txt").read_bytes() == b"\xff\n"
    files.write_file(tmp_path / "out.txt", b"new")
    assert (tmp_path / "out.txt").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_new_files_have_the_permissions_of_the_umask(tmp_path):
    files.write_file(tmp_path / "whole", b"")
    files.append_line(tmp_path / "log", b"")
    with files.lock_folder(tmp_path, "busy"):
        pass
    (tmp_path / "plain").touch()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("whole", "log", files.LOCK, "plain"), modes["plain"])


def test_a_disk_that_takes_only_parts_gets_all_of_them(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: real(handle, bytes(content[:3])))
    files.write_file(tmp_path / "out", b"0123456789")
    files.append_line(tmp_path / "log", b"line 1\n")
    files.append_line(tmp_path / "log", b"line 2\n")
    assert (tmp_path / "out").read_bytes() == b"0123456789"
    assert (tmp_path / "log").read_bytes() == b"line 1\nline 2\n"


@pytest.fixture
def synced(monkeypatch):
    """Names of what the disk was waited for, in order: files, and folders with a slash."""
    names, real = [], os.fsync

    def fsync(handle):
        name = Path(os.readlink(f"/proc/self/fd/{handle}"))
        names.append(f"{name.name}/" if name.is_dir() else "part" if name.name.endswith(files.PART) else name.name)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return names


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files have no names on this platform")
def test_durable_writes_wait_for_the_content_and_then_for_the_name(tmp_path, synced):
    folder = f"{tmp_path.name}/"
    calls = [
        (lambda: files.write_file(tmp_path / "a", b"a", durable=True), ["part", folder]),
        (lambda: files.write_file(tmp_path / "b", b"b"), []),
        (lambda: files.append_line(tmp_path / "log", b"1\n"), ["log", folder]),
        (lambda: files.append_line(tmp_path / "log", b"2\n"), ["log"]),
        (lambda: files.make_durable_folders(tmp_path, ("x", "y")), [folder]),
        (lambda: files.make_durable_folders(tmp_path, ("x", "y")), []),
    ]
    for call, expected in calls:
        synced.clear()
        call()
        assert synced == expected
    with whole_file(tmp_path / "c") as stream:
        stream.write("c")
    assert synced == []
    with files.lock_folder(tmp_path / "new", "busy"):
        assert synced == [folder]


def test_calls_are_counted_in_the_size_of_a_file(tmp_path):
    assert [files.append_byte(tmp_path / "count") for _ in range(3)] == [1, 2, 3]
    assert (tmp_path / "count").stat().st_size == 3


def test_a_check_leaves_nothing_and_says_what_is_wrong(tmp_path):
    (tmp_path / "old").write_text("old")
    for name in ("old", "new"):
        files.check_writable(tmp_path / name)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
    with pytest.raises(FileFormatError, match="cannot be written, this is a directory"):
        files.check_writable(tmp_path)
    with pytest.raises(FileFormatError, match="cannot be written, there is no such folder"):
        files.check_writable(tmp_path / "none" / "out")
    for path in ("/dev/null", "/dev/stdout", "/dev/fd/1"):
        files.check_writable(Path(path))


def test_only_part_files_are_removed(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    kept, removed = ["a.part", ".hidden", ".a.part.txt", "deep/b"], [".a.part", "deep/er/.b.123.part"]
    for name in kept + removed:
        (tmp_path / name).write_text(name)
    files.remove_parts(tmp_path)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == sorted(kept)


def raised(error, **options):
    with files.write_errors(Path("out"), **options):
        raise error


def test_errors_of_the_disk_are_a_sentence():
    with pytest.raises(FileFormatError, match=r"^out: cannot be written \(No space left on device\)$"):
        raised(OSError(28, "No space left on device"))
    with pytest.raises(FileFormatError, match=r"^out: cannot be written \(no number\); try again$"):
        raised(OSError("no number"), advice="; try again")
    with pytest.raises(BrokenPipeError):
        raised(BrokenPipeError(32, "Broken pipe"))


@pytest.mark.parametrize(("durable", "ending"), [(True, "it resumes"), (False, r"\(Read-only file system\)")])
def test_only_durable_writes_can_be_resumed(tmp_path, monkeypatch, durable, ending):
    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(FileFormatError, match=rf"out: cannot be written.*{ending}$"):
        files.write_file(tmp_path / "out", b"a", durable=durable)
    assert list(tmp_path.iterdir()) == []


DESCRIPTORS = {
    "/dev/stdout": 1,
    "/dev/stderr": 2,
    "/dev/fd/63": 63,
    "/proc/self/fd/7": 7,
    "/dev/fd/x": None,
    "/dev/fd/6/3": None,
    "/dev/null": None,
    "out": None,
}


@pytest.mark.parametrize("path", DESCRIPTORS)
def test_names_of_open_files(path):
    assert files._descriptor(Path(path)) == DESCRIPTORS[path]


@pytest.mark.parametrize("binary", [False, True])
def test_open_files_and_pipes_are_written_to_and_stay_open(tmp_path, binary):
    reader, writer = os.pipe()
    for _ in range(2):
        with whole_file(Path(f"/dev/fd/{writer}"), binary=binary) as stream:
            stream.write(b"a" if binary else "a")
    assert os.read(reader, 10) == b"aa"
    os.close(reader)
    os.close(writer)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.write_file(tmp_path / "pipe", b"b")
    assert os.read(reader, 10) == b"b"
    os.close(reader)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("binary", [False, True])
def test_what_goes_to_a_terminal_is_escaped(binary):
    main, terminal = os.openpty()
    with whole_file(Path(f"/dev/fd/{terminal}"), binary=binary) as stream:
        stream.write(b"\x1b[31m" if binary else "\x1b[31m")
    assert os.read(main, 100) == b"\\u001b[31m"
    os.close(main)
    os.close(terminal)


def locked_again(folder):
    with files.lock_folder(folder, "is busy"):
        pass


def test_a_folder_is_locked_until_the_block_ends(tmp_path):
    for _ in range(2):
        with files.lock_folder(tmp_path / "job", "is busy"):
            assert (tmp_path / "job").is_dir()
            with pytest.raises(FileFormatError, match=r"job: is busy$"):
                locked_again(tmp_path / "job")
    with pytest.raises(ZeroDivisionError), files.lock_folder(tmp_path / "job", "is busy"):
        raise ZeroDivisionError
    locked_again(tmp_path / "job")
    with pytest.raises(FileFormatError, match=r"job: cannot be written \(No such file or directory\)"):
        locked_again(tmp_path / "none" / "job")


def test_a_folder_that_is_removed_while_it_is_locked_is_made_again(tmp_path, monkeypatch):
    real, times = os.open, []

    def removed_before(path, flags, *rest, **options):
        if Path(path).name == files.LOCK and not times:
            times.append(1)
            shutil.rmtree(Path(path).parent)
        return real(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", removed_before)
    with files.lock_folder(tmp_path / "job", "is busy"), pytest.raises(FileFormatError, match="is busy"):
        locked_again(tmp_path / "job")
    assert times == [1]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_lock_that_is_removed_before_it_is_held_is_taken_again(tmp_path, monkeypatch, replaced):
    real, times = fcntl.flock, []

    def removed_before(handle, operation):
        if not times:
            times.append(handle)
            (tmp_path / "job" / files.LOCK).unlink()
            if replaced:
                (tmp_path / "job" / files.LOCK).touch()
        return real(handle, operation)

    monkeypatch.setattr(fcntl, "flock", removed_before)
    with files.lock_folder(tmp_path / "job", "is busy"), pytest.raises(FileFormatError, match="is busy"):
        locked_again(tmp_path / "job")


def test_where_there_are_no_locks_folders_are_still_made(tmp_path, monkeypatch):
    def unsupported(handle, operation):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with files.lock_folder(tmp_path / "a", "is busy"):
        locked_again(tmp_path / "a")
    monkeypatch.setattr(files, "fcntl", None)
    with files.lock_folder(tmp_path / "b", "is busy"):
        locked_again(tmp_path / "b")
    assert (tmp_path / "b").is_dir()
