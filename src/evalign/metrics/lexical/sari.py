"""SARI (Xu et al. 2016): n-grams of the source that a simplification added, kept and deleted, against references.

Defined as in EASSE: counts are summed over rows for the corpus score, and scores are between 0 and 100. EASSE's
default averages F1 over the orders 1 to 4; `formula=paper` takes F1 of averaged precision and recall, and the paper's
score is `formula=paper, deletion=precision`. `formula=script` is the authors' script as corrected in tensor2tensor and
`evaluate`, sentence by sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from evalign.core import Row, Segment
from evalign.core.metric import RowMetric
from evalign.core.options import option
from evalign.core.spec import Signature
from evalign.errors import SpecError
from evalign.metrics.lexical.sacrebleu_metrics import TOKENISERS, bleu_words
from evalign.version import __version__

OPERATIONS = ("add", "keep", "delete")
ORDERS = (1, 2, 3, 4)
MOSES = "moses"
Words = Sequence[str]


class Operation(NamedTuple):
    """N-grams of one order that the candidate handled right, handled, and should have handled."""

    right: float
    done: float
    expected: float

    @property
    def precision(self) -> float:
        """Precision; 0 without operations, as in EASSE."""
        return self.right / self.done if self.done else 0.0

    @property
    def recall(self) -> float:
        """Recall; 0 without expected operations, as in EASSE."""
        return self.right / self.expected if self.expected else 0.0


@dataclass(frozen=True)
class SARI(RowMetric):
    """Mean of the scores of adding, keeping and deleting."""

    name: ClassVar[str] = "sari"
    about: ClassVar[str] = "n-grams added, kept and deleted by a simplification (Xu et al. 2016), as in EASSE"
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    needs: ClassVar[tuple[str, ...]] = ("references", "sources")
    pools: ClassVar[bool] = True  # counts are summed over rows, as EASSE's corpus_sari does

    formula: str = option("macro", "mean of the orders' F1; the paper's F1 of mean P and R; or script, as in evaluate",
                          ("macro", "paper", "script"))  # fmt: skip
    deletion: str = option("f1", "how deleting is scored; the paper and formula=script use precision",
                           ("f1", "precision"))  # fmt: skip
    tokenize: str = option("13a", "sacrebleu's tokeniser; moses needs sacremoses", (*TOKENISERS, MOSES))
    lowercase: bool = option(True, "compare without case")
    legacy: bool = option(False, "EASSE's: the source is split at spaces only, with its case, as in older results")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.formula == "script":  # canonical form of equal metrics
            object.__setattr__(self, "deletion", "precision")

    def segment(self, row: Row) -> Segment:
        """Score a row; source, candidate and references are tokenised alike."""
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
        """Return the score from counts, of one row or summed over rows."""
        if self.formula == "script":
            return {"score": 100 * sum(totals) / 3 / rows}  # the mean of sentences
        add, keep, delete = self.operation_scores(operations(totals)).values()
        return {"score": 100 * (add + keep + delete) / 3}

    def operation_scores(self, counts: Mapping[str, Sequence[Operation]]) -> dict[str, float]:
        """Return the score of each operation, between 0 and 1."""
        return {name: self._operation_score(name, orders) for name, orders in counts.items()}

    def _operation_score(self, name: str, orders: Sequence[Operation]) -> float:
        precision = _mean(counts.precision for counts in orders)
        if name == "delete" and self.deletion == "precision":
            return precision
        if self.formula == "macro":
            return _mean(harmonic(counts.precision, counts.recall) for counts in orders)
        return harmonic(precision, _mean(counts.recall for counts in orders))

    def tokens(self, text: str) -> list[str]:
        """Return the words of a text."""
        if self.tokenize != MOSES:
            return bleu_words(text, self.tokenize, self.lowercase)
        text = text.lower() if self.lowercase else text
        return str(_moses().tokenize(text, return_str=True, escape=False)).split()  # unescaped, as in EASSE

    def source_tokens(self, text: str) -> list[str]:
        """Return the source's words: with `legacy` split at spaces."""
        return text.split() if self.legacy else self.tokens(text)

    def signature(self) -> Signature:
        """Return every option, and the version of a tokeniser that is not sacrebleu's."""
        settings = {"formula": self.formula, "del": self.deletion, "case": "lc" if self.lowercase else "mixed"}
        settings |= {"source": "raw"} if self.legacy else {}
        if self.tokenize == MOSES:
            _moses()
            settings["sacremoses"] = version("sacremoses")
        return self.signed(settings | {"tok": self.tokenize, "v": __version__})


