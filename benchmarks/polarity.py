"""How many opposites does the flag `polarity` find, and how many pairs that mean the same does it flag?

    python benchmarks/polarity.py [--metric bertscore] [--rows 2000]

Opposites: 50 negations (negations.tsv), 50 antonyms (antonyms.tsv, written without a look at the word list), and the
contradictions of SICK. The same meaning: the paraphrases of both files, SICK's entailments, and the sentence pairs of
STS-B that people rated 4.5 or more of 5.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import rated

import evalign

HERE = Path(__file__).resolve().parent
MOST_ALIKE = 4.5


def triples(name: str, kind: str) -> list[tuple[str, str]]:
    """Pairs of a text (`paraphrase` or `opposite`) and its reference."""
    with (HERE / name).open(encoding="utf-8") as stream:
        return [(line[kind], line["reference"]) for line in csv.DictReader(stream, delimiter="\t")]


def sick(label: str) -> list[tuple[str, str]]:
    """SICK's pairs with a label."""
    lines = rated.records("sick")
    return [(line["candidate"], line["references"][0]) for line in lines if line["entailment"].lower() == label]


def alike(name: str) -> list[tuple[str, str]]:
    """The pairs of a data set that people rated as nearly the same."""
    lines = rated.records(name)
    return [(line["candidate"], line["references"][0]) for line in lines if line["human"] >= MOST_ALIKE]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metric", default="bertscore")
    parser.add_argument("--rows", type=int, default=2000, help="most pairs of a set")
    given = parser.parse_args()
    sets = {
        "opposite: negations.tsv": triples("negations.tsv", "opposite"),
        "opposite: antonyms.tsv": triples("antonyms.tsv", "opposite"),
        "opposite: contradictions of SICK": sick("contradiction"),
        "same: negations.tsv, paraphrases": triples("negations.tsv", "paraphrase"),
        "same: antonyms.tsv, paraphrases": triples("antonyms.tsv", "paraphrase"),
        "same: entailments of SICK": sick("entailment"),
        "same: STS-B, English": alike("stsb_en_dev"),
        "same: STS-B, German": alike("stsb_de_dev"),
    }
    print("| pairs | number | flagged |\n|---|---|---|")
    for name, pairs in sets.items():
        pairs = pairs[: given.rows]
        report = evalign.score(*zip(*pairs, strict=True), given.metric)
        flagged = report.flags.get("polarity", 0)
        print(f"| {name} | {len(pairs)} | {flagged} ({flagged / len(pairs):.1%}) |", flush=True)
    print(f"\n{report.signature}")


if __name__ == "__main__":
    main()
