"""Which words of a candidate could stand for which words of a reference, by METEOR's four modules.

Texts as lists of words flow in; `Options` flows out: for each place of the reference the matches that begin there, in
the order METEOR finds them (exact, stem, synonym, paraphrase), since that order decides ties.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evalign.errors import TextTooLongError
from evalign.metrics.lexical.meteor.paraphrases import Numbers, Paraphrases, PhraseNumbers

MODULES = ("exact", "stem", "synonym", "paraphrase")
MOST_MATCHES = 2_000_000  # a candidate and a reference of 10,000 ordinary words have about half as many
WORDS_REMEMBERED = 100_000
LOW_BITS = 1 << 16
Match = tuple[int, int, int, int]  # first candidate word, candidate words, reference words, place in the module list
Partners = tuple[str, list[str]]  # a word of the reference, and the words of the candidate it matches
Grams = tuple[Numbers, "np.typing.NDArray[np.int64]", "np.typing.NDArray[np.int64]"]


@dataclass(frozen=True)
class Options:
    """All matches by the place of the reference they begin at, and how many matches cover each word."""

    matches: list[Sequence[Match]]
    candidate_cover: list[int]
    reference_cover: list[int]


class Matchers:
    """The modules, with what those after `exact` look words up in and what they cache about words."""

    def __init__(
        self,
        modules: tuple[str, ...],
        stem: Callable[[str], str] = str,
        synonym_sets: Callable[[str], frozenset[str]] = lambda word: frozenset(),
        paraphrases: Paraphrases | None = None,
    ) -> None:
        self._modules = modules
        self._stem = stem
        self._sets = lru_cache(WORDS_REMEMBERED)(synonym_sets)
        self._paraphrases = paraphrases
        self._numbers = PhraseNumbers()
        self._partners = {"exact": self._same_word, "stem": self._same_stem, "synonym": self._synonyms}

    def match(self, candidate: Sequence[str], reference: Sequence[str]) -> Options:
        """Every way a word or phrase of the candidate could be matched."""
        single = self._words(candidate, reference)
        total = sum(len(single[word]) for word in reference)
        if total > MOST_MATCHES:
            raise TextTooLongError(
                f"meteor: a candidate of {len(candidate):,} words and a reference of {len(reference):,} can be matched "
                f"in {total:,} ways, more than {MOST_MATCHES:,}; score them paragraph by paragraph"
            )
        matches: list[Sequence[Match]] = [single[word] for word in reference]
        if self._paraphrases is not None:
            for place, phrases in self._phrases(self._paraphrases, candidate, reference).items():
                matches[place] = [*matches[place], *phrases]
        return _cover(matches, len(candidate))

    def _words(self, candidate: Sequence[str], reference: Sequence[str]) -> dict[str, list[Match]]:
        """Matches of single words, once for each distinct word of the reference."""
        places: dict[str, list[int]] = {}
        for place, word in enumerate(candidate):
            places.setdefault(word, []).append(place)
        matches: dict[str, list[Match]] = {word: [] for word in reference}
        for module, name in enumerate(self._modules):
            if name in self._partners:
                for word, partners in self._partners[name](places, matches):
                    if len(partners) == 1:
                        matches[word] += [(place, 1, 1, module) for place in places[partners[0]]]
                    else:  # in the order of the text
                        begins = sorted(place for partner in partners for place in places[partner])
                        matches[word] += [(place, 1, 1, module) for place in begins]
        return matches

    def _same_word(self, candidate: Collection[str], reference: Collection[str]) -> Iterator[Partners]:
        return ((word, [word]) for word in reference if word in candidate)

    def _same_stem(self, candidate: Collection[str], reference: Collection[str]) -> Iterator[Partners]:
        families: dict[str, list[str]] = {}
        for word in candidate:
            families.setdefault(self._stem(word), []).append(word)
        for word in reference:
            yield word, [partner for partner in families.get(self._stem(word), ()) if partner != word]

    def _synonyms(self, candidate: Collection[str], reference: Collection[str]) -> Iterator[Partners]:
        sets = {word: numbers for word in candidate if (numbers := self._sets(word))}
        in_candidate = frozenset().union(*sets.values())
        for word in reference:
            own = self._sets(word)
            if not own.isdisjoint(in_candidate):
                yield word, [partner for partner in sets if partner != word and not own.isdisjoint(sets[partner])]

    def _phrases(
        self, table: Paraphrases, candidate: Sequence[str], reference: Sequence[str]
    ) -> dict[int, list[Match]]:
        """First what the table has for the reference's phrases, then what it has for the candidate's."""
        ours, theirs = self._numbers.ngrams(candidate), self._numbers.ngrams(reference)
        module = self._modules.index("paraphrase")
        matches: dict[int, list[Match]] = {}
        for place, length, start, words in _known(table, theirs, ours):
            matches.setdefault(place, []).append((start, words, length, module))
        for start, words, place, length in _known(table, ours, theirs):
            matches.setdefault(place, []).append((start, words, length, module))
        return matches


def _known(table: Paraphrases, sources: Grams, targets: Grams) -> list[tuple[int, int, int, int]]:
    """(source place, its words, target place, its words) of every entry of the table that both texts have."""
    numbers, starts, lengths = sources
    rows, begins, ends = table.find(numbers)
    sizes = ends - begins
    before = np.cumsum(sizes) - sizes
    entries = table.targets[np.repeat(begins - before, sizes) + np.arange(sizes.sum())]
    sieve = np.zeros(LOW_BITS, bool)  # nearly every entry is not in the other text
    sieve[targets[0].astype(np.uint16)] = True
    hits = np.flatnonzero(sieve[entries.astype(np.uint16)])
    if not len(hits):
        return []
    wanted = entries[hits].tolist()
    present_targets: dict[int, list[tuple[int, int]]] = {number: [] for number in wanted}
    for number, start, length in zip(*(column.tolist() for column in targets), strict=True):
        if number in present_targets:
            present_targets[number].append((start, length))
    rows = rows[np.searchsorted(before, hits, "right") - 1]
    return [
        (start, length, *target)
        for number, start, length in zip(wanted, starts[rows].tolist(), lengths[rows].tolist(), strict=True)
        for target in present_targets[number]
    ]


def _cover(matches: list[Sequence[Match]], candidate_words: int) -> Options:
    candidate_cover, reference_cover = [0] * candidate_words, [0] * len(matches)
    for place, beginning in enumerate(matches):
        for start, words, length, _ in beginning:
            candidate_cover[start] += 1
            reference_cover[place] += 1
            if words > 1 or length > 1:  # seldom, so this is not in the way of single words
                for covered in range(start + 1, start + words):
                    candidate_cover[covered] += 1
                for covered in range(place + 1, place + length):
                    reference_cover[covered] += 1
    return Options(matches, candidate_cover, reference_cover)