def sari_counts(source: Words, candidate: Words, references: Sequence[Words]) -> tuple[float, ...]:
    """Return right, done and expected counts of every order for adding, then keeping, then deleting: 36 numbers.

    With r references all counts of source and candidate are multiplied by r, for comparison with the references' sums;
    adding compares distinct n-grams only.
    """
    add, keep, delete = [], [], []
    for order in ORDERS:
        origin, output, expected = _ngrams(source, candidate, references, order)
        added, to_add = set(output) - set(origin), set(expected) - set(origin)
        add += [len(added & to_add), len(added), len(to_add)]
        in_both = output & origin
        keep += [(in_both & expected).total(), in_both.total(), (origin & expected).total()]
        deleted, superfluous = origin - output, origin - expected
        delete += [(deleted & superfluous).total(), deleted.total(), superfluous.total()]
    return tuple(map(float, (*add, *keep, *delete)))


def operations(statistics: Sequence[float]) -> dict[str, list[Operation]]:
    """Return the counts by operation and order."""
    triples = iter([Operation(*statistics[start : start + 3]) for start in range(0, len(statistics), 3)])
    return {name: list(islice(triples, len(ORDERS))) for name in OPERATIONS}


def script_scores(source: Words, candidate: Words, references: Sequence[Words]) -> list[tuple[float, float, float]]:
    """Return scores of adding, keeping and deleting between 0 and 1, order by order, as in the authors' script.

    Compared with `sari_counts`, ratios are averaged over distinct n-grams (except the recall of keeping, a ratio of
    sums), deleting is scored by precision, and 0 / 0 is 1.
    """
    scores = []
    for order in ORDERS:
        origin, output, expected = _ngrams(source, candidate, references, order)
        in_both, to_keep = origin & output, origin & expected
        kept_right = in_both & expected
        keep = harmonic(_mean_share(kept_right, in_both), kept_right.total() / to_keep.total() if to_keep else 1.0)
        deleted = origin - output
        delete = _mean_share(deleted - expected, deleted)
        added, to_add = set(output) - set(origin), set(expected) - set(origin)
        right = len(added & to_add)
        add = harmonic(right / len(added) if added else 1.0, right / len(to_add) if to_add else 1.0)
        scores.append((add, keep, delete))
    return scores


def harmonic(precision: float, recall: float) -> float:
    """Return F1; 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _ngrams(source: Words, candidate: Words, references: Sequence[Words], order: int) -> list[Counter[Any]]:
    """Return n-grams of source and candidate, multiplied by the number of references, and those of all references."""
    counts = [
        Counter(zip(*(words[start:] for start in range(order)), strict=False))
        for words in (source, candidate, *references)
    ]
    origin, output = (
        Counter({ngram: count * len(references) for ngram, count in counted.items()}) for counted in counts[:2]
    )
    return [origin, output, sum(counts[2:], Counter[Any]())]


def _mean(values: Iterable[float]) -> float:
    return sum(values) / len(ORDERS)


def _mean_share(right: Counter[Any], done: Counter[Any]) -> float:
    """Return the mean over distinct n-grams of the share that was right."""
    return sum(right[ngram] / count for ngram, count in done.items()) / len(done) if done else 1.0


@cache
def _moses() -> Any:
    """Return the Moses tokeniser of sacremoses, as EASSE; an optional dependency."""
    try:
        return import_module("sacremoses").MosesTokenizer()
    except ImportError:
        raise SpecError(
            "tokenize=moses is the tokeniser of sacremoses: pip install sacremoses, or take tokenize=13a"
        ) from None
