"""Synthetic negatives by rules: damaged copies of a text, and its negation.

`damaged` takes a text, a donor text to borrow words from and a random generator, and returns None if no rule applies.
The same generator state gives the same copy. `opposite` negates a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

DAMAGE_VERSION = 3  # of the rules: raised when the same generator would give different copies
NUMBER = re.compile(r"\d+")
NAME = re.compile(r"[^\W\d_a-zà-ÿ]\w+")  # begins with a capital letter
FUNCTION_WORDS = ("the", "of", "and", "to", "in", "a", "is", "that", "it", "for", "on", "with", "as", "was", "at", "by")
ADDED_WORDS = 8  # appended to a text
Words = list[str]
Rule = Callable[[Words, Words, np.random.Generator], Words | None]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged copy, its rule, and its required drop of the score, in standard deviations of the ratings."""

    text: str
    rule: str
    drop: float


def damaged(text: str, donor: str, source: np.random.Generator) -> Damaged | None:
    """Damage a text by a random rule that applies; `donor` is a text to borrow words from."""
    words, donor_words = text.split(), donor.split()
    for index in source.permutation(len(RULES)).tolist():
        name = list(RULES)[index]
        rule, drop = RULES[name]
        changed = rule(words, donor_words, source)
        if changed is not None and changed != words:
            return Damaged(" ".join(changed), name, drop)
    return None


def _drop(words: Words, _: Words, source: np.random.Generator) -> Words | None:
    """Remove a third of the words, in one stretch."""
    count = len(words) // 3
    if not count:
        return None
    start = int(source.integers(0, len(words) - count + 1))
    return words[:start] + words[start + count :]


def _shuffle(words: Words, _: Words, source: np.random.Generator) -> Words | None:
    """Shuffle the words."""
    if len(words) < 4:
        return None
    return [words[index] for index in source.permutation(len(words)).tolist()]


def _number(words: Words, _: Words, source: np.random.Generator) -> Words | None:
    """Replace every number by a different number of the same length."""

    def replacement(match: re.Match[str]) -> str:
        digits = [str((int(digit) + int(source.integers(1, 9))) % 10) for digit in match[0]]
        return "".join([digits[0] if digits[0] != "0" else "1", *digits[1:]])

    return [NUMBER.sub(replacement, word) for word in words] if any(map(NUMBER.search, words)) else None


def _name(words: Words, donor: Words, source: np.random.Generator) -> Words | None:
    """Replace a capitalised word, not the first, by a capitalised word of the donor."""
    name_indices = [index for index, word in enumerate(words) if index and NAME.fullmatch(word.strip(".,;:!?\"'()"))]
    donor_names = [word for word in donor[1:] if NAME.fullmatch(word) and word not in words]
    if not name_indices or not donor_names:
        return None
    index = name_indices[int(source.integers(0, len(name_indices)))]
    return [*words[:index], donor_names[int(source.integers(0, len(donor_names)))], *words[index + 1 :]]


