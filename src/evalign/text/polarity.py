"""Opposites of two texts: a negation, an antonym or a yes that only one of them has, found on their matched words.

    tokens of both, partners  --opposites-->  Opposite("antonym", words of both), Opposite("negation", one word), ...

Rules and word lists for English and German (antonyms.txt); no score depends on them. A negation is answered if the
word that it negates is matched with a word of a negated clause; an antonym beside a negation that is not answered is
none ("not happy" and "unhappy").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from itertools import chain

from evalign.core.alignment import Opposite, Span
from evalign.core.tokens import Ints, Tokens
from evalign.text.words import cached, word_set

CACHED_TEXTS, CACHED_WORDS = 4096, 100_000
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
CLAUSE_END = re.compile(
    r"[.,;:!?()\"“”„]|\s[-–—]\s|\b(?:but|although|while|whereas|aber|sondern|obwohl|während)\b", re.IGNORECASE
)
ANSWER_END = re.compile(r"\s*(?:[.,;:!?–—-]|$)")
NEGATIONS = word_set("negations")
CONTRACTED = ("n't", "n’t")
# "not only" and "no doubt" negate nothing.
AFFIRMATIVE = {("not", "only"), ("no", "doubt"), ("no", "matter"), ("nicht", "nur"), ("kein", "zweifel"),
               ("nicht", "zuletzt")}  # fmt: skip
ANSWERS = {"yes": True, "yeah": True, "yep": True, "ja": True, "no": False, "nope": False, "nein": False}
PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non")
MIN_BASE = 4  # letters after a negative prefix
SUFFIXES = (("less", "ful"), ("los", "voll"))
LESS = tuple(less for less, _ in SUFFIXES)
ENDING = re.compile(r"(?:ing|ed|ly|e[nmrs]|[esnty])$")
NUMBER = re.compile(r"\.?\s*\d")
GERMAN_ENDINGS = ("e", "en", "em", "er", "es", "t", "te", "ten", "end", "ste", "sten", "n", "s")
SCOPE = 5  # words after a negation among which it negates the first that is no function word

Meaning = tuple[int, int]  # number of a pair of antonyms, side of a word in it
Partners = Callable[[], tuple[Ints, Ints]]  # index of each candidate token's partner in the reference; the reverse


@dataclass(frozen=True, eq=False)
class PolarText:
    """A text and its words in lower case; what decides its polarity is found when it is asked for."""

    text: str
    words: tuple[str, ...]

    @cached_property
    def meanings(self) -> frozenset[Meaning]:
        """The pairs of antonyms that its words are in, each with its side."""
        forms = _antonyms()
        return frozenset(chain.from_iterable(forms[word] for word in forms.keys() & self.words))

    @cached_property
    def has_negation(self) -> bool:
        """True if a word may be a negation."""
        return not NEGATIONS.isdisjoint(self.words) or any(ending in self.joined for ending in CONTRACTED)

    @cached_property
    def affirmed(self) -> frozenset[str]:
        """Stems of words without their negative prefix or suffix: `happ` of unhappy."""
        return frozenset(chain.from_iterable(map(_affirmed, filter(_may_be_negative, self.words))))

    @cached_property
    def joined(self) -> str:
        """All words, each behind a blank."""
        return " " + " ".join(self.words)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of all words."""
        return frozenset(map(_stem, self.words))

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The characters of each word."""
        return tuple(match.span() for match in WORD.finditer(self.text))

    @cached_property
    def clauses(self) -> tuple[int, ...]:
        """The number of each word's clause."""
        ends = [match.start() for match in CLAUSE_END.finditer(self.text)]
        return tuple(bisect_right(ends, start) for start, _ in self.spans)

    @cached_property
    def answer(self) -> int | None:
        """Index of a first word that answers yes or no; None without one."""
        answers = self.words and self.words[0] in ANSWERS and ANSWER_END.match(self.text, self.spans[0][1])
        return 0 if answers else None

    @cached_property
    def negations(self) -> tuple[int, ...]:
        """Indices of negations."""
        if not self.has_negation:
            return ()
        return tuple(index for index in range(len(self.words)) if index != self.answer and self._negates(index))

    @property
    def affirmative(self) -> bool | None:
        """True if the answer is yes, False if it is no; None without an answer."""
        return None if self.answer is None else ANSWERS[self.words[self.answer]]

    def differs(self, other: PolarText) -> bool:
        """Return whether there can be an opposite: most pairs have no such words."""
        return (
            bool(self.negations or other.negations)
            or self.affirmative != other.affirmative
            or any((pair, 1 - side) in self.meanings for pair, side in other.meanings)
            or any(f" {stem}" in other.joined for stem in self.affirmed)
            or any(f" {stem}" in self.joined for stem in other.affirmed)
        )

    def _negates(self, index: int) -> bool:
        word, (start, stop) = self.words[index], self.spans[index]
        if word.endswith(CONTRACTED):
            return True
        if word not in NEGATIONS:
            return False
        if self.text[start:stop] == "Not" and index and not CLAUSE_END.match(self.text, max(0, start - 2)):
            return False  # the German noun
        following = self.words[index + 1] if index + 1 < len(self.words) else ""
        number = word == "no" and NUMBER.match(self.text, stop)
        return (word, following) not in AFFIRMATIVE and not number


