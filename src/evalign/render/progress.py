"""A progress bar on standard error, shown only when work takes longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Timer
from typing import Protocol

from rich.console import Console
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

PATIENCE = 1.0


class Advance(Protocol):
    """Says that some more is done."""

    def __call__(self, steps: int = 1) -> None:
        """`steps` more rows are finished."""
        ...


class CountColumn(MofNCompleteColumn):
    """How many of how many; nothing where nothing is counted."""

    def render(self, task: Task) -> Text:
        """As 3/10."""
        return super().render(task) if task.total is not None or task.completed else Text("")


class RateColumn(ProgressColumn):
    """How many are finished in a second since the start, and how long the rest takes at that rate.

    Rows are finished a batch at a time: rich's own estimate, over the last steps only, is the speed of counting them.
    """

    def render(self, task: Task) -> Text:
        """Nothing as long as nothing is finished."""
        if not task.completed or not task.elapsed:
            return Text("")
        rate = task.completed / task.elapsed
        left = "" if task.remaining is None else f", {timedelta(seconds=round(task.remaining / rate))} left"
        return Text(f"{rate:,.0f}/s{left}" if rate >= 10 else f"{rate:.1f}/s{left}")


@contextmanager
def progress(what: str, total: int | None = None, console: Console | None = None) -> Iterator[Advance]:
    """Yields a function to call for every finished row, or for none where no rows are counted.

    The bar comes after a second even if nothing is finished by then; nothing is drawn off a terminal.
    """
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        CountColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        console=console or Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # what goes to a file or a pipe must get there
    )
    task = bar.add_task(what, total=total)
    start = Timer(PATIENCE, bar.start)
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
