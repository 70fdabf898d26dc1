"""Chooses and judges the recipe behind metric `evalign`: leave one data set out, then fit on all, for docs/recipe.md.

    python benchmarks/recipe.py minilm mpnet --folder build/recipe --write docs/recipe.md          # judge what ships
    python benchmarks/recipe.py minilm mpnet --folder build/recipe --fit src/evalign/metrics/recipes

Ratings are standardised within each group (a language pair, a data set) and features centred there, so that data of
different scales can be pooled; of pairs (kk-en) the difference is fitted. Every data set weighs the same, those that
are no translations into English a quarter. The weights of a data set's own column come from the other data sets only.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rated
import recipe_data as rd
import workloads

import evalign
from attacks import ATTACKS
from evalign.encoders.loading import EncoderChoice, close_encoders, open_encoder
from evalign.metrics.evalign_metric import weighed
from evalign.metrics.learned_file import LearnedFile, Term
from evalign.metrics.rows import make_rows
from evalign.stats.bootstrap import Resampling
from evalign.stats.levels import Rated, agreement, agreement_draws
from evalign.version import __version__

MARKER = "<!-- made by benchmarks/recipe.py -->"
STRENGTH = 0.01
DARR_TARGET = 0.4  # half the distance, in standard deviations, that better and worse are taken to lie apart
UNRELATED_TARGET = 3.0  # standard deviations of the ratings below a data set's mean
UNRELATED_WEIGHT = 0.01
WEIGHTS = {
    **dict.fromkeys(("wmt15_daseg", "wmt16_daseg", rated.DARR), 1.0),
    **dict.fromkeys(("summeval", "ted21_ende_mqm", "stsb_en_dev"), 0.25),
}
KIN = ({"wmt15_daseg", "wmt16_daseg"},)  # data sets of one kind
ENGLISH = "into English"  # the mean over the language pairs
SAMPLES = Resampling(samples=500)
SHARES = (1, 5, 25, 50, 75, 95, 99)
UNRELATED = 500
SHARE = {"mpnet": 0.25}  # of the texts in tables that encode anew: MPNet takes seven times as long
Draws = tuple[float, np.ndarray]


@dataclass(frozen=True)
class Column:
    """One data set: features by pair, plain bertscore, and the parts that are judged: rows, ratings, statistic."""

    name: str
    looked: rd.Looked
    parts: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]  # name -> rows, ratings, documents

    def best(self, weights: np.ndarray) -> np.ndarray:
        """The score of every row: that of its best reference."""
        scores = np.full(self.looked.owner.max() + 1, -np.inf)
        np.maximum.at(scores, self.looked.owner, self.looked.values @ weights)
        return scores

    def rows(self) -> np.ndarray:
        """Features of every row, each at its best reference, for fitting."""
        values = np.full((self.looked.owner.max() + 1, len(self.looked.names)), -np.inf)
        np.maximum.at(values, self.looked.owner, self.looked.values)
        return values

    def equations(self) -> tuple[np.ndarray, np.ndarray]:
        """X'X / n and X'y / n, and a little of the same for unrelated texts, which lie far below what systems write."""
        values = self.rows()
        inner, outer = self._rated(values)
        below = values.mean(axis=0) - self.looked.unrelated
        return (
            inner + UNRELATED_WEIGHT * below.T @ below / len(below),
            outer + UNRELATED_WEIGHT * UNRELATED_TARGET * below.mean(axis=0),
        )

    def _rated(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features centred and ratings standardised within groups."""
        if self.name == rated.DARR:
            half = (values[0::2] - values[1::2]) / 2
            return half.T @ half / len(half), half.mean(axis=0) * DARR_TARGET
        groups = list(self.parts.values())
        if self.name == "summeval":  # one target: the mean of the standardised aspects
            groups = [(groups[0][0], sum(map(standard, (ratings for _, ratings, _ in groups))), groups[0][2])]
        inner, outer, count = 0, 0, 0
        for rows, ratings, _ in groups:
            centred = values[rows] - values[rows].mean(axis=0)
            inner, outer = inner + centred.T @ centred, outer + centred.T @ standard(ratings)
            count += len(rows)
        return inner / count, outer / count

    def judged(self, scores: np.ndarray) -> dict[str, Draws]:
        """Agreement by part, with its draws; translations into English as one part."""
        if self.name == rated.DARR:
            above = np.sign(scores[0::2] - scores[1::2])
            above[above == 0] = -1
            picks = [np.random.default_rng([SAMPLES.seed, k]).integers(len(above), size=len(above)) for k in range(500)]
            return {"kk-en (tau)": (float(above.mean()), np.array([above[pick].mean() for pick in picks]))}
        found = {}
        for number, (part, (rows, ratings, documents)) in enumerate(self.parts.items()):
            one = Rated(scores[rows], ratings, documents)
            stream = SAMPLES if self.name == "summeval" else SAMPLES.independent(number)
            found[part] = float(agreement(one).value or 0), agreement_draws(one, "pearson", "segment", stream)
        together = [part for part in found if part.endswith("-en")] or ([*found] if len(found) > 1 else [])
        title = ENGLISH if self.name.startswith("wmt") else "mean of aspects"
        kept = {part: drawn for part, drawn in found.items() if part not in together}
        return ({title: mean([found[part] for part in together])} if together else {}) | kept


def standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


def mean(drawn: list[Draws]) -> Draws:
    return float(np.mean([value for value, _ in drawn])), np.mean([draws for _, draws in drawn], axis=0)


def column(name: str, model: str, data: Path, folder: Path) -> Column:
    looked = rd.look(name, model, data, folder)
    if name == rated.DARR:
        return Column(name, looked, {})
    said, count = rated.load(name, data), len(looked.plain)
    every = np.arange(count)
    if len(said.human) > 1:
        return Column(name, looked, {one: (every, v[:count], said.documents[:count]) for one, v in said.human.items()})
    groups = said.groups[:count]
    return Column(
        name,
        looked,
        {
            group: (part, said.human["human"][part], said.documents[part])
            for group in sorted(set(groups))
            if len(part := np.flatnonzero(groups == group))
        },
    )


def solve(columns: list[Column], scales: np.ndarray) -> np.ndarray:
    """Ridge over the pooled equations, on features divided by their spread."""
    shares = np.array([WEIGHTS[one.name] for one in columns])
    inner, outer = (
        sum(share * part for share, part in zip(shares / shares.sum(), parts, strict=True))
        for parts in zip(*(one.equations() for one in columns), strict=True)
    )
    inner = inner / np.outer(scales, scales) + STRENGTH * np.eye(len(scales))
    return np.linalg.solve(inner, outer / scales) / scales


def spread(columns: list[Column]) -> np.ndarray:
    return np.sqrt(np.mean([np.diag(one.equations()[0]) for one in columns], axis=0))


def fit(model: str, columns: list[Column], data: Path) -> LearnedFile:
    """All data sets; then a straight line puts unrelated text near 0 and the text itself at 100."""
    scales = spread(columns)
    weights = solve(columns, scales)
    names, layers = columns[0].looked.names, list(rd.LAYERS[model])
    encoder = open_encoder(EncoderChoice(model, "+".join(map(str, layers)), threads=1)).encoder
    trained = {
        "evalign": __version__, "encoder": model, "layers": layers, "commonest": rd.commonest(model),
        "tuned": int(rd.TUNED[model]),
        "strength": STRENGTH, "data": {one.name: len(one.looked.plain) for one in columns},
    }  # fmt: skip
    means = np.mean([one.rows().mean(axis=0) for one in columns], axis=0)
    itself = float(weights.sum())  # every feature of a text against itself is 1
    lowest = float(np.quantile(rd.features(shuffled(data), model) @ weights, 0.01))
    stretch = 100 / ((itself - lowest) * (1 - 1e-4))  # rounding must not keep the text itself from 100
    terms = [
        Term(*(name, encoder.name), *(round(float(v), 9) for v in (middle, scale, weight * scale * stretch)))
        for name, middle, scale, weight in zip(names, means, scales, weights, strict=True)
    ]
    return LearnedFile(tuple(terms), round(float((means @ weights - lowest) * stretch), 6), 0.0, 100.0, trained)


def shuffled(data: Path) -> list:
    """Translations against references of other sentences."""
    rows = [row for row, lp in zip(*_wmt16(data), strict=True) if lp.endswith("-en")]
    order = np.random.default_rng(0).permutation(len(rows))[:UNRELATED]
    return make_rows([rows[i].candidate for i in order], [rows[i].references[0] for i in np.roll(order, 1)])


def _wmt16(data: Path) -> tuple[list, list]:
    said = rated.load("wmt16_daseg", data)
    return said.rows, said.groups.tolist()


def judge(model: str, columns: list[Column]) -> str:
    """Every data set under weights that did not see it, beside plain bertscore and under the kind left out."""
    scales = spread(columns)
    lines, judged = [], []  # of judged: data set, part, its language pairs, plain, recipe
    for one in columns:
        others = [other for other in columns if other is not one]
        kin = next((kin for kin in KIN if one.name in kin), {one.name})
        strangers = [other for other in columns if other.name not in kin]
        recipe, plain = one.judged(one.best(solve(others, scales))), one.judged(one.looked.plain)
        strange = one.judged(one.best(solve(strangers, scales))) if len(kin) > 1 else {}
        for part in recipe:
            last = f"{strange[part][0]:.3f}" if part in strange else ""
            lines.append(
                f"| {one.name} | {part} | {len(one.looked.plain)} | {compared(plain[part], recipe[part])} | {last} |"
            )
            pairs = sum(name.endswith("-en") for name in one.parts) if part == ENGLISH else 1
            judged.append((one.name, part, pairs, plain[part], recipe[part]))
    for title, chosen in (
        ("six data sets", judged),
        ("without en-ru and ted21", [one for one in judged if one[1] not in ("en-ru", "en-de")]),
    ):
        sets = [[one for one in chosen if one[0] == name] for name in dict.fromkeys(one[0] for one in chosen)]
        plain, recipe = (mean([mean([p[side] for p in part for _ in range(p[2])]) for part in sets]) for side in (3, 4))
        lines.append(f"| **mean** | {title} | | {compared(plain, recipe)} | |")
    head = f"| data left out | part | rows | bertscore(model={model}) | evalign | difference | its kind left out too |"
    return "\n".join([head, "|---" * 7 + "|", *lines])


