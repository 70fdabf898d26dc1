"""Progress bar on standard error, shown only if the work takes longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Timer
from typing import Protocol, TextIO, cast

from rich.console import Console
from rich.file_proxy import FileProxy
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from evalign.io.output import OutputStream
from evalign.render.console import stderr_console

DELAY_SECONDS = 1.0


class Advance(Protocol):
    """Function that reports finished steps."""

    def __call__(self, steps: int = 1) -> None:
        """Count `steps` more rows as finished."""
        ...


class CountColumn(MofNCompleteColumn):
    """Column with the number of finished steps and the total; empty if nothing is counted."""

    def render(self, task: Task) -> Text:
        """Return a text such as 3/10."""
        return super().render(task) if task.total is not None or task.completed else Text("")


class RateColumn(ProgressColumn):
    """Column with the steps per second since the start, and the time left at that rate.

    Rows are finished in batches: rich's estimate, over the last steps only, would be the speed of counting them.
    """

    def render(self, task: Task) -> Text:
        """Return the rate and the time left; empty until a step is finished."""
        if not task.completed or not task.elapsed:
            return Text("")
        rate = task.completed / task.elapsed
        left = "" if task.remaining is None else f", {timedelta(seconds=round(task.remaining / rate))} left"
        return Text(f"{rate:,.0f}/s{left}" if rate >= 10 else f"{rate:.1f}/s{left}")


@contextmanager
def progress(title: str, total: int | None = None, console: Console | None = None) -> Iterator[Advance]:
    """Show a progress bar, and yield a function that counts finished steps.

    Args:
        title: Text before the bar.
        total: Number of steps, if it is known.
        console: Where the bar is drawn; by default standard error, and only on a terminal.
    """
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        CountColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        console=console or stderr_console(),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # output to a file or a pipe must not be captured
    )
    task = bar.add_task(title, total=total)
    start = Timer(DELAY_SECONDS, _start, [bar])
    start.daemon = True
    if bar.console.is_terminal:
        start.start()
    try:
        yield lambda steps=1: bar.advance(task, steps)
    finally:
        start.cancel()
        if start.ident is not None:
            start.join()  # it may be drawing the bar just now
        if bar.live.is_started:
            bar.stop()


def _start(bar: Progress) -> None:
    """Start the bar; rich then reads styles and links out of what is written around it, so that is escaped before."""
    bar.start()
    if isinstance(sys.stdout, FileProxy):
        sys.stdout = cast(TextIO, OutputStream(cast(TextIO, sys.stdout), "standard output"))
    if isinstance(sys.stderr, FileProxy):
        sys.stderr = cast(TextIO, OutputStream(cast(TextIO, sys.stderr), None))
