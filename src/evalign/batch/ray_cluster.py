"""The Ray cluster of a job: a running one that is joined, or a small one that is started here and ended with the job.

Ray is told to be modest and quiet: a small object store (only numbers and manifest entries go through it), no
dashboard, no usage statistics, no lines of its own on the terminal.
"""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

from evalign.errors import InputError, MissingExtraError, SpecError

OBJECT_STORE_BYTES = 100 * 2**20  # Ray refuses less than 75 MiB
SPARE_CPUS = 1  # Ray Data may need one for itself; without it a job can wait for ever
CONNECT_SECONDS = 10
MODEST = {  # environment variables of Ray, unless the user has set them
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
        """Connects to the cluster, or starts one with so many CPUs and spare ones; gives the module `ray.data`."""
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
        """How many actors of that size fit, beside the spare CPUs; at least one, for which a cluster may grow."""
        have = _ray().cluster_resources()
        fitting = int((have.get("CPU", 0) - SPARE_CPUS) // cpus)
        return max(1, min(fitting, int(have.get("GPU", 0) // gpus)) if gpus else fitting)

    def described(self) -> str:
        """What is free of what there is, for a message."""
        have, free = _ray().cluster_resources(), _ray().available_resources()
        return ", ".join(f"{free.get(name, 0):g} of {have.get(name, 0):g} {name}s are free" for name in ("CPU", "GPU"))

    def stop(self) -> None:
        """Ends what `start` started."""
        if self._started:
            _ray().shutdown()
            self._started = False


def _ray() -> Any:
    for name, value in MODEST.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtraError("--engine ray", "ray") from error
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
            raise InputError(f"--address {address}: Ray refuses the connection ({_flat(error)})") from error
        raise InputError(
            f"--address {address}: the cluster and this machine must have the same versions of Ray and Python "
            f"({_flat(error)}); install those of the cluster here and run the same command"
        ) from error
    except (ConnectionError, ValueError, TimeoutError) as error:
        raise InputError(
            f"--address {address}: no Ray cluster is reached there ({_flat(error)}); start one (ray start --head), "
            "or leave out --address; the same command goes on"
        ) from error


def _check_answers(address: str) -> None:
    """Ray waits for minutes where nobody listens; this waits for seconds."""
    if address == "auto":
        return
    host, colon, port = address.rpartition(":")
    if "://" in address or not colon or not port.isdecimal():
        raise SpecError(
            f"--address {address}: expected HOST:PORT of the head node, as in 10.0.0.1:6379, or 'auto'; from outside "
            "the cluster, hand in the command with 'ray job submit'"
        )
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"--address {address}: nothing answers there ({error}); is the cluster up (ray status), and the port right "
            "(6379 unless told)? The same command goes on"
        ) from error


def _flat(error: Exception) -> str:
    return " ".join(str(error).split())
