"""Stems and words of METEOR 1.5: Snowball as it was in 2010, and METEOR's normalisation.

Snowball 3 changed rules since then ("added", "university", most German verbs, "française"), so English and German are
implemented here after the published descriptions; French and Spanish are today's stemmers with the changes undone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from evalign.text.stemming import CACHED_WORDS, snowball
from evalign.text.words import cached


@lru_cache(maxsize=8)
def meteor_stemmer(language: str) -> Callable[[str], str]:
    """Return a caching stemmer for `en`, `de`, `fr` or `es`; words are lower case."""
    stem: Callable[[str], str] = cached(CACHED_WORDS)(STEMMERS[language])
    return stem


# English: Porter 2. Y is a consonant y; R1 begins after the first consonant after a vowel, R2 the same within R1.

VOWELS = "aeiouy"
IRREGULAR = {
    "skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "idly": "idl", "gently": "gentl",
    "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl", "sky": "sky", "news": "news", "howe": "howe",
    "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}  # fmt: skip
UNCHANGED_AFTER_PLURAL = {"inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"}
DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
# Longest first: the longest ending of a word is replaced.
STEP_2 = {
    "ational": "ate", "ization": "ize", "fulness": "ful", "ousness": "ous", "iveness": "ive", "tional": "tion",
    "biliti": "ble", "lessli": "less", "entli": "ent", "ation": "ate", "alism": "al", "aliti": "al", "ousli": "ous",
    "iviti": "ive", "fulli": "ful", "enci": "ence", "anci": "ance", "abli": "able", "izer": "ize", "ator": "ate",
    "alli": "al", "bli": "ble", "ogi": "og", "li": "",
}  # fmt: skip
STEP_3 = {
    "ational": "ate", "tional": "tion", "alize": "al", "icate": "ic", "iciti": "ic", "ative": "", "ical": "ic",
    "ness": "", "ful": "",
}  # fmt: skip
STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion",
    "al", "er", "ic",
)  # fmt: skip
REGION = re.compile("[aeiouy][^aeiouy]")


def _english(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) < 3:
        return word
    unmarked = word.removeprefix("'")
    word = re.sub(r"([aeiouy])y", r"\1Y", re.sub("^y", "Y", unmarked))
    marked = word != unmarked
    prefix = re.match("gener|commun|arsen", word)
    r1 = prefix.end() if prefix else _region(word, 0)
    r2 = _region(word, r1)
    word = _plural(_split(word, ("'s'", "'s", "'"))[0])
    if word in UNCHANGED_AFTER_PLURAL:
        return word
    word = _past(word, r1)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in VOWELS:
        word = word[:-1] + "i"
    word = _replace(word, STEP_2, r1, r2)
    word = _replace(word, STEP_3, r1, r2)
    stem, suffix = _split(word, STEP_4)
    if len(stem) >= r2 and (suffix != "ion" or stem.endswith(("s", "t"))):
        word = stem
    if word.endswith("e"):
        if len(word) - 1 >= r2 or (len(word) - 1 >= r1 and not _short(word[:-1])):
            word = word[:-1]
    elif word.endswith("ll") and len(word) - 1 >= r2:
        word = word[:-1]
    return word.replace("Y", "y") if marked else word


def _region(word: str, start: int, boundary: re.Pattern[str] = REGION) -> int:
    """Return the start of the region after the first vowel and consonant from `start`."""
    match = boundary.search(word, start)
    return match.end() if match else len(word)


def _split(word: str, suffixes: Iterable[str]) -> tuple[str, str]:
    """Return a word without its first matching suffix, and that suffix; or the word and nothing."""
    suffix = next((end for end in suffixes if word.endswith(end)), "")
    return word[: len(word) - len(suffix)], suffix


def _plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and re.search(f"[{VOWELS}]", word[:-2]):
        return word[:-1]
    return word


def _past(word: str, r1: int) -> str:
    stem, suffix = _split(word, ("eedly", "ingly", "edly", "eed", "ing", "ed"))
    if suffix in ("eedly", "eed"):
        return stem + "ee" if len(stem) >= r1 else word
    if not suffix or not re.search(f"[{VOWELS}]", stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if stem.endswith(DOUBLES):
        return stem[:-1]
    return stem + "e" if len(stem) <= r1 and _short(stem) else stem


def _short(stem: str) -> bool:
    """Return whether a stem ends in a short syllable: consonant, vowel, consonant; or is one vowel and a consonant."""
    if len(stem) == 2:
        return stem[0] in VOWELS and stem[1] not in VOWELS
    return len(stem) > 2 and stem[-3] not in VOWELS and stem[-2] in VOWELS and stem[-1] not in VOWELS + "wxY"


def _replace(word: str, endings: dict[str, str], r1: int, r2: int) -> str:
    """Replace the ending of a word if it is in R1 and its condition holds."""
    stem, suffix = _split(word, endings)
    if (
        not suffix
        or len(stem) < r1
        or (suffix == "ogi" and not stem.endswith("l"))
        or (suffix == "li" and not stem.endswith(tuple("cdeghkmnrt")))
        or (suffix == "ative" and len(stem) < r2)
    ):
        return word
    return stem + endings[suffix]


# German, before verbs in -et, -eln and the like were added.

UMLAUTS = str.maketrans("UYäöü", "uyaou")
GERMAN_REGION = re.compile("[aeiouyäöü][^aeiouyäöü]")


def _german(word: str) -> str:
    """Stem; R1 begins after three letters at the earliest, R2 is counted from R1's unrestricted start."""
    word = re.sub("(?<=[aeiouyäöü])([uy])([aeiouyäöü])", lambda hit: hit[1].upper() + hit[2], word).replace("ß", "ss")
    first = _region(word, 0, GERMAN_REGION)
    r1, r2 = max(3, first), _region(word, first, GERMAN_REGION)
    stem, suffix = _split(word, ("ern", "em", "er", "en", "es", "e", "s"))
    if len(stem) >= r1 and (suffix != "s" or stem.endswith(tuple("bdfghklmnrt"))):
        word = stem
    stem, suffix = _split(word, ("est", "en", "er", "st"))
    if len(stem) >= r1 and (suffix != "st" or (len(stem) > 3 and stem[-1] in "bdfghklmnt")):
        word = stem
    return _german_derivation(word, r1, r2).translate(UMLAUTS)


