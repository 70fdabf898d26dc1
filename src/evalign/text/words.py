"""Lower-case word tokenizers, the registry of custom ones, word numbers of model tokens, and the caches of both.

`unicode` supports every script: letters, digits and the marks on them, composed (NFC); scripts written without spaces
(Chinese, Japanese, Thai, Lao, Khmer, Burmese) by character. `ascii` is rouge-score's rule, [a-z0-9]+; on ASCII text
both give the same words.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

import numpy as np

from evalign.core import Tokens
from evalign.errors import InputError, SpecError

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper


# Translating bytes and splitting at spaces takes half the time of a regular expression. Line feeds are kept.
SPACED = bytes(code if (code < 128 and chr(code).isalnum()) or code == 0x0A else 0x20 for code in range(256))

# Han, kana, bopomofo; Thai and Lao; Burmese; Khmer. Hangul is written with spaces.
UNSPACED = (
    (0x0E01, 0x0E4E), (0x0E81, 0x0ECF), (0x1000, 0x103F), (0x104C, 0x109F), (0x1780, 0x17D3), (0x2E80, 0x2FDF),
    (0x3005, 0x312F), (0x31A0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9FE), (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF), (0xFF66, 0xFF9D), (0x1AFF0, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
MAX_MARK_CODE = 0x20000  # no combining mark is above, except variation selectors, which are dropped
# Soft hyphen, joiners, word joiner and variation selectors change the look of a word, not its identity.
INVISIBLE = dict.fromkeys([0xAD, 0x200C, 0x200D, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])


def ascii_words(text: str) -> list[str]:
    """Return runs of ASCII letters and digits; everything else, accented letters too, separates them."""
    return _spaced(text).decode("ascii").split()


def many_ascii_words(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the words of texts without line feeds, concatenated, and the number of words of each text."""
    spaced = _spaced("\n".join([*texts, ""]))
    in_word = np.frombuffer(spaced, dtype=np.uint8) > ord(" ")
    ends = np.flatnonzero(np.frombuffer(spaced, dtype=np.uint8) == ord("\n"))
    word_starts = in_word.copy()
    word_starts[1:] &= ~in_word[:-1]
    counts = np.add.reduceat(word_starts, np.append(0, ends[:-1] + 1), dtype=np.int64) if texts else ends
    return spaced.decode("ascii").split(), counts.tolist()


def unicode_words(text: str) -> list[str]:
    """Return words of any script, diacritics kept."""
    if text.isascii():
        return ascii_words(text)
    composed = unicodedata.normalize("NFC", text.translate(INVISIBLE).lower())
    return _unicode_word().findall(composed)


TOKENISERS: dict[str, Callable[[str], list[str]]] = {"unicode": unicode_words, "ascii": ascii_words}
BUILT_IN = (*TOKENISERS, "auto", "rouge155")  # reserved names
TOKENISER_NAME = re.compile(r"[a-z][a-z0-9_.-]*")


def register_tokenizer(name: str, tokenize: Callable[[str], list[str]]) -> None:
    """Register a function from a text to its words, for `rouge1(tokens=NAME)`, in this process.

    Args:
        name: Name: a lower-case letter, then a-z, 0-9, '_', '.', '-'; not a reserved name.
        tokenize: Function that returns the same words for the same text.
    """
    if not TOKENISER_NAME.fullmatch(name) or name in BUILT_IN:
        raise SpecError(
            f"register_tokenizer: {name!r} cannot be the name of a tokenizer; use a letter, then a-z, 0-9, '_', '.', "
            f"'-', but no reserved name: {', '.join(BUILT_IN)}"
        )
    if not callable(tokenize):
        raise SpecError(f"register_tokenizer: {name!r} needs a function from a text to a list of words")
    if TOKENISERS.get(name, tokenize) is not tokenize:
        raise SpecError(f"register_tokenizer: {name!r} is the name of another tokenizer already; take another name")
    TOKENISERS[name] = tokenize


