"""Recognises a lack of memory, whatever library and device it comes from, and then runs a batch in halves.

Needs no torch: its own error class derives from RuntimeError, and its CPU allocator raises a plain RuntimeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from evalign.errors import ModelError

MESSAGES = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory")
Result = TypeVar("Result")


def out_of_memory(error: BaseException) -> bool:
    """Whether running the same thing in smaller batches may help."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(message in str(error).lower() for message in MESSAGES)


def in_halves(
    run: Callable[[slice], Result], rows: slice, shrink: Callable[[], None], describe: Callable[[int], str]
) -> list[Result]:
    """What `run` gives for a batch's rows: one result for all or, where memory is short, one for each part of them.

    `shrink` is told of every halving; `describe` says on what, and with how many tokens, a single row does not fit.
    """
    try:
        return [run(rows)]
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        if rows.stop - rows.start == 1:
            advice = "lower max_length, use a smaller model, or another device"
            raise ModelError(f"out of memory on {describe(rows.start)}; {advice}") from error
    shrink()
    middle = (rows.start + rows.stop) // 2
    halves = slice(rows.start, middle), slice(middle, rows.stop)
    return [result for half in halves for result in in_halves(run, half, shrink, describe)]
