"""Greedy, assignment and transport against people: tables for docs/agreement.md, from the scores of agreement_grid.py.

    python benchmarks/agreement_table.py minilm mpnet --grid build/grid --write docs/agreement.md

Per model: every matching x layers x IDF x special tokens on every data set, with 95 % intervals over documents; then
assignment minus greedy with a paired interval. Settings without scores are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import rated

from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import Estimate
from evalign.stats.levels import Rated, agreement, agreement_draws

SAMPLES = Resampling(samples=500)
MARKER = "<!-- made by benchmarks/agreement_table.py -->"
NAMES = {
    "wmt15_daseg": "WMT15",
    "wmt16_daseg": "WMT16",
    "summeval": "SummEval",
    "ted21_ende_mqm": "TED21 en-de",
    "stsb_en_dev": "STS-B",
}
SHOWN = {"minilm": ("4", "6", "3+4+6"), "mpnet": ("7", "12", "6+7+8")}


class DataSet:
    """One rated set: the agreement of a column of scores, and its draws on fixed resamples."""

    def __init__(self, name: str, data: Path) -> None:
        self.name = name
        self.rated = rated.load(name, data)
        if name == "summeval":
            self.parts = [(slice(None), human, "spearman", "summary") for human in self.rated.human.values()]
        else:
            human = self.rated.human["human"]
            rows = [np.flatnonzero(self.rated.groups == group) for group in sorted(set(self.rated.groups))]
            self.parts = [(part, human[part], "pearson", "segment") for part in rows]

    def draws(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        values, drawn = [], []
        for number, (part, human, statistic, level) in enumerate(self.parts):
            one = Rated(scores[part].astype(np.float64), human, self.rated.documents[part])
            values.append(agreement(one, statistic, level).value)
            stream = SAMPLES if level == "summary" else SAMPLES.independent(number)
            drawn.append(agreement_draws(one, statistic, level, stream))
        return float(np.mean(values)), np.mean(drawn, axis=0)


def estimate(value: float, draws: np.ndarray) -> Estimate:
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return Estimate(value, len(draws), float(low), float(high))


def shown(found: Estimate) -> str:
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def spec(kind: str, model: str, idf: str, specials: str) -> str:
    options = [f"model={model}"] if model != "minilm" else []
    options += [f"idf={idf}"] if idf != "no" else []
    options += [f"specials={specials}"] if specials != "keep" else []
    return f"{kind}({', '.join(options)})" if options else kind


def tables(model: str, grid: Path, data: Path) -> str:
    sets = [DataSet(name, data) for name in NAMES if (grid / f"{model}.{name}.npz").exists()]
    arrays = {one.name: np.load(grid / f"{model}.{one.name}.npz") for one in sets}
    heads = [NAMES[one.name] for one in sets]
    lines = [f"### {model}", "", "| matching | layers | IDF | specials | " + " | ".join(heads) + " |"]
    lines.append("|---" * (4 + len(sets)) + "|")
    gains = []
    for layers in SHOWN[model]:
        for idf in ("no", "references"):
            for specials in ("keep", "drop"):
                pair = {}
                for matching, kind in (("greedy", "bertscore"), ("exact", "lisascore")):
                    pair[matching] = [
                        one.draws(_scores(arrays, one, spec(kind, model, idf, specials), layers)) for one in sets
                    ]
                    cells = [shown(estimate(*found)) for found in pair[matching]]
                    lines.append(f"| {matching} | {layers} | {idf} | {specials} | " + " | ".join(cells) + " |")
                if (idf, specials) == ("no", "keep"):
                    apart = zip(pair["exact"], pair["greedy"], strict=True)
                    gains.append((layers, [shown(estimate(a[0] - b[0], a[1] - b[1])) for a, b in apart]))
            cells = [
                shown(estimate(*one.draws(_scores(arrays, one, spec("moverscore", model, idf, "keep"), layers))))
                for one in sets
            ]
            lines.append(f"| transport | {layers} | {idf} | no mass | " + " | ".join(cells) + " |")
    lines += ["", f"Exact assignment minus greedy matching, {model}, same resamples:", ""]
    lines += ["| layers | " + " | ".join(heads) + " |", "|---" * (1 + len(sets)) + "|"]
    lines += [f"| {layers} | " + " | ".join(cells) + " |" for layers, cells in gains]
    lines += ["", f"Every layer of {model}, greedy / exact, without IDF:", ""]
    choices = arrays[sets[0].name][f"choices of {spec('bertscore', model, 'no', 'keep')}"].tolist()
    lines += ["| layers | " + " | ".join(heads) + " |", "|---" * (1 + len(sets)) + "|"]
    for layers in choices:
        cells = []
        for one in sets:
            pair = [
                one.draws(_scores(arrays, one, spec(kind, model, "no", "keep"), layers))[0]
                for kind in ("bertscore", "lisascore")
            ]
            cells.append(" / ".join(f"{value:.3f}" for value in pair))
        lines.append(f"| {layers} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _scores(arrays: dict, one: DataSet, name: str, layers: str) -> np.ndarray:
    found = arrays[one.name]
    return found[name][found[f"choices of {name}"].tolist().index(layers), :, -1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--grid", type=Path, default=Path("build/grid"))
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    text = "\n\n".join(tables(model, arguments.grid, arguments.data) for model in arguments.models)
    print(text)
    if arguments.write:
        head = arguments.write.read_text("utf-8").partition(MARKER)[0]
        arguments.write.write_text(f"{head}{MARKER}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
