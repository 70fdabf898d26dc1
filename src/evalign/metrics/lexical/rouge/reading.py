"""How ROUGE reads a text: words, stemmed if asked, without stop words if asked, cut to a length; each word one letter.

    text --words--> ["the", "cats", ...] --letters--> "\\x00\\x07..."

A text becomes a string in which equal characters are equal (stemmed) words, so that counting and LCS run in C. Readers
of equal options are shared by all metrics: rouge1, rouge2 and rougeL tokenise a text once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

from evalign.errors import TextTooLongError
from evalign.metrics.lexical.rouge.word_lists import lexicon
from evalign.text.sentences import SPLITTERS, UNSPLIT
from evalign.text.stemming import nltk_porter, rouge155_porter, snowball
from evalign.text.word_sets import word_set
from evalign.text.words import BUILT_IN, ascii_words, many_ascii_words, words_by

CACHE_BYTES = 64_000_000  # roughly: texts and letters of a hundred thousand sentences
BYTES_PER_TEXT = 300  # beside its characters and letters
STEMMED_FROM = 4  # letters: rouge-score and the script leave shorter words alone
PERL_SPACE = re.compile(r"[ \t\n\r\f\v]+")


@dataclass(frozen=True)
class ReadingOptions:
    """The options that decide how a text is read."""

    tokens: str = "unicode"  # unicode, ascii, or rouge155 for the script's own
    stem: str = "false"
    stopwords: bool = False
    words: int = 0
    bytes: int = 0
    sentences: str = "lines"


@dataclass(slots=True)
class Reading:
    """A text as letters: in one piece, and split into sentences, none of them empty."""

    letters: str
    split: tuple[str, ...] | None = None  # None: it was not split
    dropped: int = 0  # words or bytes beyond the length limit

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences; the whole text if it was not split."""
        return tuple(filter(None, (self.letters,) if self.split is None else self.split))


class Letters(dict[str, str]):
    """Word -> its letter, the same for words of one stem; stop words have none. Filled as words come."""

    def __init__(self, normalise: Callable[[str], str]) -> None:
        super().__init__()
        self._normalise = normalise
        self._letters: dict[str, str] = {"": ""}

    def __missing__(self, word: str) -> str:
        form = self._normalise(word)
        letter = self._letters.get(form)
        if letter is None:
            try:
                letter = self._letters[form] = chr(len(self._letters) - 1)
            except ValueError:
                raise TextTooLongError(
                    f"a row has over {sys.maxunicode:,} different words; ROUGE reads no more at once"
                ) from None
        self[word] = letter
        return letter

    def forms(self) -> dict[str, str]:
        """Letter -> what it stands for."""
        return {letter: form for form, letter in self._letters.items()}


class Reader:
    """Reads texts in one way. Readings are cached up to a number of bytes; then the cache is emptied, letters too."""

    def __init__(self, options: ReadingOptions) -> None:
        self.options = options
        self._normalise = normaliser(options)
        self._read = self._by_script if options.tokens == "rouge155" else self._by_paper
        # Every word is one letter.
        self._plain = not (options.stopwords or options.words or options.bytes) and options.sentences in UNSPLIT
        self._plain = self._plain and options.tokens in BUILT_IN
        self._lock = Lock()
        self._clear()

    def read(self, texts: Sequence[str]) -> dict[str, Reading]:
        """Text -> reading; letters are comparable within one call."""
        with self._lock:
            new = [text for text in texts if text not in self._readings]
            if new and self._bytes > CACHE_BYTES:
                self._clear()
                new = list(texts)
            try:
                self._read_new(list(dict.fromkeys(new)))
            except TextTooLongError:  # the letters are used up
                self._clear()
                raise
            return self._readings

    def shown(self, candidate: str, reference: str) -> tuple[Reading, Reading, dict[str, str]]:
        """The readings of a pair and what each letter stands for."""
        readings = self.read((candidate, reference))
        return readings[candidate], readings[reference], self._letters.forms()

    def _clear(self) -> None:
        self._readings: dict[str, Reading] = {}
        self._letters = Letters(self._normalise)
        self._bytes = 0

    def _read_new(self, texts: list[str]) -> None:
        """Texts of one sentence whose words are ASCII are read together, which is faster."""
        if self._plain:
            lines = list(filter(UNSPLIT[self.options.sentences], texts))
            self._read_lines([text for text in lines if text.isascii()])
            if self.options.tokens == "ascii":  # apart: one such text makes the whole string slow to lower
                self._read_lines([text for text in lines if not text.isascii()])
        for text in texts:
            if text not in self._readings:
                self._readings[text] = self._read(text)
            self._bytes += BYTES_PER_TEXT + 3 * len(text)

    def _read_lines(self, texts: list[str]) -> None:
        words, counts = many_ascii_words(texts)
        letters, start = self._lettered(words), 0
        for text, count in zip(texts, counts, strict=True):
            self._readings[text] = Reading(letters[start : start + count])
            start += count

    def _lettered(self, words: Iterable[str]) -> str:
        return "".join(map(self._letters.__getitem__, words))

    def _by_paper(self, text: str) -> Reading:
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

    def _by_script(self, text: str) -> Reading:
        """The script reads bytes; only a line feed ends a sentence. Latin-1 shows it bytes as characters."""
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
        """Words between spaces are counted; a space at the beginning of a line counts as one, as in Perl's split."""
        room, sentences, dropped = self.options.words, [], 0
        for line in lines:
            words = PERL_SPACE.split(line)
            while words and not words[-1]:
                words.pop()
            sentences.append(self._line(" ".join(words[:room])))
            dropped += max(0, len(words) - room)
            room -= min(room, len(words))
        return sentences, dropped

    def _first_bytes(self, lines: list[str]) -> Reading:
        """Where sentences matter the script forgets to count: each line is held against the whole limit."""
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
        return Reading(letters, tuple(sentences), sum(map(len, lines)) - sum(map(len, joined)))


@lru_cache(maxsize=4)
def shared_reader(options: ReadingOptions) -> Reader:
    """One reader for all metrics with these options."""
    return Reader(options)


def normaliser(options: ReadingOptions) -> Callable[[str], str]:
    """What gives a word's stem, or nothing for a stop word; stop words are looked up before stemming."""
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
        return lambda word: word if len(word) < STEMMED_FROM else exceptions.get(word) or rouge155_porter(word)
    if name == "nltk-porter":
        return lambda word: word if len(word) < STEMMED_FROM else nltk_porter(word)
    return snowball("english" if name == "true" else name)


def _reading(sentences: list[str], dropped: int = 0) -> Reading:
    return Reading("".join(sentences), tuple(sentences), dropped)
