"""What one metric costs, alone in its process: `python benchmarks/metric_cost.py SPEC` prints JSON.

Milliseconds of processor time per pair on MT segments and on summaries after a warm-up, peak memory, and the exponent k
of time ~ n^k, from texts of 200 and 800 words (ter: 100 and 400).
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import dataclasses  # noqa: E402

import workloads  # noqa: E402

import evalign  # noqa: E402
from evalign.metrics.base import Metric  # noqa: E402

LENGTHS = (200, 800)
TER_LENGTHS = (100, 400)  # it refuses longer ones


def seconds(metric: Metric, candidates: list[str], references: list[str]) -> float:
    began = time.process_time()
    metric.score(candidates, references)
    return time.process_time() - began


def main() -> None:
    metric = evalign.metric(sys.argv[1])
    if hasattr(metric, "threads"):
        metric = dataclasses.replace(metric, threads=1)
    segments = workloads.mt_pairs(200)
    texts = workloads.summaries(20 if metric.name == "ter" else 60)
    seconds(metric, *(column[:5] for column in segments))  # loads models and tables
    told = {
        "segment_ms": 1000 * seconds(metric, *segments) / len(segments[0]),
        "summary_ms": 1000 * seconds(metric, *texts) / len(texts[0]),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    words = [" ".join(column).split() for column in workloads.summaries(300)]
    times = []
    lengths = TER_LENGTHS if metric.name == "ter" else LENGTHS
    for length in lengths:
        count = 1 if metric.name == "ter" else 4
        pieces = [[" ".join(side[k * length : (k + 1) * length]) for k in range(count)] for side in words]
        times.append(min(seconds(metric, *pieces) for _ in range(2)))
    told["exponent"] = math.log(times[1] / times[0]) / math.log(lengths[1] / lengths[0])
    print(json.dumps(told))


if __name__ == "__main__":
    main()
