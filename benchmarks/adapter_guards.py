"""What a trained adapter makes of cheap tricks, opposites and unrelated text, beside plain bertscore.

    python benchmarks/adapter_guards.py runs/minilm-wmt16-1a2b3c4d

Scores of an adapter are those of the metric `evalign`; of plain bertscore: F1, rescaled,
times 100. benchmarks/negations.tsv has 50 references, each with a paraphrase and the opposite, written for this table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import rated
import workloads

import evalign
from evalign.analysis.audit_measurements import TRICKS
from evalign.encoders.adapter import read_adapter
from evalign.encoders.weights import known_by_digest
from evalign.training.damage import RULES

NEGATIONS = Path(__file__).with_name("negations.tsv")
SHARE = 0.6  # of the paraphrase's score, which the opposite should stay below
LOW = 20  # what unrelated text should stay below
LONG = " ".join(f"Sentence {number} of a long report is about topic {number % 17}." for number in range(400))
ODD = {
    "empty text": ("", "The cat sat on the mat."),
    "one word, the same": ("cat", "cat"),
    "one word, a synonym: feline / cat": ("feline", "cat"),
    "one word, another: economics / cat": ("economics", "cat"),
    "Yes / No": ("Yes", "No"),
    "Russian, a paraphrase": ("Кошка сидела на ковре.", "На ковре сидела кошка."),
    "Russian, unrelated": ("Поезд опоздал на час.", "На ковре сидела кошка."),
    "Japanese, unrelated": ("列車は一時間遅れた。", "猫がマットの上に座った。"),
    "emoji, others": ("\U0001f600\U0001f600", "\U0001f697\U0001f697"),
    "3,600 words, themselves": (LONG, LONG),
    "3,600 words, without the second half": (LONG[: len(LONG) // 2], LONG),
}
Score = Callable[[Sequence[str], Sequence[str]], np.ndarray]


def adapted(folder: str, model: str) -> Score:
    """The metric `evalign` with an adapter."""
    metric = evalign.Evalign(model=model, adapter=folder, threads=1)
    return lambda candidates, references: metric.score(candidates, references)["score"]


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
    lines += [f"| {label} | {' | '.join(cells)} |" for label, cells in _damaged(scores, start, pairs)]
    lines.append(f"| another reference (95 in 100 below {LOW}) | {' | '.join(_unrelated(scores, pairs))} |")
    lines.append(f"| opposite below {SHARE} of the paraphrase | {' | '.join(_opposites(scores))} |")
    lines += [f"| {label} | {' | '.join(cells)} |" for label, cells in _odd(scores)]
    head = f"| {pairs} pairs of kk-en | {' | '.join(scores)} |"
    return "\n".join([head, "|---" * (len(scores) + 1) + "|", *lines])


def _damaged(
    scores: dict[str, Score], start: dict[str, np.ndarray], pairs: int
) -> Iterator[tuple[str, str, list[str]]]:
    """What the rules that training may use do to those candidates that they apply to."""
    candidates, references = workloads.mt_pairs(pairs)
    source = np.random.default_rng(0)
    for rule in ("number", "name", "clause", "drop"):
        change = RULES[rule][0]
        donors = references[7:] + references[:7]
        copies = [change(text.split(), donor.split(), source) for text, donor in zip(candidates, donors, strict=True)]
        places = [place for place, words in enumerate(copies) if words and words != candidates[place].split()]
        changed, against = [" ".join(copies[place]) for place in places], [references[place] for place in places]
        moved = [score(changed, against) - start[name][places] for name, score in scores.items()]
        cells = [f"{one.mean():+.1f}, {(one > 1e-6).sum()} of {len(one)} gain" for one in moved]
        yield f"{rule}: {change.__doc__}", cells


def _odd(scores: dict[str, Score]) -> Iterator[tuple[str, list[str]]]:
    """Inputs of a kind that no training data has."""
    for label, (candidate, reference) in ODD.items():
        yield label, [f"{score([candidate], [reference])[0]:.1f}" for score in scores.values()]


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
