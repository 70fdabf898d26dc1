"""What workers may take of the machine, or of the container they are in: cores, and memory as an even share.

What needs more memory raises MemoryError: without a limit, a shard that is too large would make the system swap, or end
any of its programs. Linux only: elsewhere the data limit does not count what libraries allocate.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PART = 0.8  # of the machine's memory, for all workers together
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
CGROUP_CORES = "/sys/fs/cgroup/cpu.max"


def cores() -> int:
    """Cores that this process may use: those it is tied to, and no more than its container's quota."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no such file, or "max"
        quota, period = map(int, Path(CGROUP_CORES).read_text("ascii").split())
        usable = min(usable, quota // period)
    return max(1, usable)


def share(workers: int) -> int:
    """Bytes for each of so many workers of this machine, or of this container; 0 where that is not known."""
    if sys.platform != "linux":
        return 0
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # no such file, or "max"
            total = min(total, int(Path(path).read_text("ascii")))
    return int(total * PART / workers)


@contextmanager
def memory_limit(memory: int) -> Iterator[None]:
    """Lets this process allocate so many bytes more than it has now; 0: as many as there are."""
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
    """Bytes that count against the limit now."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmData:")) * 1024
