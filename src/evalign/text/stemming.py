"""Stemmers: Snowball's by language, and two dialects of Porter's, rouge-score's (NLTK's extensions) and ROUGE-1.5.5's.

Words are expected in lower case; each word is stemmed once. Both dialects extend Porter 1980; the differences are
named below.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import snowballstemmer

from evalign.errors import SpecError, nearest
from evalign.text.words import cached

CACHED_WORDS = 100_000
LANGUAGES = tuple(sorted(snowballstemmer.algorithms()))
VOWELS = frozenset("aeiou")

# NLTK: words with listed stems.
IRREGULAR = {
    "sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news", "inning": "inning",
    "innings": "inning", "outing": "outing", "outings": "outing", "canning": "canning", "cannings": "canning",
    "howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip
STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
STEP_4 = ("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement")
STEP_4_REST = ("ou", "ism", "ate", "iti", "ous", "ive", "ize")


@lru_cache(maxsize=8)
def snowball(language: str) -> Callable[[str], str]:
    """Return a caching stemmer for `english`, `german` and the other Snowball languages; words are lower case."""
    if language not in LANGUAGES:
        raise SpecError(f"no Snowball stemmer for {language!r}; {nearest(language, LANGUAGES)}")
    stem: Callable[[str], str] = cached(CACHED_WORDS)(snowballstemmer.stemmer(language).stemWord)
    return stem


@cached(CACHED_WORDS)
def nltk_porter(word: str) -> str:
    """Stem by NLTK's default dialect; equal to `nltk.stem.PorterStemmer().stem`."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = word[:-1] if word.endswith("ies") and len(word) == 4 else _plural(word)
    ied = 1 if len(word) == 4 else 2  # letters to drop: died is die, but spied is spi
    word = word[:-ied] if word.endswith("ied") else _past(word, _ends_cvc_or_vc)
    if word.endswith("y") and len(word) > 2 and _shape(word)[-2] == "c":
        word = word[:-1] + "i"
    while word.endswith("alli") and _measure(word[:-4]) > 0:  # before the other rules, and repeatedly
        word = word[:-2]
    if word.endswith("logi"):  # the l counts as part of the stem
        word = word[:-1] if _measure(word[:-3]) > 0 else word
    else:
        word = _replaced(word, (*STEP_2, ("fulli", "ful")))
    word = _replaced(word, STEP_3)
    for suffix in (*STEP_4, "ment", "ent", "ion", *STEP_4_REST):
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            if _measure(stem) > 1 and (suffix != "ion" or stem[-1] in "st"):
                word = stem
            break
    return _final(word, _ends_cvc_or_vc)


@cached(CACHED_WORDS)
def rouge155_porter(word: str) -> str:
    """Stem by the script's dialect: step 4 strips -ement, then -ment, then -ent, one after the other."""
    if len(word) < 3:
        return word
    word = _plural(word)
    word = _past(word, _is_cvc)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, (*STEP_2, ("logi", "log")))
    word = _replaced(word, STEP_3)
    word = _stripped(word, (*STEP_4, *STEP_4_REST))
    word = _stripped(word, ("ment",))
    if word.endswith("ent"):
        word = _stripped(word, ("ent",))
    elif word.endswith(("sion", "tion")):
        word = _stripped(word, ("ion",))
    return _final(word, _is_cvc)


def _plural(word: str) -> str:
    """Apply step 1a. A word that consists of its suffix alone loses part of it, as in both programs."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str, short: Callable[[str], bool]) -> str:
    """Apply step 1b; `short` is the dialect's test for stems that get their -e back."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        stem = word[: -len(suffix)]
        if word.endswith(suffix) and "v" in _shape(stem):
            if stem.endswith(("at", "bl", "iz")):
                return stem + "e"
            if len(stem) > 1 and stem[-1] == stem[-2] and _shape(stem)[-1] == "c":
                return stem if stem[-1] in "lsz" or (stem[-1] == "y" and short is _is_cvc) else stem[:-1]
            return stem + "e" if short(stem) else stem
    return word


def _replaced(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    """Replace the first suffix that fits if the stem before it has a measure above 0."""
    for suffix, new in rules:
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            return stem + new if _measure(stem) > 0 else word
    return word


def _stripped(word: str, suffixes: tuple[str, ...]) -> str:
    """Remove the first suffix that fits if the stem before it has a measure above 1."""
    for suffix in suffixes:
        if word.endswith(suffix):
            return word[: -len(suffix)] if _measure(word[: -len(suffix)]) > 1 else word
    return word


def _final(word: str, short: Callable[[str], bool]) -> str:
    """Apply step 5: remove a last -e, and one of two l."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _shape(word: str) -> str:
    """Return c for each consonant and v for each vowel; y is a vowel after a consonant."""
    shape: list[str] = []
    for char in word:
        vowel = char in VOWELS or (char == "y" and bool(shape) and shape[-1] == "c")
        shape.append("v" if vowel else "c")
    return "".join(shape)


def _measure(stem: str) -> int:
    """Return Porter's m, the number of times a vowel sequence is followed by a consonant sequence."""
    return _shape(stem).count("vc")


def _ends_cvc_or_vc(stem: str) -> bool:
    """Test stems of measure 1 as NLTK: *o, or a vowel and a consonant alone."""
    shape = _shape(stem)
    if shape.count("vc") != 1:
        return False
    return (shape.endswith("cvc") and stem[-1] not in "wxy") or shape == "vc"


def _is_cvc(stem: str) -> bool:
    """Test as the script: consonants, one vowel, one consonant and no more."""
    shape = _shape(stem)
    return shape.endswith("cvc") and "v" not in shape[:-2] and stem[-1] not in "wxyaeiou"
