"""Which layers agree best with people over all kinds of text, and how sure is that?

    python benchmarks/layer_choice.py minilm --work runs/layers [--rows 1500] [--default 4]

Scores every set with bertscore under all choices of layers, in one encoding pass each, and prints (1) the agreement of
the best choices by kind of text, (2) for each kind the choice that the other kinds make, and its agreement there, (3)
the difference of the best choice to the default on each set, with a 95 % interval over documents. Finished sets stay
in the work folder; a run that was stopped goes on there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
from guide_data import Sample, sample

import evalign
from evalign.io.files import whole_file
from evalign.stats.bootstrap import Resampling
from evalign.stats.levels import Rated, agreement, agreement_draws
from evalign.training.layers import Setting, depth, grid_scores

KINDS = {  # kind of text -> sets; those of a kind count the same, and so do the kinds
    "translations": ("wmt15_daseg", "wmt16_daseg", "wmt21_da_toen", "wmt23_zhen_dasqm", "ted21_zhen_mqm"),
    "sentence pairs": ("stsb_en_dev", "sick"),
    "paraphrases": ("parabank_ratings",),
    "summaries": ("summeval", "realsumm_author_scores"),
    "German": ("stsb_de_dev", "mlqe_ende_dev", "ted21_ende_mqm"),
}
BY_RANK = ("stsb_en_dev", "stsb_de_dev", "sick", "summeval", "realsumm_author_scores", "parabank_ratings")
RESAMPLING = Resampling(samples=1000)
FEWEST = 20  # rows of a language pair
SHOWN = 12  # choices in the table
MOST_AVERAGED = {"minilm": 4, "mpnet": 2}  # layers whose similarities are averaged
Drawn = tuple[float, np.ndarray]  # a value, and the same on resamples


def layer_sets(model: str) -> tuple[str, ...]:
    """All choices of up to so many layers, the lowest two left out of averages."""
    layers = depth(evalign.BERTScore(model=model))
    averaged = [
        pick for size in range(2, MOST_AVERAGED[model] + 1) for pick in combinations(range(2, layers + 1), size)
    ]
    return (*map(str, range(layers + 1)), *("+".join(map(str, pick)) for pick in averaged))


def scored(model: str, name: str, part: Sample, choices: tuple[str, ...], work: Path) -> np.ndarray:
    """F1 of every choice, (choices, rows), kept in the work folder."""
    file = work / f"{model}.{name}.{len(part.rows)}.npz"
    if file.is_file():
        with np.load(file) as kept:
            if kept["choices"].tolist() == list(choices):
                return np.asarray(kept["f1"], dtype=np.float64)
    setting = Setting(evalign.BERTScore(model=model), choices)
    (scores,) = grid_scores([setting], part.rows, lambda _: None)
    with whole_file(file, binary=True) as stream:
        np.savez_compressed(stream, choices=np.array(choices), f1=scores[..., -1])
    return np.asarray(scores[..., -1])


def judged(name: str, part: Sample, f1: np.ndarray) -> Drawn:
    """Mean agreement over language pairs and aspects, and the same on resamples of documents."""
    statistic, drawn = ("spearman" if name in BY_RANK else "pearson"), []
    for stream, group in enumerate(sorted(set(part.groups))):
        rows = part.groups == group
        if rows.sum() < FEWEST or (name in KINDS["translations"] and not group.endswith("-en")):
            continue
        for human in part.human.values():
            one = Rated(f1[rows], human[rows], documents=part.documents[rows])
            draws = agreement_draws(one, statistic, "segment", RESAMPLING.independent(stream))
            drawn.append((float(agreement(one, statistic).value or 0.0), draws))
    return float(np.mean([value for value, _ in drawn])), np.mean([draws for _, draws in drawn], axis=0)


def best_of(table: dict[str, np.ndarray], kinds: Iterable[str]) -> int:
    """Index of the choice with the highest mean over kinds."""
    return int(np.mean([table[kind] for kind in kinds], axis=0).argmax())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MOST_AVERAGED)
    parser.add_argument("--work", type=Path, required=True, help="folder for scores")
    parser.add_argument("--rows", type=int, default=1500, help="about so many of each set")
    parser.add_argument("--default", default="4", help="the choice that others are compared with")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    choices = layer_sets(given.model)
    default = choices.index(given.default)
    by_set: dict[str, list[Drawn]] = {}
    for name in (name for names in KINDS.values() for name in names):
        part = sample(name, given.rows)
        f1 = scored(given.model, name, part, choices, given.work)
        by_set[name] = [judged(name, part, values) for values in f1]
        print(f"{name}: {len(part.rows)} rows", file=sys.stderr, flush=True)
    table = {
        kind: np.mean([[value for value, _ in by_set[name]] for name in names], axis=0) for kind, names in KINDS.items()
    }
    overall = np.mean(list(table.values()), axis=0)
    print(f"| layers | {' | '.join(KINDS)} | mean |\n|---|{'---|' * (len(KINDS) + 1)}")
    for index in dict.fromkeys([*np.argsort(-overall)[:SHOWN].tolist(), default]):
        cells = " | ".join(f"{table[kind][index]:.3f}" for kind in KINDS)
        print(f"| {choices[index]} | {cells} | {overall[index]:.4f} |")
    print(f"\n| kind left out | choice of the others | agreement | of {given.default} |\n|---|---|---|---|")
    for kind in KINDS:
        index = best_of(table, [other for other in KINDS if other != kind])
        print(f"| {kind} | {choices[index]} | {table[kind][index]:.3f} | {table[kind][default]:.3f} |")
    best = best_of(table, KINDS)
    print(f"\n| set | {given.default} | {choices[best]} | difference |\n|---|---|---|---|")
    for name, drawn in by_set.items():
        low, high = np.nanquantile(drawn[best][1] - drawn[default][1], [0.025, 0.975])
        gain = f"{drawn[best][0] - drawn[default][0]:+.3f} [{low:+.3f}, {high:+.3f}]"
        print(f"| {name} | {drawn[default][0]:.3f} | {drawn[best][0]:.3f} | {gain} |")


if __name__ == "__main__":
    main()
