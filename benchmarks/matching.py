"""What matching costs and what the cheap methods lose: every method beside scipy's loop, greedy matching and transport.

    python benchmarks/matching.py [--repeat 3] [--limit 20] [--only speed|quality|share|large]

One thread, CPU seconds, the fastest of the repeats; methods take turns within a repeat. Speed is measured on
cosines of random vectors that share a direction, the rest on MiniLM's vectors of real translations.
"""

from __future__ import annotations

import argparse
import os
import time

SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
os.environ.update(dict.fromkeys(SINGLE, "1") | {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"})

import numpy as np  # noqa: E402 (threads are counted when it is loaded)
import workloads  # noqa: E402
from scipy.optimize import linear_sum_assignment  # noqa: E402

from evalign.matching.base import solve_together  # noqa: E402
from evalign.matching.registry import METHODS, matching_class  # noqa: E402
from evalign.matching.similarity import similarity  # noqa: E402
from evalign.matching.transport import euclidean_cost, exact_plan  # noqa: E402

SIZES, BATCHES = (16, 64, 128, 384), (1, 16, 256)
LARGE = 512
KINDS = {method: matching_class(method) for method in METHODS}
CASES = [(method, preset) for method, kind in KINDS.items() for preset in getattr(kind, "constants", ("paper",))]


def scipy_loop(batch):
    return [linear_sum_assignment(matrix, maximize=True) for matrix in batch]


def emd_loop(batch):
    """MoverScore's default cost with equal masses."""
    ones = np.ones(batch.shape[1]), np.ones(batch.shape[2])
    return [exact_plan(euclidean_cost(matrix), *ones) for matrix in batch]


def matching(method, preset="paper", strict=False):
    presets = {"preset": preset} if hasattr(KINDS[method], "constants") else {}
    return KINDS[method](strict=strict, **presets)


SOLVERS = {"greedy": matching_class("greedy")().solve, "scipy loop": scipy_loop}
SOLVERS |= {method: matching(method).solve for method in METHODS} | {"emd loop": emd_loop}


def cosines(size: int, count: int):
    """(count, size, size) cosines around .3, as contextual vectors have them."""
    random = np.random.default_rng(size)
    sides = random.normal(size=(2, count, size, 64)).astype(np.float32) + random.normal(0, 0.7, size=64)
    sides /= np.linalg.norm(sides, axis=-1, keepdims=True)
    return np.matmul(sides[0], sides[1].transpose(0, 2, 1)).astype(np.float32)


def seconds(work, *args) -> float:
    begin = time.process_time()
    work(*args)
    return time.process_time() - begin


def interleaved(jobs: dict, repeat: int) -> dict:
    """The fastest CPU seconds of each job; short ones are repeated within a turn until the clock can see them."""
    once = {name: seconds(job) for name, job in jobs.items()}
    loops = {name: max(1, min(200, int(0.02 / max(spent, 1e-5)))) for name, spent in once.items()}
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(repeat):
        for name, job in jobs.items():
            spent = seconds(lambda job=job, count=loops[name]: [job() for _ in range(count)])
            best[name] = min(best[name], spent / loops[name])
    return best


def speed(repeat: int, limit: float) -> None:
    print(f"## Milliseconds per pair; '> {limit:g} s': left out, the whole call would take longer than that\n")
    print("| n = m | batch | " + " | ".join(SOLVERS) + " |")
    print("|---|---" + "|---" * len(SOLVERS) + "|")
    for size in SIZES:
        matrices = cosines(size, max(BATCHES))
        expected = dict.fromkeys(SOLVERS, 0.0)  # seconds per pair, from the batch before
        for count in BATCHES:
            batch = matrices[:count]
            possible = [name for name in SOLVERS if expected[name] * count <= limit]
            found = interleaved(
                {name: lambda name=name, batch=batch: SOLVERS[name](batch) for name in possible}, repeat
            )
            expected |= {name: spent / count for name, spent in found.items()}
            cells = [f"{1000 * found[name] / count:.3g}" if name in found else f"> {limit:g} s" for name in SOLVERS]
            print(f"| {size} | {count} | " + " | ".join(cells) + " |", flush=True)


def real_pairs(count: int):
    """`count` translations and their references, spread over seven systems."""
    candidates, references = workloads.mt_pairs()
    step = len(candidates) // count
    return candidates[::step][:count], references[::step][:count]


def open_scorer():
    import evalign

    return evalign.BERTScore(model="minilm", threads=1).scorer()


def quality(count: int = 300) -> None:
    candidates, references = real_pairs(count)
    sides = open_scorer().weigh([*candidates, *references])[0]
    pairs = [(sides[one].embedded, sides[other].embedded) for one, other in zip(candidates, references, strict=True)]
    matrices = [similarity(*pair).astype(np.float64) for pair in pairs]
    shapes = np.array([matrix.shape for matrix in matrices])
    optimum = np.array([matrix[matching("exact").solve(matrix).cells].sum() for matrix in matrices])
    print(
        f"\n## Against the optimum on {count} MT pairs, {shapes.mean():.1f} tokens on average, up to {shapes.max()}\n"
    )
    print("Total of the selected cells over that of exact; what breaks the rules may exceed 1.\n")
    print(
        "| method | preset | ratio mean | ratio min | violations per pair | pairs with any | strict mean | strict min |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for method, preset in CASES:
        plain = [matching(method, preset).solve(matrix) for matrix in matrices]
        strict = [matching(method, preset, strict=True).solve(matrix) for matrix in matrices]
        violations = np.array([found.notes["violations"] for found in plain])
        ratio, repaired = (
            np.array([matrix[f.cells].sum() for matrix, f in zip(matrices, some, strict=True)]) / optimum
            for some in (plain, strict)
        )
        print(
            f"| {method} | {preset} | {ratio.mean():.4f} | {ratio.min():.4f} | {violations.mean():.2f} "
            f"| {(violations > 0).mean():.0%} | {repaired.mean():.4f} | {repaired.min():.4f} |",
            flush=True,
        )


def share(repeat: int, count: int = 500) -> None:
    candidates, references = workloads.mt_pairs(count)
    encoding, best = np.inf, {}
    for _ in range(repeat):
        scorer = open_scorer()  # a new one: it remembers texts
        begin = time.process_time()
        sides = scorer.weigh([*candidates, *references])[0]
        encoding = min(encoding, time.process_time() - begin)
        pairs = [
            (sides[one].embedded, sides[other].embedded) for one, other in zip(candidates, references, strict=True)
        ]
        matrices = [similarity(*pair) for pair in pairs]
        jobs = {
            "similarity": lambda pairs=pairs: [similarity(*pair) for pair in pairs],
            "greedy": lambda some=matrices: [SOLVERS["greedy"](matrix) for matrix in some],
            "exact, pair by pair": lambda some=matrices: [matching("exact").solve(matrix) for matrix in some],
            "exact, one padded batch": lambda some=matrices: solve_padded("exact", some),
            "scipy loop": lambda some=matrices: scipy_loop(some),
            "emd": lambda some=matrices: [emd_loop(matrix[None]) for matrix in some],
        }
        best = {name: min(spent, best.get(name, np.inf)) for name, spent in interleaved(jobs, 1).items()}
    print(f"\n## CPU seconds on {count} MT pairs, of which encoding takes {encoding:.2f}\n")
    print("| part | seconds | share of encoding |")
    print("|---|---|---|")
    for name, spent in best.items():
        print(f"| {name} | {spent:.4f} | {spent / encoding:.2%} |")


def solve_padded(method: str, matrices: list) -> list:
    """All of them in one batch."""
    ones = [tuple(map(np.ones, matrix.shape)) for matrix in matrices]
    return list(solve_together(matching(method), matrices, ones))


def large(repeat: int) -> None:
    batch = cosines(LARGE, 1)
    jobs = {"exact": lambda: matching("exact").solve(batch), "scipy loop": lambda: scipy_loop(batch)}
    found = interleaved(jobs, repeat)
    print(f"\n## {LARGE} x {LARGE}\n")
    print("\n".join(f"{name}: {spent:.4f} s" for name, spent in found.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds that one call may take")
    parser.add_argument("--only", choices=("speed", "quality", "share", "large"), action="append")
    arguments = parser.parse_args()
    parts = {
        "speed": lambda: speed(arguments.repeat, arguments.limit),
        "quality": quality,
        "share": lambda: share(arguments.repeat),
        "large": lambda: large(arguments.repeat),
    }
    for name in arguments.only or parts:
        parts[name]()


if __name__ == "__main__":
    main()
