"""Memory of a long run: `evalign score big.jsonl --segments out.jsonl`, resident size against rows written.

    python benchmarks/streaming.py [--rows 200000] [--real 20000]

The growth is the least-squares slope over the samples after the warm-up, in MB per 10,000 rows.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import workloads

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"]


def made_rows(count: int, seed: int = 0) -> Iterator[dict]:
    """Distinct sentences of 5 to 40 made-up words; every tenth reference returns."""
    draw = random.Random(seed)
    reference = ""
    for number in range(count):
        if number % 10:
            reference = " ".join(draw.choices(WORDS, k=draw.randint(5, 40)))
        candidate = " ".join(draw.sample(reference.split() or WORDS, k=max(1, len(reference.split()) - 2)))
        yield {"id": str(number), "candidate": candidate, "references": [reference]}


def real_rows(count: int) -> Iterator[dict]:
    rows = workloads.read("wmt19_darr_kk-en")
    for number in range(count):
        row = rows[(number // 2) % len(rows)]
        yield {"candidate": row[("better", "worse")[number % 2]], "references": row["references"]}


def memory_by_rows(rows: Iterable[dict], spec: str, folder: Path) -> list[tuple[int, float]]:
    """(rows written, resident MB), sampled while the command runs."""
    data, out = folder / "big.jsonl", folder / "out.jsonl"
    with data.open("w", encoding="utf-8") as stream:
        for row in rows:
            stream.write(json.dumps(row) + "\n")
    command = [sys.executable, "-m", "evalign", "score", str(data), "-m", spec, "--segments", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    samples, seen, done = [], 0, 0
    while process.poll() is None:
        time.sleep(0.1)
        part = next(folder.glob(".out.jsonl.*.part"), None)
        status = Path(f"/proc/{process.pid}/status")
        try:
            with part.open("rb") as stream:
                stream.seek(seen)
                fresh = stream.read()
            resident = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        except (AttributeError, OSError, StopIteration):  # not yet there, or just finished
            continue
        seen += len(fresh)
        done += fresh.count(b"\n")
        samples.append((done, int(resident.split()[1]) / 1024))
    if process.returncode:
        raise SystemExit(f"evalign ended with {process.returncode}")
    return samples


def growth(samples: list[tuple[int, float]], first: int, last: int) -> float:
    """MB per 10,000 rows between two row numbers."""
    rows, resident = np.array([sample for sample in samples if first <= sample[0] <= last]).T
    return float(np.polyfit(rows, resident, 1)[0] * 10_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--real", type=int, default=20_000)
    arguments = parser.parse_args()
    print("| encoder | rows | MB at warm-up | MB at the end | growth, MB per 10,000 rows | rows per second |")
    print("|---|---|---|---|---|---|")
    cases = [
        ("fake", made_rows(arguments.rows), "bertscore(model=fake)", arguments.rows, 20_000),
        ("minilm", real_rows(arguments.real), "bertscore", arguments.real, 5_000),
    ]
    for name, rows, spec, count, warm in cases:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            samples = memory_by_rows(rows, spec, Path(folder))
            seconds = time.monotonic() - begin
        start = next(resident for row, resident in samples if row >= warm)
        slope = growth(samples, warm, count)
        print(
            f"| {name} | {count:,} | {start:.0f} | {samples[-1][1]:.0f} | {slope:+.2f} | {count / seconds:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
