"""Which tokens make up a word, from their offsets in the text, so in the same way for every tokenizer.

In: `Tokens` with offsets. Out: the number of the word that each token belongs to.
"""

from __future__ import annotations

import unicodedata

from evalign.text.words import UNSPACED
from evalign.types import Tokens


def continues(tokens: Tokens, place: int) -> bool:
    """Whether a token starts where the token before it ended, inside a word."""
    return _inside(tokens.text, int(tokens.offsets[place][0]), int(tokens.offsets[place - 1][1]) if place else -1)


def word_numbers(tokens: Tokens) -> list[int]:
    """One number per token, counting from 0; -1 for special tokens. A token that covers nothing stays with the last."""
    numbers: list[int] = []
    word = before = -1
    for (start, stop), special in zip(tokens.offsets.tolist(), tokens.special.tolist(), strict=True):
        if not special and (word < 0 or (start < stop and not _inside(tokens.text, start, before))):
            word += 1
        numbers.append(-1 if special else word)
        before = stop
    return numbers


def _inside(text: str, start: int, before: int) -> bool:
    """Whether a word goes on from where the token before ended to where this one starts."""
    return 0 < start == before and _in_word(text[start - 1]) and _in_word(text[start : start + 1])


def _in_word(char: str) -> bool:
    """Letters, the marks on them and digits; a character of a script without spaces is a word of its own."""
    return (
        bool(char)
        and unicodedata.category(char)[0] in "LMN"
        and not any(first <= ord(char) <= last for first, last in UNSPACED)
    )
