"""Damaged copies of a text, made by rule: what a good translation or summary must not contain.

In: a text, another text to borrow from, and a generator. Out: `Damaged`, or None where no rule applies. The same
generator state gives the same copy. What says the opposite is in opposites.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

VERSION = 3  # of the rules: grows when the same generator would make other copies
NUMBER = re.compile(r"\d+")
NAME = re.compile(r"[^\W\d_a-zà-ÿ]\w+")  # begins with a capital letter
FUNCTION_WORDS = ("the", "of", "and", "to", "in", "a", "is", "that", "it", "for", "on", "with", "as", "was", "at", "by")
STUFFED = 8  # function words put behind a text
Words = list[str]
Rule = Callable[[Words, Words, np.random.Generator], Words | None]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A copy, the rule that made it, and how much lower it must score, in standard deviations of the ratings."""

    text: str
    rule: str
    drop: float


def damaged(text: str, other: str, source: np.random.Generator) -> Damaged | None:
    """The copy that a rule, drawn among those that apply, makes of the text."""
    words, donor = text.split(), other.split()
    for place in source.permutation(len(RULES)).tolist():
        name = list(RULES)[place]
        rule, drop = RULES[name]
        changed = rule(words, donor, source)
        if changed is not None and changed != words:
            return Damaged(" ".join(changed), name, drop)
    return None


def _drop(words: Words, _: Words, source: np.random.Generator) -> Words | None:
    """A third of the words is missing, in one stretch."""
    count = len(words) // 3
    if not count:
        return None
    start = int(source.integers(0, len(words) - count + 1))
    return words[:start] + words[start + count :]


def _shuffle(words: Words, _: Words, source: np.random.Generator) -> Words | None:
    """The same words in another order."""
    if len(words) < 4:
        return None
    return [words[place] for place in source.permutation(len(words)).tolist()]


def _number(words: Words, _: Words, source: np.random.Generator) -> Words | None:
    """Every number becomes another of as many digits."""

    def other(match: re.Match[str]) -> str:
        digits = [str((int(digit) + int(source.integers(1, 9))) % 10) for digit in match[0]]
        return "".join([digits[0] if digits[0] != "0" else "1", *digits[1:]])

    return [NUMBER.sub(other, word) for word in words] if any(map(NUMBER.search, words)) else None


def _name(words: Words, donor: Words, source: np.random.Generator) -> Words | None:
    """A capitalised word, not the first, becomes one of the other text."""
    own = [place for place, word in enumerate(words) if place and NAME.fullmatch(word.strip(".,;:!?\"'()"))]
    theirs = [word for word in donor[1:] if NAME.fullmatch(word) and word not in words]
    if not own or not theirs:
        return None
    place = own[int(source.integers(0, len(own)))]
    return [*words[:place], theirs[int(source.integers(0, len(theirs)))], *words[place + 1 :]]


def _clause(words: Words, donor: Words, source: np.random.Generator) -> Words | None:
    """The end of the other text is said too."""
    added = donor[len(donor) // 2 :]
    return [*words, *added] if words and len(added) > 2 else None


def _padding(words: Words, donor: Words, source: np.random.Generator) -> Words | None:
    """Words of the other text follow, in no order."""
    added = [donor[place] for place in source.permutation(len(donor)).tolist()[:STUFFED]]
    return [*words, *added] if words and len(added) > 2 else None


def _stuffing(words: Words, _: Words, source: np.random.Generator) -> Words | None:
    """Function words follow."""
    return [*words, *source.choice(FUNCTION_WORDS, STUFFED).tolist()] if words else None


def _repetition(words: Words, _: Words, source: np.random.Generator) -> Words | None:
    """The text is said twice."""
    return [*words, *words] if words else None


RULES: dict[str, tuple[Rule, float]] = {  # the drops were set by hand
    "drop": (_drop, 0.8),
    "shuffle": (_shuffle, 1.0),
    "clause": (_clause, 0.8),
    "padding": (_padding, 1.0),
    "stuffing": (_stuffing, 0.8),
    "repetition": (_repetition, 0.8),
    "number": (_number, 0.8),
    "name": (_name, 0.8),
}