def compared(plain: Draws, recipe: Draws) -> str:
    """Three cells: both, and the difference."""
    gain = recipe[0] - plain[0], recipe[1] - plain[1]
    return f"{shown(plain)} | {shown(recipe)} | {shown(gain, '+')}"


def shown(drawn: Draws, plus: str = "") -> str:
    low, high = np.nanquantile(drawn[1], [0.025, 0.975])
    return f"{drawn[0]:{plus}.3f} [{low:{plus}.3f}, {high:{plus}.3f}]"


def scale_table(model: str, columns: list[Column], data: Path) -> str:
    """What unrelated text, systems and the text itself get."""
    metric = evalign.metric(f"evalign(model={model}, threads=1)")
    content = metric.content()
    places = [columns[0].looked.names.index(term.feature) for term in content.terms]

    def of(one: Column) -> np.ndarray:
        scores = np.zeros(one.looked.owner.max() + 1)
        np.maximum.at(scores, one.looked.owner, weighed(content, one.looked.values[:, places]))
        return scores

    rows = shuffled(data)
    kinds = {"unrelated: WMT16 candidates against other references": metric.report(metric.scorer(), rows)["score"]}
    kinds |= {f"systems of {one.name}": of(one) for one in columns}
    same = [row.candidate for row in rows[:300]]
    kinds["the text itself"] = metric.score(same, same)["score"]
    lines = [
        f"| {kind} | {' | '.join(f'{value:.1f}' for value in np.percentile(scores, SHARES))} |"
        for kind, scores in kinds.items()
    ]
    head = "| percentiles | " + " | ".join(map(str, SHARES)) + " |"
    return "\n".join([head, "|---" * (len(SHARES) + 1) + "|", *lines])


def attack_table(model: str) -> str:
    pairs = int(200 * SHARE.get(model, 1))
    candidates, references = workloads.mt_pairs(pairs)
    metric = evalign.metric(f"evalign(model={model}, threads=1)")
    scorer = metric.scorer()
    plain = metric.report(scorer, make_rows(candidates, references))["score"]
    lines = [f"| none | {plain.mean():.1f} | | |"]
    for attack, (about, change) in ATTACKS.items():
        moved = metric.report(scorer, make_rows([change(text) for text in candidates], references))["score"] - plain
        lines.append(f"| {attack}: {about} | {moved.mean():+.1f} | {moved.max():+.1f} | {(moved > 0).sum()} |")
    head = f"| attack ({pairs} pairs) | mean score, and change | largest gain | texts that gain |"
    return "\n".join([head, "|---" * 4 + "|", *lines])


def time_table(model: str, rounds: int = 3) -> str:
    """CPU seconds of one thread, interleaved, models loaded, nothing remembered; the best of some rounds."""
    lines, pairs, summaries = [], int(300 * SHARE.get(model, 1)), int(60 * SHARE.get(model, 1))
    for kind, (candidates, references) in {
        f"{pairs} MT pairs": workloads.mt_pairs(pairs), f"{summaries} summaries": workloads.summaries(summaries)
    }.items():  # fmt: skip
        rows, spent = make_rows(candidates, references), {}
        for spec in [f"bertscore(model={model}, threads=1)", f"evalign(model={model}, threads=1)"] * rounds:
            close_encoders()
            scorer = evalign.metric(spec).scorer()
            scorer.score(rows[:2])
            began = time.process_time()
            scorer.score(rows[2:])
            spent.setdefault(spec.partition("(")[0], []).append(time.process_time() - began)
        plain, ours = min(spent["bertscore"]), min(spent["evalign"])
        lines.append(f"| {kind} | {plain:.2f} s | {ours:.2f} s | {ours / plain:.2f} |")
    return "\n".join(["| inputs | bertscore | evalign | ratio |", "|---|---|---|---|", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["minilm"])
    parser.add_argument("--data", type=Path, default=rated.DATA, help="folder of the rated data sets")
    parser.add_argument("--folder", type=Path, default=Path("build/recipe"), help="where features are kept")
    parser.add_argument("--fit", type=Path, metavar="DIR", help="fit on all data sets and write MODEL.json there")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    parts = []
    for model in arguments.models:
        columns = [column(name, model, arguments.data, arguments.folder) for name in WEIGHTS]
        if arguments.fit:
            fit(model, columns, arguments.data).save(arguments.fit / f"{model}.json")
            continue
        for title, made in (
            ("agreement with people", judge(model, columns)),
            ("what a score means", scale_table(model, columns, arguments.data)),
            ("attacks", attack_table(model)),
            ("time", time_table(model)),
        ):
            parts += [f"### {model}: {title}", made]
            print("\n\n".join(parts[-2:]), flush=True)
    if arguments.write and parts:
        head = arguments.write.read_text("utf-8").partition(MARKER)[0]
        arguments.write.write_text(f"{head}{MARKER}\n\n" + "\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
