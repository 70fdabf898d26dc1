"""What benchmarks/recipe.py works on: features of every pair of the rated data, and plain bertscore beside them.

In: a model and a data set. Out: `Looked`, kept in numpy files by model and data set, which a second run reads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rated

import evalign
from evalign.atomic_files import whole_file
from evalign.encoders.loading import EncoderChoice, open_encoder
from evalign.metrics.evalign_features import Looker, Text
from evalign.metrics.features import bounded
from evalign.types import Row

TUNED = {"minilm": "4", "mpnet": "7"}  # of plain bertscore
# Within 1.5 times the work of the tuned layer, which leaves out MiniLM's sixth: it would add .015 to the mean agreement
# (.08 of it on STS-B), but six layers are 1.5 times four. Layer 3 adds .001.
LAYERS = {"minilm": (0, 1, 2, 4, 5), "mpnet": (0, 2, 4, 6, 7, 8, 9)}
POOLED = {"minilm": LAYERS["minilm"], "mpnet": (0, 4, 7, 9)}
NEXT = {"minilm": (0, 2, 4), "mpnet": (0, 4, 7)}
EVERY = {"mpnet": {rated.DARR: 8}}  # of so many pairs, one: MPNet takes seven times as long
FIRST = {"mpnet": {"summeval": 320}}  # rows
UNRELATED = 150  # pairs of every data set


@dataclass(frozen=True)
class Looked:
    """(pairs, features), the row of every pair, plain bertscore of every row, features of pairs of unrelated texts."""

    names: list[str]
    values: np.ndarray
    owner: np.ndarray
    plain: np.ndarray
    unrelated: np.ndarray


def feature_names(model: str) -> list[str]:
    """What a recipe looks at."""
    sides = ("precision", "recall")
    names = [f"{kind}@{layer}" for kind in (*sides, *(f"rare-{side}" for side in sides)) for layer in LAYERS[model]]
    names += [f"pooled@{layer}" for layer in POOLED[model]]
    names += [f"next-{side}@{layer}" for side in sides for layer in NEXT[model]]
    names += [f"worst-{side}@{TUNED[model]}" for side in sides]
    return [*names, "characters", "edits", "word-edits"]


def rows_of(name: str, model: str, data: Path) -> list[Row]:
    """The rows that are looked at: all, but for the largest sets with the larger model."""
    if name == rated.DARR:
        return [row for pair in rated.load_darr(data)[:: EVERY.get(model, {}).get(name, 1)] for row in pair]
    return rated.load(name, data).rows[: FIRST.get(model, {}).get(name)]


def commonest(model: str) -> int:
    """The id of `the`: BERT's vocabulary lists words by frequency from there on."""
    tokens = open_encoder(EncoderChoice(model, "0")).encoder.tokenize(["the"])[0]
    return int(tokens.ids[~tokens.special][0])


def look(name: str, model: str, data: Path, folder: Path) -> Looked:
    """From the files if they are there and have the features, else made."""
    rows = rows_of(name, model, data)
    owner = np.array([place for place, row in enumerate(rows) for _ in row.references])
    names = feature_names(model)
    values = _kept(folder / f"recipe.{model}.{name}.npz", names, lambda: features(rows, model))
    apart = _unrelated(rows)
    unrelated = _kept(folder / f"unrelated.{model}.{name}.npz", names, lambda: features(apart, model))
    plain = _kept(folder / f"plain.{model}.{name}.npz", [TUNED[model]], lambda: _plain(rows, model))
    return Looked(names, values, owner, plain[:, 0], unrelated)


def _kept(file: Path, names: list[str], make: Callable[[], np.ndarray]) -> np.ndarray:
    if file.exists():
        with np.load(file) as kept:
            if kept["names"].tolist() == names:
                return np.asarray(kept["values"], dtype=np.float64)
    print(file.name, file=sys.stderr)
    values = make()
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file, binary=True) as stream:
        np.savez_compressed(stream, names=np.array(names), values=values.astype(np.float32))
    return values


def features(rows: list[Row], model: str) -> np.ndarray:
    """(pairs, features), every row with each of its references."""
    memory = open_encoder(EncoderChoice(model, "+".join(map(str, LAYERS[model])), threads=1))
    looker, start, values, done = Looker(feature_names(model), memory.encoder.layers), commonest(model), [], 0
    for block in bounded(rows):
        references = [text for row in block for text in row.references]
        encoded = memory.encode([*(row.candidate for row in block), *references], keep=references)
        texts = {text: Text(one, start) for text, one in encoded.items()}
        values += [looker(texts[row.candidate], texts[text]) for row in block for text in row.references]
        done += len(block)
        print(f"\r{model} {done}/{len(rows)}", end="", file=sys.stderr)
    return np.array(values)


def _unrelated(rows: list[Row]) -> list[Row]:
    """Some candidates, each against a reference of another text."""
    chosen = [rows[place] for place in np.random.default_rng(1).permutation(len(rows))[:UNRELATED]]
    others = chosen[1:] + chosen[:1]
    return [
        Row(row.id, row.candidate, other.references[:1])
        for row, other in zip(chosen, others, strict=True)
        if not {row.candidate, *row.references} & set(other.references)
    ]


def _plain(rows: list[Row], model: str) -> np.ndarray:
    metric = evalign.BERTScore(model=model, layer=TUNED[model], threads=1)
    return metric.report(metric.scorer(), rows)["f1"][:, None]
