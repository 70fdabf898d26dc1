"""FKGL and SMOG: the US school grade of a text, from its words, sentences and syllables; English only.

Words and sentences are counted as textstat does: punctuation is deleted, the rest is split at spaces; a sentence ends
at . ! or ? and has at least three words. Lower is simpler, which for simplification is better. Syllables are counted
by rule: vowel groups, less the silent ones, plus vowels that are spoken separately; developed on the CMU dictionary.
"""

from __future__ import annotations

import math
import re
import unicodedata
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import ClassVar, NamedTuple

from evalign.core import Row, Segment
from evalign.core.metric import RowMetric
from evalign.core.options import option
from evalign.core.spec import Signature
from evalign.errors import SpecError
from evalign.text.words import cached, word_set
from evalign.version import __version__

STRAY_APOSTROPHE = re.compile(r"'(?!t|s|d|ve|ll|re)")  # all but those of contractions
PUNCTUATION = re.compile(r"[^\w\s']")
SENTENCE_END = re.compile(r"[.!?]+")
MIN_SENTENCE_WORDS = 3  # textstat's guard against abbreviations
MIN_POLYSYLLABLE = 3  # syllables


EXCEPTIONS = {  # words that the rules count wrongly
    word: count
    for count, name in enumerate(("1 syllable", "2 syllables", "3 syllables", "4 syllables"), 1)
    for word in word_set(name)
}

POSSESSIVE = re.compile(r"'s$")
SIBILANT = re.compile(r"(?:s|x|z|ch|sh|ce|ge|se|ze)$")
NEGATION = re.compile(r"[ds]n't$")  # didn't, wasn't: the n is a syllable
MAX_SPELT_OUT = 3  # letters of an abbreviation
ACCENTED = re.compile(r"[aeiouy][\u0300-\u036f]+")  # spoken, as in café
NOT_LETTERS = re.compile(r"[^a-z]")
CONSONANT_Y = re.compile(r"(?<![^aeiou])y(?=[aeiou])")  # player, beyond, year
VOWELS = re.compile(r"[aeiouy]+")
FIRST_PARTS = "some home there where here life base face frame safe more time name white state house horse fore stone"
FIRST_PARTS += " love wide side line wine pipe trade game"
# Written vowels that are not spoken: final e and its -es and -ed, e before a suffix or inside a compound, -gue, -que.
SILENT = re.compile(
    r"(?<=[^aeiouy])e$"
    r"|(?<=[^aeiouy])(?<![sxzcg])(?<!ch)(?<!sh)e(?=s$)"
    r"|(?<=[^aeioudty])e(?=d$)"
    r"|(?<=[^aeiouy])e(?=(?:ly|less|ness|ful|ment|ments|fully|lessly)$)"
    r"|(?<=[aeioun]g)ue[sd]?$|(?<=[ei]q)ue[sd]?$"
    rf"|(?:(?<=^{')|(?<=^'.join(part[:-1] for part in sorted(set(FIRST_PARTS.split())))}))"
    r"e(?=[bcfghjklmnpqtvwz])(?!ly|less|ness|ful|ment)"
)
# One group of letters in which two vowels are spoken, or a consonant that is a syllable: able, rhythm, fire.
APART = re.compile(
    r"(?<![sctlgx])ia|(?<=[ct])ia(?=t)|(?<=[aeiou]l)ia(?=n?[cbt])"
    r"|(?<![ctgx])iou|(?<![tscgxlnh])ion|io(?![nu])|(?<![gc])iu"
    r"|(?<![pg])eo(?!n$|us)|eum|[^aeiou]rea(?=t[eio])(?!tu)|area|idea|reali[tsz]|theat"
    r"|(?<![gq])ua(?!r[^y])|(?<![gq])ue(?:l|nt|nc)|uou|oe(?=[mt])|coop|coord"
    r"|[^aeiou]ying|[aeiou]ing|[^aeiou]ier$|[^aeiou]iest$|iet|(?<![ct])ien(?=ce|t)|scien"
    r"|[^aeiouylrw]le[sd]?$|sms?$|thms?$|(?<![ah])ire[sd]?$"
)


@cached(2**16)
def count_syllables(word: str) -> int:
    """Count the syllables of a lower-case word; at least one, also for words without letters."""
    owner = POSSESSIVE.sub("", word)
    if owner != word:
        return count_syllables(owner) + bool(SIBILANT.search(owner))
    if word in EXCEPTIONS:
        return EXCEPTIONS[word]
    plain = ACCENTED.sub("a", unicodedata.normalize("NFKD", word))
    letters = CONSONANT_Y.sub("j", NOT_LETTERS.sub("", plain))
    groups = len(VOWELS.findall(letters))
    if not groups:  # spelt out: tv, bbc
        return len(word) if word.isalpha() and len(word) <= MAX_SPELT_OUT else 1
    spoken = groups - len(SILENT.findall(letters)) + len(APART.findall(letters)) + bool(NEGATION.search(word))
    return max(1, spoken)


