"""What one metric costs, alone in its process: `python benchmarks/metric_cost.py SPEC` prints JSON.

Milliseconds of processor time per pair on MT segments and on summaries, one thread: lowest, middle and highest of five
rounds over the same texts, the model loaded anew for each, so that nothing is remembered; peak memory; and the exponent
k of time ~ n^k, from texts of 200 and 800 words (ter: 100 and 400).
"""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import dataclasses  # noqa: E402

import workloads  # noqa: E402

import evalign  # noqa: E402
from evalign.core.metric import Metric  # noqa: E402

ROUNDS = 5
LEAST_SECONDS = 0.05  # of a measurement: shorter ones are repeated
SEGMENTS, SUMMARIES = 24, 8  # pairs of a round
LENGTHS = (200, 800)
TER_LENGTHS = (100, 400)  # it refuses longer ones
LONG_PAIRS = 2


def seconds(metric: Metric, candidates: list[str], references: list[str]) -> float:
    """Processor time of scoring the texts once, after a warm-up with other texts that loads models and tables."""
    if loading := sys.modules.get("evalign.encoders.loading"):  # not imported for metrics that have no encoder
        loading.close_encoders()
    metric.score(["a warm-up of some words", "naïve"] * 8, ["the warm-up has words", "a café"] * 8)  # and other letters
    repeats, spent = 0, 0.0
    while spent < LEAST_SECONDS:
        began = time.process_time()
        metric.score(candidates, references)
        spent += time.process_time() - began
        repeats += 1
    return spent / repeats


def spread(metric: Metric, candidates: list[str], references: list[str]) -> list[float]:
    """Lowest, middle and highest milliseconds per pair."""
    rounds = [1000 * seconds(metric, candidates, references) / len(candidates) for _ in range(ROUNDS)]
    return [min(rounds), statistics.median(rounds), max(rounds)]


def peak_mb() -> float:
    """Of this process; where Linux does not say it, of the process that started it too, if that was larger."""
    status = Path("/proc/self/status")
    lines = status.read_text("utf-8").splitlines() if status.exists() else []
    peak = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), None)
    return float(peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024


def main() -> None:
    metric = evalign.metric(sys.argv[1])
    if hasattr(metric, "threads"):
        metric = dataclasses.replace(metric, threads=1)
    ter = metric.name == "ter"
    told = {
        "segment": spread(metric, *(column[:SEGMENTS] for column in workloads.mt_pairs(SEGMENTS))),
        "summary": spread(metric, *workloads.summaries(2 if ter else SUMMARIES)),
        "peak_mb": peak_mb(),
    }
    words = [" ".join(column).split() for column in workloads.summaries(300)]
    times = []
    lengths = TER_LENGTHS if ter else LENGTHS
    for length in lengths:
        count = 1 if ter else LONG_PAIRS
        pieces = [[" ".join(side[k * length : (k + 1) * length]) for k in range(count)] for side in words]
        times.append(min(seconds(metric, *pieces) for _ in range(2)))
    told["exponent"] = math.log(times[1] / times[0]) / math.log(lengths[1] / lengths[0])
    print(json.dumps(told))


if __name__ == "__main__":
    main()
