"""Baselines: what unrelated text scores, per layer and field, in bert_score's file format.

A file has the columns LAYER, P, R, F (comma or tab); x becomes (x - b) / (1 - b).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evalign.errors import TableError
from evalign.types import Floats

COLUMNS = ["LAYER", "P", "R", "F"]


@dataclass(frozen=True)
class Baseline:
    """Baselines by layer choice (`4`, or `4+6` for averaged layers)."""

    by_layer: dict[str, tuple[float, float, float]]
    digest: str

    @classmethod
    def load(cls, path: str | Path) -> Baseline:
        """Reads a table; lines that start with # are notes."""
        try:
            raw = Path(path).read_bytes()
            lines = [line for line in raw.decode("utf-8-sig").splitlines() if line and not line.startswith("#")]
        except OSError as error:
            raise TableError(f"rescale={path}: no baseline file there ({error.strerror})") from error
        except UnicodeDecodeError as error:
            raise TableError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from error
        delimiter = "\t" if lines and "\t" in lines[0] else ","
        header, *table = [line.split(delimiter) for line in lines] or [[]]
        if header != COLUMNS:
            raise TableError(f"{path}: expected the columns {','.join(COLUMNS)}")
        try:
            rows = {row[0]: (float(row[1]), float(row[2]), float(row[3])) for row in table}
        except (ValueError, IndexError) as error:
            raise TableError(f"{path}: a line is not a layer and three numbers ({error})") from error
        if any(not -1 <= value < 1 for row in rows.values() for value in row):
            raise TableError(f"{path}: a baseline must be a number from -1 to below 1")
        return cls(rows, hashlib.sha256(raw).hexdigest()[:8])

    def row(self, layer: str) -> Floats:
        """Baselines of precision, recall and F1 for a layer choice."""
        if layer not in self.by_layer:
            raise TableError(f"the baseline has no row for layer {layer}; it has {', '.join(self.by_layer)}")
        return np.array(self.by_layer[layer])


def rescale(scores: Floats, base: Floats) -> Floats:
    """(x - b) / (1 - b)."""
    return np.asarray((scores - base) / (1 - base))
