"""Sentences of a text: its lines, what a splitter finds, or one of both by the text's own form (`auto`).

The splitter knows the sentence ends of many scripts; a line end is always one. English and German it reads also in
lower case: where a text has no capitals to go by, what stands before and after a full stop decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from evalign.text.word_sets import word_set

TITLES_AND_LINKS = word_set("titles and links")
MAY_END = word_set("may end")
BEFORE_NUMBERS = word_set("before numbers")
OPENERS = word_set("openers")
CAPITAL_OPENERS = word_set("capital openers") | OPENERS
BEFORE_ORDINALS = word_set("before ordinals")
AFTER_ORDINALS = word_set("after ordinals")
COUNTED_BY_ROMAN = word_set("counted by roman")
SPEECH = word_set("speech")
CLOSING = "\"'”“’»«›)\\]}」』）】"
SPACED = ".!?…؟۔।॥։።"
END = re.compile(
    rf"(?<![{SPACED}])(?P<spaced>[{SPACED}]++)[{CLOSING}]*+(?=\s)"  # these need a space after them
    rf"|[。！？｡．។။]+[{CLOSING}]*"  # these do not
)
WORD = re.compile(r"[^\W_]+")
NEXT_WORD = re.compile(r"[\W_]{0,20}([^\W_]+)([.])?")
CONTEXT = 200  # characters before a full stop that are looked at, so that time grows with length
AROUND_WORDS = "\"'“”„‘’«»‹›([{,;:"
INITIAL = re.compile(r"(?:[^\W\d_]\.)+")  # J. R. R.
DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)*[^\W\d_]")  # J, U.S, e.g, Ph.D: the last full stop is not there
ROMAN = re.compile(r"[ivx]{2,}")
ORDINAL = re.compile(r"\d{1,3}|\d{1,2}\.\d{1,2}")  # 3. and 24.12.; four digits are a year
DAY = re.compile(r"\d{1,2}\.")  # 24. 12.
QUOTES = {'"': '"', "”": "“„", "“": "„“", "’": "‘‚", "»": "«", "«": "»", "'": "'", ")": "(", "]": "[", "}": "{"}


def lines(text: str) -> list[str]:
    """The lines that are not empty; only a line feed ends one."""
    return [line for line in text.split("\n") if line]


def split_sentences(text: str) -> list[str]:
    """The sentences of every line, without the spaces between them."""
    return [sentence for line in text.split("\n") for sentence in _of_line(line)]


def lines_or_sentences(text: str) -> list[str]:
    """The lines of a text that has several which are not blank, else its sentences."""
    several = [line for line in text.split("\n") if line and not line.isspace()]
    return several if len(several) > 1 else split_sentences(text)


def has_no_mark(text: str) -> bool:
    """Whether `lines_or_sentences` gives at most the text itself, as no sentence could end within it."""
    return "\n" not in text and END.search(text.rstrip()) is None


SPLITTERS: dict[str, Callable[[str], list[str]]] = {
    "auto": lines_or_sentences,
    "lines": lines,
    "split": split_sentences,
}

# Whether a text is quickly known to be one piece.
UNSPLIT: dict[str, Callable[[str], bool]] = {"auto": has_no_mark, "lines": lambda text: "\n" not in text}


@dataclass(frozen=True, slots=True)
class Mark:
    """A place where a sentence may end: what stands around it."""

    sign: str  # the full stop, question mark, ...
    closing: str  # quotation marks and brackets right after it
    before: str  # the sentence so far, or the last of it, without the sign
    after: str  # some of what follows
    next_word: str
    is_initial: bool  # whether the next word is one letter with a full stop
    lower_case: bool  # whether capitals say nothing in this text

    def is_end(self) -> bool:
        """Whether a sentence ends here."""
        if not self.lower_case and self.next_word.islower():
            return False
        if self.lower_case and self.closing and self._is_embedded():
            return False
        if "…" in self.sign or self.sign.startswith(".."):
            return not self.lower_case or self.next_word in OPENERS
        if self.sign != "." or not self.before or self.before[-1].isspace():
            return True
        return self._full_stop_ends()

    def _full_stop_ends(self) -> bool:
        """A full stop may belong to its word: an abbreviation, an initial, an ordinal."""
        *earlier, word = (part.strip(AROUND_WORDS).lower() for part in self.before.split()[-3:])
        word = word.rpartition("-")[2]  # Dipl.-Ing.
        if len(word) == 1 and earlier and INITIAL.fullmatch(earlier[-1]):
            word = earlier[-1] + word  # z. B. is z.B.
        if word in TITLES_AND_LINKS or (word in BEFORE_NUMBERS and self.next_word[0].isdecimal()):
            return False
        if ORDINAL.fullmatch(word):
            return not self._is_ordinal(earlier)
        if DOTTED.fullmatch(word):
            return self._opens() or (len(self.next_word) == 1 and not self.is_initial)
        regnal = ROMAN.fullmatch(word) and earlier and earlier[-1] not in COUNTED_BY_ROMAN
        return self._opens() if regnal or word in MAY_END or word.endswith("str") else True

    def _opens(self) -> bool:
        """Whether the next word looks like the first of a sentence."""
        if self.is_initial and len(self.next_word) == 1:
            return False
        return self.next_word.lower() in (OPENERS if self.lower_case else CAPITAL_OPENERS)

    def _is_ordinal(self, earlier: list[str]) -> bool:
        """Whether a number with its full stop is an item of a list, or a German ordinal."""
        if not earlier or self.next_word.lower() in AFTER_ORDINALS:
            return True
        ordinal = earlier[-1] in BEFORE_ORDINALS or DAY.fullmatch(earlier[-1])
        return bool(ordinal) and earlier[-2:] != ["i", "am"] and not self._opens()

    def _is_embedded(self) -> bool:
        """Whether what a bracket or quotation mark closes stands within a sentence."""
        closing = self.closing[-1]
        opened = max((self.before.rfind(sign) for sign in QUOTES.get(closing, "")), default=-1)
        outside = self.before[:opened].rstrip() if opened > 0 else ""
        bracket = closing in ")]}"
        if not bracket and not SPEECH.isdisjoint(WORD.findall(self.after)[: 1 if self.sign == "." else 3]):
            return True
        if not bracket and self.sign == ".":
            return False
        return bool(outside) and outside[-1].isalnum() and (bracket or outside.split()[-1] not in SPEECH)


def _of_line(line: str) -> list[str]:
    matches = list(END.finditer(line))
    following = [NEXT_WORD.match(line, match.end()) for match in matches]
    lower_case = _is_lower_case(line, following)
    places = [0]
    for match, word in zip(matches, following, strict=True):
        if not word or not match["spaced"] or _mark(line, places[-1], match, word, lower_case).is_end():
            places.append(match.end())
    pieces = (line[start:stop].strip() for start, stop in pairwise([*places, len(line)]))
    return [piece for piece in pieces if piece]


def _mark(line: str, start: int, match: re.Match[str], word: re.Match[str], lower_case: bool) -> Mark:
    stop, end = match.end("spaced"), match.end()
    before = line[max(start, match.start() - CONTEXT) : match.start()]
    return Mark(match["spaced"], line[stop:end], before, line[end : end + 40], word[1], bool(word[2]), lower_case)


def _is_lower_case(line: str, following: list[re.Match[str] | None]) -> bool:
    """Whether sentences begin with small letters: the first one does, and most of the others."""
    first = NEXT_WORD.match(line)
    if first is None or first[1][0].isupper():
        return False
    words = [word[1] for word in following if word]
    return 2 * sum(word[0].isupper() for word in words) < len(words) or not words
