"""Which layer, or which average of layers, agrees best with people: mean Pearson over language pairs.

    python benchmarks/layers.py minilm --data ../shared/data

Reads wmt15_daseg and wmt16_daseg (segments with direct assessment). One encoding pass gives every layer;
each choice averages the similarity matrices of its layers and matches greedily.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
from pathlib import Path

import numpy as np

import evalign
from evalign.matching import greedy
from evalign.matching.aggregate import f1, weighted_mean
from evalign.matching.similarity import similarity
from evalign.metrics.base import blocks
from evalign.metrics.threads import one_blas_thread

SETS = ("wmt15_daseg", "wmt16_daseg")


def choices(depth: int) -> list[tuple[int, ...]]:
    """All sets of layers of a small model; runs of neighbouring layers of a deep one."""
    if depth <= 6:
        every = range(depth + 1)
        return [pick for size in every for pick in itertools.combinations(every, size + 1)]
    return [tuple(range(a, b + 1)) for a in range(depth + 1) for b in range(a, depth + 1)]


def f1_by_choice(metric: evalign.BERTScore, rows: list[dict], sets: list[tuple[int, ...]]) -> np.ndarray:
    """(choices, rows)."""
    scorer = metric.scorer()
    scores = []
    for block in blocks(rows, 64):
        sides = scorer.sides(text for row in block for text in (row["candidate"], row["references"][0]))
        with one_blas_thread():
            for row in block:
                one, other = sides[row["candidate"]], sides[row["references"][0]]
                if one.empty or other.empty:
                    scores.append(np.zeros(len(sets)))
                    continue
                layers = similarity(one.embedded, other.embedded, per_layer=True)
                means = np.stack([layers[list(pick)].mean(axis=0) for pick in sets])
                best_row, best_column = greedy.values(means)
                precision, recall = weighted_mean(best_row, one.weights), weighted_mean(best_column, other.weights)
                scores.append(f1(precision, recall))
    return np.stack(scores, axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", default="minilm", nargs="?")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--top", type=int, default=12)
    arguments = parser.parse_args()
    metric = evalign.BERTScore(model=arguments.model, layer="all")
    depth = metric.scorer().memory.encoder.layers[-1]
    sets = choices(depth)
    agreement = []
    for name in SETS:
        with gzip.open(arguments.data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
            rows = [json.loads(line) for line in stream]
        scores = f1_by_choice(metric, rows, sets)
        human = np.array([row["human"] for row in rows])
        pairs = np.array([row["lp"] for row in rows])
        agreement.append(
            np.mean(
                [[np.corrcoef(s[pairs == lp], human[pairs == lp])[0, 1] for s in scores] for lp in sorted(set(pairs))],
                axis=0,
            )
        )
    table = np.array(agreement).T
    print(f"| layers of {arguments.model} | wmt15 | wmt16 | mean |\n|---|---|---|---|")
    shown = sorted(range(len(sets)), key=lambda i: -table[i].mean())[: arguments.top]
    shown += [i for i, pick in enumerate(sets) if len(pick) == 1 and i not in shown]
    for i in shown:
        print(f"| {'+'.join(map(str, sets[i]))} | {table[i, 0]:.4f} | {table[i, 1]:.4f} | {table[i].mean():.4f} |")


if __name__ == "__main__":
    main()
