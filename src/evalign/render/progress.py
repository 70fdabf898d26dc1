"""Progress on standard error: a bar on a terminal if the work takes longer than a second; else lines, on request."""

from __future__ import annotations

import sys
import time
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

    def __call__(self, steps: int = 1, note: str = "", earlier: bool = False) -> None:
        """Count `steps` more as finished; `note` replaces the last one; `earlier` steps were those of another run."""
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
        done = task.completed - task.fields["earlier"]
        rate = _rate(done, task.elapsed, task.remaining) if done > 0 and task.elapsed else ""
        return Text(", ".join(filter(None, [rate, task.fields["note"]])))


def _rate(done: float, seconds: float, left: float | None) -> str:
    """Return the steps per second and the time left, of `done` > 0 steps in `seconds` > 0."""
    rate = done / seconds
    number = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
    return number if left is None else f"{number}, {timedelta(seconds=round(left / rate))} left"


@contextmanager
def progress(
    title: str, total: int | None = None, console: Console | None = None, log_seconds: float | None = None
) -> Iterator[Advance]:
    """Show a progress bar, and yield a function that counts finished steps.

    Args:
        title: Text before the bar.
        total: Number of steps, if it is known.
        console: Where the bar is drawn; by default standard error, and only on a terminal.
        log_seconds: Print a line each time so many seconds have passed if the console is no terminal; None: nothing.
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
    task = bar.add_task(title, total=total, note="", earlier=0)
    log = _Log(bar, log_seconds) if log_seconds is not None and not bar.console.is_terminal else None

    def advance(steps: int = 1, note: str = "", earlier: bool = False) -> None:
        bar.update(task, advance=steps, note=note, earlier=bar.tasks[0].fields["earlier"] + (steps if earlier else 0))
        if log is not None:
            log.print(bar.tasks[0])

    start = Timer(DELAY_SECONDS, _start, [bar])
    start.daemon = True
    if bar.console.is_terminal:
        start.start()
    try:
        yield advance
    finally:
        start.cancel()
        if start.ident is not None:
            start.join()  # it may be drawing the bar just now
        if bar.live.is_started:
            bar.stop()


class _Log:
    """Prints the state of a bar as a line, once in a number of seconds."""

    def __init__(self, bar: Progress, seconds: float) -> None:
        self._bar, self._seconds, self._printed = bar, seconds, time.monotonic()

    def print(self, task: Task) -> None:
        """Print a line such as `training: 300/1200, 2.1/s, 0:07:08 left, loss 0.0312` if it is time."""
        if time.monotonic() - self._printed < self._seconds:
            return
        self._printed = time.monotonic()
        total = "" if task.total is None else f"/{task.total:.0f}"
        rate = RateColumn().render(task).plain
        self._bar.console.print(
            f"{task.description}: {', '.join(filter(None, [f'{task.completed:.0f}{total}', rate]))}"
        )


def _start(bar: Progress) -> None:
    """Start the bar; rich then reads styles and links out of what is written around it, so that is escaped before."""
    bar.start()
    if isinstance(sys.stdout, FileProxy):
        sys.stdout = cast(TextIO, OutputStream(cast(TextIO, sys.stdout), "standard output"))
    if isinstance(sys.stderr, FileProxy):
        sys.stderr = cast(TextIO, OutputStream(cast(TextIO, sys.stderr), None))
