"""Do adapters agree better with people on data sets that took no part in their training?

    python benchmarks/adapters.py --work runs                         # the adapter that ships for MiniLM
    python benchmarks/adapters.py --work runs --leave-out wmt16 --train wmt15_daseg wmt16_daseg stsb_en_dev:800:0.5

An adapter is trained on some data sets (`evalign train adapter`) and scores those groups that it did not see; or a
group is left out of the training and scored.
Reported are plain bertscore, sbert, chrF and the metric `evalign` with the adapter, with 95% bootstrap intervals of
each and of the difference to bertscore: mean Pearson over language pairs into English for WMT16, tau for the ordered
pairs of WMT19, Pearson otherwise (SummEval: the mean of its four aspects).
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

import graded_pairs
import numpy as np
import rated
import taught_pairs

import evalign
from evalign.core import Row
from evalign.encoders.adapter import read_adapter
from evalign.io.files import whole_file
from evalign.io.rows import Columns
from evalign.stats.bootstrap import Resampling
from evalign.stats.levels import Rated, agreement, agreement_draws
from evalign.training.adapter_objective import MAX_REFERENCE_RUN
from evalign.training.plan import ADAPTER_PLAN, AdapterSettings, TrainingPlan
from evalign.training.rated_pairs import read_files
from evalign.training.trainee import Watch

GROUPS = {  # data sets that are left out together
    "wmt16": ("wmt16_daseg",),
    "kk-en": (rated.DARR,),
    "stsb": ("stsb_en_dev", "stsb_de_dev"),
    "summeval": ("summeval",),
    "ted21": ("ted21_ende_mqm", "ted21_zhen_mqm"),
}
GRADED = ("wmt15_daseg", "wmt21_da_toen")  # whose sentences make the set `graded`: pairs that graded_pairs.py rates
TAUGHT = ("wmt21_da_toen",)  # whose translations make the set `taught`, which taught_pairs.py rates
ANCHORS = ("wmt15_daseg", "mlqe_ende_dev")  # what was translated into English or out of it, in its other language
RESAMPLING = Resampling(samples=1000)
FEWEST_RATINGS = 2
LONGEST = 40  # words of a text: the time goes into tokens
Draws = tuple[float, np.ndarray]  # a value, and the same on resamples


@dataclass(frozen=True)
class Plan:
    """How the adapter of a model that ships was trained."""

    layer: str
    rank: int
    epochs: int
    opposites: float
    kept: float  # what an opposite may keep of the score
    symmetric: bool  # precision and recall weigh the same
    sets: tuple[str, ...]


PLANS = {
    "minilm": Plan("4+6", 24, 2, 0.2, 0.3, True, ("wmt15_daseg", "taught:3000", "graded:2500:0.5")),
    "mpnet": Plan("5+8", 8, 2, 0.1, 0.45, False, ("wmt15_daseg", "graded:600:0.15")),
}


@dataclass(frozen=True)
class Study:
    """What all trainings of a run have in common."""

    model: str
    settings: AdapterSettings
    plan: TrainingPlan
    sets: dict[str, tuple[int, float]]  # to train on: how many rows at most (0: all), and what each counts
    work: Path
    anchored: bool = True


def anchors() -> list[str]:
    """Texts in other languages than English, of up to 25 words: sources of translations, or translations."""
    lines = [line for name in ANCHORS for line in rated.records(name)]
    texts = [line["source" if line["lp"].endswith("-en") else "candidate"] for line in lines]
    return [text for text in dict.fromkeys(texts) if len(text.split()) <= graded_pairs.LONGEST]


def drawn(name: str, most: int, seed: int) -> list[dict]:
    """Up to so many lines of a data set, drawn by the seed reference by reference, no more than four of each.

    Of translations those into English; of WMT21, whose single ratings are noisy, those that two people or more rated.
    """
    if name == "graded":
        return graded_pairs.graded(graded_pairs.translations(GRADED), most, seed)
    if name == "taught":
        return taught_pairs.taught(taught_pairs.translations(TAUGHT), most, seed)
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
    chosen = [line for place in source.permutation(len(groups)).tolist() for line in groups[place][:MAX_REFERENCE_RUN]]
    return chosen[: most or None]


def training_files(study: Study, group: str) -> tuple[list[str], list[float]]:
    """What `evalign train` reads: a file of every data set that is not of the group, and what it counts."""
    files, weights = [], []
    for name, (most, weight) in study.sets.items():
        if name not in GROUPS.get(group, ()):
            file = study.work / f"{name}.{most or 'all'}.{study.plan.seed}.jsonl"
            if not file.is_file():
                with whole_file(file) as stream:
                    stream.writelines(json.dumps(line) + "\n" for line in drawn(name, most, study.plan.seed))
            files.append(str(file))
            weights.append(weight)
    return files, weights


def trained(study: Study, group: str) -> Path:
    """The adapter that did not see the group, from the work folder or trained now."""
    from evalign.training.adapter_trainee import AdapterTrainee
    from evalign.training.training_loop import train_to

    files, weights = training_files(study, group)
    data = read_files(files, weights, Columns(), None, None)
    run = [study.model, asdict(study.settings), asdict(study.plan), data.mapping, study.sets, study.anchored]
    target = study.work / f"{study.model}-{group}-{digest(json.dumps(run))}"
    began, cpu = time.monotonic(), time.process_time()
    watch = Watch(evaluated=print, tell=print)
    held = anchors() if study.anchored else ()
    trainee = AdapterTrainee(study.model, study.settings, study.plan.seed, files=len(files), anchors=held)
    done = train_to(target, trainee, data, study.plan, watch, 120.0)
    if not done.found_finished:
        spent = f"{time.process_time() - cpu:.0f} s of CPU, {time.monotonic() - began:.0f} s"
        print(f"{target.name}: {done.train_pairs} pairs, {spent}", flush=True)
    return target


def scores(metric: evalign.Metric, rows: list[Row], file: Path) -> np.ndarray:
    """(rows,) the main field, kept in a file by the metric's signature."""
    scorer = metric.scorer()
    if file.is_file():
        with np.load(file) as kept:
            if str(kept["signature"]) == str(scorer.signature) and len(kept["values"]) == len(rows):
                return np.asarray(kept["values"])
    values = metric.report(scorer, rows)[metric.main]
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


