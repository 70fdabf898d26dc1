"""GLEU, Google's BLEU for sentences (Wu et al. 2016): matching n-grams by those of the text that has more of them.

All n-grams of 1 to 4 words are pooled; the score is the minimum of their precision and recall, from 0 to 1. As in
NLTK's `gleu_score` and `evaluate`'s google_bleu, whose words are sacrebleu's 13a, the best reference of each row
is used, and matches and lengths are summed for the corpus score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from evalign.core import Row, Segment
from evalign.core.metric import RowMetric
from evalign.core.options import option
from evalign.core.spec import Signature
from evalign.errors import SpecError
from evalign.metrics.lexical.sacrebleu_metrics import TOKENISERS, bleu_words
from evalign.version import __version__

Grams = Counter[tuple[str, ...]]


class Matches(NamedTuple):
    """Number of n-grams in both texts, and in the text that has more."""

    hits: int
    longer: int

    @property
    def share(self) -> float:
        """Share of matching n-grams; 0 if no text has an n-gram."""
        return self.hits / self.longer if self.longer else 0.0


@dataclass(frozen=True)
class GLEU(RowMetric):
    """min(precision, recall) of all n-grams."""

    name: ClassVar[str] = "gleu"
    about: ClassVar[str] = (
        "Google's BLEU for sentences: the smaller one of n-gram precision and recall (Wu et al. 2016)"
    )
    pools: ClassVar[bool] = True  # hits and lengths are summed over rows, as NLTK's corpus_gleu does

    tokenize: str = option("13a", "sacrebleu's tokeniser; none is NLTK's, which is given words", TOKENISERS)
    lowercase: bool = option(False, "compare without case")
    min_len: int = option(1, "shortest n-gram", least=1)
    max_len: int = option(4, "longest n-gram", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_len > self.max_len:
            raise SpecError(f"min_len={self.min_len}: expected at most max_len={self.max_len}")

    def segment(self, row: Row) -> Segment:
        """Score the reference with the highest share, the first of equal ones."""
        candidate, references = self.tokens(row.candidate), [self.tokens(text) for text in row.references]
        matches = [self.matches(candidate, reference) for reference in references]
        best = max(matches, key=lambda pair: (pair.share, pair.longer > 0), default=Matches(0, 0))
        empty = not candidate or not any(references)
        flags = {"empty": 1} if empty else {} if best.longer else {"too-short": 1}
        return Segment(row.id, {"score": best.share}, flags, statistics=tuple(map(float, best)))

    def from_totals(self, totals: Sequence[float], rows: int) -> dict[str, float]:
        """Return the score from hits and n-grams, of one row or summed over rows."""
        hits, longer = totals
        return {"score": hits / longer if longer else self.worst}

    def tokens(self, text: str) -> list[str]:
        """Return the words of a text."""
        return bleu_words(text, self.tokenize, self.lowercase)

    def grams(self, words: Sequence[str], order: int) -> Grams:
        """Count the n-grams of one order."""
        return Counter(zip(*(words[start:] for start in range(order)), strict=False))

    def matches(self, candidate: Sequence[str], reference: Sequence[str]) -> Matches:
        """Count matches over all orders."""
        hits, lengths = 0, [0, 0]
        for order in range(self.min_len, self.max_len + 1):
            left, right = self.grams(candidate, order), self.grams(reference, order)
            hits += (left & right).total()
            lengths = [length + grams.total() for length, grams in zip(lengths, (left, right), strict=True)]
        return Matches(hits, max(lengths))

    def signature(self) -> Signature:
        """Return every option."""
        settings = {"case": "lc" if self.lowercase else "mixed", "n": f"{self.min_len}-{self.max_len}"}
        return self.signed(settings | {"tok": self.tokenize, "v": __version__})
