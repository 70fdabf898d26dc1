"""The rows on which systems differ most from the baseline, with their texts.

Which rows they are is known from the scores; their texts are read from the sources again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalign.analysis.comparison.system_scores import PairedScores
from evalign.data.row_pairing import Pairing
from evalign.data.rows import RowSource
from evalign.types import Row


@dataclass(frozen=True)
class Example:
    """One row under one metric: what the baseline and the system wrote, and their scores."""

    id: str
    baseline_candidate: str
    candidate: str
    references: tuple[str, ...]
    source: str | None
    baseline_score: float
    score: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        plain = {
            "id": self.id,
            "baseline_candidate": self.baseline_candidate,
            "candidate": self.candidate,
            "references": list(self.references),
            "baseline_score": self.baseline_score,
            "score": self.score,
        }
        return plain if self.source is None else plain | {"source": self.source}


@dataclass(frozen=True)
class _Chosen:
    """A row to be shown: its place in the common order and the two scores."""

    place: int
    baseline_score: float
    score: float


@dataclass(frozen=True)
class Examples:
    """The rows to be shown, by metric and system."""

    baseline: str
    chosen: Mapping[tuple[str, str], Sequence[_Chosen]]

    @classmethod
    def of(cls, tables: Iterable[PairedScores], order: Sequence[str], most: int, tie: float) -> Examples:
        """For every metric and system up to `most` rows, the largest differences first; ties are none."""
        baseline, *others = order
        chosen = {}
        for table in tables:
            for system in others:
                first, second = table.values[baseline], table.values[system]
                size = np.where(table.scored, np.abs(second - first), 0)
                places = np.argsort(-size, kind="stable")[:most]
                chosen[str(table.metric), system] = [
                    _Chosen(int(place), float(first[place]), float(second[place]))
                    for place in places
                    if size[place] > tie
                ]
        return cls(baseline, chosen)

    def read(self, sources: Iterable[RowSource], pairing: Pairing) -> dict[tuple[str, str], list[Example]]:
        """The same with texts."""
        wanted: set[tuple[str, int]] = set()
        for (_, system), chosen in self.chosen.items():
            wanted.update((name, one.place) for one in chosen for name in (self.baseline, system))
        rows = _found(wanted, sources, pairing) if wanted else {}
        return {
            (metric, system): [_example(rows[self.baseline, one.place], rows[system, one.place], one) for one in chosen]
            for (metric, system), chosen in self.chosen.items()
        }


def _found(wanted: set[tuple[str, int]], sources: Iterable[RowSource], pairing: Pairing) -> dict[tuple[str, int], Row]:
    found, seen = {}, Counter[str]()
    for source in sources:
        for row in source:
            key = row.system, int(pairing.places[row.system][seen[row.system]])
            seen[row.system] += 1
            if key in wanted:
                found[key] = row
    return found


def _example(baseline: Row, row: Row, chosen: _Chosen) -> Example:
    return Example(
        baseline.id, baseline.candidate, row.candidate, row.references, row.source, chosen.baseline_score, chosen.score
    )
