"""Sentences and clauses of a text: `auto` takes the lines of a text that has several, else the sentences of a splitter.

The splitter supports the sentence ends of many scripts; a line end is always one. In English and German without
capital letters the words before and after a full stop decide.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from evalign.core import Tokens
from evalign.text.words import word_numbers, word_set

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
    rf"(?<![{SPACED}])(?P<spaced>[{SPACED}]++)[{CLOSING}]*+(?=\s)"  # followed by a space
    rf"|[。！？｡．។။]+[{CLOSING}]*"  # without a space
)
WORD = re.compile(r"[^\W_]+")
NEXT_WORD = re.compile(r"[\W_]{0,20}([^\W_]+)([.])?")
CONTEXT_CHARS = 200  # before a full stop, so that time is linear in the length
AROUND_WORDS = "\"'“”„‘’«»‹›([{,;:"
INITIAL = re.compile(r"(?:[^\W\d_]\.)+")  # J. R. R.
DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)*[^\W\d_]")  # J, U.S, e.g, Ph.D: without the last full stop
ROMAN = re.compile(r"[ivx]{2,}")
ORDINAL = re.compile(r"\d{1,3}|\d{1,2}\.\d{1,2}")  # 3. and 24.12.; four digits are a year
DAY = re.compile(r"\d{1,2}\.")  # 24. 12.
QUOTES = {'"': '"', "”": "“„", "“": "„“", "’": "‘‚", "»": "«", "«": "»", "'": "'", ")": "(", "]": "[", "}": "{"}


def lines(text: str) -> list[str]:
    """Return the lines that are not empty; only a line feed ends a line."""
    return [line for line in text.split("\n") if line]


def split_sentences(text: str) -> list[str]:
    """Return the sentences of every line, without the spaces between them."""
    return [sentence for line in text.split("\n") for sentence in _of_line(line)]


def lines_or_sentences(text: str) -> list[str]:
    """Return the lines of a text that has several non-blank ones, else its sentences."""
    filled_lines = [line for line in text.split("\n") if line and not line.isspace()]
    return filled_lines if len(filled_lines) > 1 else split_sentences(text)


def has_no_mark(text: str) -> bool:
    """Return whether no sentence can end within the text, so that `lines_or_sentences` cannot split it."""
    return "\n" not in text and END.search(text.rstrip()) is None


SPLITTERS: dict[str, Callable[[str], list[str]]] = {
    "auto": lines_or_sentences,
    "lines": lines,
    "split": split_sentences,
}

# Fast tests whether a text cannot be split.
UNSPLIT: dict[str, Callable[[str], bool]] = {"auto": has_no_mark, "lines": lambda text: "\n" not in text}


@dataclass(frozen=True, slots=True)
class Mark:
    """A position where a sentence may end, and its context."""

    sign: str  # the full stop, question mark, ...
    closing: str  # quotation marks and brackets right after it
    before: str  # the sentence so far, or the last of it, without the sign
    after: str  # the characters that follow
    next_word: str
    is_initial: bool  # whether the next word is one letter with a full stop
    lower_case: bool  # whether sentences of this text begin in lower case

    def is_end(self) -> bool:
        """Return whether a sentence ends here."""
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
        """Return whether a full stop ends the sentence and does not belong to an abbreviation, initial or ordinal."""
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
        """Return whether the next word looks like the first of a sentence."""
        if self.is_initial and len(self.next_word) == 1:
            return False
        return self.next_word.lower() in (OPENERS if self.lower_case else CAPITAL_OPENERS)

    def _is_ordinal(self, earlier: list[str]) -> bool:
        """Return whether a number with its full stop is a list item, or a German ordinal."""
        if not earlier or self.next_word.lower() in AFTER_ORDINALS:
            return True
        ordinal = earlier[-1] in BEFORE_ORDINALS or DAY.fullmatch(earlier[-1])
        return bool(ordinal) and earlier[-2:] != ["i", "am"] and not self._opens()

    def _is_embedded(self) -> bool:
        """Return whether the text that a bracket or quotation mark closes is within a sentence."""
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
    ends = [0]
    for match, word in zip(matches, following, strict=True):
        if not word or not match["spaced"] or _mark(line, ends[-1], match, word, lower_case).is_end():
            ends.append(match.end())
    pieces = (line[start:stop].strip() for start, stop in pairwise([*ends, len(line)]))
    return [piece for piece in pieces if piece]


def _mark(line: str, start: int, match: re.Match[str], word: re.Match[str], lower_case: bool) -> Mark:
    stop, end = match.end("spaced"), match.end()
    before = line[max(start, match.start() - CONTEXT_CHARS) : match.start()]
    return Mark(match["spaced"], line[stop:end], before, line[end : end + 40], word[1], bool(word[2]), lower_case)


def _is_lower_case(line: str, following: list[re.Match[str] | None]) -> bool:
    """Return whether sentences begin in lower case: the first does, and most of the others."""
    first = NEXT_WORD.match(line)
    if first is None or first[1][0].isupper():
        return False
    words = [word[1] for word in following if word]
    return 2 * sum(word[0].isupper() for word in words) < len(words) or not words


MIN_CLAUSE_WORDS = 3
# A mark with its closing quotes and brackets; ASCII marks and hyphens count before or between blanks only.
CLAUSE_MARK = re.compile(r"(?:[,;:](?=[\s\"')\]»”’])|[，；：、،؛—–]|(?<=\s)-{1,2}(?=\s))[\"')\]»”’]*(?=\s|\S)")


def clauses(tokens: Tokens) -> list[tuple[int, int]]:
    """Return (start, stop) characters of each clause in order, without the blanks between them.

    Clauses follow from punctuation. One of fewer than three words is joined to a neighbour.
    """
    starts = _word_starts(tokens)
    spans: list[tuple[int, int]] = []
    for start, stop in _sentences(tokens.text):
        parts = _joined(_parts(tokens.text, start, stop), starts)
        if spans and parts and _words(parts[0], starts) < MIN_CLAUSE_WORDS:  # a whole sentence may be too short
            spans[-1] = (spans[-1][0], parts[0][1])
            parts = parts[1:]
        spans += parts
    if len(spans) > 1 and _words(spans[0], starts) < MIN_CLAUSE_WORDS:
        spans[:2] = [(spans[0][0], spans[1][1])]
    return [span for span in spans if _words(span, starts)]


def clause_of_tokens(tokens: Tokens, spans: list[tuple[int, int]]) -> list[int]:
    """Return the number of each token's clause; -1 for special tokens and those outside of clauses."""
    starts = [start for start, _ in spans]
    numbers = []
    for (first, last), special in zip(tokens.offsets.tolist(), tokens.special.tolist(), strict=True):
        number = bisect_right(starts, first) - 1  # the last clause that begins no later
        inside = number >= 0 and first < spans[number][1]
        numbers.append(number if inside and first < last and not special else -1)
    return numbers


