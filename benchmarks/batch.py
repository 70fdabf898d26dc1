"""Batch jobs on one machine: the cost of shards and manifest against `evalign score`, and two workers against one.

    python benchmarks/batch.py [--rows 20000] [--spec "bertscore(model=fake)"] [--shard-rows 2048] [--repeat 3]

Every measurement is a fresh process, start-up included; the ways run interleaved, and the fastest of the repeats is
shown. `cpu` is processor time of all processes, which other programs disturb less than the clock on the wall; `peak` is
the largest of them. The summaries of all ways must be the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from streaming import made_rows

BATCH = ("batch", "run", "{data}", "-m", "{spec}", "--out", "{out}", "--shard-rows", "{shard_rows}")
WAYS = {  # name -> arguments, with what {...} stands for filled in
    "score, 1 thread": ("score", "{data}", "-m", "{spec}", "--threads", "1", "--segments", "{out}.jsonl"),
    "batch, 1 worker": (*BATCH, "--workers", "1"),
    "batch, 2 workers": (*BATCH, "--workers", "2"),
    "batch, 1 worker, 2 threads": (*BATCH, "--workers", "1", "--threads", "2"),
}


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    peak: float  # MB


def measure(arguments: list[str]) -> Cost:
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "evalign", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(said)
    return Cost(time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--spec", default="bertscore(model=fake)")
    parser.add_argument("--shard-rows", type=int, default=2048)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    costs: dict[str, list[Cost]] = {name: [] for name in WAYS}
    summaries = set()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "in.jsonl"
        with data.open("w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in made_rows(asked.rows))
        for repeat in range(asked.repeat):
            for number, (name, arguments) in enumerate(WAYS.items()):
                out = Path(folder) / f"{number}-{repeat}"
                filled = {"data": data, "out": out, "spec": asked.spec, "shard_rows": asked.shard_rows}
                costs[name].append(measure([part.format(**filled) for part in arguments]))
                if out.is_dir() and "threads" not in name:
                    summaries.add((out / "summary.json").read_bytes())
    if len(summaries) != 1:
        raise SystemExit("one and two workers gave different summaries")
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"{asked.rows} rows, {asked.spec}, shards of {asked.shard_rows}; {load}")
    print(f"{'way':28}{'rows/s':>9}{'wall s':>9}{'cpu s':>9}{'peak MB':>9}")
    for name, own in costs.items():
        wall, cpu, peak = min(one.wall for one in own), min(one.cpu for one in own), max(one.peak for one in own)
        print(f"{name:28}{asked.rows / wall:9.0f}{wall:9.1f}{cpu:9.1f}{peak:9.0f}")


if __name__ == "__main__":
    main()
