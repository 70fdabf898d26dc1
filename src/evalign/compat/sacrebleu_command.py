"""Run the `sacrebleu` command unchanged: evalign's BLEU, chrF and TER call the same library."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import IO, Any

from evalign.errors import FileFormatError, InputError
from evalign.io import records
from evalign.io.streams import STDIN


def main(arguments: list[str]) -> None:
    """Run `sacrebleu ARGUMENTS`, with its output and exit code."""
    from sacrebleu.sacrebleu import main as sacrebleu

    before = sys.argv
    sys.argv = ["evalign compat sacrebleu", *arguments]
    try:
        with _captured_output(), _bounded_lines():
            sacrebleu()
    except OSError as error:
        raise InputError(f"{error.filename or 'the input'}: cannot be read ({error.strerror or error})") from error
    finally:
        sys.argv = before


@contextmanager
def _bounded_lines() -> Iterator[None]:
    """Make sacrebleu refuse lines above our maximum: it would hold each of them, and the tokens of all, in memory."""
    module: Any = import_module("sacrebleu.sacrebleu")
    open_file, text_wrapper = module.smart_open, io.TextIOWrapper
    module.smart_open = lambda file, *args, **options: _BoundedLines(file, open_file(file, *args, **options))
    module.io = SimpleNamespace(
        TextIOWrapper=lambda stream, **options: _BoundedLines(STDIN, text_wrapper(stream, **options))
    )
    try:
        yield
    finally:
        module.smart_open, module.io = open_file, io


class _BoundedLines:
    """Lines of a text stream; one that is too long raises FileFormatError, and is not read to its end."""

    def __init__(self, path: str, stream: IO[str]) -> None:
        self._path, self._stream, self._number = path, stream, 0

    def __iter__(self) -> Iterator[str]:
        return iter(self.readline, "")

    def readline(self) -> str:
        """Return the next line; empty at the end."""
        line = self._stream.readline(records.MAX_LINE_BYTES + 1)
        self._number += 1
        if len(line) > records.MAX_LINE_BYTES and not line.endswith("\n"):
            raise FileFormatError(f"{records.location(self._path, self._number, records.TEXT)}: {records.TOO_LONG}")
        return line


@contextmanager
def _captured_output() -> Iterator[None]:
    """Print at the end what was written: sacrebleu reopens the number of sys.stdout, which bypasses the escapes."""
    output = sys.stdout
    with TemporaryFile("w+", encoding="utf-8") as printed:
        sys.stdout = replaced = open(os.dup(printed.fileno()), "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        try:
            yield
        finally:
            number, unchanged = replaced.fileno(), sys.stdout is replaced
            sys.stdout.close()  # if it is sacrebleu's, that closes the number
            if unchanged:
                os.close(number)
            sys.stdout = output
            printed.seek(0)
            output.write(printed.read())
