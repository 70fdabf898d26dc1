"""METEOR's paraphrase table: parsed once into three arrays, cached in a file and memory-mapped from there.

A phrase is a 64-bit number made of its words' numbers. `sources` are sorted; the targets of source i, in the order of
the table, are `targets[starts[i] : starts[i + 1]]`. A damaged cache file is made again, never an error.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evalign.atomic_files import cache_folder, whole_file
from evalign.errors import FileFormatError
from evalign.metrics.lexical.meteor.data_files import DataFile
from evalign.text.word_caches import remembered

FORMAT = 1  # raise it whenever the arrays or the numbers of phrases change
LONGEST = 7  # words; the table has none longer
STEP = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of an earlier word is lost
BLOCK_BYTES = 1 << 24
HEADER = 4096  # bytes, so that the arrays begin on a page
WORDS_REMEMBERED = 200_000
SIEVE = 1 << 22
LOW = np.uint64(SIEVE - 1)
ARRAYS = ("sources", "starts", "targets")
Numbers = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Paraphrases:
    """The table as arrays."""

    sources: Numbers
    starts: npt.NDArray[np.int64]
    targets: Numbers

    @cached_property
    def _sieve(self) -> npt.NDArray[np.bool_]:
        """Whether any source has these low bits: one look instead of a search for most phrases."""
        sieve = np.zeros(SIEVE, bool)
        sieve[self.sources & LOW] = True
        return sieve

    def find(self, ngrams: Numbers) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """For each phrase that is a source: its place in `ngrams`, and where its targets begin and end."""
        maybe = np.flatnonzero(self._sieve[ngrams & LOW])
        wanted = ngrams[maybe]
        rows = np.searchsorted(self.sources, wanted)
        rows[rows == len(self.sources)] = 0
        known = self.sources[rows] == wanted
        places, rows = maybe[known], rows[known]
        return places, self.starts[rows], self.starts[rows + 1]


@lru_cache(maxsize=2)
def load_paraphrases(table: DataFile) -> Paraphrases:
    """From the cache folder; parsed and put there the first time."""
    path = cache_folder() / "meteor" / f"paraphrases-{table.sha256[:16]}-{FORMAT}.bin"
    cached = _open(path)
    if cached is not None:
        return cached
    parsed = parse_paraphrases(table.path)
    return (_open(path) if _save(parsed, path) else None) or parsed


def parse_paraphrases(path: Path) -> Paraphrases:
    """Reads the gzip table: a probability, a phrase and its paraphrase, one line each."""
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
        self._number = remembered(WORDS_REMEMBERED)(lambda word: word_number(word.encode("utf-8", "surrogatepass")))

    def ngrams(self, words: Sequence[str]) -> tuple[Numbers, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Number, first word and length of each phrase of up to LONGEST words, by first word and then by length."""
        single = np.fromiter(map(self._number, words), np.uint64, len(words))
        numbers = np.zeros((len(words), LONGEST), np.uint64)
        inside = np.zeros((len(words), LONGEST), bool)
        for length in range(1, min(LONGEST, len(words)) + 1):
            ends = len(words) - length + 1
            before = numbers[:ends, length - 2] * STEP if length > 1 else np.uint64(0)
            numbers[:ends, length - 1] = before + single[length - 1 :]
            inside[:ends, length - 1] = True
        starts, lengths = np.nonzero(inside)
        return numbers[inside], starts, lengths + 1


def word_number(word: bytes) -> int:
    """A word's number, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


def _blocks(stream: gzip.GzipFile) -> Iterator[list[bytes]]:
    """Lines in blocks of whole entries; the last block holds what is left."""
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
    """The number of each line's phrase, word by word for all lines at once."""
    counts = np.fromiter((line.count(b" ") for line in lines), np.int64, len(lines)) + 1
    words = np.fromiter(map(number, b" ".join(lines).split(b" ")), np.uint64, int(counts.sum()))
    begins = np.cumsum(counts) - counts
    phrases = np.zeros(len(lines), np.uint64)
    for place in range(int(counts.max(initial=0))):
        longer = counts > place
        phrases[longer] = phrases[longer] * STEP + words[begins[longer] + place]
    return phrases


def _save(table: Paraphrases, path: Path) -> bool:
    """Writes a whole file or none; whether it did. Processes that parse at the same time each put theirs in place."""
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
    """The cached table, or None if there is none that can be trusted."""
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
