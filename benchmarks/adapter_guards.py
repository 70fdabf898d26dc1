"""What a trained adapter makes of cheap tricks, opposites and unrelated text, beside plain bertscore.

    python benchmarks/adapter_guards.py runs/minilm-wmt16-1a2b3c4d

Scores of an adapter are those of its output layer from 0 (what unrelated texts were held to in training) to 100 (the
reference itself); of plain bertscore F1, rescaled by the baseline that ships, times 100. benchmarks/negations.tsv has
50 references, each with a paraphrase and the opposite, written for this table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import rated
import workloads

import evalign
from evalign.analysis.audit.robustness import TRICKS
from evalign.encoders.adapter import read_adapter
from evalign.encoders.pinned_models import known_by_digest

NEGATIONS = Path(__file__).with_name("negations.tsv")
SHARE = 0.6  # of the paraphrase's score, which the opposite should stay below
LOW = 20  # what unrelated text should stay below
Score = Callable[[Sequence[str], Sequence[str]], np.ndarray]


def adapted(folder: str, model: str) -> Score:
    """0 to 100."""
    metric, output = evalign.BERTScore(model=model, adapter=folder, threads=1), read_adapter(folder).output

    def score(candidates: Sequence[str], references: Sequence[str]) -> np.ndarray:
        report = metric.score(candidates, references)
        return output.percent(np.stack([report[name] for name in report.fields], axis=-1))

    return score


def plain(model: str) -> Score:
    """F1 above the baseline, times 100."""
    metric = evalign.BERTScore(model=model, rescale=True, threads=1)
    return lambda candidates, references: 100 * metric.score(candidates, references)["f1"]


def negations() -> list[tuple[str, str, str]]:
    """Reference, paraphrase, opposite."""
    return [tuple(line.split("\t")) for line in NEGATIONS.read_text("utf-8").splitlines()[1:]]


def tables(scores: dict[str, Score], pairs: int) -> str:
    """One row per trick, with mean change and the number of texts that gain, for every score."""
    candidates, references = workloads.mt_pairs(pairs)
    start = {name: score(candidates, references) for name, score in scores.items()}
    lines = [f"| none | {' | '.join(f'{value.mean():.1f}' for value in start.values())} |"]
    for trick, change in TRICKS.items():
        tried = [change.apply(text) for text in candidates]
        moved = [score(tried, references) - start[name] for name, score in scores.items()]
        cells = [f"{one.mean():+.1f}, {(one > 1e-6).sum()} gain, at most {max(0, one.max()):.1f}" for one in moved]
        lines.append(f"| {trick}: {change.about} | {' | '.join(cells)} |")
    lines.append(f"| another reference (95 in 100 below {LOW}) | {' | '.join(_unrelated(scores, pairs))} |")
    lines.append(f"| opposite below {SHARE} of the paraphrase | {' | '.join(_opposites(scores))} |")
    head = f"| {pairs} pairs of kk-en | {' | '.join(scores)} |"
    return "\n".join([head, "|---" * (len(scores) + 1) + "|", *lines])


def _unrelated(scores: dict[str, Score], pairs: int) -> list[str]:
    """Candidates of WMT15 against the references of other sentences."""
    lines = [line for line in rated.records("wmt15_daseg") if line["lp"].endswith("-en")][:: max(1, 2000 // pairs)]
    candidates, references = [line["candidate"] for line in lines], [line["references"][0] for line in lines]
    found = [score(candidates, references[7:] + references[:7]) for score in scores.values()]
    return [f"mean {one.mean():.1f}, {100 * (one < LOW).mean():.0f} in 100" for one in found]


def _opposites(scores: dict[str, Score]) -> list[str]:
    references, paraphrases, opposites = map(list, zip(*negations(), strict=True))
    found = [(score(paraphrases, references), score(opposites, references)) for score in scores.values()]
    return [
        f"{(opposite < SHARE * same).sum()} of {len(same)}; means {opposite.mean():.1f} and {same.mean():.1f}"
        for same, opposite in found
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adapters", nargs="+", metavar="FOLDER")
    parser.add_argument("--pairs", type=int, default=200)
    given = parser.parse_args()
    known = known_by_digest(read_adapter(given.adapters[0]).base_sha256)
    if known is None:
        parser.error("the adapter's base is none of the models that evalign knows")
    scores = {"bertscore": plain(known.name)} | {Path(one).name: adapted(one, known.name) for one in given.adapters}
    print(tables(scores, given.pairs))


if __name__ == "__main__":
    main()
