"""A bounded pool of worker threads behind a bounded queue, with deadlines.

In: a function and a deadline. Out: its result, or an ApiError: 429 if the queue is full, 503 if the work was not
started in time, 504 if it was started and not finished. Work without a waiting client (too late, or disconnected) is
dropped if it was not started, else stopped at its next step. ONNX Runtime computes without the interpreter's lock,
so threads are enough, and one copy of each model serves all of them.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from evalign.core.scoring import Stopped, stop_when
from evalign.server.errors import ApiError

Work = Callable[[], bytes]
RECENT_SECONDS = 5.0


class ClientGone(Exception):  # noqa: N818 (no client is left to receive an error)
    """The client closed its connection before the answer."""


class PendingWork:
    """Work in the queue. The first to acquire `claim` decides: a worker starts it, or the server drops it."""

    def __init__(self, work: Work, answer: asyncio.Future[bytes]) -> None:
        self.work, self.answer = work, answer
        self.claim = Lock()
        self.unwanted = Event()
        self.seconds = 0.0


class WorkerPool:
    """A fixed number of daemon threads, so that unfinished work cannot keep the server from stopping."""

    def __init__(self, workers: int, queue: int, longest_retry: int) -> None:
        self.workers, self.queue, self.longest_retry = workers, queue, longest_retry
        self.unfinished = 0  # waiting or running; touched in the event loop only
        self._jobs: SimpleQueue[PendingWork | None] = SimpleQueue()
        self._mean_seconds = 0.05
        self._refused, self._last_refusal = 0.0, monotonic()  # counted over about the last RECENT_SECONDS
        self._threads = [Thread(target=self._serve, name=f"evalign-{n}", daemon=True) for n in range(workers)]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop each thread after its current work."""
        for _ in self._threads:
            self._jobs.put(None)

    @property
    def full(self) -> bool:
        """Return whether the next request must be refused."""
        return self.unfinished >= self.workers + self.queue

    def busy(self) -> ApiError:
        """Return the refusal (429), with the time until all waiting and recently refused requests could be done.

        If all clients tried again after a second, most would be refused again, which costs time.
        """
        now = monotonic()
        self._refused = 1 + self._refused * math.exp((self._last_refusal - now) / RECENT_SECONDS)
        self._last_refusal = now
        seconds = (self.unfinished + self._refused) * self._mean_seconds / self.workers
        retry_after = max(1, min(self.longest_retry, math.ceil(seconds)))
        return ApiError(429, "busy", "the server has too many requests; try again soon", retry_after)

    async def run(self, work: Work, deadline: float, gone: asyncio.Task[None]) -> bytes:
        """Return the result of `work`.

        Args:
            work: Function to run in a thread.
            deadline: Seconds until an ApiError is raised.
            gone: Task that ends when the client disconnects.
        """
        if self.full:
            raise self.busy()
        job = PendingWork(work, asyncio.get_running_loop().create_future())
        self.unfinished += 1
        self._jobs.put(job)
        try:
            ends: set[asyncio.Future[Any]] = {job.answer, gone}
            await asyncio.wait(ends, timeout=deadline, return_when=asyncio.FIRST_COMPLETED)
            if job.answer.done():
                return job.answer.result()
            if gone.done():
                raise ClientGone
            raise self._too_late(job, deadline)
        finally:
            self._abandon(job)

    def _too_late(self, job: PendingWork, deadline: float) -> ApiError:
        if job.claim.locked():
            return ApiError(504, "too-slow", f"this took longer than {deadline:g} seconds; send less at once")
        return ApiError(503, "not-begun", f"the server did not start this within {deadline:g} seconds", 5)

    def _abandon(self, job: PendingWork) -> None:
        if job.answer.done():
            return
        job.unwanted.set()
        job.answer.cancel()
        if job.claim.acquire(blocking=False):  # no worker has started it, and none will
            self.unfinished -= 1

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            if job.claim.acquire(blocking=False):
                began = monotonic()
                outcome = _outcome(job)
                job.seconds = monotonic() - began
                try:
                    job.answer.get_loop().call_soon_threadsafe(self._finish, job, outcome)
                except RuntimeError:  # the event loop is closed: the server has stopped
                    return
            del job

    def _finish(self, job: PendingWork, outcome: bytes | BaseException) -> None:
        self.unfinished -= 1
        self._mean_seconds = 0.9 * self._mean_seconds + 0.1 * job.seconds
        if job.answer.done():  # cancelled: too late, or the client is gone
            return
        if isinstance(outcome, bytes):
            job.answer.set_result(outcome)
        else:
            job.answer.set_exception(outcome)


def _outcome(job: PendingWork) -> bytes | BaseException:
    try:
        with stop_when(job.unwanted.is_set):
            return job.work()
    except Stopped:
        return ApiError(504, "too-slow", "this was stopped")
    except Exception as error:
        return error
