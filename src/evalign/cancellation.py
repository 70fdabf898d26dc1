"""Work that nobody waits for any more can end early: long loops ask here between two steps.

A server sets `stop_when` around a request; everywhere else nothing is set and the question costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Stopped(BaseException):
    """Not an error of the texts or the metric: no handler of those may take it for one."""


_stopped: ContextVar[Callable[[], bool] | None] = ContextVar("stopped", default=None)


@contextmanager
def stop_when(stopped: Callable[[], bool]) -> Iterator[None]:
    """Inside this block `check_stopped` raises as soon as `stopped()` is true; for this thread only."""
    token = _stopped.set(stopped)
    try:
        yield
    finally:
        _stopped.reset(token)


def check_stopped() -> None:
    """Raises Stopped if the work is not wanted any more."""
    stopped = _stopped.get()
    if stopped is not None and stopped():
        raise Stopped
