"""Sentences of a text: its lines, or, on request, what a splitter finds.

The splitter knows the sentence ends of many scripts. It does not cut after initials and common abbreviations, nor
before a small letter; a line end is always a sentence end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

CLOSING = "\"'”’»›)\\]}」』）】"
SPACED_END = re.compile(rf"[.!?…؟۔।॥։።]+[{CLOSING}]*(?=\s)")  # these need a space after them
UNSPACED_END = re.compile(rf"[。！？｡．។။]+[{CLOSING}]*")  # these do not
INITIALS = re.compile(r"(?:\b\w\.)+$")  # J. R. R., U.S., e.g.
_ABBREVIATIONS = """
mr mrs ms dr prof st jr sr vs etc inc ltd co corp dept gen gov sen rep lt col sgt capt rev hon no vol pp fig eq approx
cf al jan feb mar apr jun jul aug sep sept oct nov dec bzw usw ca nr str z.b d.h u.a m sig av ing
"""
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())


def lines(text: str) -> list[str]:
    """The lines that are not empty; only a line feed ends one."""
    return [line for line in text.split("\n") if line]


def split_sentences(text: str) -> list[str]:
    """The sentences of every line, without the spaces between them."""
    return [sentence for line in text.split("\n") for sentence in _of_line(line)]


SPLITTERS: dict[str, Callable[[str], list[str]]] = {"lines": lines, "split": split_sentences}


def _of_line(line: str) -> list[str]:
    ends = [match.end() for match in UNSPACED_END.finditer(line)]
    ends += [match.end() for match in SPACED_END.finditer(line) if _is_end(line, match)]
    places = [0, *sorted(set(ends)), len(line)]
    pieces = (line[start:stop].strip() for start, stop in pairwise(places))
    return [piece for piece in pieces if piece]


def _is_end(line: str, match: re.Match[str]) -> bool:
    """A full stop may belong to a word; a sentence does not begin with a small letter."""
    following = line[match.end() : match.end() + 40].lstrip().lstrip("\"'“‘«‹([{¿¡")
    if following[:1].islower():
        return False
    if match.group() != ".":
        return True
    before = line[max(0, match.start() - 40) : match.end()]
    word = before.split()[-1].strip("\"'“‘«([").rstrip(".").lower()
    return word not in ABBREVIATIONS and not INITIALS.search(before)
