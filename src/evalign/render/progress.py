"""A progress bar on standard error, shown only when work takes longer than a second."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
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
    TimeRemainingColumn,
)
from rich.text import Text

PATIENCE = 1.0


class Advance(Protocol):
    """Says that some more is done."""

    def __call__(self, steps: int = 1) -> None:
        """`steps` more rows are finished."""
        ...


class RateColumn(ProgressColumn):
    """How many are finished in a second."""

    def render(self, task: Task) -> Text:
        """Nothing as long as nothing is finished."""
        return Text("" if task.speed is None else f"{task.speed:,.0f}/s")


@contextmanager
def progress(what: str, total: int | None = None, console: Console | None = None) -> Iterator[Advance]:
    """Yields a function to call for every finished row; nothing is drawn off a terminal."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console or Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(what, total=total)
    began = time.monotonic()
    started = False

    def advance(steps: int = 1) -> None:
        nonlocal started
        if not started and time.monotonic() - began > PATIENCE and bar.console.is_terminal:
            bar.start()
            started = True
        bar.advance(task, steps)

    try:
        yield advance
    finally:
        if started:
            bar.stop()
