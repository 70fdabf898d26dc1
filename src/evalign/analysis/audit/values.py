"""What an audit asks for and what it finds: plain frozen values, from the plan to the whole `Audit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evalign.errors import SpecError
from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import FEWEST_ROWS, Estimate

CORRELATIONS = ("pearson", "spearman", "kendall")


@dataclass(frozen=True)
class AuditPlan:
    """How much is scored: `sample` rows for agreement (0: all), `changed` of them for each change of the text."""

    sample: int = 1000
    changed: int = 100
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        if self.sample and self.sample < FEWEST_ROWS:
            raise SpecError(f"sample={self.sample}: expected 0 for all rows, or at least {FEWEST_ROWS}")
        if self.changed < 1:
            raise SpecError(f"changed={self.changed}: expected at least 1 row")


@dataclass(frozen=True)
class Spread:
    """The smallest, the middle and the largest of some numbers."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Ratings:
    """What people said on one aspect; `tied` is the share of pairs of rows with equal ratings."""

    rows: int
    mean: float
    deviation: float
    low: float
    high: float
    distinct: int
    tied: float
    raters: int  # the most ratings of one row
    raters_per_row: float
    alpha: Estimate | None  # None where each row has one rating


@dataclass(frozen=True)
class DataQuality:
    """The whole file, before any row is drawn from it."""

    rows: int
    unrated: int
    systems: int
    rows_per_system: Spread | None
    items: int  # distinct references, with their source
    references: Spread  # per row
    candidate_words: Spread
    reference_words: Spread | None
    empty_candidates: int
    empty_references: int  # rows with no reference, or an empty one
    duplicates: int  # rows whose candidate and references came before
    copies: int  # rows whose candidate is one of its references
    ratings: Mapping[str, Ratings]  # by aspect


@dataclass(frozen=True)
class CostAt:
    """What pairs of one length cost, in milliseconds of processor time per pair, over rounds."""

    times: int  # how often as long as the data
    words: float  # mean words of candidate and reference together
    milliseconds: Spread


@dataclass(frozen=True)
class Cost:
    """Time by length, and k of time ~ words^k over these lengths, with the lowest and highest of single rounds."""

    lengths: tuple[CostAt, ...]
    exponent: Estimate
    note: str = ""  # lengths that the metric refused


@dataclass(frozen=True)
class Robustness:
    """What one change of the candidates does to their scores, turned so that higher is better."""

    change: str
    about: str
    expected: str  # fall, stay or rise
    rows: int
    mean: float
    deviations: float | None  # the mean in standard deviations of the untouched scores; None if these are constant
    fell: float  # shares of the rows
    rose: float


@dataclass(frozen=True)
class Reliability:
    """Whether the same metric on other rows, or in another order, says the same."""

    half_difference: Mapping[str, Estimate]  # by aspect: |r - r'| of Pearson in two halves; 95 % lie below `high`
    half_ranking: Estimate | None  # Kendall's tau of the systems' order in two halves; None below three systems
    reordered: float  # the largest change of a score when rows come in another order, one at a time
    flags: Mapping[str, int]  # flag -> rows
    flagged: int  # rows with any flag
    failed: int  # rows without a score
    scored: int


@dataclass(frozen=True, eq=False)
class MetricAudit:
    """One metric on trial."""

    metric: str
    signature: str
    agreement: Mapping[str, Mapping[str, Mapping[str, Estimate]]]  # aspect -> level -> correlation
    cost: Cost
    robustness: tuple[Robustness, ...]
    reliability: Reliability


@dataclass(frozen=True, eq=False)
class Audit:
    """The data, every metric, and notes on what a reader must know, such as rows that were left out."""

    plan: AuditPlan
    data: DataQuality
    sampled: int  # rows scored
    metrics: tuple[MetricAudit, ...]
    notes: tuple[str, ...]
