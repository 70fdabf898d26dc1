"""Run by test_processors.py in another environment: prints as JSON what every matching chooses and scores there."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from simulated_processors import blas_kernel, prepare

prepare()

import evalign  # noqa: E402 (after what `prepare` changes)
from evalign.core import Embedded, Tokens  # noqa: E402
from evalign.matching.registry import METHODS, all_matchings, matching_class  # noqa: E402
from evalign.matching.similarity import similarity  # noqa: E402
from evalign.matching.transport import Transport  # noqa: E402
from evalign.testing.trial import make_text  # noqa: E402

MATRICES = 150
PAIRS = 20
SPECS = (
    "bertscore",
    "bertscore(specials=drop, idf=references)",
    *(f"lisascore(method={method})" for method in METHODS),
    "lisascore(method=recursive-argmax, preset=authors)",
    *(f"moverscore(transport={solver})" for solver in ("exact", "sinkhorn", "partial", "unbalanced")),
    "sbert",
    "evalign",
)


def matrices():
    """Cosines of vectors that are partly repeated: equal cells come out with different last bits."""
    random = np.random.default_rng(5)
    for _ in range(MATRICES):
        words = random.normal(0.4, 1, size=(random.integers(2, 12), 96)).astype(np.float32)
        sides = [words[random.integers(0, len(words), size=random.integers(1, 40))] for _ in range(2)]
        yield similarity(*(Embedded(without_text(len(side)), side[None]) for side in sides))


def without_text(count):
    return Tokens("", ("x",) * count, np.arange(count), np.zeros((count, 2), int), np.zeros(count, bool))


def matchings():
    """Name -> a matching of every kind, with every preset it has."""
    for name in all_matchings():
        kind = matching_class(name)
        for preset in getattr(kind, "constants", ()):
            yield f"{name}, {preset}", kind(preset=preset)
        if not hasattr(kind, "constants"):
            yield name, kind()
    yield "transport, partial", Transport("partial", fraction=0.7)
    yield "transport, unbalanced", Transport("unbalanced", penalty=0.4)


def digests():
    """Matching -> one hash of its cells for every matrix."""
    tables = list(matrices())
    return {
        name: [digest(np.packbits(matching.solve(table).cells)) for table in tables] for name, matching in matchings()
    }


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:12]


def pairs():
    """Texts of unlike lengths, some with words that stand several times."""
    texts = [make_text(3 + 7 * (place % 9), place) for place in range(2 * PAIRS)]
    repeated = [" ".join(text.split()[:4] * 3) for text in texts[::4]]
    return list(zip(texts[:PAIRS] + repeated[:5], texts[PAIRS:] + repeated[5:], strict=True))


def scores():
    """Spec -> fields of every pair, and the cells of each alignment as a hash."""
    candidates, references = zip(*pairs(), strict=True)
    found = {}
    for spec in SPECS:
        metric = evalign.metric(spec)
        report = metric.score(candidates, references)
        scorer = metric.scorer(report.rows if metric.needs_corpus else None)
        alignments = [scorer.align(*pair) for pair in pairs()]
        cells = [digest(alignment.cells) for alignment in alignments]
        found[spec] = {"fields": [report[field].tolist() for field in metric.fields], "cells": cells}
    return found


if __name__ == "__main__":
    parts = {"matrices": digests} if sys.argv[1] == "matrices" else {"scores": scores}
    print(json.dumps({"kernel": blas_kernel()} | {name: made() for name, made in parts.items()}))
