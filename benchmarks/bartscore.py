"""BARTScore with real weights: its speed, whether it knows a true translation, and its agreement with people.

    python benchmarks/bartscore.py speed | translations | people [--threads 1] [--repeat 3]

`speed` runs us and a plain loop (unsorted batches of 4, labels given to the model, as the original script works) in
turn on 500 pairs and prints the ratio. `people` needs `pip install gguf accelerate` once, to convert SmolLM2.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import numpy as np
import workloads
from likelihood_models import marian_en_fr, smollm2
from scipy import stats

import evalign

PAIRS = 500
BATCH = 4  # the original script's default
PROMPT = "In other words,"


def speed(threads: int, repeat: int) -> None:
    """CPU seconds of the same scores, us and the loop one after the other."""
    directory = marian_en_fr()
    candidates, references = workloads.mt_pairs(2000)
    chosen = np.random.default_rng(0).permutation(len(candidates))[:PAIRS]
    targets, sources = ([side[place] for place in chosen] for side in (candidates, references))
    metric = evalign.BARTScore(model=str(directory), direction="reference-to-candidate", threads=threads)
    model = metric.scorer().model
    loop = PlainLoop(directory, threads)
    ours, theirs = [], []
    for _ in range(repeat):
        ours.append(timed(lambda: metric.score(targets, sources)["score"]))
        theirs.append(timed(lambda: loop.score(sources, targets)))
    difference = np.abs(ours[0][1] - theirs[0][1]).max()
    ratios = sorted(slow[0] / fast[0] for fast, slow in zip(ours, theirs, strict=True))
    real, padded = model.real_tokens, model.padded_tokens
    print(f"{PAIRS} pairs, {directory.name}, {threads} thread(s), CPU seconds, fastest of {repeat}")
    print(f"evalign {min(ours)[0]:.1f}   plain loop {min(theirs)[0]:.1f}   ratio {min(theirs)[0] / min(ours)[0]:.2f}")
    print(f"ratios {', '.join(f'{ratio:.2f}' for ratio in ratios)}; largest difference of a score {difference:.1e}")
    print(f"padding in our batches: {100 * (1 - real / padded):.1f} %")


class PlainLoop:
    """The definition, run as the original script runs it: rows in their order, labels in, all logits out."""

    def __init__(self, directory: Path, threads: int) -> None:
        import torch
        from transformers import MarianMTModel, MarianTokenizer

        torch.set_num_threads(threads)
        self.torch = torch
        self.model = MarianMTModel.from_pretrained(directory).eval()
        self.tokenizer = MarianTokenizer.from_pretrained(directory)

    def score(self, sources: list[str], targets: list[str]) -> np.ndarray:
        torch, padding = self.torch, self.tokenizer.pad_token_id
        scores: list[float] = []
        with torch.no_grad():
            for start in range(0, len(sources), BATCH):
                part = slice(start, start + BATCH)
                read = self.tokenizer(sources[part], padding=True, truncation=True, return_tensors="pt")
                labels = self.tokenizer(text_target=targets[part], padding=True, truncation=True, return_tensors="pt")
                output = self.model(**read, labels=labels.input_ids)
                logs = torch.log_softmax(output.logits, dim=-1)
                picked = logs.gather(2, labels.input_ids[:, :, None])[:, :, 0]
                wanted = labels.input_ids != padding
                scores += ((picked * wanted).sum(dim=1) / wanted.sum(dim=1)).tolist()
        return np.array(scores)


def timed(work) -> tuple[float, np.ndarray]:
    before = time.process_time()
    found = work()
    return time.process_time() - before, found


def translations(threads: int) -> None:
    """How often the true translation scores higher than its words in another order, or than another's translation."""
    lines = (Path(__file__).parent / "en_fr.tsv").read_text("utf-8").splitlines()
    sources, true = zip(*(line.split("\t") for line in lines), strict=True)
    metric = evalign.BARTScore(model=str(marian_en_fr()), direction="source-to-candidate", threads=threads)
    mixed = [shuffled(french, seed) for seed, french in enumerate(true)]
    others = [*true[1:], true[0]]
    best, *rest = (metric.score(texts, sources=sources)["score"] for texts in (true, mixed, others))
    print(f"{len(sources)} pairs; mean score of true translations {best.mean():.3f}")
    for what, worse in zip(("words shuffled", "another sentence's"), rest, strict=True):
        print(f"higher than {what} (mean {worse.mean():.3f}): {(best > worse).sum()} of {len(best)}", end="; ")
        print(f"smallest lead {(best - worse).min():.3f}")


def shuffled(text: str, seed: int) -> str:
    words = text.split()
    mixed, chance = words, random.Random(seed)
    while mixed == words:
        mixed = chance.sample(words, len(words))
    return " ".join(mixed)


def people(threads: int) -> None:
    """Correlation with human judgements, SmolLM2 by prompt beside BERTScore and ROUGE."""
    likely = {"model": str(smollm2()), "threads": threads, "prompt": PROMPT}
    metrics = {
        "bartscore reference-to-candidate": evalign.BARTScore(**likely, direction="reference-to-candidate"),
        "bartscore candidate-to-reference": evalign.BARTScore(**likely, direction="candidate-to-reference"),
        "bertscore": evalign.BERTScore(threads=threads),
        "rouge1": evalign.metric("rouge1"),
        "rougeL": evalign.metric("rougeL"),
    }
    rows = workloads.read("wmt16_daseg")
    rows = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))[:300]]
    agreement("300 rows of WMT16, Pearson (Kendall)", metrics, rows, {"human": [row["human"] for row in rows]}, pearson)
    rows = workloads.read("summeval")[:160]
    rated = {name: [row["human"][name] for row in rows] for name in rows[0]["human"]}
    agreement("160 rows of SummEval, first reference, Spearman", metrics, rows, rated, spearman)


def agreement(title: str, metrics: dict, rows: list[dict], rated: dict[str, list[float]], measure) -> None:
    print(f"\n{title}: {', '.join(rated)}")
    likely = []
    for name, metric in metrics.items():
        before = time.process_time()
        report = metric.score([row["candidate"] for row in rows], [row["references"][0] for row in rows])
        values = report[metric.fields[-1]]
        said = "  ".join(measure(values, human) for human in rated.values())
        print(f"{name:34} {said}   {time.process_time() - before:.0f} s {report.flags or ''}", flush=True)
        likely += [values] if name.startswith("bartscore") else []
        if len(likely) == 2:  # both ways are there: their mean costs nothing
            both = (likely[0] + likely[1]) / 2
            print(f"{'bartscore f':34} {'  '.join(measure(both, human) for human in rated.values())}", flush=True)
            likely = []


def pearson(values: np.ndarray, human: list[float]) -> str:
    return f"{stats.pearsonr(values, human)[0]:.3f} ({stats.kendalltau(values, human)[0]:.3f})"


def spearman(values: np.ndarray, human: list[float]) -> str:
    return f"{stats.spearmanr(values, human)[0]:.3f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "translations", "people"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    if given.what == "speed":
        speed(given.threads, given.repeat)
    else:
        {"translations": translations, "people": people}[given.what](given.threads)
