"""Words of a text, lower case, for metrics that compare words.

`unicode` reads every script: letters, digits and the marks on them, composed (NFC); scripts written without spaces
(Chinese, Japanese, Thai, Lao, Khmer, Burmese) by character. `ascii` is rouge-score's reading, [a-z0-9]+; on ASCII text
both give the same words.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from evalign.errors import InputError, SpecError

# Translating bytes and splitting at spaces takes half the time of a regular expression. Line feeds stay.
SPACED = bytes(code if (code < 128 and chr(code).isalnum()) or code == 0x0A else 0x20 for code in range(256))

# Han, kana, bopomofo; Thai and Lao; Burmese; Khmer. Hangul is written with spaces.
UNSPACED = (
    (0x0E01, 0x0E4E), (0x0E81, 0x0ECF), (0x1000, 0x103F), (0x104C, 0x109F), (0x1780, 0x17D3), (0x2E80, 0x2FDF),
    (0x3005, 0x312F), (0x31A0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9FE), (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF), (0xFF66, 0xFF9D), (0x1AFF0, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
LAST_MARK = 0x20000  # no combining mark lies above, but for variation selectors, which are dropped
# Soft hyphen, joiners, word joiner and variation selectors change how a word looks, not which word it is.
INVISIBLE = dict.fromkeys([0xAD, 0x200C, 0x200D, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])


def ascii_words(text: str) -> list[str]:
    """Runs of ASCII letters and digits; everything else, accented letters too, separates them."""
    return _spaced(text).decode("ascii").split()


def many_ascii_words(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """The words of texts without line feeds, end to end, and how many each text has; read in one go."""
    spaced = _spaced("\n".join([*texts, ""]))
    inside = np.frombuffer(spaced, dtype=np.uint8) > ord(" ")
    ends = np.flatnonzero(np.frombuffer(spaced, dtype=np.uint8) == ord("\n"))
    begins = inside.copy()
    begins[1:] &= ~inside[:-1]
    counts = np.add.reduceat(begins, np.append(0, ends[:-1] + 1), dtype=np.int64) if texts else ends
    return spaced.decode("ascii").split(), counts.tolist()


def unicode_words(text: str) -> list[str]:
    """Words of any script, diacritics kept."""
    if text.isascii():
        return ascii_words(text)
    composed = unicodedata.normalize("NFC", text.translate(INVISIBLE).lower())
    return _unicode_word().findall(composed)


TOKENISERS: dict[str, Callable[[str], list[str]]] = {"unicode": unicode_words, "ascii": ascii_words}
BUILT_IN = (*TOKENISERS, "auto", "rouge155")  # names that stay what they are
TOKENISER_NAME = re.compile(r"[a-z][a-z0-9_.-]*")


def register_tokenizer(name: str, tokenize: Callable[[str], list[str]]) -> None:
    """Makes a function from a text to its words known under a name, which `rouge1(tokens=NAME)` then takes.

    It must give the same words for the same text. It is known to this process only.
    """
    if not TOKENISER_NAME.fullmatch(name) or name in BUILT_IN:
        raise SpecError(
            f"register_tokenizer: {name!r} cannot be the name of a tokenizer; take one of a-z, 0-9, '_', '.', '-' that "
            f"is not one of {', '.join(BUILT_IN)}"
        )
    if not callable(tokenize):
        raise SpecError(f"register_tokenizer: {name!r} needs a function from a text to a list of words")
    if TOKENISERS.get(name, tokenize) is not tokenize:
        raise SpecError(f"register_tokenizer: {name!r} is the name of another tokenizer already; take another name")
    TOKENISERS[name] = tokenize


def words_by(name: str, text: str) -> list[str]:
    """The words of a text by the tokenizer of that name; what a registered one gives is checked."""
    words = TOKENISERS[name](text)
    if name not in BUILT_IN and not (isinstance(words, (list, tuple)) and all(isinstance(word, str) for word in words)):
        raise InputError(f"the tokenizer {name!r} must give a list of words, but gave {type(words).__name__}")
    return list(words) if name not in BUILT_IN else words


def _spaced(text: str) -> bytes:
    return text.lower().encode("utf-8", "surrogatepass").translate(SPACED)


@lru_cache(maxsize=1)
def _unicode_word() -> re.Pattern[str]:
    """Python's own \\w leaves out combining marks, and so breaks Hindi, Tamil or vowelled Hebrew words apart."""
    marks = _ranges([code for code in range(0x300, LAST_MARK) if unicodedata.category(chr(code)).startswith("M")])
    spans = [code for first, last in UNSPACED for code in range(first, min(last, sys.maxunicode) + 1)]
    unspaced = _ranges([code for code in spans if chr(code).isalpha() or unicodedata.category(chr(code)) == "Nl"])
    spaced = rf"[^\W_{unspaced}]"
    return re.compile(rf"{spaced}+(?:[{marks}]+{spaced}*)*|[{unspaced}][{marks}]*")


def _ranges(codes: list[int]) -> str:
    """The inside of a character class."""
    spans: list[list[int]] = []
    for code in codes:
        if spans and code == spans[-1][1] + 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in spans)
