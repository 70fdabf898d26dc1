"""Pairs of different sentences, from unrelated to close, rated by a sentence encoder: what translations do not show.

    python benchmarks/graded_pairs.py wmt15_daseg wmt21_da_toen --out pairs.jsonl --pairs 4000

Each drawn sentence (a reference of the data sets, up to 25 words) is paired with one of its 64 nearest neighbours, near
ones more often; every eighth with its translation, every eighth with the first half of that. Pairs are rated by the
cosine of all-mpnet-base-v2's sentence vectors, pairs in other languages by that of what they were translated from. No
human rating is read: `human` in the file is that cosine. `benchmarks/adapters.py` trains on such a file as on any
other.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rated

import evalign
from evalign.atomic_files import whole_file

LONGEST, SHORTEST = 25, 4  # words
NEIGHBOURS = 64


@dataclass(frozen=True)
class Sentence:
    """A reference and a translation, each with its English: itself, or what both were translated from."""

    text: str
    english: str
    translation: str
    translation_english: str


def translations(names: Sequence[str]) -> list[Sentence]:
    """The distinct references of translations into or out of English, each with a translation."""
    found = {}
    for line in (line for name in names for line in rated.records(name)):
        (text, *_), other = line["references"], line["candidate"]
        if other.strip() and SHORTEST <= len(text.split()) <= LONGEST:
            into = line["lp"].endswith("-en")
            if into or line["lp"].startswith("en-"):
                found[text] = Sentence(text, text if into else line["source"], other, other if into else line["source"])
    return list(found.values())


def graded(sentences: Sequence[Sentence], pairs: int, seed: int) -> list[dict]:
    """Rows with the cosine as rating."""
    source = np.random.default_rng(seed)
    vectors, rows, others = sentence_vectors([sentence.english for sentence in sentences]), [], []
    places = source.permutation(len(sentences)).tolist()[:pairs]
    for number, place in enumerate(places):
        near = np.argsort(-(vectors @ vectors[place]), kind="stable")[1 : NEIGHBOURS + 1]
        drawn = sentences[int(near[int(NEIGHBOURS * source.random() ** 2.5)])]
        other, english = drawn.text, drawn.english
        if number % 4 == 0:
            part = 2 if number % 8 == 0 else 1
            own = sentences[place]
            other, english = _first(own.translation, part), _first(own.translation_english, part)
        rows.append({"id": f"graded.{number}", "candidate": other, "references": [sentences[place].text]})
        others.append(english)
    for row, place, vector in zip(rows, places, sentence_vectors(others), strict=True):
        row["human"] = round(float(vector @ vectors[place]), 4)
    return rows


def _first(text: str, part: int) -> str:
    """The first half, or all of it."""
    words = text.split()
    return " ".join(words[: len(words) // part])


def sentence_vectors(texts: list[str]) -> np.ndarray:
    """(texts, width) of length 1."""
    scorer = evalign.SBert(model="mpnet").scorer()
    embedded = scorer.memory.encode(texts)
    vectors = np.stack([embedded[text].vectors[-1].mean(axis=0) for text in texts])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="SET")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=12345)
    given = parser.parse_args()
    rows = graded(translations(given.sets), given.pairs, given.seed)
    with whole_file(given.out) as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    shares = np.percentile([row["human"] for row in rows], [5, 25, 50, 75, 95])
    shown = ", ".join(f"{share:.2f}" for share in shares)
    print(f"{given.out}: {len(rows)} pairs, cosines at 5, 25, 50, 75, 95%: {shown}")


if __name__ == "__main__":
    main()
