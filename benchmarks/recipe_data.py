"""What benchmarks/recipe.py works on: features of every pair of the rated data, and plain bertscore beside them.

In: a model and a data set. Out: `Looked`, kept as one numpy file per model and data set, which a second run reads.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rated

import evalign
from evalign.encoders.opening import EncoderChoice, open_encoder
from evalign.folders import whole_file
from evalign.metrics.features import bounded
from evalign.metrics.recipe_features import Looker, Text
from evalign.types import Row

TUNED = {"minilm": "4", "mpnet": "7"}  # of plain bertscore
# Within 1.5 times the work of the tuned layer, which leaves out MiniLM's sixth: it would add .015 to the mean agreement
# (.08 of it on STS-B), but six layers are 1.5 times four. Layer 3 adds .001.
LAYERS = {"minilm": (0, 1, 2, 4, 5), "mpnet": (0, 2, 4, 6, 7, 8, 9)}
POOLED = {"minilm": LAYERS["minilm"], "mpnet": (0, 4, 7, 9)}
EVERY = {"mpnet": {rated.DARR: 8}}  # of so many pairs, one: MPNet takes seven times as long
FIRST = {"mpnet": {"summeval": 320}}  # rows


@dataclass(frozen=True)
class Looked:
    """(pairs, features), the row of every pair, plain bertscore of every row."""

    names: list[str]
    values: np.ndarray
    owner: np.ndarray
    plain: np.ndarray


def feature_names(model: str) -> list[str]:
    """What each model's recipe looks at; for MPNet, which was slow to search with, the plain features."""
    sides, lexical = ("precision", "recall"), ["characters", "edits", "word-edits"]
    kinds = (*sides, *(f"rare-{side}" for side in sides)) if model == "minilm" else sides
    names = [f"{kind}@{layer}" for kind in kinds for layer in LAYERS[model]]
    names += [f"pooled@{layer}" for layer in POOLED[model]]
    if model == "minilm":
        names += [f"next-{side}@{layer}" for side in sides for layer in (0, 2, 4)]
        names += [f"worst-{side}@4" for side in sides]
    return names + lexical


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
    """From the file if it is there and has the features, else made."""
    file, names = folder / f"recipe.{model}.{name}.npz", feature_names(model)
    if file.exists():
        with np.load(file) as kept:
            if kept["names"].tolist() == names:
                return Looked(names, kept["values"].astype(np.float64), kept["owner"], kept["plain"])
    rows = rows_of(name, model, data)
    memory = open_encoder(EncoderChoice(model, "+".join(map(str, LAYERS[model])), threads=1))
    looker, start, values, done = Looker(names, memory.encoder.layers), commonest(model), [], 0
    for block in bounded(rows):
        references = [text for row in block for text in row.references]
        encoded = memory.encode([*(row.candidate for row in block), *references], keep=references)
        texts = {text: Text(one, start) for text, one in encoded.items()}
        values += [looker(texts[row.candidate], texts[text]) for row in block for text in row.references]
        done += len(block)
        print(f"\r{model} {name} {done}/{len(rows)}", end="", file=sys.stderr)
    metric = evalign.BERTScore(model=model, layer=TUNED[model], threads=1)
    plain = metric.report(metric.scorer(), rows)["f1"]
    owner = np.array([place for place, row in enumerate(rows) for _ in row.references])
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(file, binary=True) as stream:
        np.savez_compressed(
            stream, names=np.array(names), values=np.array(values, dtype=np.float32), owner=owner, plain=plain
        )
    return Looked(names, np.array(values), owner, plain)
