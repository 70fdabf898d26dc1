"""SARI (Xu et al. 2016): which n-grams of the source a simplification added, kept and deleted, against references.

Defined as in EASSE: counts are summed over rows, so that they give the corpus score, and scores lie between 0 and 100.
EASSE's default averages F1 over the orders 1 to 4; `formula=paper` takes F1 of averaged precision and recall, and the
paper's own score is `formula=paper, deletion=precision`. `formula=script` is the authors' script as corrected in
tensor2tensor and `evaluate`, sentence by sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self

from evalign.errors import SpecError
from evalign.metrics.base import RowMetric
from evalign.metrics.lexical.sacrebleu_metrics import TOKENISERS, bleu_words
from evalign.metrics.options import option
from evalign.metrics.signature import Signature
from evalign.types import Row, Segment
from evalign.version import __version__

OPERATIONS = ("add", "keep", "delete")
ORDERS = (1, 2, 3, 4)
MOSES = "moses"
Words = Sequence[str]


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
class SARI(RowMetric):
    """Mean of the scores of adding, keeping and deleting."""

    name: ClassVar[str] = "sari"
    about: ClassVar[str] = "n-grams added, kept and deleted by a simplification (Xu et al. 2016), as in EASSE"
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    needs: ClassVar[tuple[str, ...]] = ("references", "sources")
    pools: ClassVar[bool] = True  # counts are summed over rows, as EASSE's corpus_sari does
    explainer: ClassVar[str] = "lexical:explain_sari"

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

    def segment(self, row: Row) -> Segment:
        """The source, the candidate and every reference are cut the same way."""
        source, candidate = self.source_tokens(str(row.source)), self.tokens(row.candidate)
        references = [self.tokens(text) for text in row.references]
        flags = {} if source else {"empty-source": 1}
        empty = not candidate or not any(references)
        if self.formula == "script":
            orders = script_scores(source, candidate, references)
            statistics = (0.0, 0.0, 0.0) if empty else tuple(map(_mean, zip(*orders, strict=True)))
        else:
            statistics = sari_counts(source, candidate, references)
        if empty:
            return Segment(row.id, {"score": self.worst}, flags | {"empty": 1}, statistics=statistics)
        return Segment(row.id, self.from_totals(statistics, 1), flags, statistics=statistics)

    def from_totals(self, totals: Sequence[float], rows: int) -> dict[str, float]:
        """The score of counts, of one row or summed over rows."""
        if self.formula == "script":
            return {"score": 100 * sum(totals) / 3 / rows}  # the mean of sentences
        add, keep, delete = self.operation_scores(operations(totals)).values()
        return {"score": 100 * (add + keep + delete) / 3}

    def operation_scores(self, counts: Mapping[str, Sequence[Operation]]) -> dict[str, float]:
        """Score of each operation, between 0 and 1."""
        return {name: self._operation_score(name, orders) for name, orders in counts.items()}

    def _operation_score(self, name: str, orders: Sequence[Operation]) -> float:
        precision = _mean(counts.precision for counts in orders)
        if name == "delete" and self.deletion == "precision":
            return precision
        if self.formula == "macro":
            return _mean(harmonic(counts.precision, counts.recall) for counts in orders)
        return harmonic(precision, _mean(counts.recall for counts in orders))

    def tokens(self, text: str) -> list[str]:
        """Words as they are compared."""
        if self.tokenize != MOSES:
            return bleu_words(text, self.tokenize, self.lowercase)
        text = text.lower() if self.lowercase else text
        return str(_moses().tokenize(text, return_str=True, escape=False)).split()  # unescaped, as in EASSE

    def source_tokens(self, text: str) -> list[str]:
        """The source's words: with `legacy` what stands between spaces."""
        return text.split() if self.legacy else self.tokens(text)

    def signature(self) -> Signature:
        """Every option, and the version of a tokeniser that is not sacrebleu's."""
        settings = {"formula": self.formula, "del": self.deletion, "case": "lc" if self.lowercase else "mixed"}
        settings |= {"source": "raw"} if self.legacy else {}
        if self.tokenize == MOSES:
            _moses()
            settings["sacremoses"] = version("sacremoses")
        return Signature(self.name, settings | {"tok": self.tokenize, "v": __version__})

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """The metric whose numbers carry this signature."""
        legacy = signature.settings.get("source") == "raw"
        return cls(signature["formula"], signature["del"], signature["tok"], signature["case"] == "lc", legacy)