def words_by(name: str, text: str) -> list[str]:
    """Return the words of a text by the tokenizer of that name; the result of a registered one is checked."""
    words = TOKENISERS[name](text)
    if name not in BUILT_IN and not (isinstance(words, (list, tuple)) and all(isinstance(word, str) for word in words)):
        raise InputError(f"the tokenizer {name!r} must give a list of words, but gave {type(words).__name__}")
    return list(words) if name not in BUILT_IN else words


def _spaced(text: str) -> bytes:
    return text.lower().encode("utf-8", "surrogatepass").translate(SPACED)


@lru_cache(maxsize=1)
def _unicode_word() -> re.Pattern[str]:
    """Return the pattern of a word.

    Python's \\w leaves out combining marks, which splits words of Hindi, Tamil or vowelled Hebrew.
    """
    marks = _ranges([code for code in range(0x300, MAX_MARK_CODE) if unicodedata.category(chr(code)).startswith("M")])
    spans = [code for first, last in UNSPACED for code in range(first, min(last, sys.maxunicode) + 1)]
    unspaced = _ranges([code for code in spans if chr(code).isalpha() or unicodedata.category(chr(code)) == "Nl"])
    spaced = rf"[^\W_{unspaced}]"
    return re.compile(rf"{spaced}+(?:[{marks}]+{spaced}*)*|[{unspaced}][{marks}]*")


def _ranges(codes: list[int]) -> str:
    """Return the inside of a character class."""
    spans: list[list[int]] = []
    for code in codes:
        if spans and code == spans[-1][1] + 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in spans)


T = TypeVar("T")
_caches: WeakSet[_lru_cache_wrapper[Any]] = WeakSet()


def cached(max_entries: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Return functools.lru_cache(max_entries) as a decorator that `clear_caches` also empties."""

    def decorate(function: Callable[..., T]) -> _lru_cache_wrapper[T]:
        cache = lru_cache(max_entries)(function)
        register_cache(cache)
        return cache

    return decorate


def register_cache(cache: _lru_cache_wrapper[Any]) -> None:
    """Register a cache that was created elsewhere, so that `clear_caches` empties it."""
    _caches.add(cache)


def clear_caches() -> None:
    """Clear every cache."""
    for registered in list(_caches):
        registered.cache_clear()


def continues(tokens: Tokens, index: int) -> bool:
    """Return whether a token continues the word of the previous token."""
    return _continued(tokens.text, int(tokens.offsets[index][0]), int(tokens.offsets[index - 1][1]) if index else -1)


def word_numbers(tokens: Tokens) -> list[int]:
    """Return one number per token from 0; -1 for special tokens. A token without characters continues the last word."""
    numbers: list[int] = []
    word = before = -1
    for (start, stop), special in zip(tokens.offsets.tolist(), tokens.special.tolist(), strict=True):
        if not special and (word < 0 or (start < stop and not _continued(tokens.text, start, before))):
            word += 1
        numbers.append(-1 if special else word)
        before = stop
    return numbers


def _continued(text: str, start: int, before: int) -> bool:
    """Return whether a token that starts at `start` continues a word whose last token stopped at `before`."""
    return 0 < start == before and _in_word(text[start - 1]) and _in_word(text[start : start + 1])


def _in_word(char: str) -> bool:
    """Return whether a character is a letter, mark or digit, and not of a script without spaces."""
    return (
        bool(char)
        and unicodedata.category(char)[0] in "LMN"
        and not any(first <= ord(char) <= last for first, last in UNSPACED)
    )


@cache
def word_set(name: str) -> frozenset[str]:
    """Return the words listed below `[name]` in word_sets.txt."""
    text = resources.files("evalign.text").joinpath("word_sets.txt").read_text("utf-8")
    _, listed = text.split(f"[{name}]\n")
    lines = listed.partition("\n[")[0].splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())