def mean(drawn: list[Draws]) -> Draws:
    """Of several values, resample by resample."""
    return float(np.mean([value for value, _ in drawn])), np.mean([draws for _, draws in drawn], axis=0)


def shown(drawn: Draws, plus: str = "") -> str:
    """The value and its 95% interval."""
    low, high = np.nanquantile(drawn[1], [0.025, 0.975])
    return f"{drawn[0]:{plus}.3f} [{low:{plus}.3f}, {high:{plus}.3f}]"


def compared(study: Study, adapter: str, wide: bool) -> dict[str, evalign.Metric]:
    """`bertscore` first, and `evalign` with the adapter; `wide`: every part of it on its own, too."""
    plain = evalign.BERTScore(model=study.model, threads=1)
    metrics: dict[str, evalign.Metric] = {
        "bertscore": plain,
        "sbert": evalign.SBert(model=study.model, threads=1),
        "chrf": evalign.ChrF(),
        "evalign": evalign.Evalign(model=study.model, adapter=adapter, threads=1),
    }
    if wide:
        metrics |= {
            f"bertscore(layer={study.settings.layer})": replace(plain, layer=study.settings.layer),
            "F1 with the adapter": replace(plain, adapter=adapter),
            "F1 with the adapter, all tokens alike": replace(plain, adapter=without_importance(adapter)),
            "F1 of the exact assignment with the adapter": evalign.LiSAScore(
                model=study.model, adapter=adapter, threads=1
            ),
        }
    return metrics


def without_importance(adapter: str) -> str:
    """The folder of the same adapter, for which all tokens weigh the same."""
    folder = Path(f"{adapter}.alike")
    if not folder.exists():
        folder.mkdir()
        found = read_adapter(adapter)
        replace(found, importance=np.zeros_like(found.importance)).save(folder)
    return str(folder)