def _clause(words: Words, donor: Words, source: np.random.Generator) -> Words | None:
    """Append the second half of the donor."""
    added = donor[len(donor) // 2 :]
    return [*words, *added] if words and len(added) > 2 else None


def _padding(words: Words, donor: Words, source: np.random.Generator) -> Words | None:
    """Append words of the donor in random order."""
    added = [donor[index] for index in source.permutation(len(donor)).tolist()[:ADDED_WORDS]]
    return [*words, *added] if words and len(added) > 2 else None


def _stuffing(words: Words, _: Words, source: np.random.Generator) -> Words | None:
    """Append function words."""
    return [*words, *source.choice(FUNCTION_WORDS, ADDED_WORDS).tolist()] if words else None


def _repetition(words: Words, _: Words, source: np.random.Generator) -> Words | None:
    """Repeat the text."""
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


OPPOSITES_VERSION = 2  # of the rules: raised when the same text would get a different opposite
NEGATIONS = ("not", "never", "no", "nicht", "nie", "kein", "keine")
UNHANDLED_NEGATIONS = (
    "nobody",
    "none",
    "nothing",
    "neither",
    "without",
    "niemand",
    "nichts",
    "ohne",
)  # negations that the rules do not handle
AUXILIARIES = {
    "not": ("is", "are", "was", "were", "will", "would", "can", "could", "may", "might", "should", "must", "has",
            "have", "had", "do", "does", "did"),
    "nicht": ("ist", "sind", "war", "waren", "wird", "werden", "kann", "konnte", "soll", "muss", "hat", "haben"),
}  # fmt: skip
OPPOSITE_ANSWERS = {"yes": "no", "no": "yes", "ja": "nein", "nein": "ja"}
CONTRACTION = re.compile(r"(can(?=not)|\w+(?=n['’]t))(?:not|n['’]t)\b", re.IGNORECASE)  # cannot; isn't, can't, won't
CONTRACTED_AUXILIARIES = {"ca": "can", "wo": "will"}
PAST_FORMS = """
became:become began:begin broke:break brought:bring built:build came:come chose:choose fell:fall felt:feel
found:find gave:give got:get grew:grow heard:hear held:hold kept:keep knew:know led:lead left:leave lost:lose
made:make met:meet paid:pay ran:run rose:rise said:say sat:sit saw:see sent:send sold:sell spent:spend spoke:speak
stood:stand taught:teach thought:think told:tell took:take understood:understand went:go won:win wore:wear
wrote:write
"""
PAST = dict(pair.split(":") for pair in PAST_FORMS.split())
COMMON_VERBS = """
allow announce appear apply arrive ask become begin believe bring call cause change charge come confirm consider
contain continue cost cover create decide deny describe exist expect explain feel find follow give go happen help
hold include increase indicate involve keep know lead leave let like live look lose make mean meet mention move
need offer open pay play prevent produce promise protect prove provide reach receive reduce remain remember
require run save say see seem serve show speak stand start stay stop suggest support take tell think try turn
understand use visit walk want win work write
"""
PRESENT = frozenset(COMMON_VERBS.split())
# Stems that need a final e, since no English verb ends in these letters: announc(e)d, receiv(e)d, creat(e)d, reduc(e)d.
SILENT_E = re.compile(r"(?:[cvzu]|[aeiou]s|[iu]d|[aou]t|[aeiou]g|[iu]r|[aou]k|rg|dg|ng|bl|pl|tl|ev|[^l]ul|[^o]ol)$")


def opposite(text: str) -> str | None:
    """Negate a text: swap yes and no, remove a negation, or negate the first verb covered by the rules; else None."""
    words = text.split()
    if any(word.lower().strip(".,;:!?") in UNHANDLED_NEGATIONS for word in words):
        return None
    changed = _swapped_answer(words) or _without_negation(words) or _negated(words)
    return " ".join(changed) if changed else None


def answered(negative: str, affirmative: str) -> tuple[str, str]:
    """Prefix two texts with "No, " and "Yes, ", as opposite answers; only "No" and "Yes" if the second is empty."""
    return (f"No, {negative}", f"Yes, {affirmative}") if affirmative else ("No", "Yes")


def _swapped_answer(words: list[str]) -> list[str] | None:
    """Swap yes and no at the start, and negate the rest."""
    answer = words[0].rstrip(".,!") if words else ""
    if answer.lower() not in OPPOSITE_ANSWERS or (answer == words[0] and len(words) > 1):
        return None
    swapped, rest = OPPOSITE_ANSWERS[answer.lower()], words[1:]
    return [
        (swapped.capitalize() if answer[0].isupper() else swapped) + words[0][len(answer) :],
        *(_without_negation(rest) or _negated(rest) or rest),
    ]


def _without_negation(words: list[str]) -> list[str] | None:
    for index, word in enumerate(words):
        if word.lower() in NEGATIONS and len(words) > 1:
            return words[:index] + words[index + 1 :]
        if shortened := CONTRACTION.match(word):
            verb = CONTRACTED_AUXILIARIES.get(shortened[1].lower(), shortened[1])
            return [*words[:index], verb + word[shortened.end() :], *words[index + 1 :]]
    return None


def _negated(words: list[str]) -> list[str] | None:
    """Negate after the first auxiliary verb, else before the first verb in the past or the third person."""
    for index, word in enumerate(words):
        for negation, verbs in AUXILIARIES.items():
            if word.lower().rstrip(".,;:!?") in verbs:
                verb = word.rstrip(".,;:!?")
                return [*words[:index], verb, negation + word[len(verb) :], *words[index + 1 :]]
    for index, word in enumerate(words[1:], start=1):
        verb = word.rstrip(".,;:!?")
        for helper, base in (("did", _base_of_past(verb)), ("does", _base_of_third_person(verb))):
            if base:
                return [*words[:index], helper, "not", base + word[len(verb) :], *words[index + 1 :]]
    return None


def _base_of_past(verb: str) -> str | None:
    if verb in PAST:
        return PAST[verb]
    if len(verb) < 5 or not verb.endswith("ed") or not verb.islower():
        return None
    stem = verb[:-2]
    if stem.endswith("i"):
        return stem[:-1] + "y"
    if stem[-1] == stem[-2] and stem[-1] not in "sl":
        return stem[:-1]
    return stem + "e" if SILENT_E.search(stem) else stem


def _base_of_third_person(verb: str) -> str | None:
    for ending, base in (("s", ""), ("es", ""), ("ies", "y")):
        if verb.endswith(ending) and verb[: -len(ending)] + base in PRESENT:
            return verb[: -len(ending)] + base
    return None
