"""FKGL and SMOG: the US school grade that a text asks for, from its own words, sentences and syllables; English only.

Words and sentences are counted as textstat does: punctuation is deleted, the rest is split at spaces; a sentence ends
at . ! or ? and has at least three words. Lower is simpler, which for simplification is better.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import ClassVar, NamedTuple, Self

from evalign.metrics.base import RowMetric
from evalign.metrics.options import option
from evalign.metrics.signature import Signature
from evalign.text.syllables import count_syllables, textstat_syllables
from evalign.types import Row, Segment
from evalign.version import __version__

STRAY_APOSTROPHE = re.compile(r"'(?!t|s|d|ve|ll|re)")  # all but those of contractions
PUNCTUATION = re.compile(r"[^\w\s']")
SENTENCE_END = re.compile(r"[.!?]+")
SHORTEST_SENTENCE = 3  # words; textstat's guard against abbreviations
POLYSYLLABLE = 3


class TextCounts(NamedTuple):
    """The counts in readability formulas, which add up over texts."""

    words: float
    sentences: float
    syllables: float
    polysyllables: float


@dataclass(frozen=True)
class Readability(RowMetric):
    """A grade level computed from the candidate alone."""

    worst: ClassVar[float] = 100.0  # a grade no school has; 0, as textstat says, would make nothing the simplest text
    higher_is_better: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    pools: ClassVar[bool] = True  # the grade of all texts as one: counts are summed
    explainer: ClassVar[str] = "lexical:explain_readability"

    syllables: str = option("rules", "how syllables are counted; textstat needs it installed", ("rules", "textstat"))

    @abstractmethod
    def grade(self, counts: TextCounts) -> float:
        """The formula."""

    def segment(self, row: Row) -> Segment:
        """From the candidate; references and sources are not read."""
        counts = text_counts(row.candidate, self.counter())
        flags = {} if counts.words else {"empty": 1}
        return Segment(row.id, self.from_totals(counts, 1), flags, statistics=tuple(counts))

    def from_totals(self, totals: Sequence[float], rows: int) -> dict[str, float]:
        """The grade of counts, of one text or summed over texts."""
        counts = TextCounts(*totals)
        return {"score": self.grade(counts) if counts.words else self.worst}

    def counter(self) -> Callable[[str], int]:
        """Word -> syllables."""
        return count_syllables if self.syllables == "rules" else textstat_syllables()

    def signature(self) -> Signature:
        """The syllable counter, with its version where it has one; an error if it is not installed."""
        self.counter()
        counter = self.syllables if self.syllables == "rules" else f"textstat-{version('textstat')}"
        return Signature(self.name, {"syll": counter, "v": __version__})

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """The metric whose numbers carry this signature."""
        return cls(syllables=signature["syll"].partition("-")[0])


@dataclass(frozen=True)
class FKGL(Readability):
    """Flesch-Kincaid grade level: 0.39 words/sentence + 11.8 syllables/word - 15.59."""

    name: ClassVar[str] = "fkgl"
    about: ClassVar[str] = "Flesch-Kincaid grade level of the candidate alone (Kincaid et al. 1975); English"
    bounds: ClassVar[tuple[float, float]] = (0.39 + 11.8 - 15.59, math.inf)  # one word of one syllable

    def grade(self, counts: TextCounts) -> float:
        """The formula."""
        return 0.39 * (counts.words / counts.sentences) + 11.8 * (counts.syllables / counts.words) - 15.59


@dataclass(frozen=True)
class SMOG(Readability):
    """SMOG grade: 1.043 sqrt(30 polysyllables/sentence) + 3.1291."""

    name: ClassVar[str] = "smog"
    about: ClassVar[str] = "SMOG grade of the candidate alone (McLaughlin 1969); English"
    bounds: ClassVar[tuple[float, float]] = (3.1291, math.inf)  # no word of three syllables

    def grade(self, counts: TextCounts) -> float:
        """Polysyllables are words of three syllables or more."""
        return float(1.043 * (30 * (counts.polysyllables / counts.sentences)) ** 0.5 + 3.1291)


def words_of(text: str) -> list[str]:
    """The words of a text: punctuation is deleted, but for the apostrophe of contractions, and the rest is split."""
    return PUNCTUATION.sub("", STRAY_APOSTROPHE.sub("", text)).split()


def text_counts(text: str, syllables: Callable[[str], int] = count_syllables) -> TextCounts:
    """Counts of one text; a text with a word has at least one sentence."""
    words = words_of(text)
    if not words:
        return TextCounts(0, 0, 0, 0)
    long_enough = sum(len(words_of(piece)) >= SHORTEST_SENTENCE for piece in SENTENCE_END.split(text))
    per_word = [syllables(word.lower()) for word in words]
    polysyllables = sum(count >= POLYSYLLABLE for count in per_word)
    return TextCounts(len(words), max(1, long_enough), sum(per_word), polysyllables)
