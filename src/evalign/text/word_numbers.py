"""Which tokens make up a word, from their offsets in the text, so in the same way for every tokenizer.

In: `Tokens` with offsets. Out: the number of the word that each token belongs to.
"""

from __future__ import annotations

import unicodedata

from evalign.text.words import UNSPACED
from evalign.types import Tokens


def continues(tokens: Tokens, place: int) -> bool:
    """Whether a token starts where the token before it ended, inside a word."""
    start, before = int(tokens.offsets[place][0]), int(tokens.offsets[place - 1][1]) if place else -1
    text = tokens.text
    return 0 < start == before and _in_word(text[start - 1]) and _in_word(text[start : start + 1])


def word_numbers(tokens: Tokens) -> list[int]:
    """One number per token, counting from 0; -1 for special tokens. A token that covers nothing stays with the last."""
    numbers: list[int] = []
    word = -1
    for place in range(len(tokens)):
        start, stop = tokens.offsets[place]
        if tokens.special[place]:
            numbers.append(-1)
            continue
        if word < 0 or (start < stop and not continues(tokens, place)):
            word += 1
        numbers.append(word)
    return numbers


def _in_word(char: str) -> bool:
    """Letters, the marks on them and digits; a character of a script without spaces is a word of its own."""
    return (
        bool(char)
        and unicodedata.category(char)[0] in "LMN"
        and not any(first <= ord(char) <= last for first, last in UNSPACED)
    )
