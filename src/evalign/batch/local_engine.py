"""Tasks of a job in this process, or in worker processes of this machine, each with a pipe of its own.

A worker that dies gives its task back, and another one is started in its place.
"""

from __future__ import annotations

import signal
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from evalign.batch.engine import DEATHS, deadly
from evalign.batch.manifest import Entry
from evalign.batch.resources import memory_limit, share
from evalign.batch.worker import Task, Work, Worker


@dataclass(frozen=True)
class LocalEngine:
    """Up to `workers` processes of this machine, with `memory` bytes each (0: an even share of the machine).

    With one worker, or one task, no process is started.
    """

    workers: int = 1
    memory: int = 0

    def run(self, work: Work, tasks: Sequence[Task]) -> Generator[Entry]:
        """The entries of all tasks."""
        count = min(self.workers, len(tasks))
        return self._here(work, tasks) if count < 2 else self._in_processes(work, tasks, count)

    def close(self) -> None:
        """Nothing outlives a run."""

    def _here(self, work: Work, tasks: Sequence[Task]) -> Generator[Entry]:
        with closing(Worker(work)) as worker:
            for task in tasks:
                with memory_limit(self.memory or share(1)):
                    entry = worker.run(task)
                yield entry

    def _in_processes(self, work: Work, tasks: Sequence[Task], count: int) -> Generator[Entry]:
        memory = self.memory or share(count)
        waiting, busy, deaths = deque(tasks), dict[Connection, tuple[_Process, Task]](), Counter[int]()
        free: list[_Process] = []
        try:
            free += [_Process.start(work, memory) for _ in range(count)]
            while waiting or busy:
                while waiting and free:
                    _give(free.pop(), waiting.popleft(), busy)
                for pipe in connection.wait(list(busy)):
                    process, task = busy.pop(pipe)  # type: ignore[call-overload]
                    answer = _answer(process)
                    if answer is None:
                        process.stop()
                        deaths[task.shard.number] += 1
                        if deaths[task.shard.number] == DEATHS:
                            raise deadly(task, f" (the last with exit code {process.process.exitcode})")
                        waiting.appendleft(task)
                        free.append(_Process.start(work, memory))
                        continue
                    free.append(process)
                    if isinstance(answer, BaseException):
                        raise answer
                    yield answer
        finally:
            for process in [*free, *(process for process, _ in busy.values())]:
                process.stop()


@dataclass(frozen=True)
class _Process:
    """A worker process and our end of its pipe."""

    process: SpawnProcess
    pipe: Connection

    @classmethod
    def start(cls, work: Work, memory: int) -> _Process:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(work, memory, theirs), daemon=True)
        with _interrupts_held_back():
            process.start()
        theirs.close()
        return cls(process, ours)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


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


def _serve(work: Work, memory: int, pipe: Connection) -> None:
    """The life of a worker process: tasks in, entries or errors out, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    worker = Worker(work)
    with memory_limit(memory), suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            task = pipe.recv()
            try:
                answer: Entry | Exception = worker.run(task)
            except Exception as error:
                answer = error
            pipe.send(answer)
