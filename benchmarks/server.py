"""`evalign serve` on loopback: its capacity, its answers under ten times too many clients, its memory, its latency.

    python benchmarks/server.py [--seconds 120] [--clients 200] [--matchings all]

The server is a process of its own, this one only asks: pairs of 20 tokens, all distinct. Capacity is what few clients
in a closed loop get answered; overload is `--clients` clients for `--seconds`, each waiting as Retry-After says when it
is turned away. Machines change their speed: overload comes in slices, each compared with the capacity around it. At the
end, eight clients send bodies of a million chunks (chunk_clients.py).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from chunk_clients import attack, print_figures, resident_mb

WORDS = re.findall(
    r"\w+",
    "time people year way day man thing woman life child world school state family student group country problem hand "
    "part place case week company system program question work government number night point home water room mother "
    "area money story fact month lot right study book eye job word business issue side kind head house service friend",
)
CONTENT_TOKENS = 18  # two special tokens make it 20
CAPACITY_SHARE, MEMORY_SHARE, P95_SECONDS = 0.9, 0.1, 1.0


@dataclass
class Tally:
    """What came back, and when; tallies add up."""

    statuses: Counter[int] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    broken: int = 0  # connections that were kept open, and closed by the server
    seconds: float = 0.0
    cpu: float = 0.0  # seconds of processor that the server took

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.statuses + other.statuses,
            self.latencies + other.latencies,
            self.broken + other.broken,
            self.seconds + other.seconds,
            self.cpu + other.cpu,
        )

    @property
    def cpu_per_answer(self) -> float:
        return self.cpu / max(1, self.statuses[200])

    @property
    def rate(self) -> float:
        return self.statuses[200] / self.seconds

    @property
    def p95(self) -> float:
        return float(np.quantile(self.latencies, 0.95)) if self.latencies else float("nan")


class Client:
    """One keep-alive connection; speaks just enough HTTP to cost next to nothing."""

    def __init__(self, port: int, matchings: str, seed: int) -> None:
        self.port, self.matchings, self.draw = port, matchings, random.Random(seed)
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, tally: Tally) -> int:
        """One pair; the seconds to wait before the next, 0 unless turned away."""
        body = json.dumps({"candidate": self._text(), "reference": self._text(), "matchings": self.matchings}).encode()
        head = "POST /api/align HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        began = time.monotonic()
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        try:
            writer.write(f"{head}{len(body)}\r\n\r\n".encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            await reader.readexactly(int(re.search(r"content-length: (\d+)", answer)[1]))
        except (asyncio.IncompleteReadError, ConnectionError):
            tally.broken += 1
            self.close()
            return 0
        status = int(answer.split()[1])
        tally.statuses[status] += 1
        if status == 200:
            tally.latencies.append(time.monotonic() - began)
        waits = re.search(r"retry-after: (\d+)", answer)
        return int(waits[1]) if waits else 0

    def close(self) -> None:
        if self.streams:
            self.streams[1].close()
        self.streams = None

    def _text(self) -> str:
        return " ".join(self.draw.choices(WORDS, k=CONTENT_TOKENS))


async def closed_loop(clients: list[Client], seconds: float, watch: Callable[[], None] = lambda: None) -> Tally:
    """Every client asks again as soon as it has its answer, or when it was told to come back."""
    tally, end = Tally(), time.monotonic() + seconds
    began = time.monotonic()

    async def run(client: Client) -> None:
        while time.monotonic() < end:
            wait = await client.ask(tally)
            if wait:
                await asyncio.sleep(min(wait * client.draw.uniform(0.8, 1.2), max(0, end - time.monotonic())))

    async def look() -> None:
        while True:
            watch()
            await asyncio.sleep(1)

    looking = asyncio.create_task(look())
    await asyncio.gather(*map(run, clients))
    looking.cancel()
    tally.seconds = time.monotonic() - began
    return tally


async def open_loop(clients: list[Client], rate: float, seconds: float) -> Tally:
    """Requests at a fixed rate, whatever the answers take; each waits for a connection that is free."""
    tally, free = Tally(), asyncio.Queue()
    for client in clients:
        free.put_nowait(client)

    async def one() -> None:
        began = time.monotonic()
        client = await free.get()
        waited = time.monotonic() - began
        await client.ask(tally)
        tally.latencies[-1:] = [tally.latencies[-1] + waited] if tally.latencies else []
        free.put_nowait(client)

    tasks, began = [], time.monotonic()
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0, began + number / rate - time.monotonic()))
        tasks.append(asyncio.create_task(one()))
    await asyncio.gather(*tasks)
    tally.seconds = time.monotonic() - began
    return tally


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def counted(pid: int, phase: Awaitable[Tally]) -> Tally:
    """A phase, and the processor time of the server in it: a measure that other people's programs do not disturb."""
    before = cpu_seconds(pid)
    tally = await phase
    tally.cpu = cpu_seconds(pid) - before
    return tally