def opposites(candidate: Tokens, reference: Tokens, partners: Partners | None = None) -> tuple[Opposite, ...]:
    """Return the opposites of two texts.

    Args:
        candidate: Tokens of the candidate.
        reference: Tokens of the reference.
        partners: Returns the partners of the tokens, -1 without one; None if texts are compared as a whole.
    """
    left, right = _read(candidate), _read(reference)
    if not left.differs(right):
        return ()
    if partners is None:
        pairs = _possible_pairs(left, right)
        answered = [set(text.negations if other.negations else ()) for text, other in ((left, right), (right, left))]
    else:
        pairs = _matched_words(left, right, candidate, reference, partners())
        negated = [{text.clauses[index] for index in text.negations} for text in (left, right)]
        answered = [
            {i for i, j in pairs if right.clauses[j] in negated[1]},
            {j for i, j in pairs if left.clauses[i] in negated[0]},
        ]
    denied: dict[tuple[int, int], deque[int]] = defaultdict(deque)  # by side and clause: negations without an answer
    for side, (text, other) in enumerate(((left, right), (right, left))):
        for index in _unanswered(text, other, answered[side]):
            denied[side, text.clauses[index]].append(index)
    results = []
    for i, j in sorted(pairs):
        if _are_opposite(left, i, right, j):
            undone = next(filter(None, (denied.get((0, left.clauses[i])), denied.get((1, right.clauses[j])))), None)
            if undone:
                undone.popleft()
            else:
                results.append(Opposite("antonym", left.spans[i], right.spans[j]))
    for (side, _), indices in denied.items():
        results += [Opposite("negation", *_sided(side, (left, right)[side].spans[index])) for index in indices]
    return (*_answers(left, right), *results)


def _read(tokens: Tokens) -> PolarText:
    """Return the words of the part of a text that was not cut off."""
    end = int(tokens.offsets[:, 1].max()) if tokens.dropped else len(tokens.text)
    return read(tokens.text[:end])


@cached(CACHED_TEXTS)
def read(text: str) -> PolarText:
    """Return a text with its words."""
    return PolarText(text, tuple(map(str.lower, WORD.findall(text))))


def _matched_words(
    left: PolarText, right: PolarText, candidate: Tokens, reference: Tokens, partners: tuple[Ints, Ints]
) -> set[tuple[int, int]]:
    """Return pairs of words with matched tokens."""
    of_left, of_right = _word_of_tokens(left, candidate), _word_of_tokens(right, reference)
    forward = zip(range(len(of_left)), partners[0].tolist(), strict=True)
    backward = zip(partners[1].tolist(), range(len(of_right)), strict=True)
    matched = {(of_left[i], of_right[j]) for i, j in (*forward, *backward) if i >= 0 and j >= 0}
    return {(i, j) for i, j in matched if i >= 0 and j >= 0}


def _possible_pairs(left: PolarText, right: PolarText) -> set[tuple[int, int]]:
    """Return the pairs of words that may be opposite, each word at its first place."""
    by_meaning, by_stem, by_affirmed = defaultdict[Meaning, list[int]](list), {}, defaultdict[str, list[int]](list)
    for j, word in _first_places(right):
        by_stem[_stem(word)] = j
        for meaning in _meanings(word):
            by_meaning[meaning].append(j)
        for stem in _affirmed(word):
            by_affirmed[stem].append(j)
    pairs = set()
    for i, word in _first_places(left):
        pairs |= {(i, j) for pair, side in _meanings(word) for j in by_meaning.get((pair, 1 - side), ())}
        pairs |= {(i, by_stem[stem]) for stem in _affirmed(word) if stem in by_stem}
        pairs |= {(i, j) for j in by_affirmed.get(_stem(word), ())}
    return pairs


def _first_places(text: PolarText) -> Iterator[tuple[int, str]]:
    """Yield each word with the index of its first place."""
    places = dict(zip(reversed(text.words), range(len(text.words) - 1, -1, -1), strict=True))
    return ((index, word) for word, index in places.items())


def _word_of_tokens(text: PolarText, tokens: Tokens) -> list[int]:
    """Return the index of each token's word, -1 for punctuation and special tokens."""
    starts = [start for start, _ in text.spans]
    indices = []
    for start, stop in tokens.offsets.tolist():
        index = bisect_right(starts, max(start, stop - 1)) - 1
        inside = index >= 0 and start < stop and start < text.spans[index][1]
        indices.append(index if inside else -1)
    return indices


