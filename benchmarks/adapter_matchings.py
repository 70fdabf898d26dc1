"""Greedy matching against assignment in training: does an encoder agree better with people if it learned one of them?

    python benchmarks/adapter_matchings.py --work runs [--seeds 1 2 3]

For every seed, MiniLM is trained twice on WMT15 with the same pairs, start and order, through greedy matching and
through the exact assignment (`envelope`: the gradient of the optimal cells). Each encoder is then judged with both
matchings, by F1, on sets that it did not see. Shown are the means over seeds, the lowest and highest seed, and 95%
bootstrap intervals of the differences, over segments and seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import adapters
import numpy as np

import evalign
from evalign.training.plan import ADAPTER_PLAN, AdapterSettings

TRAINED = {"greedy": "greedy", "assignment": "envelope"}
JUDGED = ("wmt16_daseg", "stsb_en_dev", "stsb_de_dev")
SETTINGS = AdapterSettings(rank=16, layer="4+6", negatives=0.1)
PLAN = replace(ADAPTER_PLAN, epochs=2, dev=0.0, threads=1)
Draws = adapters.Draws


def metrics(adapter: str) -> dict[str, evalign.Metric]:
    """F1 of the trained encoder with either matching."""
    return {
        "greedy": evalign.BERTScore(adapter=adapter, threads=1),
        "assignment": evalign.LiSAScore(adapter=adapter, threads=1),
    }


def folders(work: Path, seeds: Sequence[int]) -> dict[tuple[str, int], str]:
    """The trained adapter of every matching and seed."""
    found = {}
    for seed in seeds:
        for name, matching in TRAINED.items():
            settings, plan = replace(SETTINGS, matching=matching), replace(PLAN, seed=seed)
            study = adapters.Study("minilm", settings, plan, {"wmt15_daseg": (0, 1.0)}, work, anchored=False)
            found[name, seed] = str(adapters.trained(study, "none"))
    return found


def drawn_over_seeds(drawn: Sequence[Draws]) -> Draws:
    """The mean over seeds; a resample draws the seeds, too."""
    source, draws = np.random.default_rng(0), np.stack([draws for _, draws in drawn])
    picks = source.integers(0, len(drawn), (len(drawn), draws.shape[1]))
    return float(np.mean([value for value, _ in drawn])), np.take_along_axis(draws, picks, axis=0).mean(axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for adapters and scores")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args()
    kept = given.work / "scores"
    kept.mkdir(parents=True, exist_ok=True)
    trained = folders(given.work, given.seeds)
    print("| data | trained with | scored with | mean over seeds | lowest, highest | assignment - greedy in training |")
    print("|---|---|---|---|---|---|")
    for name in JUDGED:
        said = adapters.held_out(name, 1)
        for scored in TRAINED:
            judged: dict[str, list[Draws]] = {}
            for (way, _), folder in trained.items():
                metric = metrics(folder)[scored]
                file = kept / f"{name}.1.{adapters.digest(str(metric))}.npz"
                judged.setdefault(way, []).append(adapters.judged(said, adapters.scores(metric, said.rows, file)))
            pairs = zip(judged["assignment"], judged["greedy"], strict=True)
            gain = drawn_over_seeds([(first[0] - second[0], first[1] - second[1]) for first, second in pairs])
            for way, drawn in judged.items():
                values = [value for value, _ in drawn]
                spread = f"{np.mean(values):.3f} | {min(values):.3f}, {max(values):.3f}"
                told = adapters.shown(gain, "+") if way == "assignment" else ""
                print(f"| {name} | {way} | {scored} | {spread} | {told} |", flush=True)


if __name__ == "__main__":
    main()