async def measure(port: int, pid: int, options: argparse.Namespace) -> list[tuple[str, str, bool | None]]:
    """(what, figure, whether it is as promised) in order."""
    many = [Client(port, options.matchings, seed) for seed in range(options.clients)]
    few = many[: options.few]
    await closed_loop(few, options.warm)
    below = [await counted(pid, closed_loop(few, options.measure))]
    half = await open_loop(many[:64], below[0].rate / 2, options.measure)
    memory: list[tuple[float, float]] = []
    start = time.monotonic()
    sample = lambda: memory.append((time.monotonic() - start, resident_mb(pid)))  # noqa: E731
    above = []
    for _ in range(options.slices):
        for client in many:
            client.close()  # most of them were idle since the slice before
        above.append(await counted(pid, closed_loop(many, options.seconds / options.slices, sample)))
        below.append(await counted(pid, closed_loop(few, options.measure)))
    for client in many:
        client.close()
    capacities = [(before.rate + after.rate) / 2 for before, after in pairwise(below)]
    shares = sorted(one.rate / capacity for one, capacity in zip(above, capacities, strict=True))
    share = float(np.median(shares))
    under, over = sum(below, Tally()), sum(above, Tally())
    settled = [size for at, size in memory if at >= options.seconds / 6]
    growth = max(abs(size / settled[0] - 1) for size in settled)
    others = {status: count for status, count in over.statuses.items() if status not in (200, 429)}
    all_fine = all(set(one.statuses) == {200} for one in (*below, half))
    rates, cpu = ", ".join(f"{one.rate:.1f}" for one in below), (under.cpu_per_answer, over.cpu_per_answer)
    return [
        ("capacity before and after each slice", f"{rates} per second", None),
        (f"p95 at half capacity ({half.rate:.1f} per second)", f"{half.p95:.3f} s", half.p95 < P95_SECONDS),
        ("nothing but 200 below capacity", str(all_fine), all_fine),
        (
            f"{options.clients} clients: answered 200",
            ", ".join(f"{one.rate:.1f}" for one in above) + " per second",
            None,
        ),
        (
            "  of the capacity around it, median",
            f"{share:.0%} ({shares[0]:.0%} to {shares[-1]:.0%})",
            share >= CAPACITY_SHARE,
        ),
        ("  processor per answer, below and above", ", ".join(f"{1000 * one:.1f}" for one in cpu) + " ms", None),
        ("  answered 429", f"{over.statuses[429]:,}", None),
        ("  answered anything else", str(others or 0), not others),
        ("  connections that broke", str(over.broken), not over.broken),
        ("  p95 of the 200s", f"{over.p95:.3f} s", None),
        ("memory after warm-up, at most", f"{settled[0]:.0f}, {max(settled):.0f} MB", growth <= MEMORY_SHARE),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="of overload")
    parser.add_argument("--slices", type=int, default=6, help="of the overload")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--few", type=int, default=6, help="clients that measure the capacity")
    parser.add_argument("--warm", type=float, default=5)
    parser.add_argument("--measure", type=float, default=10, help="seconds of each measurement of capacity and latency")
    parser.add_argument("--chunk-clients", type=int, default=8, help="clients that send a million chunks, afterwards")
    parser.add_argument("--chunk-seconds", type=float, default=20)
    parser.add_argument("--matchings", choices=("all", "own"), default="all")
    options = parser.parse_args()
    command = [sys.executable, "-m", "evalign", "serve", "--port", "0", "--model", "minilm"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            line = server.stdout.readline()
            port = int(re.search(r":(\d+)/", line)[1])
            found = asyncio.run(measure(port, server.pid, options))
            found += attack(port, server.pid, options.chunk_clients, options.chunk_seconds).lines()
        finally:
            server.terminate()
    print_figures(found)


if __name__ == "__main__":
    main()
