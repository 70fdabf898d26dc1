"""Tasks of a job on Ray: a Ray Data dataset with a row per task, mapped by a pool of actors with one model each.

Ray decides where a task runs, and starts an actor anew that dies. Actors that die of the same task again and again end
the job, and so does `patience` if nothing is finished. What is finished is decided by our manifest alone: a row of the
dataset is a whole shard, and Ray's own checkpoints are not used. Workers write into the job's folder, which all nodes
of a cluster must share.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalign.batch.engine import DEATHS, deadly
from evalign.batch.job import JOB
from evalign.batch.manifest import Entry
from evalign.batch.ray_cluster import Cluster
from evalign.batch.resources import cores, memory_limit, share
from evalign.batch.worker import SHARDS, Task, Work, Worker
from evalign.batch.writing import PART, add_byte
from evalign.encoders.loading import EMBEDDINGS, EMBEDDINGS_BYTES
from evalign.errors import InputError
from evalign.version import __version__

PATIENCE = 1800  # seconds; a shard of 8,192 rows at 5 rows a second
AGAIN = "the same command goes on from here"


@dataclass
class RayEngine:
    """Actors of `threads` CPUs and `gpus` GPUs each, up to `workers` (0: as many as fit) of them."""

    workers: int = 0
    threads: int = 1
    address: str | None = None  # of a running cluster; None: one of our own on this machine
    gpus: float = 0
    patience: float = PATIENCE  # seconds without a finished task
    memory: int = 0  # bytes of each actor; 0: an even share of its machine
    cluster: Cluster = field(init=False)

    def __post_init__(self) -> None:
        self.cluster = Cluster(self.address)

    def run(self, work: Work, tasks: Sequence[Task]) -> Generator[Entry]:
        """The entries of all tasks."""
        if not tasks:
            return
        data = self.cluster.start(cpus=self.threads * self.workers or cores())
        actors = min(len(tasks), self.workers or self.cluster.room(self.threads, self.gpus))
        data.DataContext.get_current().execution_no_progress_timeout_s = self.patience  # before a dataset copies it
        limits = Limits(self.threads, self.gpus, self.memory)
        dataset = data.from_items(list(range(len(tasks))), override_num_blocks=len(tasks)).map_batches(
            RayWorker,
            fn_constructor_args=(work, list(tasks), Driver.here(work.folder), limits),
            compute=data.ActorPoolStrategy(
                min_size=1, max_size=actors, initial_size=actors, max_tasks_in_flight_per_actor=1
            ),
            batch_size=1,
            batch_format="pyarrow",
            num_cpus=self.threads,
            num_gpus=self.gpus,
            memory=self.memory or None,
        )
        with closing(
            iter(dataset.iter_batches(batch_size=None, prefetch_batches=0, batch_format="pyarrow"))
        ) as batches:
            yield from self._answers(batches)

    def close(self) -> None:
        """Ends a cluster of our own, or leaves the other one."""
        self.cluster.stop()

    def _answers(self, batches: Any) -> Generator[Entry]:
        from ray.data.exceptions import ExecutionTimeoutError
        from ray.exceptions import RayError

        try:
            for batch in batches:
                for written in batch.column("answer").to_pylist():
                    answer = pickle.loads(written)
                    if isinstance(answer, BaseException):
                        raise answer
                    yield answer
        except ExecutionTimeoutError as error:
            raise InputError(
                f"Ray finished no shard in {self.patience:g} s: workers of {self.threads} CPUs and {self.gpus:g} GPUs "
                f"find no room ({self.cluster.described()}), they die (memory?), or a shard takes longer; give fewer "
                f"--threads, --gpus or --workers, or more --patience; {AGAIN}"
            ) from error
        except RayError as error:
            raise InputError(f"Ray lost its workers ({_first_line(error)}); {AGAIN}") from error


@dataclass(frozen=True)
class Driver:
    """What an actor, perhaps on another machine, must know of the process that runs the job."""

    version: str
    folder: Path
    digest: str  # of job.json, by which the folder is known
    environment: Mapping[str, str]

    @classmethod
    def here(cls, folder: Path) -> Driver:
        """This process."""
        environment = {name: os.environ[name] for name in (EMBEDDINGS, EMBEDDINGS_BYTES) if name in os.environ}
        return cls(__version__, folder, _job_digest(folder), environment)

    def problem(self) -> str | None:
        """What keeps the machine where this is called from working for the job."""
        host = socket.gethostname()
        if self.version != __version__:
            return f"{host} has evalign {__version__}, this job is made with {self.version}: install it on every node"
        if self.digest != _job_digest(self.folder):
            return f"{self.folder} on {host} is not the job's folder: give --out a folder that all nodes share"
        return None


@dataclass(frozen=True)
class Limits:
    """What an actor may use of its node."""

    threads: int
    gpus: float
    memory: int

    def bytes_here(self) -> int:
        """Memory in bytes, on the node where this is called; 0: no limit, as for GPUs, whose drivers map much."""
        import ray

        if self.memory or self.gpus:
            return self.memory
        here = ray.get_runtime_context().get_node_id()
        (cpus,) = (node["Resources"].get("CPU", 1) for node in ray.nodes() if node["NodeID"] == here)
        return share(max(1, int(cpus // self.threads)))


class RayWorker:
    """The life of an actor: numbers of tasks in, pickled entries or errors out."""

    def __init__(self, work: Work, tasks: Sequence[Task], driver: Driver, limits: Limits) -> None:
        os.environ.update(driver.environment)
        self._tasks, self._problem, self._worker = tasks, driver.problem(), Worker(work)
        self._memory = limits.bytes_here()

    def __call__(self, batch: Any) -> Any:
        """A table with one answer for a table with one number."""
        import pyarrow

        (number,) = batch.column("item").to_pylist()
        try:
            if self._problem is not None:
                raise InputError(self._problem)
            answer: Entry | Exception = self._run(self._tasks[number])
        except Exception as error:
            answer = error
        return pyarrow.table({"answer": [pickle.dumps(answer)]})

    def _run(self, task: Task) -> Entry:
        """Ray gives the task of an actor that died to another one, which would die of it too, and so on for ever."""
        attempts = self._worker.work.folder / SHARDS / f".{task.step}-{task.shard.number:06}{PART}"
        if add_byte(attempts) > DEATHS:
            raise deadly(task)
        with memory_limit(self._memory):
            entry = self._worker.run(task)
        attempts.unlink(missing_ok=True)
        return entry


def _job_digest(folder: Path) -> str:
    try:
        return hashlib.sha256((folder / JOB).read_bytes()).hexdigest()
    except OSError:
        return ""


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
