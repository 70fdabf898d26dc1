"""Run the tasks of a job in this process, or in worker processes of this machine with one pipe each.

The task of a worker that dies, or is silent for too long, is repeated by a new worker.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Protocol

from evalign.batch.job import ManifestLine, Work
from evalign.batch.shards import Task, Worker
from evalign.errors import InputError

LOGGER = logging.getLogger(__name__)
PATIENCE = 1800.0  # seconds; a shard of 8,192 rows at 5 rows a second


@dataclass(frozen=True)
class LocalEngine:
    """Up to `workers` processes of this machine, with `memory` bytes each (0: an even share of the machine).

    A worker that scores no block in `patience` seconds is replaced. One worker, or one task, needs no process.
    """

    workers: int = 1
    memory: int = 0
    patience: float = PATIENCE

    def run(self, work: Work, tasks: Sequence[Task]) -> Generator[ManifestLine]:
        """Yield the manifest lines of all tasks."""
        count = min(self.workers, len(tasks))
        return self._here(work, tasks) if count < 2 else self._in_processes(work, tasks, count)

    def close(self) -> None:
        """Do nothing: no process outlives a run."""

    def _here(self, work: Work, tasks: Sequence[Task]) -> Generator[ManifestLine]:
        with closing(Worker(work)) as worker:
            for task in tasks:
                with memory_limit(self.memory or share(1)):
                    entry = worker.run(task)
                yield entry

    def _in_processes(self, work: Work, tasks: Sequence[Task], count: int) -> Generator[ManifestLine]:
        memory = self.memory or share(count)
        waiting, busy, losses = deque(tasks), dict[Connection, _Busy](), Counter[int]()
        free: list[_Process] = []
        try:
            free += [_Process.start(work, memory) for _ in range(count)]
            while waiting or busy:
                while waiting and free:
                    _give(free.pop(), waiting.popleft(), busy)
                for worker, answer in _answers(busy, self.patience):
                    if isinstance(answer, _Lost):
                        worker.process.stop()
                        LOGGER.warning("%s: a worker was lost %s; another one takes over", worker.task.shard,
                                       answer.described(worker.process))  # fmt: skip
                        losses[worker.task.shard.number] += 1
                        if losses[worker.task.shard.number] == DEATHS:
                            raise deadly(worker.task, f" (the last {answer.described(worker.process)})")
                        waiting.appendleft(worker.task)
                        free.append(_Process.start(work, memory))
                        continue
                    free.append(worker.process)
                    if isinstance(answer, BaseException):
                        raise answer
                    yield answer
        finally:
            for process in [*free, *(worker.process for worker in busy.values())]:
                process.stop()


@dataclass(frozen=True)
class _Process:
    """A worker process and this end of its pipe."""

    process: SpawnProcess
    pipe: Connection

    @classmethod
    def start(cls, work: Work, memory: int) -> _Process:
        context = get_context("spawn")
        pipe, worker_end = context.Pipe()
        process = context.Process(target=_serve, args=(work, memory, worker_end), daemon=True)
        with _interrupts_held_back():
            process.start()
        worker_end.close()
        return cls(process, pipe)

    def stop(self) -> None:
        """End the process; one that is stopped, or waits for a dead disk, is killed, and not waited for."""
        self.process.terminate()
        self.process.join(END_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join(END_SECONDS)
        self.pipe.close()


@dataclass
class _Busy:
    """A worker process, its task, and the seconds since it was heard of."""

    process: _Process
    task: Task
    silence: float = 0.0


class _Lost(Enum):
    """Why a worker gives no answer."""

    DEAD = "with exit code {}"
    SILENT = "without a sign of life"

    def described(self, process: _Process) -> str:
        return self.value.format(process.process.exitcode)


def _give(process: _Process, task: Task, busy: dict[Connection, _Busy]) -> None:
    with suppress(OSError):  # a worker that is gone is noticed when its answer is awaited
        process.pipe.send(task)
    busy[process.pipe] = _Busy(process, task)


def _answers(
    busy: dict[Connection, _Busy], patience: float
) -> Iterator[tuple[_Busy, ManifestLine | BaseException | _Lost]]:
    """Remove from `busy` and yield the workers that answered, died, or were silent for longer than `patience`."""
    began, interval = time.monotonic(), min(MAX_WAIT_SECONDS, patience / 10)
    for pipe in connection.wait(list(busy), interval):
        answer = _answer(busy[pipe].process)  # type: ignore[index]
        if answer == BLOCK_DONE:
            busy[pipe].silence = 0.0  # type: ignore[index]
        else:
            yield busy.pop(pipe), answer  # type: ignore[call-overload]
    # At most one interval, whatever the clock says: this process may have been stopped together with its workers.
    waited = min(time.monotonic() - began, interval)
    for worker in busy.values():
        worker.silence += waited
    for pipe in [pipe for pipe, worker in busy.items() if worker.silence > patience]:
        yield busy.pop(pipe), _Lost.SILENT


def _answer(process: _Process) -> Any:
    try:
        return process.pipe.recv()
    except (EOFError, OSError):
        return _Lost.DEAD


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Block Ctrl-C while a process is started, so that only this process ever receives it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(work: Work, memory: int, pipe: Connection) -> None:
    """Serve a worker process: tasks in, manifest lines or errors out, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    worker = Worker(work, lambda: pipe.send(BLOCK_DONE))
    with memory_limit(memory), suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            task = pipe.recv()
            try:
                answer: ManifestLine | Exception = worker.run(task)
            except Exception as error:
                answer = error
            pipe.send(answer)


