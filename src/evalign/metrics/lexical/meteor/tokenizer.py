"""Text to words as METEOR 1.5 cuts them: spaces, quotes, dashes, punctuation, apostrophes, full stops, lower case.

The rules are those of the Moses tokenizer with METEOR's own: dashes inside words become spaces, and abbreviations lose
their stops ("U.S." is "us"). Letters are Latin and Cyrillic; every other sign is a word of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NORMALIZE = ("punctuation", "no-punctuation", "lower", "none")
LETTERS = "A-Za-zÀ-ÖØ-öø-ž\u0400-\u0527\u1d00-\u1d7f\ua640-\ua66e\ua67e-\ua697"
BLANKS = re.compile("[ \t\n\v\f\r]+")
WIDE_BLANKS = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
SIGN = re.compile(f"[^{LETTERS}0-9 \t\n\v\f\r.',\\-]")
NOT_LETTERS = re.compile(f"[^{LETTERS}0-9]+")
HAS_LETTER = re.compile(f"[{LETTERS}]")
DOTS = re.compile(r"\.\.+")
# Each side of a comma is used up by the match, so that of two neighbouring commas one may stay where it is.
COMMAS = [re.compile(rule) for rule in ("([^0-9]),([^0-9])", "([0-9]),([^0-9])", "([^0-9]),([0-9])")]
DASH = re.compile(f"([{LETTERS}0-9.])-([{LETTERS}0-9])")
QUOTES = str.maketrans({"`": "'", "‘": "'", "’": "'", "“": '"', "”": '"', "–": " - "})
# An apostrophe between letters: English keeps it with what follows, French with what precedes.
APOSTROPHES = {
    "en": (
        (re.compile(f"([^{LETTERS}])'([^{LETTERS}])"), r"\1 ' \2"),
        (re.compile(f"([^{LETTERS}0-9])'([{LETTERS}])"), r"\1 ' \2"),
        (re.compile(f"([{LETTERS}])'([^{LETTERS}])"), r"\1 ' \2"),
        (re.compile(f"([{LETTERS}])'([{LETTERS}])"), r"\1 '\2"),
        (re.compile("([0-9])'(s)"), r"\1 '\2"),
    ),
    "fr": (
        (re.compile(f"([^{LETTERS}])'([^{LETTERS}])"), r"\1 ' \2"),
        (re.compile(f"([^{LETTERS}])'([{LETTERS}])"), r"\1 ' \2"),
        (re.compile(f"([{LETTERS}])'([^{LETTERS}])"), r"\1 ' \2"),
        (re.compile(f"([{LETTERS}])'([{LETTERS}])"), r"\1' \2"),
    ),
}
ANYWHERE = ((re.compile("'"), " ' "),)


@dataclass(frozen=True)
class Abbreviations:
    """Words that keep their full stop: always, or only before a number."""

    always: frozenset[str] = frozenset()
    before_number: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> Abbreviations:
        """From METEOR's prefix files: one a line, `#NUMERIC_ONLY#` behind some, comments from `#`."""
        lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        numeric = frozenset(line[0] for line in lines if "#NUMERIC_ONLY#" in line)
        return cls(frozenset(line[0] for line in lines if "#NUMERIC_ONLY#" not in line), numeric)


def meteor_words(text: str, language: str, normalize: str, abbreviations: Abbreviations) -> list[str]:
    """The words of one text. `normalize` is one of NORMALIZE: METEOR's -norm, -norm -noPunct, -lower, or nothing."""
    if normalize in ("punctuation", "no-punctuation"):
        text = " ".join(_full_stops(_separated(text, language), abbreviations))
        if normalize == "no-punctuation":
            text = NOT_LETTERS.sub(" ", text)
    if normalize != "none":
        text = text.lower()
    return list(filter(None, BLANKS.split(text)))


def _separated(text: str, language: str) -> str:
    """The text with spaces around punctuation, except around full stops after a word."""
    text = WIDE_BLANKS.sub(" ", text).translate(QUOTES).replace("''", '"')
    text = SIGN.sub(r" \g<0> ", f" {text} ")
    if ".." in text:
        text = DOTS.sub(r" \g<0> ", text)
    if "," in text:
        for rule in COMMAS:
            text = rule.sub(r"\1 , \2", text)
    text = text.replace("--", "-")
    if "'" in text:
        for rule, replacement in APOSTROPHES.get(language, ANYWHERE):
            text = rule.sub(replacement, text)
    return DASH.sub(r"\1 \2", text) if "-" in text else text


def _full_stops(text: str, abbreviations: Abbreviations) -> list[str]:
    """Words, with full stops at their end as words of their own, left there, or in "U.S." taken out."""
    words = list(filter(None, BLANKS.split(text)))
    separated = []
    for place, word in enumerate(words):
        stem = word[:-1]
        if word[-1] != "." or not stem.strip("."):
            separated.append(word)
        elif "." in stem and HAS_LETTER.search(stem):
            separated.append(word.replace(".", ""))
        elif stem in abbreviations.always or _goes_on(words, place, stem in abbreviations.before_number):
            separated.append(word)
        else:
            separated += [stem, "."]
    return separated


def _goes_on(words: list[str], place: int, before_number: bool) -> bool:
    """The sentence does not end here: a small letter follows, or a number after a word like "No."."""
    following = words[place + 1][0] if place + 1 < len(words) else ""
    return "a" <= following <= "z" or (before_number and "0" <= following <= "9")
