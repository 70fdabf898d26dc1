"""Does fine-tuning on rated pairs help on pairs that were not seen? MiniLM on STS-B, English and German, in five folds.

    python benchmarks/finetuning.py --work runs              # both languages, then the encoder as BERTScore's on WMT16
    python benchmarks/finetuning.py --work runs --parts en   # one of en, de, wmt16

Each fold is held out once and MiniLM is trained on the other four (`evalign train encoder ... --dev 0`: a fixed number
of epochs, nothing is chosen on the held-out fold). Pairs that share a text stay in one fold. Reported: Spearman of
`sbert` with people on the held-out pairs, before and after, with a 95% bootstrap interval of the difference, paired and
over groups of pairs that share a text. Loss, learning rate and epochs were found on the first English fold, so that the
mean without the first fold is shown too. WMT16 (never trained on): mean Pearson of `bertscore` over the language pairs,
with the encoder of the first fold. Scores of finished folds are kept in the work folder; what was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rated import DATA, load
from rated import Rated as RatedSet

import evalign
from evalign.core import Row
from evalign.io.rows import InMemory
from evalign.stats.bootstrap import Resampling
from evalign.stats.correlation import pearson, spearman
from evalign.stats.levels import Rated, agreement, agreement_draws
from evalign.training.encoder_trainee import EncoderTrainee
from evalign.training.layers import Setting, grid_scores
from evalign.training.plan import TrainingPlan
from evalign.training.rated_pairs import RatedPair, RatedPairs, read_pairs, targets, text_groups
from evalign.training.trainee import Watch
from evalign.training.training_loop import train_to

MODEL = "minilm"
FOLDS = 5
FOLD_SEED = 7
PLAN = TrainingPlan(loss="cosine-mse", epochs=2, batch=16, rate=5e-5, dev=0.0, threads=1)
LAYERS = ("3", "4", "5", "6")  # 4 is the best one of MiniLM on WMT16, and what `bertscore` takes
RESAMPLING = Resampling(samples=2000)


def folds(pairs: list[RatedPair]) -> tuple[np.ndarray, np.ndarray]:
    """The fold of each pair, and its group of pairs that share a text."""
    groups = text_groups(pairs)
    return np.random.default_rng(FOLD_SEED).integers(0, FOLDS, groups.max() + 1)[groups], groups


def trained(data: RatedPairs, language: str, held_out: int, work: Path) -> Path:
    fold, _ = folds(list(data.pairs))
    kept = RatedPairs([p for p, f in zip(data.pairs, fold, strict=True) if f != held_out], data.mapping, {})
    target = work / f"{language}-{held_out}"
    train_to(target, EncoderTrainee(MODEL), kept, PLAN, Watch(tell=print))
    return target


def sbert(model: str, pairs: list[RatedPair]) -> np.ndarray:
    metric = evalign.metric(f'sbert(model="{model}", threads=1)')
    return metric.score([pair.first for pair in pairs], [pair.second for pair in pairs])["score"]


def held_out_scores(data: RatedPairs, language: str, number: int, work: Path) -> list[float]:
    """Scores of the held-out pairs by the encoder that did not see them; the first encoder is kept for WMT16."""
    memory = work / f"{language}-{number}.json"
    run = {"model": MODEL, **asdict(PLAN)}
    if memory.is_file() and (said := json.loads(memory.read_text("utf-8")))["run"] == run:
        return said["scores"]
    fold, _ = folds(list(data.pairs))
    began = time.process_time()
    directory = trained(data, language, number, work)
    scores = sbert(str(directory), [p for p, f in zip(data.pairs, fold, strict=True) if f == number]).tolist()
    memory.write_text(json.dumps({"run": run, "scores": scores, "cpu": time.process_time() - began}), "utf-8")
    if number:
        shutil.rmtree(directory)
    return scores


def read(language: str) -> RatedPairs:
    rows = load(f"stsb_{language}_dev", DATA)
    rated = [Row(r.id, r.candidate, r.references, human=h) for r, h in zip(rows.rows, rows.human["human"], strict=True)]
    return read_pairs(InMemory(rated), "linear(0,5)")


def stsb(language: str, work: Path) -> None:
    data = read(language)
    pairs = list(data.pairs)
    fold, groups = folds(pairs)
    before, after, wanted = sbert(MODEL, pairs), np.zeros(len(pairs)), targets(pairs)
    print(f"\nstsb_{language}_dev, held-out Spearman of sbert\n\n| fold | pairs | before | after | gain |")
    print("|---|---|---|---|---|")
    gains = []
    for number in range(FOLDS):
        own = fold == number
        after[own] = held_out_scores(data, language, number, work)
        one, other = spearman(before[own], wanted[own]), spearman(after[own], wanted[own])
        gains.append(other - one)
        print(f"| {number} | {own.sum()} | {one:.4f} | {other:.4f} | {other - one:+.4f} |", flush=True)
    values = [agreement(Rated(scores, wanted, documents=groups), "spearman").value for scores in (before, after)]
    draws = [
        agreement_draws(Rated(s, wanted, documents=groups), "spearman", "segment", RESAMPLING) for s in (before, after)
    ]
    low, high = np.quantile(draws[1] - draws[0], [0.025, 0.975])
    gain = f"{values[1] - values[0]:+.4f} [{low:+.4f}, {high:+.4f}]"
    print(f"| all | {len(pairs)} | {values[0]:.4f} | {values[1]:.4f} | {gain} |")
    print(f"\nmean gain of the folds {np.mean(gains):+.4f}, without the first {np.mean(gains[1:]):+.4f}", flush=True)


def wmt16(work: Path) -> None:
    rows = load("wmt16_daseg", DATA)
    print("\nwmt16_daseg, mean Pearson of bertscore over its language pairs\n\n| layer | MiniLM | tuned | difference |")
    print("|---|---|---|---|")
    models = (MODEL, str(work / "en-0"))
    scores = [layer_scores(model, rows) for model in models]
    for place, layer in enumerate(LAYERS):
        means = [mean_pearson(one[place], rows) for one in scores]
        draws = [mean_draws(one[place], rows) for one in scores]
        low, high = np.quantile(draws[1] - draws[0], [0.025, 0.975])
        print(f"| {layer} | {means[0]:.4f} | {means[1]:.4f} | {means[1] - means[0]:+.4f} [{low:+.4f}, {high:+.4f}] |")


def layer_scores(model: str, rows: RatedSet) -> np.ndarray:
    """(layers, rows) of F1, in one encoding pass."""
    metric = evalign.metric(f'bertscore(model="{model}", threads=1)')
    (found,) = grid_scores([Setting(metric, LAYERS)], rows.rows)
    return found[:, :, metric.fields.index("f1")]


def mean_pearson(scores: np.ndarray, rows: RatedSet) -> float:
    parts = [rows.groups == language for language in sorted(set(rows.groups))]
    return float(np.mean([pearson(scores[own], rows.human["human"][own]) for own in parts]))


def mean_draws(scores: np.ndarray, rows: RatedSet) -> np.ndarray:
    """Mean Pearson over language pairs on resamples within each, the same for whoever asks."""
    draws = []
    for stream, language in enumerate(sorted(set(rows.groups))):
        own = rows.groups == language
        part = Rated(scores[own], rows.human["human"][own], documents=rows.documents[own])
        draws.append(agreement_draws(part, "pearson", "segment", RESAMPLING.independent(stream)))
    return np.mean(draws, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for encoders and scores")
    parser.add_argument("--parts", nargs="+", choices=("en", "de", "wmt16"), default=("en", "de", "wmt16"))
    parser.add_argument("--folds", nargs="+", type=int, choices=range(FOLDS), default=(),
                        help="train only these, without a table: processes can share the work")  # fmt: skip
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    for part in arguments.parts:
        if arguments.folds:
            for number in arguments.folds:
                held_out_scores(read(part), part, number, arguments.work)
        elif part == "wmt16":
            wmt16(arguments.work)
        else:
            stsb(part, arguments.work)


if __name__ == "__main__":
    main()
