"""Standard output and standard error of a command: data is escaped, and a stream that fails is one sentence.

    text --OutputStream--> control and directional characters as \\uXXXX --> terminal, pipe or file
    sequences of our own, such as colours --OutputStream.styled--> the same stream, unchanged

`standard_streams` replaces sys.stdout and sys.stderr while a command runs, so that no table, message or warning can
forget it. The escapes are those of JSON: a document that is printed parses to the same data.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, TextIO, cast

from evalign.errors import FileFormatError

# C0 without tab and newline, DEL, C1, line separators, lone surrogates, and what changes the reading direction.
HIDDEN_RANGES = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufff9-\ufffb"
HIDDEN = re.compile(f"[{HIDDEN_RANGES}]")
# A line drawn again, and the steps between lines: the bars of libraries that download models write nothing else.
BAR = re.compile(f"\r[^{HIDDEN_RANGES}\n]*\r?|\n*(\x1b\\[A)*")
LINE_ENDS = str.maketrans({"\n": "\\n", "\t": "\\t"})
STANDARD_STREAMS = (("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))


def escaped(text: str) -> str:
    r"""Return a text with characters that act on a terminal as \uXXXX; newlines and tabs stay."""
    return HIDDEN.sub(_escape, text)


def one_line(text: str) -> str:
    r"""Return a text escaped on one line, for messages: newlines and tabs as \n and \t."""
    return escaped(text).translate(LINE_ENDS)


class OutputStream(io.TextIOBase):
    """A text stream that escapes what is written to it, but for progress bars on standard error.

    An error is a FileFormatError with the name, unless the reader is gone (BrokenPipeError). Without a name errors are
    ignored: those of standard error can be reported nowhere.
    """

    def __init__(self, stream: IO[str], name: str | None, escaping: bool = True) -> None:
        self.stream, self._name, self._escaping = stream, name, escaping

    @property
    def styled(self) -> OutputStream:
        """The same stream without escapes, for a console that escapes data itself and adds colours."""
        return OutputStream(self.stream, self._name, escaping=False)

    @property
    def buffer(self) -> EscapedBytes:
        """The same stream for programs that write bytes."""
        return EscapedBytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of the stream."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        """Treatment of characters that cannot be encoded."""
        return "replace"

    def write(self, text: str) -> int:
        """Write a text, escaped."""
        is_bar = self._name is None and BAR.fullmatch(text) is not None
        visible = escaped(text) if self._escaping and not is_bar else text
        with self._errors():
            self.stream.write(visible)
        return len(text)

    def flush(self) -> None:
        """Pass on what is buffered."""
        with self._errors():
            self.stream.flush()

    def writable(self) -> bool:
        """Return True."""
        return True

    def isatty(self) -> bool:
        """Return whether this is a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Return the number of the file descriptor."""
        return self.stream.fileno()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            if self._name is not None:
                raise
        except OSError as error:
            if self._name is not None:
                raise FileFormatError(f"{self._name}: cannot be written ({error.strerror or error})") from error


class EscapedBytes(io.RawIOBase):
    """Bytes of a text in UTF-8, which is escaped as well."""

    def __init__(self, stream: OutputStream) -> None:
        self._stream = stream

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any) -> int:
        """Write a text as bytes."""
        self._stream.write(bytes(content).decode("utf-8", "replace"))
        self._stream.flush()
        return len(content)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Replace standard output and standard error by streams that escape, in UTF-8 whatever the locale is.

    A stream that the caller closed is replaced by one that fails with a sentence when it is used; its number is taken,
    so that no file of the command gets it, with messages of a library written into it.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    for name, flags in STANDARD_STREAMS:
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, flags)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(handle, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    output, messages = _escaping(sys.stdout, "standard output"), _escaping(sys.stderr, None)
    sys.stdout, sys.stderr = cast(TextIO, output), cast(TextIO, messages)
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        _drop_unwritten(output)
        _drop_unwritten(messages)


def _escaping(stream: Any, name: str | None) -> OutputStream:
    if isinstance(stream, io.TextIOWrapper):
        if isinstance(stream.buffer, io.RawIOBase):  # PYTHONUNBUFFERED: a write that is cut short would go unnoticed
            stream = open(stream.fileno(), "w", buffering=1, closefd=False)  # noqa: SIM115
        stream.reconfigure(encoding="utf-8", errors="replace")
    return OutputStream(stream, name)


def _drop_unwritten(output: OutputStream) -> None:
    """Send what a stream does not take to nowhere, so that Python does not fail on it again when it ends."""
    try:
        output.stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
