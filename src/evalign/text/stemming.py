"""Snowball stemmers by language, each word stemmed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import snowballstemmer

from evalign.errors import SpecError, nearest
from evalign.text.word_caches import remembered

WORDS_REMEMBERED = 100_000
LANGUAGES = tuple(sorted(snowballstemmer.algorithms()))


@lru_cache(maxsize=8)
def snowball(language: str) -> Callable[[str], str]:
    """A remembering stemmer for `english`, `german` and the other Snowball languages; words are lower case."""
    if language not in LANGUAGES:
        raise SpecError(f"no Snowball stemmer for {language!r}; {nearest(language, LANGUAGES)}")
    stem: Callable[[str], str] = remembered(WORDS_REMEMBERED)(snowballstemmer.stemmer(language).stemWord)
    return stem
