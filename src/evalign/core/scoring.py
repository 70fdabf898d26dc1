"""Score a stream of rows block by block, with several metrics: the loop behind lists, files, shards and requests.

rows, scorers --score_stream--> ScoredBlock, ScoredBlock, ...        one block of rows is held at a time

Long computations call `check_stopped` between two steps: the server cancels those whose client has disconnected.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from evalign.core.report import BadRow, Row, Segment
from evalign.errors import InputError

if TYPE_CHECKING:
    from evalign.core.metric import Metric, Scorer

BLOCK_ROWS = 1024  # fixed: the batch that a row is encoded in must not depend on shards or workers
Item = TypeVar("Item")
Ready = tuple["Metric", "Scorer"]  # a metric and its loaded scorer


@dataclass(frozen=True)
class StreamOptions:
    """Options of `score_stream`.

    `raise_errors` raises the error of a row that cannot be scored, which otherwise becomes its segment.
    `check_first_block` raises if no row of the first block has what a metric needs: a wrong file, not bad rows.
    `before_block` is called before each block is scored.
    """

    block_rows: int = BLOCK_ROWS
    raise_errors: bool = False
    check_first_block: bool = True
    before_block: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True)
class ScoredBlock:
    """Consecutive rows, their segments (`segments[metric][row]`), and the records among them that are no rows."""

    rows: list[Row]
    segments: list[list[Segment]]
    bad: list[BadRow] = field(default_factory=list)


def score_stream(
    ready: Sequence[Ready], rows: Iterable[Row | BadRow], options: StreamOptions | None = None
) -> Iterator[ScoredBlock]:
    """Score rows block by block with every metric of `ready`; bad rows count towards the size of a block."""
    options = options or StreamOptions()
    for number, block in enumerate(blocks(rows, options.block_rows)):
        if number and number * options.block_rows % BLOCK_ROWS == 0:
            release_freed_memory()
        good = [row for row in block if isinstance(row, Row)]
        options.before_block()
        segments: list[list[Segment]] = [[] for _ in ready]
        for scored, (metric, scorer) in zip(segments, ready, strict=True):
            check_stopped()
            if number == 1:
                scorer.settle()
            if number == 0 and options.check_first_block and all(map(metric.lacks, good)):
                metric.check_needs(good)
            scored += scorer.score(good) if options.raise_errors else _score_block(metric, scorer, good)
        yield ScoredBlock(good, segments, [row for row in block if isinstance(row, BadRow)])


def blocks(items: Iterable[Item], size: int = BLOCK_ROWS) -> Iterator[list[Item]]:
    """Split items into lists of `size`, the last one shorter."""
    stream = iter(items)
    while block := list(islice(stream, size)):
        yield block


def _score_block(metric: Metric, scorer: Scorer, block: list[Row]) -> list[Segment]:
    """Score rows one for one; those that lack something or break the scorer get an error instead of scores."""
    lacking = [metric.lacks(row) for row in block]
    complete = [row for row, reason in zip(block, lacking, strict=True) if reason is None]
    try:
        scored = iter(scorer.score(complete))
    except InputError:
        scored = (_score_alone(scorer, row) for row in complete)
    return [
        next(scored) if reason is None else Segment(row.id, {}, error=reason)
        for row, reason in zip(block, lacking, strict=True)
    ]


def _score_alone(scorer: Scorer, row: Row) -> Segment:
    try:
        return scorer.score([row])[0]
    except InputError as error:
        return Segment(row.id, {}, error=str(error))


class Stopped(BaseException):
    """Raised where a computation is cancelled; a BaseException, so that no error handler catches it."""


_stopped: ContextVar[Callable[[], bool] | None] = ContextVar("stopped", default=None)


@contextmanager
def stop_when(stopped: Callable[[], bool]) -> Iterator[None]:
    """Make `check_stopped` raise inside this block as soon as `stopped()` is true; for this thread only."""
    token = _stopped.set(stopped)
    try:
        yield
    finally:
        _stopped.reset(token)


def check_stopped() -> None:
    """Raise Stopped if the computation was cancelled."""
    stopped = _stopped.get()
    if stopped is not None and stopped():
        raise Stopped


def release_freed_memory() -> None:
    """Return freed memory to the system, which takes a few milliseconds; only glibc has and needs the call.

    glibc keeps freed memory in fragments: without this the resident size grows by some 10 MB per 10,000 rows.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
