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

    def __init__(self, name: str, data: Path, file: Path) -> None:
        self.name = name
        with np.load(file) as arrays:
            self.arrays = dict(arrays)
        said = rated.load(name, data)
        ids = set(self.arrays.get("ids", [row.id for row in said.rows]))
        kept = np.array([row.id in ids for row in said.rows])
        self.documents, groups = said.documents[kept], said.groups[kept]
        if name == "summeval":
            self.parts = [(slice(None), human[kept], "spearman", "summary") for human in said.human.values()]
        else:
            human = said.human["human"][kept]
            rows = [np.flatnonzero(groups == group) for group in sorted(set(groups))]
            self.parts = [(part, human[part], "pearson", "segment") for part in rows]

    @property
    def title(self) -> str:
        return f"{NAMES[self.name]} ({len(self.documents)})"

    def scores(self, setting: str, layers: str) -> np.ndarray | None:
        """One score per row, if this setting was scored."""
        choices = self.arrays[f"choices of {setting}"].tolist()
        return self.arrays[setting][choices.index(layers), :, -1] if layers in choices else None

    def draws(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        values, drawn = [], []
        for number, (part, human, statistic, level) in enumerate(self.parts):
            one = Rated(scores[part].astype(np.float64), human, self.documents[part])
            values.append(agreement(one, statistic, level).value)
            stream = SAMPLES if level == "summary" else SAMPLES.independent(number)
            drawn.append(agreement_draws(one, statistic, level, stream))
        return float(np.mean(values)), np.mean(drawn, axis=0)


def shown(drawn: tuple[float, np.ndarray] | None) -> str:
    if drawn is None:
        return "-"
    low, high = np.nanquantile(drawn[1], [0.025, 0.975])
    return f"{drawn[0]:.3f} [{low:.3f}, {high:.3f}]"


def minus(one: tuple[float, np.ndarray] | None, other: tuple[float, np.ndarray] | None) -> str:
    return "-" if one is None or other is None else shown((one[0] - other[0], one[1] - other[1]))


def spec(kind: str, model: str, idf: str, specials: str) -> str:
    options = [f"model={model}"] if model != "minilm" else []
    options += [f"idf={idf}"] if idf != "no" else []
    options += [f"specials={specials}"] if specials != "keep" else []
    return f"{kind}({', '.join(options)})" if options else kind


def tables(model: str, grid: Path, data: Path) -> str:
    files = {name: grid / f"{model}.{name}.npz" for name in NAMES}
    sets = [DataSet(name, data, file) for name, file in files.items() if file.exists()]
    heads = " | ".join(one.title for one in sets)

    def row(kind: str, idf: str, specials: str, layers: str) -> list[tuple[float, np.ndarray] | None]:
        found = [(one, one.scores(spec(kind, model, idf, specials), layers)) for one in sets]
        return [None if scores is None else one.draws(scores) for one, scores in found]

    settings, gains = [], []
    for layers in SHOWN[model]:
        for idf in ("no", "references"):
            for specials in ("keep", "drop"):
                greedy, exact = (row(kind, idf, specials, layers) for kind in ("bertscore", "lisascore"))
                settings += [["greedy", layers, idf, specials, *map(shown, greedy)]]
                settings += [["exact", layers, idf, specials, *map(shown, exact)]]
                if (idf, specials) == ("no", "keep"):
                    gains.append([layers, *map(minus, exact, greedy)])
            settings.append(["transport", layers, idf, "no mass", *map(shown, row("moverscore", idf, "keep", layers))])
    single = []
    for layers in sets[0].arrays[f"choices of {spec('bertscore', model, 'no', 'keep')}"].tolist():
        pair = zip(*(row(kind, "no", "keep", layers) for kind in ("bertscore", "lisascore")), strict=True)
        single.append([layers, *("-" if None in both else f"{both[0][0]:.3f} / {both[1][0]:.3f}" for both in pair)])
    return "\n\n".join(
        [
            f"## {model}",
            markdown(f"| matching | layers | IDF | specials | {heads} |", settings),
            f"Exact assignment minus greedy matching, {model}, same resamples:",
            markdown(f"| layers | {heads} |", gains),
            f"Layers of {model}, greedy / exact, without IDF:",
            markdown(f"| layers | {heads} |", single),
        ]
    )


def markdown(head: str, rows: list[list[str]]) -> str:
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *(f"| {' | '.join(cells)} |" for cells in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, default=rated.DATA, help="folder of the rated data sets")
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
