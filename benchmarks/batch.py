"""Batch jobs: the cost of shards and manifest, workers, Ray, kept vectors, and long runs with their memory over time.

    python benchmarks/batch.py [PART ...] [--rows N] [--repeat 3] [--metric SPEC]   # parts: see PARTS; all unless named
    python benchmarks/batch.py workers --rows 4096 --repeat 1                       # quick, for trying

Every measurement is a fresh process; the ways of a part run interleaved, and the fastest of the repeats is shown.
`start-up` is the same on eight rows. `cpu` is processor time of all processes of a way, Ray's included, which other
programs disturb less than the clock on the wall; `peak` is the memory of all its
processes together (PSS: what they share counts once), sampled so seldom that it takes a hundredth of a core. Summaries
of ways that promise it must be the same bytes. Each part prints a Markdown table for docs/scale.md, its ratio, and
whether that is what was promised.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import rated
from streaming import made_rows

FAKE, MODEL = "bertscore(model=fake)", "bertscore"
PAIRS = 100_000_000
os.environ.setdefault("RAY_worker_niceness", "0")  # as the workers that Ray's are compared with; Ray's own choice is 15


@dataclass(frozen=True)
class Way:
    """One way to score the rows: options after input, metric and output; those with the same `same` must agree."""

    name: str
    options: Sequence[str] = ()
    same: str = ""
    command: str = "batch"


@dataclass(frozen=True)
class Part:
    """What is measured together, on so many rows unless told otherwise."""

    about: str
    spec: str
    rows: int
    ways: Sequence[Way]
    tell: Callable[[dict[str, Cost], int], str]
    shard_rows: int = 2048
    source: Callable[[int], Iterable[dict]] = made_rows


@dataclass
class Cost:
    """Of one process: seconds, and (second, MB) samples of the memory of it and all below it."""

    wall: float
    cpu: float
    memory: list[tuple[float, float]] = field(default_factory=list)
    startup: Cost | None = None  # the same way on a few rows

    @property
    def beyond(self) -> Cost:
        """What the rows themselves cost."""
        started = self.startup or Cost(0.0, 0.0)
        return Cost(self.wall - started.wall, self.cpu - started.cpu)

    @property
    def peak(self) -> float:
        return max((size for _, size in self.memory), default=0.0)

    def growth(self) -> float:
        """MB per minute after the first fifth, by least squares."""
        late = [(second, size) for second, size in self.memory if second > self.wall / 5]
        return float(np.polyfit(*np.array(late).T, 1)[0] * 60) if len(late) > 2 else float("nan")


def measure(arguments: Sequence[str]) -> Cost:
    began, memory, seconds = time.monotonic(), [], {}
    said = tempfile.TemporaryFile()  # noqa: SIM115 it is closed below
    process = subprocess.Popen([sys.executable, "-m", "evalign", *arguments], stdout=subprocess.DEVNULL, stderr=said)
    due = 0.0
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() >= due:
            before = time.process_time()
            memory.append((time.monotonic() - began, resident(process.pid, seconds)))
            due = time.monotonic() + max(0.2, 100 * (time.process_time() - before))
        time.sleep(0.05)
    process.returncode = os.waitstatus_to_exitcode(status)
    with said:
        if process.returncode:
            said.seek(0)
            raise SystemExit(said.read().decode())
    waited_for = usage.ru_utime + usage.ru_stime  # exact, but without Ray's processes; those are as of the last sample
    return Cost(time.monotonic() - began, max(waited_for, sum(seconds.values())), memory)


def resident(pid: int, seconds: dict[int, float]) -> float:
    """MB of a process and all its descendants; puts down the processor time of each."""
    total, below = 0.0, []
    with suppress(OSError, StopIteration):  # it has ended
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total = int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024
        used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        seconds[pid] = sum(map(int, used)) / os.sysconf("SC_CLK_TCK")
        below = [child for file in Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text().split()]
    return total + sum(resident(int(child), seconds) for child in below)


def arguments(way: Way, part: Part, data: Path, out: Path) -> list[str]:
    filled = [option.format(folder=out.parent) for option in way.options]
    if way.command == "score":
        return ["score", str(data), "-m", part.spec, "--segments", f"{out}.jsonl", *filled]
    shards = ("--shard-rows", str(part.shard_rows))
    return ["batch", "run", str(data), "-m", part.spec, "-o", str(out), *shards, *filled]


def run_part(part: Part, rows: int, repeat: int) -> dict[str, Cost]:
    """The cheapest cost of every way, whose summaries are compared."""
    costs: dict[str, list[Cost]] = {way.name: [] for way in part.ways}
    startups: dict[str, list[Cost]] = {way.name: [] for way in part.ways}
    summaries: dict[str, set[bytes]] = {}
    with tempfile.TemporaryDirectory() as folder:
        data, few = Path(folder) / "in.jsonl", Path(folder) / "few.jsonl"
        write(data, part.source(rows))
        write(few, itertools.islice(part.source(8), 8))
        for turn in range(repeat):
            (Path(folder) / str(turn)).mkdir()
            for number, way in enumerate(part.ways):
                out = Path(folder) / str(turn) / str(number)
                startups[way.name].append(measure(arguments(way, part, few, out.with_name(f"{number}-few"))))
                costs[way.name].append(measure(arguments(way, part, data, out)))
                if way.same:
                    summaries.setdefault(way.same, set()).add((out / "summary.json").read_bytes())
    if any(len(contents) > 1 for contents in summaries.values()):
        raise SystemExit("ways that promise the same bytes gave different summaries")
    best = {name: min(own, key=lambda cost: cost.wall) for name, own in costs.items()}
    for name, cost in best.items():
        cost.startup = min(startups[name], key=lambda started: started.wall)
    return best


def real_rows(count: int) -> Iterable[dict]:
    """Translations into English with their references, all different."""
    fields = ("id", "candidate", "references")
    return ({name: row[name] for name in fields} for row in rated.records("wmt21_da_toen")[:count])


def write(path: Path, rows: Iterable[dict]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


def table(costs: dict[str, Cost], rows: int) -> None:
    print("| way | rows/s | wall s | start-up s | cpu s | peak MB |\n|---|---|---|---|---|---|")
    for name, cost in costs.items():
        seconds = " | ".join(f"{number:.1f}" for number in (cost.wall, cost.startup.wall, cost.cpu))
        print(f"| {name} | {rows / cost.wall:.0f} | {seconds} | {cost.peak:.0f} |")


def shards_told(costs: dict[str, Cost], rows: int) -> str:
    score, batch = (cost.cpu for cost in costs.values())
    more = (batch / score - 1) * 100
    return f"shards, manifest and bootstrap cost {more:+.1f} % of processor time{promised(more <= 5, 'at most 5 %')}"


def workers_told(costs: dict[str, Cost], rows: int) -> str:
    one, two, threads = (cost.wall for cost in costs.values())
    faster = f"two workers are {one / two:.2f} times as fast as one{promised(one / two >= 1.7, 'at least 1.7')}"
    return f"{faster}, {threads / two:.2f} times as one with two threads{promised(threads >= two, 'at least 1')}"


def ray_told(costs: dict[str, Cost], rows: int) -> str:
    local, ray = (cost.beyond.wall for cost in costs.values())
    more = (ray / local - 1) * 100
    said = f"Ray with one actor takes {more:+.1f} % beyond start-up against one local worker"
    local, ray = (cost.beyond.cpu for cost in costs.values())
    return f"{said}{promised(more <= 15, 'at most 15 %')}, and {(ray / local - 1) * 100:+.1f} % of processor time"


def embeddings_told(costs: dict[str, Cost], rows: int) -> str:
    without, cold, warm = (cost.wall for cost in costs.values())
    written = f"writing vectors costs {(cold / without - 1) * 100:+.1f} %"
    return f"{written}, reading them back is {without / warm:.1f} times as fast as encoding, {cold / warm:.1f} as cold"


def memory_told(costs: dict[str, Cost], rows: int) -> str:
    [cost] = costs.values()
    tenths = [
        max((size for second, size in cost.memory if place <= second / cost.wall * 10 <= place + 1), default=0.0)
        for place in range(10)
    ]
    said = f"{rows / cost.wall:.0f} rows a second; peak MB in each tenth: {', '.join(f'{size:.0f}' for size in tenths)}"
    return said + f"{promised(cost.peak < 1500, 'below 1500')}; growth {cost.growth():+.1f} MB a minute"


def promised(holds: bool, what: str) -> str:
    return f" (promised: {what}: {'holds' if holds else 'DOES NOT HOLD'})"


def cost_told(costs: dict[str, Cost], rows: int) -> str:
    """100 M pairs on paper, from the processor time of one pair."""
    [cost] = costs.values()
    each = cost.beyond.cpu / rows
    hours = PAIRS * each / 3600
    lines = [
        f"{each * 1000:.2f} ms of processor time a pair, {1 / each:.0f} pairs a second and core",
        f"100,000,000 x {each * 1000:.2f} ms / 3,600 = {hours:,.0f} core hours",
        *(f"{cores} cores: {hours / cores:,.1f} hours" for cores in (2, 64, 1024)),
    ]
    return "\n".join(f"- {line}" for line in lines)


ONE = ("--workers", "1")
RAY = ("--engine", "ray", *ONE)
PARTS = {
    "shards": Part(
        "what a job adds to `evalign score`", MODEL, 4096,
        [Way("score, 1 thread", ("--threads", "1"), command="score"), Way("batch, 1 worker", ONE)], shards_told,
    ),
    "workers": Part(
        "two processes or two threads", MODEL, 8192,
        [Way("1 worker, 1 thread", ONE, "workers"), Way("2 workers, 1 thread", ("--workers", "2"), "workers"),
         Way("1 worker, 2 threads", (*ONE, "--threads", "2"))], workers_told,
    ),
    "ray": Part(
        "one actor of Ray against one local worker", MODEL, 20_000,
        [Way("local, 1 worker", ONE, "ray"), Way("ray, 1 actor", RAY, "ray")], ray_told,
    ),
    "embeddings": Part(
        "vectors kept by an earlier job", MODEL, 4096,
        [Way("without", ONE), Way("cold", (*ONE, "--embeddings", "{folder}/kept")),
         Way("warm", (*ONE, "--embeddings", "{folder}/kept"))], embeddings_told,
    ),
    "million": Part(
        "a long job with the fake encoder", FAKE, 1_000_000, [Way("2 workers", ("--workers", "2"))], memory_told,
        shard_rows=8192,
    ),
    "real": Part(
        "a long job with MiniLM on real pairs (benchmarks/rated.py)", MODEL, 50_000,
        [Way("2 workers", ("--workers", "2"))], memory_told, source=real_rows,
    ),
    "cost": Part("100 M pairs on paper", MODEL, 8192, [Way("1 worker", ONE)], cost_told, source=real_rows),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--rows", type=int, help="instead of each part's own number")
    parser.add_argument("--metric", help="instead of each part's own")
    parser.add_argument("--repeat", type=int, default=3, help="the parts of one way run once")
    asked = parser.parse_args()
    for name in asked.parts or PARTS:
        part = PARTS[name]
        rows = asked.rows or part.rows
        if asked.metric:
            part = replace(part, spec=asked.metric)
        costs = run_part(part, rows, asked.repeat if len(part.ways) > 1 else 1)
        load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        print(f"\n### {name}: {part.about}\n\n{rows} rows, `{part.spec}`, shards of {part.shard_rows}; {load}\n")
        table(costs, rows)
        print(f"\n{part.tell(costs, rows)}", flush=True)


if __name__ == "__main__":
    main()
