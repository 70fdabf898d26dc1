"""Damaged copies of a text, made by rule: what a good translation or summary must not contain.

In: a text, another text to borrow from, and a generator. Out: `Damaged`, or None where no rule applies. The same
generator state gives the same copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

VERSION = 2  # of the rules: grows when the same generator would make other copies
NUMBER = re.compile(r"\d+")
NAME = re.compile(r"[^\W\d_a-zà-ÿ]\w+")  # begins with a capital letter
NEGATIONS = ("not", "never", "no", "nicht", "nie", "kein", "keine")
AUXILIARIES = {
    "not": ("is", "are", "was", "were", "will", "would", "can", "could", "may", "might", "should", "must", "has",
            "have", "had", "do", "does", "did"),
    "nicht": ("ist", "sind", "war", "waren", "wird", "werden", "kann", "konnte", "soll", "muss", "hat", "haben"),
}  # fmt: skip
ANSWERS = {"yes": "no", "no": "yes", "ja": "nein", "nein": "ja"}
SHORTENED = re.compile(r"(can(?=not)|\w+(?=n['’]t))(?:not|n['’]t)\b", re.IGNORECASE)  # cannot; isn't, can't, won't
FULL = {"ca": "can", "wo": "will"}
Words = list[str]
Rule = Callable[[Words, Words, np.random.Generator], Words | None]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A copy, the rule that made it, and the score that it may reach, in standard deviations of the ratings."""

    text: str
    rule: str
    ceiling: float


def damaged(text: str, other: str, source: np.random.Generator) -> Damaged | None:
    """The copy that a rule, drawn among those that apply, makes of the text."""
    words, donor = text.split(), other.split()
    for place in source.permutation(len(RULES)).tolist():
        name = list(RULES)[place]
        rule, ceiling = RULES[name]
        changed = rule(words, donor, source)
        if changed is not None and changed != words:
            return Damaged(" ".join(changed), name, ceiling)
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


def _negation(words: Words, _: Words, source: np.random.Generator) -> Words | None:
    """Yes becomes no; or a negation is taken out, or put behind the first auxiliary verb."""
    answer = words[0].rstrip(".,!") if words else ""
    if answer.lower() in ANSWERS and (answer != words[0] or len(words) == 1):
        other = ANSWERS[answer.lower()]
        return [(other.capitalize() if answer[0].isupper() else other) + words[0][len(answer) :], *words[1:]]
    for place, word in enumerate(words):
        if word.lower() in NEGATIONS:
            return words[:place] + words[place + 1 :]
        if shortened := SHORTENED.match(word):
            verb = FULL.get(shortened[1].lower(), shortened[1])
            return [*words[:place], verb + word[shortened.end() :], *words[place + 1 :]]
    for place, word in enumerate(words):
        for negation, verbs in AUXILIARIES.items():
            if word.lower() in verbs:
                return [*words[: place + 1], negation, *words[place + 1 :]]
    return None


def _clause(words: Words, donor: Words, source: np.random.Generator) -> Words | None:
    """The end of the other text is said too."""
    added = donor[len(donor) // 2 :]
    return [*words, *added] if words and len(added) > 2 else None


# The ceilings were set by hand: a text with such damage is no better than the average one, or clearly worse.
RULES: dict[str, tuple[Rule, float]] = {
    "drop": (_drop, 0.0),
    "shuffle": (_shuffle, 0.0),
    "clause": (_clause, 0.0),
    "number": (_number, -0.5),
    "name": (_name, -0.5),
    "negation": (_negation, -1.0),
}
