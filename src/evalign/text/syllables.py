"""Syllables of English words by rule: vowel groups, less the silent ones, plus the vowels spoken apart.

Written against the CMU pronouncing dictionary, which textstat reads; the docs say how often the two agree.
`textstat_syllables` asks textstat itself, for those who need its very numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib import import_module

from evalign.errors import SpecError
from evalign.text.word_caches import remembered
from evalign.text.word_sets import word_set

EXCEPTIONS = {  # what the rules get wrong
    word: count
    for count, name in enumerate(("1 syllable", "2 syllables", "3 syllables", "4 syllables"), 1)
    for word in word_set(name)
}

POSSESSIVE = re.compile(r"'s$")
SIBILANT = re.compile(r"(?:s|x|z|ch|sh|ce|ge|se|ze)$")
NEGATION = re.compile(r"[ds]n't$")  # didn't, wasn't: the n is a syllable
SPELT_OUT = 3  # letters of an abbreviation, at most
ACCENTED = re.compile(r"[aeiouy][\u0300-\u036f]+")  # spoken, as in café
NOT_LETTERS = re.compile(r"[^a-z]")
CONSONANT_Y = re.compile(r"(?<![^aeiou])y(?=[aeiou])")  # player, beyond, year
VOWELS = re.compile(r"[aeiouy]+")
FIRST_PARTS = "some home there where here life base face frame safe more time name white state house horse fore stone"
FIRST_PARTS += " love wide side line wine pipe trade game"
# Written vowels that are not spoken: final e and its -es and -ed, e before a suffix or inside a compound, -gue, -que.
SILENT = re.compile(
    r"(?<=[^aeiouy])e$"
    r"|(?<=[^aeiouy])(?<![sxzcg])(?<!ch)(?<!sh)e(?=s$)"
    r"|(?<=[^aeioudty])e(?=d$)"
    r"|(?<=[^aeiouy])e(?=(?:ly|less|ness|ful|ment|ments|fully|lessly)$)"
    r"|(?<=[aeioun]g)ue[sd]?$|(?<=[ei]q)ue[sd]?$"
    rf"|(?:(?<=^{')|(?<=^'.join(part[:-1] for part in sorted(set(FIRST_PARTS.split())))}))"
    r"e(?=[bcfghjklmnpqtvwz])(?!ly|less|ness|ful|ment)"
)
# One group of letters in which two vowels are spoken, or a consonant that is a syllable: able, rhythm, fire.
APART = re.compile(
    r"(?<![sctlgx])ia|(?<=[ct])ia(?=t)|(?<=[aeiou]l)ia(?=n?[cbt])"
    r"|(?<![ctgx])iou|(?<![tscgxlnh])ion|io(?![nu])|(?<![gc])iu"
    r"|(?<![pg])eo(?!n$|us)|eum|[^aeiou]rea(?=t[eio])(?!tu)|area|idea|reali[tsz]|theat"
    r"|(?<![gq])ua(?!r[^y])|(?<![gq])ue(?:l|nt|nc)|uou|oe(?=[mt])|coop|coord"
    r"|[^aeiou]ying|[aeiou]ing|[^aeiou]ier$|[^aeiou]iest$|iet|(?<![ct])ien(?=ce|t)|scien"
    r"|[^aeiouylrw]le[sd]?$|sms?$|thms?$|(?<![ah])ire[sd]?$"
)


@remembered(2**16)
def count_syllables(word: str) -> int:
    """Syllables of a lower-case word; at least one, and one for what has no letters."""
    owner = POSSESSIVE.sub("", word)
    if owner != word:
        return count_syllables(owner) + bool(SIBILANT.search(owner))
    if word in EXCEPTIONS:
        return EXCEPTIONS[word]
    plain = ACCENTED.sub("a", unicodedata.normalize("NFKD", word))
    letters = CONSONANT_Y.sub("j", NOT_LETTERS.sub("", plain))
    groups = len(VOWELS.findall(letters))
    if not groups:  # spelt out: tv, bbc
        return len(word) if word.isalpha() and len(word) <= SPELT_OUT else 1
    spoken = groups - len(SILENT.findall(letters)) + len(APART.findall(letters)) + bool(NEGATION.search(word))
    return max(1, spoken)


@cache
def textstat_syllables() -> Callable[[str], int]:
    """textstat's own counter; it looks words up in the CMU dictionary, which NLTK must have fetched."""
    try:
        count: Callable[[str], int] = import_module("textstat").textstat.syllable_count
        count("word")
    except (ImportError, LookupError) as error:
        raise SpecError(
            "syllables=textstat needs textstat and NLTK's copy of cmudict: "
            "pip install textstat && python -m nltk.downloader cmudict; or use syllables=rules"
        ) from error
    return remembered(2**16)(count)