def _sentences(text: str) -> list[tuple[int, int]]:
    spans, end = [], 0
    for sentence in split_sentences(text):
        start = text.index(sentence, end)
        end = start + len(sentence)
        spans.append((start, end))
    return spans


def _parts(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Split a sentence after its marks."""
    ends = [mark.end() for mark in CLAUSE_MARK.finditer(text, start, stop) if mark.end() < stop]
    edges = [start, *ends, stop]
    parts = []
    for first, last in pairwise(edges):
        stretch = text[first:last]
        parts.append((first + len(stretch) - len(stretch.lstrip()), last - len(stretch) + len(stretch.rstrip())))
    return [part for part in parts if part[0] < part[1]]


def _joined(parts: list[tuple[int, int]], starts: list[int]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    waiting = None
    for part in parts:
        span = (waiting, part[1]) if waiting is not None else part
        short = _words(span, starts) < MIN_CLAUSE_WORDS
        waiting = span[0] if short else None
        if not short:
            joined.append(span)
    if waiting is not None:
        rest = (waiting, parts[-1][1])
        joined = [*joined[:-1], (joined[-1][0], rest[1])] if joined else [rest]
    return joined


def _word_starts(tokens: Tokens) -> list[int]:
    """Return the start of each word that has a letter or digit."""
    first: dict[int, int] = {}
    for word, (start, stop) in zip(word_numbers(tokens), tokens.offsets.tolist(), strict=True):
        if word >= 0 and any(char.isalnum() for char in tokens.text[start:stop]):
            first.setdefault(word, start)
    return sorted(first.values())


def _words(span: tuple[int, int], starts: list[int]) -> int:
    return bisect_left(starts, span[1]) - bisect_left(starts, span[0])
