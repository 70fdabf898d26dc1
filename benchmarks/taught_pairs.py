"""Translations that no person has to rate: the larger encoder's `evalign` rates them, the smaller one learns from that.

    python benchmarks/taught_pairs.py wmt21_da_toen --out pairs.jsonl --pairs 5000

Up to two translations of every reference, both texts up to 32 words; every fourth translation is damaged by rule
(training/damage.py). No human rating is read: `human` in the file is the score of `evalign(model=mpnet)`.
`benchmarks/adapters.py` trains on them (`--train taught:5000`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import rated

import evalign
from evalign.io.files import whole_file
from evalign.training.damage import damaged

TEACHER = "evalign(model=mpnet)"
LONGEST, SHORTEST = 32, 3  # words
TRANSLATIONS = 2  # of a reference
DAMAGED = 4  # one translation in so many
UNSEEN = "repetition"  # the rule whose copies a matching cannot tell from the text itself


def translations(names: Sequence[str]) -> list[tuple[str, str]]:
    """Distinct pairs (translation into English, reference)."""
    lines = [line for name in names for line in rated.records(name) if line["lp"].endswith("-en")]
    pairs = dict.fromkeys((line["candidate"], line["references"][0]) for line in lines)
    return [pair for pair in pairs if all(SHORTEST <= len(text.split()) <= LONGEST for text in pair)]


def taught(pairs: Sequence[tuple[str, str]], most: int, seed: int) -> list[dict]:
    """Up to so many rows, reference by reference, with the teacher's score as rating."""
    source, by_reference = np.random.default_rng(seed), {}
    for place in source.permutation(len(pairs)).tolist():
        by_reference.setdefault(pairs[place][1], []).append(pairs[place])
    groups = list(by_reference.values())
    drawn = [pair for place in source.permutation(len(groups)).tolist() for pair in groups[place][:TRANSLATIONS]]
    texts = [(_perhaps_damaged(drawn, number, seed), drawn[number][1]) for number in range(min(most, len(drawn)))]
    report = evalign.metric(TEACHER).score(*zip(*texts, strict=True))
    return [
        {"id": f"taught.{number}", "candidate": text, "references": [reference], "human": round(float(score), 3)}
        for number, ((text, reference), score) in enumerate(zip(texts, report["score"], strict=True))
    ]


def _perhaps_damaged(drawn: Sequence[tuple[str, str]], number: int, seed: int) -> str:
    text, donor = drawn[number][0], drawn[number - TRANSLATIONS][1]
    copy = damaged(text, donor, np.random.default_rng([seed, number])) if number % DAMAGED == 0 else None
    return text if copy is None or copy.rule == UNSEEN else copy.text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="SET")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=12345)
    given = parser.parse_args()
    rows = taught(translations(given.sets), given.pairs, given.seed)
    with whole_file(given.out) as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    shares = ", ".join(f"{share:.0f}" for share in np.percentile([row["human"] for row in rows], [5, 25, 50, 75, 95]))
    print(f"{given.out}: {len(rows)} pairs, scores at 5, 25, 50, 75, 95%: {shares}")


if __name__ == "__main__":
    main()
