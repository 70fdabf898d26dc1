"""Do adapters agree better with people on data sets that took no part in their training?

    python benchmarks/adapters.py --work runs                         # every group left out once, MiniLM
    python benchmarks/adapters.py --work runs --leave-out wmt16 --train wmt15_daseg wmt21_da_toen:1000

For every group of data sets, an adapter is trained on the others (`evalign train --adapter`) and scores the group.
Reported are plain bertscore at its tuned layer, bertscore at the adapter's layers, F1 with the adapter, and its output
layer, with 95% bootstrap intervals of each and of the difference to plain: mean Pearson over language pairs into
English for WMT16, tau for the ordered pairs of WMT19, Pearson otherwise (SummEval: the mean of its four aspects).
Finished trainings and scores stay in the work folder; what was stopped goes on there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import rated
from recipe import Draws, mean, shown

import evalign
from evalign.atomic_files import whole_file
from evalign.data.rows import Columns
from evalign.encoders.adapter import read_adapter
from evalign.stats.bootstrap import Resampling
from evalign.stats.levels import Rated, agreement, agreement_draws
from evalign.tuning.adapters.rated_files import read_files
from evalign.tuning.adapters.settings import ADAPTER_PLAN, AdapterSettings
from evalign.tuning.rated_pairs import RatedPairs
from evalign.tuning.training_plan import TrainingPlan, Watch
from evalign.types import Row

GROUPS = {  # data sets that are left out together
    "wmt16": ("wmt16_daseg",),
    "kk-en": (rated.DARR,),
    "stsb": ("stsb_en_dev", "stsb_de_dev"),
    "summeval": ("summeval",),
    "ted21": ("ted21_ende_mqm", "ted21_zhen_mqm"),
}
TRAINING = ("wmt15_daseg", "wmt16_daseg", rated.DARR, "wmt21_da_toen", "ted21_zhen_mqm", "stsb_en_dev")
LAYERS = {"minilm": "4+6", "mpnet": "7+10"}
RESAMPLING = Resampling(samples=1000)
FIELDS = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Study:
    """What all trainings of a run have in common."""

    model: str
    settings: AdapterSettings
    plan: TrainingPlan
    sets: dict[str, int]  # to train on, and how many rows of each at most; 0: all
    work: Path


def training_pairs(study: Study, group: str) -> RatedPairs:
    """Up to so many pairs of every data set that is not of the group, drawn by the seed."""
    names = [name for name in study.sets if name not in GROUPS[group]]
    read = [read_files([str(rated.DATA / f"{name}.jsonl.gz")], (), Columns(), None, None) for name in names]
    chosen = []
    for name, data in zip(names, read, strict=True):
        picks = np.random.default_rng(study.plan.seed).permutation(len(data.pairs))[: study.sets[name] or None]
        chosen += [data.pairs[place] for place in sorted(picks)]
    return RatedPairs(chosen, "; ".join(data.mapping for data in read), {})


def trained(study: Study, group: str) -> Path:
    """The adapter that did not see the group, from the work folder or trained now."""
    from evalign.tuning.adapters.trainee import AdapterTrainee
    from evalign.tuning.training_run import train_to

    data = training_pairs(study, group)
    run = [study.model, asdict(study.settings), asdict(study.plan), data.mapping, study.sets]
    target = study.work / f"{study.model}-{group}-{hashlib.sha256(json.dumps(run).encode()).hexdigest()[:8]}"
    began, cpu = time.monotonic(), time.process_time()
    watch = Watch(evaluated=print, tell=print)
    done = train_to(target, AdapterTrainee(study.model, study.settings, study.plan.seed), data, study.plan, watch, 60.0)
    if not done.found_finished:
        spent = f"{time.process_time() - cpu:.0f} s of CPU, {time.monotonic() - began:.0f} s"
        print(f"{target.name}: {done.train_pairs} pairs, {spent}", flush=True)
    return target


def fields(metric: evalign.BERTScore, rows: list[Row], file: Path) -> np.ndarray:
    """(rows, 3) precision, recall and F1, kept in a file by the metric's signature."""
    scorer = metric.scorer()
    if file.is_file():
        with np.load(file) as kept:
            if str(kept["signature"]) == str(scorer.signature) and len(kept["values"]) == len(rows):
                return np.asarray(kept["values"])
    report = metric.report(scorer, rows)
    values = np.stack([report[name] for name in FIELDS], axis=-1)
    with whole_file(file, binary=True) as stream:
        np.savez(stream, signature=np.array(str(scorer.signature)), values=values)
    return values