@cache
def textstat_syllables() -> Callable[[str], int]:
    """Return textstat's counter; it uses the CMU dictionary, which NLTK must have downloaded."""
    try:
        count: Callable[[str], int] = import_module("textstat").textstat.syllable_count
        count("word")
    except (ImportError, LookupError) as error:
        raise SpecError(
            "syllables=textstat needs textstat and NLTK's copy of cmudict: "
            "pip install textstat && python -m nltk.downloader cmudict; or use syllables=rules"
        ) from error
    return cached(2**16)(count)


class TextCounts(NamedTuple):
    """Counts of readability formulas, additive over texts."""

    words: float
    sentences: float
    syllables: float
    polysyllables: float


SYLLABLES = option("rules", "how syllables are counted; textstat needs it installed", ("rules", "textstat"))


class Readability:
    """Mixin of metrics that compute a grade level from the candidate alone."""

    worst: ClassVar[float] = 100.0  # above all school grades; with 0, as in textstat, an empty text were the simplest
    higher_is_better: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    pools: ClassVar[bool] = True  # the grade of all texts as one: counts are summed

    syllables: str
    signed: Callable[[Mapping[str, str]], Signature]  # of `Metric`

    @abstractmethod
    def grade(self, counts: TextCounts) -> float:
        """Return the grade by the formula."""

    def segment(self, row: Row) -> Segment:
        """Score the candidate; references and sources are ignored."""
        counts = text_counts(row.candidate, self.counter())
        flags = {} if counts.words else {"empty": 1}
        return Segment(row.id, self.from_totals(counts, 1), flags, statistics=tuple(counts))

    def from_totals(self, totals: Sequence[float], rows: int) -> dict[str, float]:
        """Return the grade from counts, of one text or summed over texts."""
        counts = TextCounts(*totals)
        return {"score": self.grade(counts) if counts.words else self.worst}

    def counter(self) -> Callable[[str], int]:
        """Return the function from a word to its syllables."""
        return count_syllables if self.syllables == "rules" else textstat_syllables()

    def signature(self) -> Signature:
        """Return the syllable counter, with its version if it has one; raise SpecError if it is not installed."""
        self.counter()
        counter = self.syllables if self.syllables == "rules" else f"textstat-{version('textstat')}"
        return self.signed({"syll": counter, "v": __version__})


@dataclass(frozen=True)
class FKGL(Readability, RowMetric):
    """Flesch-Kincaid grade level: 0.39 words/sentence + 11.8 syllables/word - 15.59."""

    name: ClassVar[str] = "fkgl"
    about: ClassVar[str] = "Flesch-Kincaid grade level of the candidate alone (Kincaid et al. 1975); English"
    bounds: ClassVar[tuple[float, float]] = (0.39 + 11.8 - 15.59, math.inf)  # one word of one syllable

    syllables: str = SYLLABLES

    def grade(self, counts: TextCounts) -> float:
        """Return the grade by the formula."""
        return 0.39 * (counts.words / counts.sentences) + 11.8 * (counts.syllables / counts.words) - 15.59


@dataclass(frozen=True)
class SMOG(Readability, RowMetric):
    """SMOG grade: 1.043 sqrt(30 polysyllables/sentence) + 3.1291."""

    name: ClassVar[str] = "smog"
    about: ClassVar[str] = "SMOG grade of the candidate alone (McLaughlin 1969); English"
    bounds: ClassVar[tuple[float, float]] = (3.1291, math.inf)  # no word of three syllables

    syllables: str = SYLLABLES

    def grade(self, counts: TextCounts) -> float:
        """Return the grade; polysyllables are words of three syllables or more."""
        return float(1.043 * (30 * (counts.polysyllables / counts.sentences)) ** 0.5 + 3.1291)


def words_of(text: str) -> list[str]:
    """Return the words of a text: punctuation is deleted except the apostrophe of contractions; split at spaces."""
    return PUNCTUATION.sub("", STRAY_APOSTROPHE.sub("", text)).split()


def text_counts(text: str, syllables: Callable[[str], int] = count_syllables) -> TextCounts:
    """Count one text; a text with a word has at least one sentence."""
    words = words_of(text)
    if not words:
        return TextCounts(0, 0, 0, 0)
    long_enough = sum(len(words_of(piece)) >= MIN_SENTENCE_WORDS for piece in SENTENCE_END.split(text))
    per_word = [syllables(word.lower()) for word in words]
    polysyllables = sum(count >= MIN_POLYSYLLABLE for count in per_word)
    return TextCounts(len(words), max(1, long_enough), sum(per_word), polysyllables)
