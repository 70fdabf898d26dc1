"""Clauses of a text, told by its punctuation: tokens in, (start, stop) characters of every clause out.

A clause ends where a sentence ends, or at a comma, semicolon, colon or dash; not inside a number (5,000 or 9:30) or a
hyphenated word. What has fewer than three words joins the clause that follows in its sentence, else the one before.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import pairwise

from evalign.text.sentences import split_sentences
from evalign.text.word_numbers import word_numbers
from evalign.types import Tokens

FEWEST_WORDS = 3
# A mark with what closes behind it; ASCII marks and hyphens count before or between blanks only.
MARK = re.compile(r"(?:[,;:](?=[\s\"')\]»”’])|[，；：、،؛—–]|(?<=\s)-{1,2}(?=\s))[\"')\]»”’]*(?=\s|\S)")


def clauses(tokens: Tokens) -> list[tuple[int, int]]:
    """The clauses in order, without the blanks between them; a text of fewer than three words is one clause."""
    starts = _word_starts(tokens)
    spans: list[tuple[int, int]] = []
    for start, stop in _sentences(tokens.text):
        parts = _joined(_parts(tokens.text, start, stop), starts)
        if spans and parts and _words(parts[0], starts) < FEWEST_WORDS:  # a whole sentence may be too short
            spans[-1] = (spans[-1][0], parts[0][1])
            parts = parts[1:]
        spans += parts
    if len(spans) > 1 and _words(spans[0], starts) < FEWEST_WORDS:
        spans[:2] = [(spans[0][0], spans[1][1])]
    return [span for span in spans if _words(span, starts)]


def clause_of_tokens(tokens: Tokens, spans: list[tuple[int, int]]) -> list[int]:
    """The number of the clause that each token stands in; -1 for special tokens and those in none."""
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
    """A sentence cut behind its marks."""
    ends = [mark.end() for mark in MARK.finditer(text, start, stop) if mark.end() < stop]
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
        short = _words(span, starts) < FEWEST_WORDS
        waiting = span[0] if short else None
        if not short:
            joined.append(span)
    if waiting is not None:
        rest = (waiting, parts[-1][1])
        joined = [*joined[:-1], (joined[-1][0], rest[1])] if joined else [rest]
    return joined


def _word_starts(tokens: Tokens) -> list[int]:
    """Where each word begins that has a letter or digit."""
    first: dict[int, int] = {}
    for word, (start, stop) in zip(word_numbers(tokens), tokens.offsets.tolist(), strict=True):
        if word >= 0 and any(char.isalnum() for char in tokens.text[start:stop]):
            first.setdefault(word, start)
    return sorted(first.values())


def _words(span: tuple[int, int], starts: list[int]) -> int:
    return bisect_left(starts, span[1]) - bisect_left(starts, span[0])
