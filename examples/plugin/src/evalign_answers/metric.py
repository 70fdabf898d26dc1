"""Word overlap of short answers, as the SQuAD evaluation script computes it (Rajpurkar et al. 2016)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from evalign import Explanation, Row, RowMetric, Segment, Signature, option

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)
VERSION = "0.1.0"


@dataclass(frozen=True)
class AnswerF1(RowMetric):
    """Precision, recall and F1 of the bag of words, against the best of several gold answers."""

    name: ClassVar[str] = "answerf1"
    about: ClassVar[str] = "word overlap of short answers (SQuAD)"
    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")

    articles: str = option("drop", "whether a, an and the count as words", ("drop", "keep"))

    def signature(self) -> Signature:
        """Return the settings that decide the numbers."""
        return self.signed({"articles": self.articles, "v": VERSION})

    def segment(self, row: Row) -> Segment:
        """Return the scores of one row; a text without words scores 0 and is flagged."""
        candidate = self.words(row.candidate)
        references = [self.words(reference) for reference in row.references]
        if not candidate or not any(references):
            return Segment(row.id, dict.fromkeys(self.fields, 0.0), {"empty": 1})
        scores = [overlap(candidate, reference) for reference in references]
        best = max(range(len(scores)), key=lambda index: scores[index][-1])
        chosen = best if len(scores) > 1 else None
        return Segment(row.id, dict(zip(self.fields, scores[best], strict=True)), reference=chosen)

    def words(self, text: str) -> list[str]:
        """Return the words of an answer: lower case, without punctuation and, by default, articles."""
        plain = text.lower().translate(PUNCTUATION)
        return (ARTICLES.sub(" ", plain) if self.articles == "drop" else plain).split()


def overlap(candidate: Sequence[str], reference: Sequence[str]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the words that two answers share."""
    shared = sum((Counter(candidate) & Counter(reference)).values())
    if not shared:
        return 0.0, 0.0, 0.0
    precision, recall = shared / len(candidate), shared / len(reference)
    return precision, recall, 2 * precision * recall / (precision + recall)


def explain_answer(metric: AnswerF1, candidate: str, reference: str) -> str:
    """Return the arithmetic of one pair as text."""
    words, gold = metric.words(candidate), metric.words(reference)
    shared = Counter(words) & Counter(gold)
    precision, recall, f1 = overlap(words, gold)
    return (
        f"shared words: {' '.join(sorted(shared.elements())) or 'none'}\n"
        f"precision {precision:.4f} = {shared.total()} of {len(words)} candidate words\n"
        f"recall    {recall:.4f} = {shared.total()} of {len(gold)} reference words\n"
        f"f1        {f1:.4f}"
    )


EXPLANATION = Explanation(explain_answer)