def _german_derivation(word: str, r1: int, r2: int) -> str:
    stem, suffix = _split(word, ("isch", "lich", "heit", "keit", "end", "ung", "ig", "ik"))
    if len(stem) < r2 or (suffix in ("isch", "ig", "ik") and stem.endswith("e")):
        return word
    if suffix in ("end", "ung") and stem.endswith("ig") and not stem.endswith("eig") and len(stem) - 2 >= r2:
        return stem[:-2]
    if suffix in ("lich", "heit") and stem.endswith(("er", "en")) and len(stem) - 2 >= r1:
        return stem[:-2]
    inner = _split(stem, ("lich", "ig"))[0] if suffix == "keit" else stem
    return inner if len(inner) >= r2 else stem


# French and Spanish: today's stemmers without the rules they did not have.

SUBSTITUTES = {"'": "\0", "H": "\1", "ë": "ô", "ï": "ô"}
ACUTE = str.maketrans("áéíóú", "aeiou")


def _french(word: str) -> str:
    if word.endswith("oux"):
        return word
    if word.endswith(("aise", "aises", "guë", "guës")):
        return word.removesuffix("s")[:-1]
    if word.endswith(("alais", "éplais", "auvais")):  # today's rule for "-ait" is the former one for "-ais"
        stem = _french_2010(f"{word[:-1]}t")
        return word if stem == f"{word[:-1]}t" else stem
    return _french_2010(word)


def _french_2010(word: str) -> str:
    """Stem with elisions kept, no rule for "ni-", and ë and ï as vowels, by substituting letters without a rule."""
    replaced = "".join(SUBSTITUTES.get(letter, letter) for letter in word)
    replaced = f"b{replaced[1:]}" if replaced.startswith("ni") else replaced
    stem = snowball("french")(replaced)
    if replaced == word:
        return stem
    restored = (old if substitute == new else new for old, substitute, new in zip(word, replaced, stem, strict=False))
    return "".join(restored) + stem[len(word) :]


def _spanish(word: str) -> str:
    return word.translate(ACUTE) if word.endswith(("acion", "ucion")) else snowball("spanish")(word)


STEMMERS: dict[str, Callable[[str], str]] = {"en": _english, "de": _german, "fr": _french, "es": _spanish}


NORMALIZE = ("punctuation", "no-punctuation", "lower", "none")
LETTERS = "A-Za-zÀ-ÖØ-öø-ž\u0400-\u0527\u1d00-\u1d7f\ua640-\ua66e\ua67e-\ua697"
BLANKS = re.compile("[ \t\n\v\f\r]+")
WIDE_BLANKS = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
SIGN = re.compile(f"[^{LETTERS}0-9 \t\n\v\f\r.',\\-]")
NOT_LETTERS = re.compile(f"[^{LETTERS}0-9]+")
HAS_LETTER = re.compile(f"[{LETTERS}]")
DOTS = re.compile(r"\.\.+")
# A match consumes both sides of a comma, so that one of two neighbouring commas may remain.
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
        """Parse METEOR's prefix files: one word a line, optionally followed by `#NUMERIC_ONLY#`, comments from `#`."""
        lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        numeric = frozenset(line[0] for line in lines if "#NUMERIC_ONLY#" in line)
        return cls(frozenset(line[0] for line in lines if "#NUMERIC_ONLY#" not in line), numeric)


def meteor_words(text: str, language: str, normalize: str, abbreviations: Abbreviations) -> list[str]:
    """Return the words of a text. `normalize`: METEOR's -norm, -norm -noPunct, -lower, or none."""
    if normalize in ("punctuation", "no-punctuation"):
        text = " ".join(_full_stops(_separated(text, language), abbreviations))
        if normalize == "no-punctuation":
            text = NOT_LETTERS.sub(" ", text)
    if normalize != "none":
        text = text.lower()
    return list(filter(None, BLANKS.split(text)))


def _separated(text: str, language: str) -> str:
    """Return the text with spaces around punctuation, except around full stops after a word."""
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
    """Return words, with final full stops separated, kept, or in "U.S." removed."""
    words = list(filter(None, BLANKS.split(text)))
    separated = []
    for index, word in enumerate(words):
        stem = word[:-1]
        if word[-1] != "." or not stem.strip("."):
            separated.append(word)
        elif "." in stem and HAS_LETTER.search(stem):
            separated.append(word.replace(".", ""))
        elif stem in abbreviations.always or _continues(words, index, stem in abbreviations.before_number):
            separated.append(word)
        else:
            separated += [stem, "."]
    return separated


def _continues(words: list[str], index: int, before_number: bool) -> bool:
    """Return whether the sentence continues: a small letter follows, or a number after a word like "No."."""
    following = words[index + 1][0] if index + 1 < len(words) else ""
    return "a" <= following <= "z" or (before_number and "0" <= following <= "9")