def _are_opposite(left: PolarText, i: int, right: PolarText, j: int) -> bool:
    """Return whether two matched words are opposite, and neither text has the word of the other as well."""
    first, second = left.words[i], right.words[j]
    known, other = _meanings(first), _meanings(second)
    listed = bool(known and other) and any((pair, 1 - side) in known for pair, side in other)
    if not (listed or _stem(second) in _affirmed(first) or _stem(first) in _affirmed(second)):
        return False
    return _stem(first) not in right.stems and _stem(second) not in left.stems


def _unanswered(text: PolarText, other: PolarText, answered: set[int]) -> Iterator[int]:
    """Yield the negations of a text whose word is not among the answered ones; a plain no answers all."""
    if other.affirmative is not False or other.negations:
        yield from (index for index in text.negations if answered.isdisjoint((index, _negated_word(text, index))))


def _negated_word(text: PolarText, index: int) -> int:
    """Return the index of the word that a negation is about."""
    clause = text.clauses[index]
    after = [i for i in range(index + 1, min(index + 1 + SCOPE, len(text.words))) if text.clauses[i] == clause]
    before = [i for i in range(index - 1, max(-1, index - 1 - SCOPE), -1) if text.clauses[i] == clause]
    functional = word_set("function words")
    return next((i for i in (*after, *before) if text.words[i] not in functional), index)


def _answers(left: PolarText, right: PolarText) -> Iterator[Opposite]:
    """Yield opposite answers, and a no where the other text has neither an answer nor a negation."""
    if left.affirmative is not None and right.affirmative is not None:
        if left.affirmative != right.affirmative:
            yield Opposite("answer", left.spans[left.answer or 0], right.spans[right.answer or 0])
        return
    for side, (text, other) in enumerate(((left, right), (right, left))):
        if text.affirmative is False and not other.negations:
            yield Opposite("answer", *_sided(side, text.spans[text.answer or 0]))


def _sided(side: int, span: Span) -> tuple[Span | None, Span | None]:
    return (span, None) if side == 0 else (None, span)


def _stem(word: str) -> str:
    """Return a word without its ending: rough, but fast, and the same for English and German."""
    return ENDING.sub("", word)


def _may_be_negative(word: str) -> bool:
    return word.startswith(PREFIXES) or word.endswith(LESS)


@cached(CACHED_WORDS)
def _affirmed(word: str) -> tuple[str, ...]:
    """Return the stems of a word without a negative prefix, and with -ful for -less."""
    prefixes = [prefix for prefix in PREFIXES if word.startswith(prefix) and len(word) - len(prefix) >= MIN_BASE]
    bases = [word[len(prefix) :] for prefix in prefixes]
    bases += [word.removesuffix(less) + full for less, full in SUFFIXES if word.endswith(less)]
    return tuple(map(_stem, bases))


def _meanings(word: str) -> frozenset[Meaning]:
    """Return the pairs of antonyms that a word is in, each with its side."""
    return _antonyms().get(word, frozenset())


@cache
def _antonyms() -> dict[str, frozenset[Meaning]]:
    """Return word -> the pairs of antonyms.txt that it or one of its forms is in, each with its side."""
    antonyms: dict[str, set[Meaning]] = defaultdict(set)
    forms: Callable[[str], Iterable[str]] = _english_forms
    lines = resources.files("evalign.text").joinpath("antonyms.txt").read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        if line.startswith("["):
            forms = _german_forms if line == "[german]" else _english_forms
        elif line and not line.startswith("#"):
            for side, words in enumerate(line.split()):
                for form in chain.from_iterable(map(forms, words.split("/"))):
                    antonyms[form].add((number, side))
    return {form: frozenset(pairs) for form, pairs in antonyms.items()}


def _english_forms(word: str) -> Iterator[str]:
    """Yield a word with its regular endings; some are no words, which does no harm."""
    if word.endswith("e"):
        stems = [(word, ("s", "d", "r", "st", "ly", "ness")), (word[:-1], ("ing", "y"))]
    elif word.endswith("y"):
        stems = [(word, ("ing", "s")), (word[:-1], ("ies", "ied", "ier", "iest", "ily", "iness"))]
    else:
        regular, doubled = ("s", "es", "ed", "ing", "er", "est", "ly", "ness"), ("ed", "ing", "er", "est")
        stems = [(word, regular), (word + word[-1], doubled)]
    yield word
    yield from (stem + ending for stem, endings in stems for ending in endings)


def _german_forms(word: str) -> Iterator[str]:
    """Yield a word with its regular endings; some are no words, which does no harm."""
    stem = word.removesuffix("en") if len(word) > 4 else word
    yield word
    yield from (stem + ending for ending in GERMAN_ENDINGS)
