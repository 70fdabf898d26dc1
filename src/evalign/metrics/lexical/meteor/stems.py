"""The stems that METEOR 1.5 compares: Snowball as it was in 2010.

Snowball 3 changed rules since then ("added", "university", most German verbs, "française"), so English and German are
written out here after the published descriptions; French and Spanish are today's stemmers with what is new undone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from evalign.text.stemming import WORDS_REMEMBERED, snowball
from evalign.text.word_caches import remembered


@lru_cache(maxsize=8)
def meteor_stemmer(language: str) -> Callable[[str], str]:
    """A remembering stemmer for `en`, `de`, `fr` or `es`; words are lower case."""
    stem: Callable[[str], str] = remembered(WORDS_REMEMBERED)(STEMMERS[language])
    return stem


# English: Porter 2. Y is a consonant y; R1 is what follows the first consonant after a vowel, R2 the same within R1.

VOWELS = "aeiouy"
IRREGULAR = {
    "skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "idly": "idl", "gently": "gentl",
    "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl", "sky": "sky", "news": "news", "howe": "howe",
    "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}  # fmt: skip
UNCHANGED_AFTER_PLURAL = {"inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"}
DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent", "izer": "ize",
    "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "aliti": "al", "alli": "al", "fulness": "ful",
    "ousli": "ous", "ousness": "ous", "iveness": "ive", "iviti": "ive", "biliti": "ble", "bli": "ble", "ogi": "og",
    "fulli": "ful", "lessli": "less", "li": "",
}  # fmt: skip
STEP_3 = {
    "ational": "ate", "tional": "tion", "alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic", "ful": "",
    "ness": "", "ative": "",
}  # fmt: skip
STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ism", "ate", "iti", "ous", "ive",
    "ize", "ion",
)  # fmt: skip
REGION = re.compile("[aeiouy][^aeiouy]")


def _english(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) < 3:
        return word
    given = word.removeprefix("'")
    word = re.sub(r"([aeiouy])y", r"\1Y", re.sub("^y", "Y", given))
    marked = word != given
    prefix = re.match("gener|commun|arsen", word)
    r1 = prefix.end() if prefix else _after(word, 0)
    r2 = _after(word, r1)
    word = _plural(_possessive(word))
    if word in UNCHANGED_AFTER_PLURAL:
        return word
    word = _past(word, r1)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in VOWELS:
        word = word[:-1] + "i"
    word = _replace(word, STEP_2, r1, r2)
    word = _replace(word, STEP_3, r1, r2)
    word = _fourth(word, r2)
    if word.endswith("e"):
        if len(word) - 1 >= r2 or (len(word) - 1 >= r1 and not _short(word[:-1])):
            word = word[:-1]
    elif word.endswith("ll") and len(word) - 1 >= r2:
        word = word[:-1]
    return word.replace("Y", "y") if marked else word


def _after(word: str, start: int) -> int:
    found = REGION.search(word, start)
    return found.end() if found else len(word)


def _possessive(word: str) -> str:
    for suffix in ("'s'", "'s", "'"):
        if word.endswith(suffix):
            return word[: -len(suffix)]
    return word


def _plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and re.search(f"[{VOWELS}]", word[:-2]):
        return word[:-1]
    return word


def _past(word: str, r1: int) -> str:
    for suffix in ("eedly", "eed"):
        if word.endswith(suffix):
            return word[: len(word) - len(suffix)] + "ee" if len(word) - len(suffix) >= r1 else word
    for suffix in ("ingly", "edly", "ing", "ed"):
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            if not re.search(f"[{VOWELS}]", stem):
                return word
            if stem.endswith(("at", "bl", "iz")):
                return stem + "e"
            if stem.endswith(DOUBLES):
                return stem[:-1]
            return stem + "e" if len(stem) <= r1 and _short(stem) else stem
    return word


def _short(stem: str) -> bool:
    """Ends in a short syllable: consonant, vowel, consonant; or is one vowel and a consonant."""
    if len(stem) == 2:
        return stem[0] in VOWELS and stem[1] not in VOWELS
    return len(stem) > 2 and stem[-3] not in VOWELS and stem[-2] in VOWELS and stem[-1] not in VOWELS + "wxY"


def _replace(word: str, endings: dict[str, str], r1: int, r2: int) -> str:
    """The longest ending of the list, if it stands in R1 and its own condition holds."""
    suffix = max((end for end in endings if word.endswith(end)), key=len, default="")
    stem = word[: len(word) - len(suffix)]
    if (
        not suffix
        or len(stem) < r1
        or (suffix == "ogi" and not stem.endswith("l"))
        or (suffix == "li" and not stem.endswith(tuple("cdeghkmnrt")))
        or (suffix == "ative" and len(stem) < r2)
    ):
        return word
    return stem + endings[suffix]


def _fourth(word: str, r2: int) -> str:
    suffix = max((end for end in STEP_4 if word.endswith(end)), key=len, default="")
    stem = word[: len(word) - len(suffix)]
    return stem if suffix and len(stem) >= r2 and (suffix != "ion" or stem.endswith(("s", "t"))) else word


# German, before verbs in -et, -eln and the like were added.

UMLAUTS = str.maketrans("UYäöü", "uyaou")
GERMAN_REGION = re.compile("[aeiouyäöü][^aeiouyäöü]")


def _german(word: str) -> str:
    word = re.sub("(?<=[aeiouyäöü])([uy])([aeiouyäöü])", lambda hit: hit[1].upper() + hit[2], word).replace("ß", "ss")
    r1, r2 = _german_regions(word)
    word = _german_second(_german_first(word, r1), r1)
    return _german_third(word, r1, r2).translate(UMLAUTS)


def _german_regions(word: str) -> tuple[int, int]:
    """R1 begins after three letters at the earliest; R2 is counted from where R1 would begin without that."""
    if len(word) < 3 or not (first := GERMAN_REGION.search(word)):
        return len(word), len(word)
    second = GERMAN_REGION.search(word, first.end())
    return max(3, first.end()), second.end() if second else len(word)


def _german_first(word: str, r1: int) -> str:
    for suffix in ("ern", "em", "er", "en", "es", "e", "s"):
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            if len(stem) < r1 or (suffix == "s" and not stem.endswith(tuple("bdfghklmnrt"))):
                return word
            return stem
    return word


def _german_second(word: str, r1: int) -> str:
    for suffix in ("est", "en", "er", "st"):
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            deleted = len(stem) >= r1 and (suffix != "st" or (len(stem) > 3 and stem[-1] in "bdfghklmnt"))
            return stem if deleted else word
    return word


def _german_third(word: str, r1: int, r2: int) -> str:
    for suffix in ("isch", "lich", "heit", "keit", "end", "ung", "ig", "ik"):
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            if len(stem) < r2 or (suffix in ("isch", "ig", "ik") and stem.endswith("e")):
                return word
            if suffix in ("end", "ung") and stem.endswith("ig") and not stem.endswith("eig") and len(stem) - 2 >= r2:
                return stem[:-2]
            if suffix in ("lich", "heit") and stem.endswith(("er", "en")) and len(stem) - 2 >= r1:
                return stem[:-2]
            if suffix == "keit":
                inner = next((end for end in ("lich", "ig") if stem.endswith(end)), "")
                return stem[: len(stem) - len(inner)] if len(stem) - len(inner) >= r2 else stem
            return stem
    return word


# French and Spanish: today's stemmers without the rules they did not have.

STAND_INS = {"'": "\0", "H": "\1", "ë": "ô", "ï": "ô"}
ACUTE = str.maketrans("áéíóú", "aeiou")


def _french(word: str) -> str:
    if word.endswith("oux"):
        return word
    if word.endswith(("aise", "aises")):
        return word.removesuffix("s")[:-1]
    if word.endswith(("guë", "guës")):
        return word.removesuffix("s")[:-1]
    if word.endswith(("alais", "éplais", "auvais")):  # "-ait" goes wherever "-ais" used to go
        stem = _french_as_it_was(f"{word[:-1]}t")
        return word if stem == f"{word[:-1]}t" else stem
    return _french_as_it_was(word)


def _french_as_it_was(word: str) -> str:
    """Elisions stay, "ni-" is no case of its own, and ë and ï are vowels: letters without a rule stand in for them."""
    stands = "".join(STAND_INS.get(letter, letter) for letter in word)
    stands = f"b{stands[1:]}" if stands.startswith("ni") else stands
    stem = snowball("french")(stands)
    if stands == word:
        return stem
    kept = (old if place == new else new for old, place, new in zip(word, stands, stem, strict=False))
    return "".join(kept) + stem[len(word) :]


def _spanish(word: str) -> str:
    return word.translate(ACUTE) if word.endswith(("acion", "ucion")) else snowball("spanish")(word)


STEMMERS: dict[str, Callable[[str], str]] = {"en": _english, "de": _german, "fr": _french, "es": _spanish}
