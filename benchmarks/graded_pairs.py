"""Pairs of different sentences, from unrelated to close, rated by a sentence encoder: what translations do not show.

    python benchmarks/graded_pairs.py wmt15_daseg wmt21_da_toen --out pairs.jsonl --pairs 4000

Each drawn sentence (a reference of the data sets, up to 25 words) is paired with one of its 64 nearest neighbours, near
ones more often; every eighth with its translation, every eighth with the first half of that. Pairs are rated by the
cosine of all-mpnet-base-v2's sentence vectors. No human rating is read: `human` in the file is that cosine.
`benchmarks/adapters.py` trains on them (`--train graded:2000`).
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

LONGEST, SHORTEST = 25, 4  # words
NEIGHBOURS = 64


def translations(names: Sequence[str]) -> dict[str, str]:
    """The distinct references of translations into English, each with a translation."""
    lines = [line for name in names for line in rated.records(name) if line["lp"].endswith("-en")]
    texts = {line["references"][0]: line["candidate"] for line in lines if line["candidate"].strip()}
    return {text: other for text, other in texts.items() if SHORTEST <= len(text.split()) <= LONGEST}


def graded(translated: dict[str, str], pairs: int, seed: int) -> list[dict]:
    """Rows with the cosine as rating."""
    source, texts = np.random.default_rng(seed), list(translated)
    vectors, rows = sentence_vectors(texts), []
    for number, place in enumerate(source.permutation(len(texts)).tolist()[:pairs]):
        near = np.argsort(-(vectors @ vectors[place]), kind="stable")[1 : NEIGHBOURS + 1]
        other = texts[int(near[int(NEIGHBOURS * source.random() ** 2.5)])]
        if number % 4 == 0:
            words = translated[texts[place]].split()
            other = " ".join(words[: len(words) // 2] if number % 8 == 0 else words)
        rows.append({"id": f"graded.{number}", "candidate": other, "references": [texts[place]]})
    by_text = dict(zip(texts, vectors, strict=True))
    for row, vector in zip(rows, sentence_vectors([row["candidate"] for row in rows]), strict=True):
        row["human"] = round(float(vector @ by_text[row["references"][0]]), 4)
    return rows


def sentence_vectors(texts: list[str]) -> np.ndarray:
    """(texts, width) of length 1."""
    scorer = evalign.SBert(model="mpnet").scorer()
    embedded = scorer.cache.encode(texts)
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