def sari_counts(source: Words, candidate: Words, references: Sequence[Words]) -> tuple[float, ...]:
    """Right, done and wanted of every order for adding, then keeping, then deleting: 36 numbers.

    With r references all counts of source and candidate are taken r times, to be compared with the references' sums;
    adding looks at distinct n-grams only.
    """
    add, keep, delete = [], [], []
    for order in ORDERS:
        origin, own, wanted = _ngrams(source, candidate, references, order)
        added, to_add = set(own) - set(origin), set(wanted) - set(origin)
        add += [len(added & to_add), len(added), len(to_add)]
        in_both = own & origin
        keep += [(in_both & wanted).total(), in_both.total(), (origin & wanted).total()]
        deleted, superfluous = origin - own, origin - wanted
        delete += [(deleted & superfluous).total(), deleted.total(), superfluous.total()]
    return tuple(map(float, (*add, *keep, *delete)))


def operations(statistics: Sequence[float]) -> dict[str, list[Operation]]:
    """The counts by operation and order."""
    triples = iter([Operation(*statistics[place : place + 3]) for place in range(0, len(statistics), 3)])
    return {name: list(islice(triples, len(ORDERS))) for name in OPERATIONS}


def script_scores(source: Words, candidate: Words, references: Sequence[Words]) -> list[tuple[float, float, float]]:
    """Scores of adding, keeping and deleting between 0 and 1, order by order, as in the authors' script.

    Against `sari_counts`: ratios are averaged over distinct n-grams (but for the recall of keeping, a ratio of sums),
    deleting is scored by precision, and 0 / 0 is 1.
    """
    scores = []
    for order in ORDERS:
        origin, own, wanted = _ngrams(source, candidate, references, order)
        in_both, to_keep = origin & own, origin & wanted
        kept = in_both & wanted
        keep = harmonic(_mean_share(kept, in_both), kept.total() / to_keep.total() if to_keep else 1.0)
        deleted = origin - own
        delete = _mean_share(deleted - wanted, deleted)
        added, to_add = set(own) - set(origin), set(wanted) - set(origin)
        right = len(added & to_add)
        add = harmonic(right / len(added) if added else 1.0, right / len(to_add) if to_add else 1.0)
        scores.append((add, keep, delete))
    return scores


def harmonic(precision: float, recall: float) -> float:
    """F1; 0 of nothing."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _ngrams(source: Words, candidate: Words, references: Sequence[Words], order: int) -> list[Counter[Any]]:
    """N-grams of source and candidate, each counted once for every reference, and those of all references."""
    counts = [
        Counter(zip(*(words[start:] for start in range(order)), strict=False))
        for words in (source, candidate, *references)
    ]
    origin, own = (
        Counter({ngram: count * len(references) for ngram, count in counted.items()}) for counted in counts[:2]
    )
    return [origin, own, sum(counts[2:], Counter[Any]())]


def _mean(values: Iterable[float]) -> float:
    return sum(values) / len(ORDERS)


def _mean_share(right: Counter[Any], done: Counter[Any]) -> float:
    """The mean over distinct n-grams of how much of each was right."""
    return sum(right[ngram] / count for ngram, count in done.items()) / len(done) if done else 1.0


@cache
def _moses() -> Any:
    """The Moses tokeniser of sacremoses, which EASSE offers; it need not be installed otherwise."""
    try:
        return import_module("sacremoses").MosesTokenizer()
    except ImportError:
        raise SpecError(
            "tokenize=moses is the tokeniser of sacremoses: pip install sacremoses, or take tokenize=13a"
        ) from None
