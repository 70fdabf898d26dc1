"""What the LSTM baseline reaches, and what it adds to its own word vectors; trains the small cell that comes along too.

    python benchmarks/lstm.py people [--start minilm] [--learn-words]     # five folds of STS-B dev, minutes
    python benchmarks/lstm.py demonstration          # writes src/evalign/encoders/lstm/lstm_demonstration.safetensors

`people`: pairs that share a text stay in one fold; every pair is scored by a cell that never saw it. The bag of
words is the mean of the very word vectors that the cell started with.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rated import DATA, records

import evalign
from evalign.research.lstm.encoder import FILE_NAME, demonstration_file, split_words, word_vectors
from evalign.research.lstm.trainee import LSTMSettings, LSTMTrainee
from evalign.stats.bootstrap import Resampling, resampled
from evalign.stats.correlation import spearman
from evalign.stats.weighted import weighted_spearman
from evalign.training.plan import TrainingPlan
from evalign.training.rated_pairs import RatedPair, text_groups
from evalign.training.training_loop import fit

HERE = Path(__file__).resolve().parent
FOLDS = 5
PLAN = TrainingPlan(loss="cosine-mse", epochs=8, batch=32, rate=2e-3, dev=0.0, threads=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("people", "demonstration"))
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--set", default="stsb_en_dev")
    parser.add_argument("--start", default="minilm")
    parser.add_argument("--learn-words", action="store_true")
    parser.add_argument("--pooling", default="mean")
    parser.add_argument("--loss", default=PLAN.loss)
    asked = parser.parse_args()
    if asked.what == "demonstration":
        demonstration()
    else:
        settings = LSTMSettings(start=asked.start, learn_words=asked.learn_words, pooling=asked.pooling)
        people(asked.data, asked.set, settings, replace(PLAN, loss=asked.loss))


def people(data: Path, name: str, settings: LSTMSettings, plan: TrainingPlan) -> None:
    """Out-of-fold Spearman beside sbert and a bag of the same words."""
    pairs = [
        RatedPair(row["candidate"], row["references"][0], row["human"] / 5, row["id"]) for row in records(name, data)
    ]
    human = np.array([pair.similarity for pair in pairs])
    groups = text_groups(pairs)
    fold_of = np.random.default_rng(0).permutation(groups.max() + 1)[groups] % FOLDS
    found = {"bag of words": np.zeros(len(pairs)), "lstm": np.zeros(len(pairs))}
    seconds = 0.0
    for fold in range(FOLDS):
        held = np.flatnonzero(fold_of == fold)
        seen = [pair for pair, own in zip(pairs, fold_of, strict=True) if own != fold]
        trainee = LSTMTrainee([text for pair in seen for text in (pair.first, pair.second)], settings)
        found["bag of words"][held] = bag_of_words(trainee, [pairs[place] for place in held])
        began = time.process_time()
        found["lstm"][held] = trained_scores(trainee, seen, [pairs[place] for place in held], plan)
        seconds += time.process_time() - began
        print(f"fold {fold + 1}: {len(seen)} pairs to train on, {len(held)} held out: "
              f"lstm {spearman(found['lstm'][held], human[held]):.4f}", flush=True)  # fmt: skip
    found["sbert (minilm)"] = scores(evalign.metric("sbert"), pairs)
    print(f"\n{name}, {len(pairs)} pairs, {settings}\n{plan}\n{seconds / FOLDS:.0f} CPU seconds of training per fold\n")
    for label, values in found.items():
        by_fold = [spearman(values[fold_of == fold], human[fold_of == fold]) for fold in range(FOLDS)]
        print(f"{label:<16} Spearman {spearman(values, human):.4f}   mean of folds {np.mean(by_fold):.4f}")
    low, high = interval(found["lstm"], found["bag of words"], human, groups)
    print(f"lstm - bag of words: 95 % of bootstrap resamples (of groups that share a text) in [{low:.4f}, {high:.4f}]")


def trained_scores(
    trainee: LSTMTrainee, seen: Sequence[RatedPair], held: Sequence[RatedPair], plan: TrainingPlan
) -> np.ndarray:
    """Trains with the loop of `evalign train`, saves, and scores with the metric."""
    with tempfile.TemporaryDirectory() as folder:
        fit(trainee, seen, plan, Path(folder))
        trainee.save(Path(folder) / FILE_NAME)
        return scores(evalign.LSTM(file=str(Path(folder) / FILE_NAME)), held)


def scores(metric: evalign.Metric, pairs: Sequence[RatedPair]) -> np.ndarray:
    return metric.score([pair.first for pair in pairs], [pair.second for pair in pairs])["score"]


def bag_of_words(trainee: LSTMTrainee, pairs: Sequence[RatedPair]) -> np.ndarray:
    """Cosine of the means of the word vectors, as they are before training."""
    table = trainee.table.detach().numpy()
    sides = []
    for texts in ([pair.first for pair in pairs], [pair.second for pair in pairs]):
        vectors, lengths = word_vectors(table, trainee.words, [split_words(text) for text in texts])
        sides.append(
            np.stack([one[: max(1, length)].mean(axis=0) for one, length in zip(vectors, lengths, strict=True)])
        )
    one, other = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
    return (one * other).sum(axis=1)


def interval(ours: np.ndarray, theirs: np.ndarray, human: np.ndarray, groups: np.ndarray) -> tuple[float, float]:
    statistics = [weighted_spearman(column, human) for column in (ours, theirs)]
    values = resampled(statistics, int(groups.max()) + 1, Resampling(), groups)
    low, high = np.quantile(values[:, 0] - values[:, 1], [0.025, 0.975])
    return float(low), float(high)


def demonstration() -> None:
    """From the pairs in lstm_pairs.tsv, which were written for it; small enough to come along."""
    with (HERE / "lstm_pairs.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    pairs = [RatedPair(row["first"], row["second"], float(row["rating"]) / 5, str(at)) for at, row in enumerate(rows)]
    settings = LSTMSettings(width=16, size=16, buckets=512, start="random", dropout=0.1)
    trainee = LSTMTrainee([text for pair in pairs for text in (pair.first, pair.second)], settings)
    with tempfile.TemporaryDirectory() as folder:
        result = fit(trainee, pairs, TrainingPlan("cosine-mse", 60, 16, 1e-2, dev=0.0, threads=1), Path(folder))
    trainee.save(demonstration_file())
    metric = evalign.LSTM(file=str(demonstration_file()))
    agreement = spearman(scores(metric, pairs), [pair.similarity for pair in pairs])
    print(f"{demonstration_file().stat().st_size} bytes, last loss {result.epochs[-1].loss:.4f}, Spearman on its own "
          f"training pairs {agreement:.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
