"""What the metric `evalign` costs beside `bertscore` at the same layers: processor time, loading, memory.

    python benchmarks/evalign_cost.py [--model mpnet] [--rounds 5]

Every measurement is a process of its own with one thread; the metrics take turns. Shown are the middle of the rounds,
and how many times that of bertscore it is. `int8` is evalign with arithmetic=int8.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import workloads

PAIRS = {"minilm": 500, "mpnet": 100}


def measured(spec: str, pairs: int) -> dict[str, float]:
    """Seconds of processor time and megabytes of this process."""
    from metric_cost import peak_mb

    import evalign

    candidates, references = workloads.mt_pairs(pairs)
    metric = evalign.metric(spec)
    before = time.process_time()
    metric.score(["a first text"], ["another text"])
    loaded = time.process_time()
    metric.score(candidates, references)
    done = time.process_time()
    return {"load": loaded - before, "score": done - loaded, "peak": peak_mb()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=PAIRS, default="minilm")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--spec", help=argparse.SUPPRESS)
    given = parser.parse_args()
    pairs = PAIRS[given.model]
    if given.spec:
        print(json.dumps(measured(given.spec, pairs)))
        return
    from evalign.encoders.adapter import read_adapter, shipped

    layer = read_adapter(shipped(given.model)).layer
    specs = {
        f"bertscore(layer={layer})": f"bertscore(model={given.model}, layer={layer}, threads=1)",
        "evalign": f"evalign(model={given.model}, threads=1)",
        "int8": f"evalign(model={given.model}, arithmetic=int8, threads=1)",
    }
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in specs}
    for _ in range(given.rounds):
        for name, spec in specs.items():
            command = [sys.executable, __file__, "--model", given.model, "--spec", spec]
            done = subprocess.run(command, env=os.environ | threads, stdout=subprocess.PIPE, text=True, check=True)
            rounds[name].append(json.loads(done.stdout))
    middle = {
        name: {key: statistics.median(one[key] for one in found) for key in found[0]} for name, found in rounds.items()
    }
    first = next(iter(middle.values()))
    print(f"| {given.model}, {pairs} pairs | CPU s | ratio | loading, s | ratio | peak, MB | ratio |")
    print("|---|---|---|---|---|---|---|")
    for name, found in middle.items():
        cells = [f"{found[key]:.{digits}f} | {found[key] / first[key]:.2f}" for key, digits in
                 (("score", 2), ("load", 2), ("peak", 0))]  # fmt: skip
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
