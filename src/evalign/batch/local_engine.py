"""Tasks of a job in this process, or in worker processes of this machine, each with a pipe of its own.

A worker that dies gives its task back, and another one is started in its place.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from evalign.batch.manifest import Entry
from evalign.batch.worker import Task, Work, Worker
from evalign.errors import InputError

DEATHS = 3  # workers that may die one after the other without a finished task between them


@dataclass(frozen=True)
class LocalEngine:
    """Up to `workers` processes of this machine; with one, or one task, no process is started."""

    workers: int = 1

    def run(self, work: Work, tasks: Sequence[Task]) -> Generator[Entry]:
        """The entries of all tasks."""
        count = min(self.workers, len(tasks))
        return _here(work, tasks) if count < 2 else _in_processes(work, tasks, count)

    def close(self) -> None:
        """Nothing outlives a run."""


def _here(work: Work, tasks: Sequence[Task]) -> Generator[Entry]:
    worker = Worker(work)
    try:
        yield from map(worker.run, tasks)
    finally:
        worker.close()


@dataclass(frozen=True)
class _Process:
    """A worker process and our end of its pipe."""

    process: SpawnProcess
    pipe: Connection

    @classmethod
    def start(cls, work: Work) -> _Process:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        with _interrupts_held_back():
            process.start()
        theirs.close()
        return cls(process, ours)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def _in_processes(work: Work, tasks: Sequence[Task], count: int) -> Generator[Entry]:
    waiting, busy, deaths = deque(tasks), dict[Connection, tuple[_Process, Task]](), 0
    free: list[_Process] = []
    try:
        free += [_Process.start(work) for _ in range(count)]
        while waiting or busy:
            while waiting and free:
                _give(free.pop(), waiting.popleft(), busy)
            for pipe in connection.wait(list(busy)):
                process, task = busy.pop(pipe)  # type: ignore[call-overload]
                answer = _answer(process)
                if answer is None:
                    deaths += 1
                    _check_alive(deaths, process, task)
                    process.stop()
                    waiting.appendleft(task)
                    free.append(_Process.start(work))
                    continue
                deaths = 0
                free.append(process)
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
    finally:
        for process in [*free, *(process for process, _ in busy.values())]:
            process.stop()


def _give(process: _Process, task: Task, busy: dict[Connection, tuple[_Process, Task]]) -> None:
    with suppress(OSError):  # a worker that is gone is noticed when its answer is awaited
        process.pipe.send(task)
    busy[process.pipe] = process, task


def _answer(process: _Process) -> Entry | BaseException | None:
    try:
        answer: Any = process.pipe.recv()
    except (EOFError, OSError):
        return None
    return answer  # type: ignore[no-any-return]


def _check_alive(deaths: int, process: _Process, task: Task) -> None:
    if deaths < DEATHS:
        return
    process.process.join()
    raise InputError(
        f"{deaths} worker processes in a row ended by themselves (the last with {process.process.exitcode}) on rows "
        f"{task.shard.first + 1} to {task.shard.first + task.shard.rows} of {task.shard.path}: perhaps memory ran out; "
        "run the same command with fewer --workers: it goes on from here"
    )


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A process that is started here never hears Ctrl-C, not even before its first line; this one does afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(work: Work, pipe: Connection) -> None:
    """The life of a worker process: tasks in, entries or errors out, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    worker = Worker(work)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            task = pipe.recv()
            try:
                answer: Entry | Exception = worker.run(task)
            except Exception as error:
                answer = error
            pipe.send(answer)
