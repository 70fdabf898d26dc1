"""The console of all commands: rich's own styles pass, and characters of data that act on a terminal are escaped."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from evalign.io.output import OutputStream, escaped

FILE_COLUMNS = 160  # at least, where output goes to a file: tables are not wrapped there


class EscapingConsole(Console):
    """A console that takes texts as they are, never as markup, and escapes them when they are rendered."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of a renderable, escaped; those that control the terminal are rich's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=escaped(segment.text))

    def print(self, *objects: Any, crop: bool = False, **options: Any) -> None:
        """Print; a line that is longer than the terminal is wide is left whole."""
        super().print(*objects, crop=crop, **options)

    def on_broken_pipe(self) -> None:
        """Raise the error again, as every other output does; rich would exit with 1."""
        raise


def stdout_console() -> Console:
    """Return a console as wide as the terminal; wide when output goes to a file, so that tables are not wrapped."""
    width = None if sys.stdout.isatty() else max(FILE_COLUMNS, shutil.get_terminal_size().columns)
    return EscapingConsole(width=width, file=_styled(sys.stdout))


def stderr_console() -> Console:
    """Return a console on standard error."""
    return EscapingConsole(stderr=True, file=_styled(sys.stderr))


def _styled(stream: Any) -> Any:
    return stream.styled if isinstance(stream, OutputStream) else stream
