"""Syllables of English words by rule: vowel groups, less the silent ones, plus the vowels spoken apart.

Written against the CMU pronouncing dictionary, which textstat reads; the docs say how often the two agree.
`textstat_syllables` asks textstat itself, for those who need its very numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from importlib import import_module

from evalign.errors import SpecError
from evalign.text.word_caches import remembered

# What the rules get wrong in words that English uses often, by number of syllables.
IRREGULAR = {
    1: "dr st ms george friend friends friendly shoes clothes isle aisle n't",
    2: "mr mrs our ours hour hours people peoples business louis several wednesday evening premier cement sacred "
    "naked wicked marriage carriage opera interest interests soldier soldiers leopard trial trials giant giants "
    "lion lions riot riots being doing going seeing science quiet diet dying lying flying trying fuel fuels cruel duel "
    "duels ruin ruins fluid argue argued argues rescue rescued rescues client clients centre "
    "chocolate neo neon chaos dual duet triumph pious via bias duo uk eu someone senior seniors junior juniors "
    "yorkshire cleveland spokesman fashion",
    3: "theatre theatres theater theaters everything everyone interested interesting museum museums suicide parliament "
    "realize realized temperature vegetable businesses businessman businessmen comfortable violence violent violin "
    "anyone every moreover fbi usa nba valuable iowa tokyo forever forensic cycling struggling recovery",
    4: "january february initiative initiatives everybody society experience experiences european europeans dementia "
    "specifically",
}
EXCEPTIONS = {word: count for count, words in IRREGULAR.items() for word in words.split()}

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
