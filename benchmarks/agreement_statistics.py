"""How long judging the judges takes: intervals and paired tests for ten metrics, and scipy on the same resamples.

    python benchmarks/agreement_statistics.py [--rows 9728] [--metrics 10] [--resamples 1000]

Made-up scores: half of the metrics have ties, as lexical ones do, and people rate in steps. One core, one thread.
scipy is called on a few resamples only and its time multiplied. Memory is what the statistics add to the process.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from evalign.stats.bootstrap import Resampling, resample_weights, resampled
from evalign.stats.levels import Rated, agreement
from evalign.stats.pairs import soft_pairwise_accuracy, tie_calibrated_accuracy
from evalign.stats.poisson_sums import PoissonSums
from evalign.stats.significance import permutation_test, williams
from evalign.stats.weighted import weighted

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
SYSTEMS = 16
SCIPY_SAMPLES = 10


def data(rows: int, metrics: int) -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    quality = rng.normal(size=rows)
    human = np.round(quality + rng.normal(size=rows), 1)
    columns = [quality + rng.normal(size=rows) * (1 + k / metrics) for k in range(metrics)]
    return [np.round(x, 2) if k % 2 else x for k, x in enumerate(columns)], human


def timed(label: str, work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    seconds = time.process_time() - before
    print(f"{label:62} {seconds:8.2f} s   peak {_peak():5.0f} MB", flush=True)
    return seconds


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=9728)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--resamples", type=int, default=1000)
    asked = parser.parse_args()
    metrics, human = data(asked.rows, asked.metrics)
    resampling = Resampling(samples=asked.resamples)
    pairs = list(combinations(metrics, 2))
    print(f"{asked.rows} rows, {asked.metrics} metrics, {len(pairs)} pairs, {asked.resamples} resamples")
    print(f"{'before':62} {0:8.2f} s   peak {_peak():5.0f} MB")
    total = 0.0
    for name in SCIPY:
        total += timed(
            f"{name}: intervals of all metrics",
            lambda name=name: resampled([weighted(name)(x, human) for x in metrics], asked.rows, resampling),
        )
    for name in SCIPY:
        total += timed(
            f"{name}: PERM-BOTH, every pair of metrics",
            lambda name=name: [permutation_test(x, z, human, name, resampling) for x, z in pairs],
        )
    total += timed("Williams, every pair of metrics", lambda: [williams(x, z, human) for x, z in pairs])
    print(f"{'together':62} {total:8.2f} s")

    documents, systems = np.arange(asked.rows) // SYSTEMS, np.arange(asked.rows) % SYSTEMS
    for level in ("system", "summary"):
        timed(
            f"spearman, {level} level: intervals of all metrics",
            lambda level=level: [
                agreement(Rated(x, human, documents, systems), "spearman", level, resampling) for x in metrics
            ],
        )
    timed("acc_eq by item, intervals of all metrics",
          lambda: [tie_calibrated_accuracy(x, human, documents, resampling) for x in metrics])  # fmt: skip
    timed("soft pairwise accuracy of all metrics",
          lambda: [soft_pairwise_accuracy(x, human, documents, systems, resampling) for x in metrics])  # fmt: skip
    timed("acc_eq over all pairs of rows, one metric", lambda: tie_calibrated_accuracy(metrics[0], human))
    ids = [f"row {k}" for k in range(asked.rows)]
    timed("Poisson bootstrap, mergeable sums of all metrics",
          lambda: PoissonSums.empty(len(metrics), resampling).add(ids, np.stack(metrics, axis=1)))  # fmt: skip

    weights = next(resample_weights(asked.rows, Resampling(samples=SCIPY_SAMPLES)))
    for name, function in SCIPY.items():
        before = time.process_time()
        for row in weights.astype(int):
            function(np.repeat(metrics[0], row), np.repeat(human, row))
        seconds = (time.process_time() - before) / len(weights) * asked.resamples * asked.metrics
        print(f"{f'scipy, {name}: the same intervals, extrapolated':62} {seconds:8.2f} s")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
