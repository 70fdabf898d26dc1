"""Do adapters agree better with people on data sets that took no part in their training?

    python benchmarks/adapters.py --work runs                         # every group left out once, MiniLM
    python benchmarks/adapters.py --work runs --leave-out wmt16 --train wmt15_daseg wmt21_da_toen:1000

For every group of data sets, an adapter is trained on the others (`evalign train --adapter`) and scores the group.
Reported are plain bertscore at its tuned layer (and at the adapter's layers), F1 with the adapter, and its output
layer, with 95% bootstrap intervals of each and of the difference to plain: mean Pearson over language pairs into
English for WMT16, tau for the ordered pairs of WMT19, Pearson otherwise (SummEval: the mean of its four aspects).
Finished trainings and scores stay in the work folder; what was stopped goes on there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Sequence
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
from evalign.tuning.adapters.objective import TOGETHER
from evalign.tuning.adapters.rated_files import read_files
from evalign.tuning.adapters.settings import ADAPTER_PLAN, AdapterSettings
from evalign.tuning.training_plan import TrainingPlan, Watch
from evalign.types import Row

GROUPS = {  # data sets that are left out together
    "wmt16": ("wmt16_daseg",),
    "kk-en": (rated.DARR,),
    "stsb": ("stsb_en_dev", "stsb_de_dev"),
    "summeval": ("summeval",),
    "ted21": ("ted21_ende_mqm", "ted21_zhen_mqm"),
}
TRAINING = ("wmt15_daseg", "wmt16_daseg", "wmt19_darr_kk-en:2500:0.5", "stsb_en_dev:800:0.5")
LAYERS = {"minilm": "4+6", "mpnet": "7+10"}
RESAMPLING = Resampling(samples=1000)
FEWEST_RATINGS = 2
LONGEST = 40  # words of a text: the time goes into tokens
FIELDS = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Study:
    """What all trainings of a run have in common."""

    model: str
    settings: AdapterSettings
    plan: TrainingPlan
    sets: dict[str, tuple[int, float]]  # to train on: how many rows at most (0: all), and what each counts
    work: Path


def drawn(name: str, most: int, seed: int) -> list[dict]:
    """Up to so many lines of a data set, drawn by the seed reference by reference, no more than four of each.

    Of translations those into English; of WMT21, whose single ratings are noisy, those that two people or more rated.
    """
    fit = [
        line
        for line in rated.records(name)
        if not (name.startswith("wmt") and not line["lp"].endswith("-en"))
        and line.get("ratings", FEWEST_RATINGS) >= FEWEST_RATINGS
        and (line.get("candidate") or line.get("better"))
        and all(len(text.split()) <= LONGEST for text in (line.get("candidate") or line["better"], *line["references"]))
    ]
    source = np.random.default_rng(seed)
    by_reference: dict[str, list[dict]] = {}
    for place in source.permutation(len(fit)).tolist():
        by_reference.setdefault(fit[place]["references"][0], []).append(fit[place])
    groups = list(by_reference.values())
    chosen = [line for place in source.permutation(len(groups)).tolist() for line in groups[place][:TOGETHER]]
    return chosen[: most or None]


def training_files(study: Study, group: str) -> tuple[list[str], list[float]]:
    """What `evalign train` reads: a file of every data set that is not of the group, and what it counts."""
    files, weights = [], []
    for name, (most, weight) in study.sets.items():
        if name.endswith(".jsonl"):  # a file of its own, such as graded_pairs.py makes
            files.append(name)
            weights.append(weight)
        elif name not in GROUPS.get(group, ()):
            file = study.work / f"{name}.{most or 'all'}.{study.plan.seed}.jsonl"
            if not file.is_file():
                with whole_file(file) as stream:
                    stream.writelines(json.dumps(line) + "\n" for line in drawn(name, most, study.plan.seed))
            files.append(str(file))
            weights.append(weight)
    return files, weights


def trained(study: Study, group: str) -> Path:
    """The adapter that did not see the group, from the work folder or trained now."""
    from evalign.tuning.adapters.trainee import AdapterTrainee
    from evalign.tuning.training_run import train_to

    files, weights = training_files(study, group)
    data = read_files(files, weights, Columns(), None, None)
    run = [study.model, asdict(study.settings), asdict(study.plan), data.mapping, study.sets]
    target = study.work / f"{study.model}-{group}-{digest(json.dumps(run))}"
    began, cpu = time.monotonic(), time.process_time()
    watch = Watch(evaluated=print, tell=print)
    trainee = AdapterTrainee(study.model, study.settings, study.plan.seed, files=len(files))
    done = train_to(target, trainee, data, study.plan, watch, 120.0)
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


def held_out(name: str, every: int) -> rated.Rated:
    """One in so many documents of a data set; of WMT those into English; ordered pairs: the better, then the worse."""
    if name == rated.DARR:
        pairs = rated.load_darr(rated.DATA)[::every]
        rows = [row for side in zip(*pairs, strict=True) for row in side]
        return rated.Rated(rows, {}, np.full(len(rows), name), np.array([row.references[0] for row in rows]))
    said = rated.load(name, rated.DATA)
    places = {document: place for place, document in enumerate(dict.fromkeys(said.documents.tolist()))}
    wanted = [place for place, (document, group) in enumerate(zip(said.documents.tolist(), said.groups, strict=True))
              if places[document] % every == 0 and (not name.startswith("wmt") or group.endswith("-en"))]  # fmt: skip
    human = {aspect: values[wanted] for aspect, values in said.human.items()}
    return rated.Rated([said.rows[place] for place in wanted], human, said.groups[wanted], said.documents[wanted])


def judged(said: rated.Rated, scores: np.ndarray) -> Draws:
    """How far scores agree with people on a data set, and the same on resamples of its documents."""
    if not said.human:
        above = np.where(np.subtract(*scores.reshape(2, -1)) > 0, 1.0, -1.0)  # ties count against a metric
        picks = np.random.default_rng(0).integers(0, len(above), (RESAMPLING.samples, len(above)))
        return float(above.mean()), above[picks].mean(axis=1)
    drawn = []
    for stream, part in enumerate(sorted(set(said.groups))):
        own = said.groups == part
        for human in said.human.values():
            one = Rated(scores[own], human[own], documents=said.documents[own])
            resampling = RESAMPLING.independent(stream)
            drawn.append((float(agreement(one).value or 0), agreement_draws(one, "pearson", "segment", resampling)))
    return mean(drawn)


def table(study: Study, group: str, names: Sequence[str], every: int, wide: bool) -> str:
    """One line per data set that took no part in the training, and score."""
    target, kept = trained(study, group), study.work / "scores"
    output = read_adapter(str(target)).output
    plain = evalign.BERTScore(model=study.model, threads=1)
    layer = study.settings.layer
    metrics = {"bertscore": plain} | ({f"bertscore(layer={layer})": replace(plain, layer=layer)} if wide else {})
    metrics["adapter, F1"] = replace(plain, adapter=str(target))
    lines, seen = [], set(study.sets) - set(GROUPS.get(group, ()))
    seen |= {kin for kins in GROUPS.values() for kin in kins if seen & set(kins)}  # its texts in another language, too
    kept.mkdir(exist_ok=True)
    for name in names or GROUPS.get(group, ()):
        if name in seen:
            raise SystemExit(f"{name}: its texts take part in the training; leave them out")
        said = held_out(name, every)
        found = {
            kind: fields(metric, said.rows, kept / f"{study.model}.{name}.{every}.{digest(str(metric))}.npz")
            for kind, metric in metrics.items()
        }
        columns = {kind: values[:, 2] for kind, values in found.items()}
        columns["adapter, output layer"] = output(found["adapter, F1"])
        agreements = {kind: judged(said, scores) for kind, scores in columns.items()}
        start = agreements["bertscore"]
        for kind, drawn in agreements.items():
            gain = drawn[0] - start[0], drawn[1] - start[1]
            lines.append(f"| {name} | {len(said.rows)} | {kind} | {shown(drawn)} | {shown(gain, '+')} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def digest(text: str) -> str:
    """Eight digits that stand for it in a file name."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for adapters and scores")
    parser.add_argument("--model", choices=LAYERS, default="minilm")
    parser.add_argument("--leave-out", nargs="+", choices=[*GROUPS, "none"], default=list(GROUPS))
    parser.add_argument("--train", nargs="+", default=TRAINING, metavar="SET[:ROWS[:WEIGHT]]")
    parser.add_argument("--judge", nargs="+", default=(), metavar="SET", help="other sets that take no part, too")
    parser.add_argument("--every", type=int, default=1, help="judge one in so many documents")
    parser.add_argument("--same-layers", action="store_true", help="plain bertscore at the adapter's layers, too")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--layer")
    parser.add_argument("--matching", default="greedy")
    parser.add_argument("--negatives", type=float, default=0.0)
    parser.add_argument("--damage", type=float, default=0.0)
    parser.add_argument("--opposites", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=ADAPTER_PLAN.epochs)
    parser.add_argument("--lr", type=float, default=ADAPTER_PLAN.rate)
    parser.add_argument("--seed", type=int, default=ADAPTER_PLAN.seed)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    settings = AdapterSettings(
        given.rank, given.layer or LAYERS[given.model], given.matching, given.negatives, given.damage, given.opposites
    )
    plan = replace(ADAPTER_PLAN, epochs=given.epochs, rate=given.lr, seed=given.seed, dev=0.0, threads=1)
    said = [[*text.split(":"), "", ""][:3] for text in given.train]
    sets = {name: (int(rows or 0), float(weight or 1)) for name, rows, weight in said}
    study = Study(given.model, settings, plan, sets, given.work)
    parts = [table(study, group, given.judge, given.every, given.same_layers) for group in given.leave_out]
    print("\n| data left out | rows | score | agreement | to bertscore |\n|---|---|---|---|---|", *parts, sep="\n")


if __name__ == "__main__":
    main()
