"""Scores every rated data set under many settings in one encoding pass each, for the tables of docs/agreement.md.

    python benchmarks/agreement_grid.py minilm --to build/grid

Writes one compressed numpy file per data set: settings, choices of layers, and (choices, rows, fields) per setting.
A file that is there already is left alone, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import rated

import evalign
from evalign.io.files import whole_file
from evalign.training.layers import Setting, depth, grid_scores

SETS = {
    "minilm": ("3+4", "3+4+6", "4+6", "2+3+4+5+6"),
    "mpnet": ("6+7", "6+7+8", "5+6+7+8+9+10", "6+7+8+9+10+11+12"),
}
TRANSPORT = {"minilm": ("2", "4", "6", "3+4+6"), "mpnet": ("5", "7", "12", "6+7+8")}


def settings(model: str, choices: tuple[str, ...] = ()) -> list[Setting]:
    """Every layer and some sets of layers, or only the given choices."""
    layers = tuple(map(str, range(depth(evalign.BERTScore(model=model)) + 1)))
    every = choices or layers + SETS.get(model, ())
    found = []
    for idf in ("no", "references"):
        for specials in ("keep", "drop"):
            shared = {"model": model, "idf": idf, "specials": specials, "threads": 1}
            found += [Setting(evalign.BERTScore(**shared), every), Setting(evalign.LiSAScore(**shared), every)]
        few = choices or TRANSPORT.get(model, layers[-1:])
        found.append(Setting(evalign.MoverScore(model=model, idf=idf, threads=1), few))
    sbert = evalign.SBert(model=model, threads=1)
    return [*found, *(Setting(replace(sbert, pooling=pooling), layers) for pooling in ("mean", "cls"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", default="minilm", nargs="?")
    parser.add_argument("--data", type=Path, default=rated.DATA, help="folder of the rated data sets")
    parser.add_argument("--to", type=Path, default=Path("build/grid"))
    parser.add_argument("--layers", nargs="*", default=[], help="only these choices of layers")
    parser.add_argument("--documents", type=int, help="only the rows of the first so many documents")
    parser.add_argument("--sets", nargs="*", default=[*rated.RATED, rated.DARR])
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    chosen = settings(arguments.model, tuple(arguments.layers))
    for name in arguments.sets:
        target = arguments.to / f"{arguments.model}.{name}.npz"
        if target.exists():
            continue
        began = time.monotonic()
        if name == rated.DARR:
            rows = [row for pair in rated.load_darr(arguments.data) for row in pair]
        else:
            said = rated.load(name, arguments.data)
            wanted = set(list(dict.fromkeys(said.documents))[: arguments.documents])
            rows = [row for row, document in zip(said.rows, said.documents, strict=True) if document in wanted]
        done = 0

        def advance(count: int, total: int = len(rows), name: str = name) -> None:
            nonlocal done
            done += count
            print(f"\r{name} {done}/{total}", end="", file=sys.stderr)

        scores = grid_scores(chosen, rows, advance)
        arrays = {str(replace(s.metric, threads=0)): v.astype(np.float32) for s, v in zip(chosen, scores, strict=True)}
        choices = {f"choices of {replace(s.metric, threads=0)}": np.array(s.choices) for s in chosen}
        with whole_file(target, binary=True) as stream:
            np.savez_compressed(stream, ids=np.array([row.id for row in rows]), **arrays, **choices)
        print(f"\n{name}: {len(rows)} rows in {time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
