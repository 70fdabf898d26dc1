"""What of a shard adds up: segments in, exact sums per system and metric out, which merge in any order to equal bits.

Means come from sums of scores, corpus scores such as BLEU's from sums of statistics, and intervals from sums under
bootstrap weights keyed by row id (`stats/exact_sums.py`).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalign.metrics.base import Metric
from evalign.stats.bootstrap import Resampling
from evalign.stats.exact_sums import ExactSum, PoissonSums, row_keys
from evalign.types import Ints, Segment


@dataclass
class Totals:
    """Sums of one system's rows under one metric; `resampled` are those of statistics if it pools, else of scores."""

    rows: int = 0
    failed: int = 0
    flags: Counter[str] = field(default_factory=Counter)
    sums: dict[str, ExactSum] = field(default_factory=dict)
    statistics: list[ExactSum] = field(default_factory=list)
    resampled: PoissonSums | None = None

    def add(self, metric: Metric, segments: Sequence[Segment]) -> None:
        """Takes in rows."""
        scored = [segment for segment in segments if segment.error is None]
        self.rows += len(scored)
        self.failed += len(segments) - len(scored)
        for segment in scored:
            self.flags.update(segment.flags)
            for name, value in segment.scores.items():
                self.sums.setdefault(name, ExactSum()).add(value)
            self.statistics = self.statistics or [ExactSum() for _ in segment.statistics]
            for total, value in zip(self.statistics, segment.statistics, strict=True):
                total.add(value)
        if scored:
            values = [_additive(metric, segment) for segment in scored]
            before = self.resampled or PoissonSums.empty(len(values[0]))
            self.resampled = before.add([segment.id for segment in scored], values)

    def merge(self, other: Totals) -> Totals:
        """The sums over both."""
        if not self.rows or not other.rows:
            scored = self if self.rows else other
            return Totals(
                scored.rows,
                self.failed + other.failed,
                self.flags + other.flags,
                scored.sums,
                scored.statistics,
                scored.resampled,
            )
        return Totals(
            self.rows + other.rows,
            self.failed + other.failed,
            self.flags + other.flags,
            {name: total.merge(other.sums[name]) for name, total in self.sums.items()},
            [mine.merge(theirs) for mine, theirs in zip(self.statistics, other.statistics, strict=True)],
            self.resampled and other.resampled and self.resampled.merge(other.resampled),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; whole numbers of any size as hex."""
        limbs = None if self.resampled is None else self.resampled.limbs
        return {
            "rows": self.rows,
            "failed": self.failed,
            "flags": dict(self.flags),
            "sums": {name: _written(total) for name, total in self.sums.items()},
            "statistics": [_written(total) for total in self.statistics],
            "resampled": None if limbs is None else {"shape": list(limbs.shape), "packed": _packed(limbs, "<i8")},
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Totals:
        """What `to_dict` gave."""
        packed = plain["resampled"]
        resampled = None
        if packed is not None:
            limbs = _unpacked(packed["packed"], "<i8").reshape(packed["shape"])
            resampled = PoissonSums(Resampling(samples=len(limbs) - 1), limbs)
        return cls(
            plain["rows"],
            plain["failed"],
            Counter(plain["flags"]),
            {name: _read(total) for name, total in plain["sums"].items()},
            [_read(total) for total in plain["statistics"]],
            resampled,
        )


@dataclass
class ShardTotals:
    """All totals of a shard, in order of appearance, and the hashed (system, id) of its rows."""

    by_result: dict[tuple[str, str], Totals] = field(default_factory=dict)  # (system, metric)
    keys: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))

    def to_bytes(self) -> bytes:
        """As a file."""
        totals = [
            {"system": system, "metric": metric} | total.to_dict() for (system, metric), total in self.by_result.items()
        ]
        return json.dumps({"totals": totals, "keys": _packed(self.keys, "<u8")}).encode("ascii")

    @classmethod
    def from_bytes(cls, content: bytes) -> ShardTotals:
        """What `to_bytes` gave."""
        plain = json.loads(content)
        totals = {(part["system"], part["metric"]): Totals.from_dict(part) for part in plain["totals"]}
        return cls(totals, _unpacked(plain["keys"], "<u8"))


def id_keys(rows: Sequence[tuple[str, str]]) -> Any:
    """64 bits of each (system, id), by which rows that occur twice are told."""
    return row_keys([f"{len(system)}:{system}{name}" for system, name in rows])


def _additive(metric: Metric, segment: Segment) -> Sequence[float]:
    return segment.statistics if metric.pools else [segment.scores[name] for name in metric.fields]


def _written(total: ExactSum) -> list[Any]:
    return [f"{total.total:x}", total.count]


def _read(written: list[Any]) -> ExactSum:
    return ExactSum(int(written[0], 16), written[1])


def _packed(array: Any, kind: str) -> str:
    return base64.b64encode(zlib.compress(np.asarray(array).astype(kind).tobytes(), 1)).decode("ascii")


def _unpacked(packed: str, kind: str) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype=kind).astype(kind[1:])
