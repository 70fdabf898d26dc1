"""Tasks of a job on Ray: a Ray Data dataset with a row per task, mapped by a pool of actors with one model each.

Ray decides where a task runs, and restarts an actor that dies. Actors that die of the same task repeatedly end
the job, and so does `patience` if nothing is finished. What is finished is decided by our manifest alone: a row of the
dataset is a whole shard, and Ray's own checkpoints are not used. Workers write into the job's folder, which all nodes
of a cluster must reach: a shared disk, or a URL.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import socket
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from evalign.batch.job import JOB, SHARDS, ManifestLine, Work, content_changes, read_job
from evalign.batch.local_engine import DEATHS, PATIENCE, cores, deadly, memory_limit, share
from evalign.batch.shards import Task, Worker
from evalign.encoders.loading import EMBEDDINGS, EMBEDDINGS_BYTES
from evalign.errors import EvalignError, InputError, MissingExtraError, SpecError
from evalign.io.folders import Folder
from evalign.version import __version__

AGAIN = "the same command resumes"


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

    def run(self, work: Work, tasks: Sequence[Task]) -> Generator[ManifestLine]:
        """Yield the manifest lines of all tasks."""
        if not tasks:
            return
        data = self.cluster.start(cpus=self.threads * self.workers or cores())
        actors = min(len(tasks), self.workers or self.cluster.room(self.threads, self.gpus))
        data.DataContext.get_current().execution_no_progress_timeout_s = self.patience  # before a dataset copies it
        limits = WorkerLimits(self.threads, self.gpus, self.memory)
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
        """Shut down a cluster that was started here, or leave the cluster at the address."""
        self.cluster.stop()

    def _answers(self, batches: Any) -> Generator[ManifestLine]:
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
                f"`threads`, `gpus` or `workers`, or more `patience`; {AGAIN}"
            ) from error
        except RayError as error:
            raise InputError(f"Ray lost its workers ({_first_line(error)}); {AGAIN}") from error


@dataclass(frozen=True)
class Driver:
    """The process that runs the job, as an actor, perhaps on another machine, needs to know it."""

    version: str
    folder: Folder
    digest: str  # of job.json, which identifies the folder
    environment: Mapping[str, str]

    @classmethod
    def here(cls, folder: Folder) -> Driver:
        """Describe this process."""
        environment = {name: os.environ[name] for name in (EMBEDDINGS, EMBEDDINGS_BYTES) if name in os.environ}
        return cls(__version__, folder, _job_digest(folder), environment)

    def problem(self, work: Work) -> str | None:
        """Return the reason why the machine where this is called cannot work for the job, or None."""
        host = socket.gethostname()
        if self.version != __version__:
            return f"{host} has evalign {__version__}, this job is made with {self.version}: install it on every node"
        if self.digest != _job_digest(self.folder):
            return f"{self.folder} on {host} is not the job's folder: give `output` a folder that all nodes share"
        try:
            changes = self.changes(work)
        except EvalignError as error:
            return f"{host}: {error}"
        if changes and not work.accept_changes:
            return (
                f"{host} differs from the machine that started the job: {changes[0]}, which may change scores; make "
                "the nodes alike, or accept mixed scores with `accept_changes`"
            )
        return None

    def changes(self, work: Work) -> list[str]:
        """Return what decides scores and differs between the job and the machine where this is called."""
        return content_changes(read_job(self.folder), work.content())


@dataclass(frozen=True)
class WorkerLimits:
    """Resources of its node that an actor may use."""

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
    """An actor: numbers of tasks in, pickled manifest lines or errors out."""

    def __init__(self, work: Work, tasks: Sequence[Task], driver: Driver, limits: WorkerLimits) -> None:
        os.environ.update(driver.environment)
        self._tasks, self._problem, self._worker = tasks, driver.problem(work), Worker(work)
        changes = driver.changes(work) if work.accept_changes and self._problem is None else []
        self._notes = tuple(f"a node differs (accepted): {change}" for change in changes)
        self._memory = limits.bytes_here()

    def __call__(self, batch: Any) -> Any:
        """A table with one answer for a table with one number."""
        import pyarrow

        (number,) = batch.column("item").to_pylist()
        try:
            if self._problem is not None:
                raise InputError(self._problem)
            answer: ManifestLine | Exception = self._run(self._tasks[number])
        except Exception as error:
            answer = error
        return pyarrow.table({"answer": [pickle.dumps(answer)]})

    def _run(self, task: Task) -> ManifestLine:
        """Run a task, unless several actors died of it: Ray would pass it from actor to actor for ever."""
        folder, name = self._worker.work.folder, f"{SHARDS}/{task.step}-{task.shard.number:06}"
        if folder.count_attempt(name) > DEATHS:
            raise deadly(task)
        with memory_limit(self._memory):
            entry = self._worker.run(task)
        folder.forget_attempts(name)
        return replace(entry, notes=(*entry.notes, *self._notes))


def _job_digest(folder: Folder) -> str:
    try:
        return hashlib.sha256(folder.read(JOB)).hexdigest()
    except OSError:
        return ""


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


OBJECT_STORE_BYTES = 100 * 2**20  # Ray refuses less than 75 MiB
SPARE_CPUS = 1  # Ray Data may need one for itself; without it a job can wait for ever
CONNECT_SECONDS = 10
QUIET_ENVIRONMENT = {  # environment variables of Ray, unless the user has set them
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # no line of a worker or of Ray itself among our results
    "RAY_gcs_server_port_wait_time_s": "1",
}


class Cluster:
    """Ray on this machine or at an address; started when it is first needed. One that runs already is left running."""

    def __init__(self, address: str | None) -> None:
        self.address = address
        self._started = False

    def start(self, cpus: int) -> Any:
        """Connect to the cluster, or start one with `cpus` and spare CPUs; return the module `ray.data`."""
        ray = _ray()
        if not ray.is_initialized():
            if self.address is None:
                _init(
                    ray,
                    address="local",
                    num_cpus=cpus + SPARE_CPUS,
                    object_store_memory=OBJECT_STORE_BYTES,
                    include_dashboard=False,
                )
            else:
                _check_answers(self.address)
                _join(ray, self.address)
            self._started = True
        return _quiet_data()

    def room(self, cpus: int, gpus: float) -> int:
        """Return the number of actors of that size that fit without the spare CPUs; at least 1: a cluster may grow."""
        have = _ray().cluster_resources()
        fitting = int((have.get("CPU", 0) - SPARE_CPUS) // cpus)
        return max(1, min(fitting, int(have.get("GPU", 0) // gpus)) if gpus else fitting)

    def described(self) -> str:
        """Describe the free and the total resources, for a message."""
        have, free = _ray().cluster_resources(), _ray().available_resources()
        return ", ".join(f"{free.get(name, 0):g} of {have.get(name, 0):g} {name}s are free" for name in ("CPU", "GPU"))

    def stop(self) -> None:
        """Shut down or leave the cluster that `start` started or joined."""
        if self._started:
            _ray().shutdown()
            self._started = False


def _ray() -> Any:
    for name, value in QUIET_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtraError("`engine=ray`", "ray") from error
    return ray


def _quiet_data() -> Any:
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.CRITICAL + 1)
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray.data


def _init(ray: Any, **options: Any) -> None:
    """ray.init without the lines that its native part writes to the terminal; what matters comes as an exception."""
    terminal, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        ray.init(log_to_driver=False, logging_level=logging.CRITICAL, **options)
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(nowhere)


def _join(ray: Any, address: str) -> None:
    try:
        _init(ray, address=address)
    except RuntimeError as error:
        if "mismatch" not in str(error):
            raise InputError(f"`address={address}`: Ray refuses the connection ({_flat(error)})") from error
        raise InputError(
            f"`address={address}`: the cluster and this machine must have the same versions of Ray and Python "
            f"({_flat(error)}); install those of the cluster here and run the same command"
        ) from error
    except (ConnectionError, ValueError, TimeoutError) as error:
        raise InputError(
            f"`address={address}`: no Ray cluster is reached there ({_flat(error)}); start one (ray start --head), "
            "or leave out `address`; the same command goes on"
        ) from error


def _check_answers(address: str) -> None:
    """Raise within seconds if nothing listens at the address: Ray would wait for minutes."""
    if address == "auto":
        return
    host, colon, port = address.rpartition(":")
    if "://" in address or not colon or not port.isdecimal():
        raise SpecError(
            f"`address={address}`: expected HOST:PORT of the head node, as in 10.0.0.1:6379, or 'auto'; from outside "
            "the cluster, hand in the command with 'ray job submit'"
        )
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"`address={address}`: nothing answers there ({error}); is the cluster up (ray status), and the port right "
            "(6379 unless told)? The same command goes on"
        ) from error


def _flat(error: Exception) -> str:
    return " ".join(str(error).split())
