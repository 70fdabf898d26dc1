"""BERTScore (Zhang et al. 2020): every token is matched with its most similar one on the other side.

P = sum_i w_i max_j S_ij / sum w, R = sum_j v_j max_i S_ij / sum v, F1 = 2PR / (P + R), with S the
cosine of token vectors and w, v IDF weights or 1 (special tokens may be matched but weigh 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evalign.matching.base import Matching
from evalign.matching.registry import MATCHINGS, matching_class, named
from evalign.metrics.matching_metric import PRFMetric
from evalign.metrics.options import option


@dataclass(frozen=True)
class BERTScore(PRFMetric):
    """Greedy matching of token vectors; or any other matching that selects cells, with its default settings."""

    name: ClassVar[str] = "bertscore"
    about: ClassVar[str] = "greedy matching of contextual token vectors (Zhang et al. 2020)"

    matching: str = option("greedy", "how tokens find partners", MATCHINGS, rename=named)

    @property
    def matcher(self) -> Matching:
        """The matching of that name."""
        return matching_class(self.matching)()
