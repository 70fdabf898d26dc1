"""The score of a whole corpus, taken in row by row.

Most corpus scores are means, and need nothing from here. BLEU and its relatives pool counts over all rows instead;
ROUGE-1.5.5 resamples. A metric that does so returns one of these from `Metric.corpus`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalign.stats.exact_sums import ExactSum
from evalign.types import Segment

if TYPE_CHECKING:
    from evalign.metrics.base import Metric


class Corpus(ABC):
    """Takes in segments, gives the corpus score."""

    @abstractmethod
    def add(self, segment: Segment) -> None:
        """Takes in one scored row."""

    @abstractmethod
    def scores(self) -> dict[str, float]:
        """Field -> score of all rows taken in."""

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Field -> its confidence interval, if the original program prints one."""
        return {}


class Pooled(Corpus):
    """Sums of `Segment.statistics`, which the metric makes a score of; exact, so that shards merge in any order."""

    def __init__(self, metric: Metric, sums: Sequence[ExactSum] = (), rows: int = 0) -> None:
        """Starts with the sums of `rows` rows that were taken in elsewhere."""
        self._metric = metric
        self._sums = list(sums)
        self._rows = rows

    def add(self, segment: Segment) -> None:
        """Takes in one scored row."""
        self._sums = self._sums or [ExactSum() for _ in segment.statistics]
        self._rows += 1
        for total, value in zip(self._sums, segment.statistics, strict=True):
            total.add(value)

    def scores(self) -> dict[str, float]:
        """Field -> score; nothing of nothing."""
        return dict(self._metric.from_totals([total.value for total in self._sums], self._rows)) if self._rows else {}
