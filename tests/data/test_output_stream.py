"""What the streams of a command let through: texts, and on standard error the bars of other libraries."""

import io
import json
import sys
from pathlib import Path

import pytest

from evalign.errors import FileFormatError
from evalign.io.output import OutputStream, escaped, one_line, standard_streams

TEXTS = {
    "a\tb\nc": "a\tb\nc",
    "naïve 図書館 👩‍👧 \u200c": "naïve 図書館 👩‍👧 \u200c",
    "\x1b[31m": "\\u001b[31m",
    "\x9b\x85\x7f": "\\u009b\\u0085\\u007f",
    "a\r\nb": "a\\u000d\nb",
    "\u202e\u2066\u200f\u061c": "\\u202e\\u2066\\u200f\\u061c",
    "\u2028\udc9b\ud800": "\\u2028\\udc9b\\ud800",
}
BARS = ["\r 45%|███  | model.safetensors", "\r      \r", "\n", "\x1b[A", "\n\n\x1b[A\x1b[A", "\r"]
NO_BARS = ["\r\x1b[2J", "\x1b[A owned", "evalign: \r", "\r45%\nevalign: all scored", "\x1b[B"]


@pytest.mark.parametrize("text", TEXTS)
def test_characters_that_act_are_escaped(text):
    assert escaped(text) == escaped(escaped(text)) == TEXTS[text]
    assert one_line(text) == TEXTS[text].replace("\n", "\\n").replace("\t", "\\t")
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in (None, "output") for text in BARS + NO_BARS])
def test_only_standard_error_has_bars(name, text):
    below = io.StringIO()
    OutputStream(below, name).write(text)
    assert below.getvalue() == (text if name is None and text in BARS else escaped(text))


def test_bytes_are_escaped(monkeypatch):
    below = io.StringIO()
    OutputStream(below, "output").buffer.write("\x1b[31m ä".encode())
    assert below.getvalue() == "\\u001b[31m ä"


class Full(io.StringIO):
    def write(self, text):
        raise OSError(28, "No space left on device")


def test_errors_of_output_are_told_and_those_of_messages_are_not():
    with pytest.raises(FileFormatError, match=r"^output: cannot be written \(No space left on device\)$"):
        OutputStream(Full(), "output").write("a")
    assert OutputStream(Full(), None).write("a") == 1


def test_the_streams_of_the_caller_come_back():
    before = sys.stdin, sys.stdout, sys.stderr
    with standard_streams():
        assert (type(sys.stdout), type(sys.stderr)) == (OutputStream, OutputStream)
    assert (sys.stdin, sys.stdout, sys.stderr) == before


def test_a_stream_is_that_of_its_file(tmp_path):
    with (tmp_path / "out").open("w", encoding="latin-1", errors="replace") as below:
        stream = OutputStream(below, "output")
        assert (stream.encoding, stream.errors) == ("latin-1", "replace")
        assert (stream.writable(), stream.isatty()) == (True, False)
        assert stream.fileno() == below.fileno()
        assert stream.write("a\x1b") == 2
        assert stream.buffer.writable()
        assert stream.buffer.write(b"\xc3\xa4\xff") == 3
        assert (tmp_path / "out").read_bytes() == b"a\\u001b\xe4?", "bytes are passed on at once"
        stream.styled.write("\x1b")
        stream.flush()
        assert (tmp_path / "out").read_bytes().endswith(b"\x1b")
    assert OutputStream(io.StringIO(), None).encoding == "utf-8"


class Broken(io.StringIO):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, text):
        raise self.error

    flush = write


@pytest.mark.parametrize("call", [lambda stream: stream.write("a"), lambda stream: stream.flush()])
def test_a_reader_that_is_gone_is_no_error_of_the_disk(call, monkeypatch):
    monkeypatch.setattr(Broken, "flush", lambda self: self.write(""))
    with pytest.raises(BrokenPipeError):
        call(OutputStream(Broken(BrokenPipeError(32, "Broken pipe")), "output"))
    with pytest.raises(FileFormatError, match=r"^output: cannot be written \(no number\)$"):
        call(OutputStream(Broken(OSError("no number")), "output"))
    for error in (BrokenPipeError(32, "Broken pipe"), OSError("no number")):
        call(OutputStream(Broken(error), None))


def test_streams_that_the_caller_closed_take_the_numbers_of_none(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    with standard_streams():
        assert sys.stdin.readable()
        assert sys.stdout.writable()
        sys.stdout.write("a")
        with pytest.raises(FileFormatError, match="standard output: cannot be written"):
            sys.stdout.flush()
        sys.stderr.write("a")
        sys.stderr.flush()
    assert (sys.stdin, sys.stdout, sys.stderr) == (None, None, None)


def test_output_is_utf8_whatever_the_locale_is(tmp_path, monkeypatch):
    with (tmp_path / "out").open("w", encoding="ascii") as below:
        monkeypatch.setattr(sys, "stdout", below)
        with standard_streams():
            sys.stdout.write("ä\udc80")
        assert (tmp_path / "out").read_bytes() == "ä\\udc80".encode()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full on this platform")
def test_what_a_stream_did_not_take_is_dropped_at_the_end(tmp_path, monkeypatch):
    """Python would fail on it again when it flushes its streams at its end."""
    below = open("/dev/full", "w")  # noqa: SIM115
    monkeypatch.setattr(sys, "stdout", below)
    with standard_streams():
        sys.stdout.write("a")
    below.close()


def test_unbuffered_output_is_written_whole(tmp_path, monkeypatch):
    with (tmp_path / "out").open("wb", buffering=0) as raw:
        below = io.TextIOWrapper(raw, write_through=True)
        monkeypatch.setattr(sys, "stdout", below)
        with standard_streams():
            assert not isinstance(sys.stdout.stream.buffer, io.RawIOBase)
            sys.stdout.write("a\n")
            assert (tmp_path / "out").read_bytes() == b"a\n"
        below.detach()