DEATHS = 3  # workers that may be lost at the same task
MAX_WAIT_SECONDS = 5.0  # between two looks at silent workers
END_SECONDS = 5.0  # for a worker that is asked to end
BLOCK_DONE = "block done"  # what a worker sends after each block


class Engine(Protocol):
    """Runner of tasks: each manifest line is yielded once, in any order; the error of a task is raised."""

    def run(self, work: Work, tasks: Sequence[Task]) -> Generator[ManifestLine]:
        """Yield the manifest lines of all tasks; closing the generator ends the work at once."""
        ...

    def close(self) -> None:
        """Release the resources that the runs of a job share."""
        ...


def deadly(task: Task, details: str = "") -> InputError:
    """Return the error of a task of which `DEATHS` workers died."""
    return InputError(
        f"{task.shard}: {DEATHS} workers were lost at them{details}; perhaps memory ran out, or a text there breaks a "
        "library; run the same command with fewer `workers` or more `memory`, or score those rows alone: it resumes"
    )


MEMORY_SHARE = 0.8  # of the machine's memory, for all workers together
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
CGROUP_CORES = "/sys/fs/cgroup/cpu.max"


def cores() -> int:
    """Return the number of cores that this process may use: its affinity, limited by the container's quota."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no such file, or "max"
        quota, period = map(int, Path(CGROUP_CORES).read_text("ascii").split())
        usable = min(usable, quota // period)
    return max(1, usable)


def share(workers: int) -> int:
    """Return the bytes for each of `workers` of this machine or container; 0 where memory is unknown."""
    if sys.platform != "linux":
        return 0
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # no such file, or "max"
            total = min(total, int(Path(path).read_text("ascii")))
    return int(total * MEMORY_SHARE / workers)


@contextmanager
def memory_limit(memory: int) -> Iterator[None]:
    """Limit this process to `memory` bytes more than it has now; 0: no limit."""
    if not memory or sys.platform != "linux":
        yield
        return
    import resource

    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = [_allocated() + memory, *(limit for limit in (before, most) if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(allowed), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


def _allocated() -> int:
    """Return the bytes that count against the limit now."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmData:")) * 1024
