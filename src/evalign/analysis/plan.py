"""What is asked of an agreement with people: statistics, level, groups, averaging, resampling and test, checked.

Out: a `Plan`, or an error that says which of its parts do not go together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from evalign.errors import SpecError, nearest
from evalign.stats.bootstrap import Resampling
from evalign.stats.correlation import CORRELATIONS
from evalign.stats.estimate import FEWEST_ROWS
from evalign.stats.levels import LEVELS, Averaging
from evalign.stats.pair_levels import PAIR_STATISTICS

DARR = "darr"
SOFT = "spa"
STATISTICS = (*CORRELATIONS, *PAIR_STATISTICS, SOFT)
PAIR_ACCURACIES = ("accuracy", "acc-eq")
AVERAGES = ("macro", "micro")
MISSING = ("rows", "cells")
CONSTANT = ("left-out", "zero")
TESTS = ("permutation", "williams", "none")


@dataclass(frozen=True)
class Plan:
    """What is asked for. The first statistic ranks the metrics; `by` averages over groups, `document` is resampled.

    `item` names the source text whose rows the statistics of pairs compare (without it the document, else the
    references). `average=micro` weighs groups and documents by their rows; `fewest` is the least number of rows of one;
    `constant` is what one counts whose scores or ratings are all the same, and so have no correlation.
    """

    statistics: tuple[str, ...] = ("pearson", "spearman", "kendall")
    level: str = "segment"
    by: str | None = None
    document: str | None = None
    resampling: Resampling = field(default_factory=Resampling)
    test: str = "permutation"
    correction: str = "holm"
    alpha: float = 0.05
    item: str | None = None
    average: str = "macro"
    fewest: int = FEWEST_ROWS
    constant: str = "left-out"

    @property
    def averaging(self) -> Averaging:
        """How groups and documents are averaged."""
        return Averaging(self.average == "micro", self.fewest, self.constant == "zero")

    def __post_init__(self) -> None:
        for what, value, known in (
            *(("statistic", name, (*STATISTICS, DARR)) for name in self.statistics),
            ("level", self.level, LEVELS),
            ("test", self.test, TESTS),
            ("average", self.average, AVERAGES),
            ("constant", self.constant, CONSTANT),
        ):
            if value not in known:
                raise SpecError(f"{what}={value}: {nearest(value, known)}")
        if self.fewest < 2:
            raise SpecError(f"fewest={self.fewest}: a correlation needs at least 2 rows")
        pairs = [name for name in self.statistics if name in PAIR_STATISTICS]
        if pairs and self.level == "summary":
            raise SpecError(f"{pairs[0]} compares the rows of one item already: use --level segment or system")
        if SOFT in self.statistics and self.level != "system":
            raise SpecError(f"{SOFT}, the soft pairwise accuracy, ranks systems: add --level system")
        if self.level == "summary" and self.document is None:
            raise SpecError("level=summary needs to know the document of each row: --document FIELD")
        if self.test == "williams" and (self.statistics[0], self.level, self.by) != ("pearson", "segment", None):
            raise SpecError("Williams' test is about Pearson over all rows; use --test permutation")
        if self.test == "permutation" and self.statistics[0] == SOFT:
            raise SpecError(f"no test is known for {SOFT}: name another statistic first, or use --test none")