def rows_of(name: str) -> list[Row]:
    """The rows of a data set; of ordered pairs the better ones, then the worse."""
    if name == rated.DARR:
        return [row for side in zip(*rated.load_darr(rated.DATA), strict=True) for row in side]
    return rated.load(name, rated.DATA).rows


def judged(name: str, scores: np.ndarray) -> Draws:
    """How far scores agree with people on a data set, and the same on resamples of its documents."""
    if name == rated.DARR:
        above = np.where(np.subtract(*scores.reshape(2, -1)) > 0, 1.0, -1.0)  # ties count against a metric
        picks = np.random.default_rng(0).integers(0, len(above), (RESAMPLING.samples, len(above)))
        return float(above.mean()), above[picks].mean(axis=1)
    said = rated.load(name, rated.DATA)
    parts = [part for part in sorted(set(said.groups)) if name != "wmt16_daseg" or part.endswith("-en")]
    drawn = []
    for stream, part in enumerate(parts):
        own = said.groups == part
        for human in said.human.values():
            one = Rated(scores[own], human[own], documents=said.documents[own])
            resampling = RESAMPLING.independent(stream)
            drawn.append((float(agreement(one).value or 0), agreement_draws(one, "pearson", "segment", resampling)))
    return mean(drawn)


def table(study: Study, group: str) -> str:
    """One line per data set of the group and score."""
    target = trained(study, group)
    output = read_adapter(str(target)).output
    plain = evalign.BERTScore(model=study.model, threads=1)
    same = replace(plain, layer=study.settings.layer)
    adapted = replace(plain, adapter=str(target))
    lines = []
    for name in GROUPS[group]:
        rows, kept = rows_of(name), study.work / "scores"
        kept.mkdir(exist_ok=True)
        base, wide, ours = (
            fields(metric, rows, kept / f"{study.model}.{name}.{kind}.npz")
            for kind, metric in (("plain", plain), (f"layers-{study.settings.layer}", same), (target.name, adapted))
        )
        columns = {"bertscore": base[:, 2], f"layer={study.settings.layer}": wide[:, 2], "adapter, F1": ours[:, 2],
                   "adapter, output layer": output(ours)}  # fmt: skip
        start = judged(name, base[:, 2])
        for kind, scores in columns.items():
            found = judged(name, scores)
            gain = found[0] - start[0], found[1] - start[1]
            lines.append(f"| {name} | {kind} | {shown(found)} | {shown(gain, '+')} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for adapters and scores")
    parser.add_argument("--model", choices=LAYERS, default="minilm")
    parser.add_argument("--leave-out", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--train", nargs="+", default=[f"{name}:3000" for name in TRAINING], metavar="SET[:ROWS]")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--layer")
    parser.add_argument("--matching", default="greedy")
    parser.add_argument("--negatives", type=float, default=0.0)
    parser.add_argument("--damage", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=ADAPTER_PLAN.epochs)
    parser.add_argument("--lr", type=float, default=ADAPTER_PLAN.rate)
    parser.add_argument("--seed", type=int, default=ADAPTER_PLAN.seed)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    settings = AdapterSettings(
        given.rank, given.layer or LAYERS[given.model], given.matching, given.negatives, given.damage
    )
    plan = replace(ADAPTER_PLAN, epochs=given.epochs, rate=given.lr, seed=given.seed, dev=0.0, threads=1)
    sets = {name: int(rows or 0) for name, _, rows in (said.partition(":") for said in given.train)}
    study = Study(given.model, settings, plan, sets, given.work)
    parts = [table(study, group) for group in given.leave_out]
    print("\n| data left out | score | agreement | to bertscore |\n|---|---|---|---|", *parts, sep="\n")


if __name__ == "__main__":
    main()
