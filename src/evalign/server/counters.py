"""Counts of answered requests, and /metrics: they and the state of the server in Prometheus' text format.

Requests are counted by route, never by path, so that made-up paths do not add lines.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from evalign.version import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKET_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
NO_ROUTE = "none"  # of requests that were refused before a route was found
Lines = Iterator[str]


class Counters:
    """Counts of this process; touched in the event loop only."""

    def __init__(self) -> None:
        self.connections = 0  # open now
        self._answers: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._started = time.time()

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._answers[route, status] += 1
        self._buckets.setdefault(route, [0] * (len(BUCKET_SECONDS) + 1))[bisect_left(BUCKET_SECONDS, seconds)] += 1
        self._seconds[route] += seconds

    def text(self, state: Mapping[str, tuple[str, float]]) -> str:
        """Return the document; `state` has further gauges: a description and a value by name."""
        lines = [*self._requests(), *self._durations(), *self._process()]
        for name, (about, value) in state.items():
            lines += gauge(f"evalign_{name}", about, value)
        return "\n".join(lines) + "\n"

    def _requests(self) -> Lines:
        yield from _head("evalign_requests_total", "counter", "Answered requests by route and status.")
        for (route, status), count in sorted(self._answers.items()):
            yield f'evalign_requests_total{{route="{_label(route)}",status="{status}"}} {count}'

    def _durations(self) -> Lines:
        name = "evalign_request_seconds"
        yield from _head(name, "histogram", "Seconds from the head of a request to the end of its answer.")
        for route, counts in sorted(self._buckets.items()):
            label, total = f'route="{_label(route)}"', 0
            for bound, count in zip((*map(str, BUCKET_SECONDS), "+Inf"), counts, strict=True):
                total += count
                yield f'{name}_bucket{{{label},le="{bound}"}} {total}'
            yield f"{name}_sum{{{label}}} {self._seconds[route]:.6f}"
            yield f"{name}_count{{{label}}} {total}"

    def _process(self) -> Lines:
        yield from _head("evalign_build_info", "gauge", "The version of evalign.")
        yield f'evalign_build_info{{version="{_label(__version__)}"}} 1'
        yield from gauge("evalign_connections", "Open connections.", self.connections)
        yield from gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.", self._started)
        yield from _head("process_cpu_seconds_total", "counter", "Processor time of the process.")
        yield f"process_cpu_seconds_total {time.process_time():.2f}"
        if (resident := _resident_bytes()) is not None:
            yield from gauge("process_resident_memory_bytes", "Resident memory of the process.", resident)


def gauge(name: str, about: str, value: float) -> Lines:
    """Yield the lines of one number that goes up and down."""
    yield from _head(name, "gauge", about)
    yield f"{name} {value:.16g}"


def _head(name: str, kind: str, about: str) -> Lines:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"


def _label(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _resident_bytes() -> int | None:
    """Return the memory of the process where the system tells it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