def table(study: Study, group: str, names: Sequence[str], every: int, wide: bool) -> str:
    """One line per data set that took no part in the training, and metric."""
    target, kept = trained(study, group), study.work / "scores"
    lines, seen = [], set(study.sets) - set(GROUPS.get(group, ()))
    seen |= {kin for kins in GROUPS.values() for kin in kins if seen & set(kins)}  # its texts in another language, too
    kept.mkdir(exist_ok=True)
    every_set = [name for own in GROUPS.values() for name in own if name not in seen]
    for name in names or GROUPS.get(group, every_set):
        if name in seen:
            raise SystemExit(f"{name}: its texts take part in the training; leave them out")
        said = held_out(name, every)
        found = {
            kind: scores(metric, said.rows, kept / f"{name}.{every}.{digest(str(metric))}.npz")
            for kind, metric in compared(study, str(target), wide).items()
        }
        start = judged(said, found["bertscore"])
        for kind, values in found.items():
            drawn = judged(said, values)
            gain = drawn[0] - start[0], drawn[1] - start[1]
            spread = ", ".join(f"{value:.3g}" for value in np.percentile(values, [5, 50, 95]))
            lines.append(f"| {name} | {len(said.rows)} | {kind} | {shown(drawn)} | {shown(gain, '+')} | {spread} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def digest(text: str) -> str:
    """Eight digits that stand for it in a file name."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for adapters and scores")
    parser.add_argument("--model", choices=PLANS, default="minilm")
    parser.add_argument("--leave-out", nargs="+", choices=[*GROUPS, "none"], default=["none"])
    parser.add_argument("--train", nargs="+", metavar="SET[:ROWS[:WEIGHT]]")
    parser.add_argument("--judge", nargs="+", default=(), metavar="SET", help="other sets that take no part, too")
    parser.add_argument("--every", type=int, default=1, help="judge one in so many documents")
    parser.add_argument("--wide", action="store_true", help="its layers without it, greedy and assignment with it")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--layer")
    parser.add_argument("--matching", default="greedy")
    parser.add_argument("--negatives", type=float, default=0.1)
    parser.add_argument("--damage", type=float, default=0.0)
    parser.add_argument("--opposites", type=float)
    parser.add_argument("--kept", type=float, help="what an opposite may keep of the score")
    parser.add_argument("--symmetric", action=argparse.BooleanOptionalAction, help="P and R weigh the same")
    parser.add_argument("--no-anchors", action="store_true", help="let tokens of other languages move")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--lr", type=float, default=ADAPTER_PLAN.rate)
    parser.add_argument("--seed", type=int, default=ADAPTER_PLAN.seed)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    ships = PLANS[given.model]
    rank, layer = given.rank or ships.rank, given.layer or ships.layer
    opposites = ships.opposites if given.opposites is None else given.opposites
    guards = given.negatives, given.damage, opposites
    kept = ships.kept if given.kept is None else given.kept
    symmetric = ships.symmetric if given.symmetric is None else given.symmetric
    settings = AdapterSettings(rank, layer, given.matching, *guards, kept, symmetric)
    epochs = given.epochs or ships.epochs
    plan = replace(ADAPTER_PLAN, epochs=epochs, rate=given.lr, seed=given.seed, dev=0.0, threads=1)
    said = [[*text.split(":"), "", ""][:3] for text in given.train or ships.sets]
    sets = {name: (int(rows or 0), float(weight or 1)) for name, rows, weight in said}
    study = Study(given.model, settings, plan, sets, given.work, not given.no_anchors)
    parts = [table(study, group, given.judge, given.every, given.wide) for group in given.leave_out]
    head = "| data left out | rows | metric | agreement | to bertscore | scores at 5, 50, 95% |"
    print(f"\n{head}\n|---|---|---|---|---|---|", *parts, sep="\n")


if __name__ == "__main__":
    main()
