"""SARI (Xu et al. 2016): which n-grams of the source a simplification added, kept and deleted, against references.

Defined as in EASSE: counts are summed over rows, so that they give the corpus score, and scores lie between 0 and 100.
EASSE's default averages F1 over the orders 1 to 4; `formula=paper` takes F1 of averaged precision and recall, and the
paper's own score is `formula=paper, deletion=precision`. `formula=script` is the authors' script as corrected in
tensor2tensor and `evaluate`, sentence by sentence (`script.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, NamedTuple, Self

from evalign.metrics.base import Metric, Scorer
from evalign.metrics.lexical.bleu import BLEU, TOKENISERS
from evalign.metrics.lexical.moses import MOSES, moses_version, moses_words
from evalign.metrics.lexical.sacrebleu_adapter import engine
from evalign.metrics.lexical.sari.counts import ORDERS, harmonic, sari_counts
from evalign.metrics.lexical.sari.script import script_scores
from evalign.metrics.options import option
from evalign.metrics.signature import Signature
from evalign.types import Row, Segment
from evalign.version import __version__

OPERATIONS = ("add", "keep", "delete")


class Operation(NamedTuple):
    """N-grams of one order that the candidate did right, did, and should have done."""

    right: float
    done: float
    wanted: float

    @property
    def precision(self) -> float:
        """0 if nothing was done, as in EASSE."""
        return self.right / self.done if self.done else 0.0

    @property
    def recall(self) -> float:
        """0 if nothing was to be done, as in EASSE."""
        return self.right / self.wanted if self.wanted else 0.0


@dataclass(frozen=True)
class SARI(Metric):
    """Mean of the scores of adding, keeping and deleting."""

    name: ClassVar[str] = "sari"
    about: ClassVar[str] = "n-grams added, kept and deleted by a simplification (Xu et al. 2016), as in EASSE"
    fields: ClassVar[tuple[str, ...]] = ("score",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    worst: ClassVar[float] = 0.0
    needs: ClassVar[tuple[str, ...]] = ("references", "sources")
    pools: ClassVar[bool] = True  # counts are summed over rows, as EASSE's corpus_sari does
    explainer: ClassVar[str] = "simplification:explain_sari"

    formula: str = option("macro", "mean of the orders' F1; the paper's F1 of mean P and R; or script, as in evaluate",
                          ("macro", "paper", "script"))  # fmt: skip
    deletion: str = option("f1", "how deleting is scored; the paper and formula=script use precision",
                           ("f1", "precision"))  # fmt: skip
    tokenize: str = option("13a", "sacrebleu's tokeniser; moses needs sacremoses", (*TOKENISERS, MOSES))
    lowercase: bool = option(True, "compare without case")
    legacy: bool = option(False, "EASSE's: the source is split at spaces only, with its case, as in older results")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.formula == "script":  # one form of what is the same
            object.__setattr__(self, "deletion", "precision")

    def scorer(self, rows: Iterable[Row] | None = None) -> SARIScorer:
        """Builds the tokeniser."""
        return SARIScorer(self)

    def from_totals(self, totals: Sequence[float], rows: int) -> dict[str, float]:
        """The score of counts, of one row or summed over rows."""
        if self.formula == "script":
            return {"score": 100 * sum(totals) / 3 / rows}  # the mean of sentences
        add, keep, delete = self.operation_scores(operations(totals)).values()
        return {"score": 100 * (add + keep + delete) / 3}

    def operation_scores(self, counts: Mapping[str, Sequence[Operation]]) -> dict[str, float]:
        """Score of each operation, between 0 and 1."""
        return {name: self._operation_score(name, orders) for name, orders in counts.items()}

    def tokens(self, text: str) -> list[str]:
        """Words as they are compared."""
        if self.tokenize == MOSES:
            return moses_words(text.lower() if self.lowercase else text)
        return engine(BLEU(tokenize=self.tokenize, lowercase=self.lowercase), "sentence").prepared(text).split()

    def source_tokens(self, text: str) -> list[str]:
        """The source's words: with `legacy` what stands between spaces."""
        return text.split() if self.legacy else self.tokens(text)

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """The metric whose numbers carry this signature."""
        legacy = signature.settings.get("source") == "raw"
        return cls(signature["formula"], signature["del"], signature["tok"], signature["case"] == "lc", legacy)

    def _operation_score(self, name: str, orders: Sequence[Operation]) -> float:
        precision = _mean(counts.precision for counts in orders)
        if name == "delete" and self.deletion == "precision":
            return precision
        if self.formula == "macro":
            return _mean(harmonic(counts.precision, counts.recall) for counts in orders)
        return harmonic(precision, _mean(counts.recall for counts in orders))


class SARIScorer(Scorer):
    """SARI with its tokeniser built."""

    def __init__(self, metric: SARI) -> None:
        self.metric = metric
        settings = {"formula": metric.formula, "del": metric.deletion, "case": "lc" if metric.lowercase else "mixed"}
        settings |= {"source": "raw"} if metric.legacy else {}
        if metric.tokenize == MOSES:
            settings["sacremoses"] = moses_version()
        self.signature = Signature(metric.name, settings | {"tok": metric.tokenize, "v": __version__})

    def score(self, rows: list[Row]) -> list[Segment]:
        """One segment per row; the source, the candidate and every reference are cut the same way."""
        return [self._segment(row) for row in rows]

    def _segment(self, row: Row) -> Segment:
        source, candidate = self.metric.source_tokens(str(row.source)), self.metric.tokens(row.candidate)
        references = [self.metric.tokens(text) for text in row.references]
        flags = {} if source else {"empty-source": 1}
        empty = not candidate or not any(references)
        if self.metric.formula == "script":
            orders = script_scores(source, candidate, references)
            statistics = (0.0, 0.0, 0.0) if empty else tuple(map(_mean, zip(*orders, strict=True)))
        else:
            statistics = sari_counts(source, candidate, references)
        if empty:
            return Segment(row.id, {"score": self.metric.worst}, flags | {"empty": 1}, statistics=statistics)
        return Segment(row.id, self.metric.from_totals(statistics, 1), flags, statistics=statistics)


def operations(statistics: Sequence[float]) -> dict[str, list[Operation]]:
    """The counts by operation and order."""
    triples = iter([Operation(*statistics[place : place + 3]) for place in range(0, len(statistics), 3)])
    return {name: list(islice(triples, len(ORDERS))) for name in OPERATIONS}


def _mean(values: Iterable[float]) -> float:
    return sum(values) / len(ORDERS)
