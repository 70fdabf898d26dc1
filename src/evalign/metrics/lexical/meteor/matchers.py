"""Which words of a candidate could stand for which words of a reference, by METEOR's four modules.

Texts as lists of words flow in; `Options` flows out: for each place of the reference the matches that begin there, in
the order METEOR finds them (exact, stem, synonym, paraphrase), since that order decides ties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from evalign.errors import TextTooLongError
from evalign.metrics.lexical.meteor.paraphrases import Numbers, Paraphrases, PhraseNumbers

MODULES = ("exact", "stem", "synonym", "paraphrase")
MOST_MATCHES = 2_000_000  # a candidate and a reference of 10,000 ordinary words have about half as many
WORDS_REMEMBERED = 100_000
LOW_BITS = 1 << 16
Match = tuple[int, int, int, int]  # first candidate word, candidate words, reference words, place in the module list
Grams = tuple[Numbers, "np.typing.NDArray[np.int64]", "np.typing.NDArray[np.int64]"]


@dataclass(frozen=True)
class Resources:
    """What the modules after `exact` look words up in; only those of the chosen modules are there."""

    modules: tuple[str, ...]
    stem: Callable[[str], str] | None = None
    synonyms: Callable[[str], frozenset[str]] | None = None
    paraphrases: Paraphrases | None = None


@dataclass(frozen=True)
class Options:
    """All matches by the place of the reference they begin at, and how many matches lie over each word."""

    matches: list[Sequence[Match]]
    candidate_cover: list[int]
    reference_cover: list[int]


class Matchers:
    """The modules with what they remember about words."""

    def __init__(self, resources: Resources) -> None:
        self._modules = resources.modules
        self._stem = resources.stem
        self._paraphrases = resources.paraphrases
        self._numbers = PhraseNumbers()
        self._sets = resources.synonyms and lru_cache(WORDS_REMEMBERED)(resources.synonyms)

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
            for place, found in self._phrases(self._paraphrases, candidate, reference).items():
                matches[place] = [*matches[place], *found]
        return _cover(matches, len(candidate))

    def _words(self, candidate: Sequence[str], reference: Sequence[str]) -> dict[str, list[Match]]:
        """Matches of single words, once for each distinct word of the reference."""
        places: dict[str, list[int]] = {}
        for place, word in enumerate(candidate):
            places.setdefault(word, []).append(place)
        found: dict[str, list[Match]] = {word: [] for word in reference}
        for module, name in enumerate(self._modules):
            if name == "exact":
                for word, matches in found.items():
                    matches += [(place, 1, 1, module) for place in places.get(word, ())]
            elif name == "stem" and self._stem:
                self._stems(places, found, module)
            elif name == "synonym" and self._sets:
                self._synonyms(places, found, module)
        return found

    def _stems(self, places: dict[str, list[int]], found: dict[str, list[Match]], module: int) -> None:
        assert self._stem is not None
        families: dict[str, list[str]] = {}
        for word in places:
            families.setdefault(self._stem(word), []).append(word)
        for word, matches in found.items():
            _add(matches, places, [other for other in families.get(self._stem(word), ()) if other != word], module)

    def _synonyms(self, places: dict[str, list[int]], found: dict[str, list[Match]], module: int) -> None:
        assert self._sets is not None
        sets = {word: numbers for word in places if (numbers := self._sets(word))}
        every = frozenset().union(*sets.values())
        for word, matches in found.items():
            own = self._sets(word)
            if not own.isdisjoint(every):
                others = [other for other, numbers in sets.items() if other != word and not own.isdisjoint(numbers)]
                _add(matches, places, others, module)

    def _phrases(
        self, table: Paraphrases, candidate: Sequence[str], reference: Sequence[str]
    ) -> dict[int, list[Match]]:
        """First what the table has for the reference's phrases, then what it has for the candidate's."""
        ours, theirs = self._numbers.ngrams(candidate), self._numbers.ngrams(reference)
        module = self._modules.index("paraphrase")
        found: dict[int, list[Match]] = {}
        for reference_place, length, start, words in _known(table, theirs, ours):
            found.setdefault(reference_place, []).append((start, words, length, module))
        for start, words, reference_place, length in _known(table, ours, theirs):
            found.setdefault(reference_place, []).append((start, words, length, module))
        return found


def _add(matches: list[Match], places: dict[str, list[int]], others: list[str], module: int) -> None:
    """Matches with these candidate words, in the order of the text."""
    if len(others) == 1:
        matches += [(place, 1, 1, module) for place in places[others[0]]]
    elif others:
        matches += [(place, 1, 1, module) for place in sorted(place for word in others for place in places[word])]


def _known(table: Paraphrases, sources: Grams, targets: Grams) -> list[tuple[int, int, int, int]]:
    """(source place, its words, target place, its words) of every entry of the table that both texts have."""
    numbers, starts, lengths = sources
    rows, begins, ends = table.find(numbers)
    sizes = ends - begins
    before = np.cumsum(sizes) - sizes
    entries = table.targets[np.repeat(begins - before, sizes) + np.arange(sizes.sum())]
    present = np.zeros(LOW_BITS, bool)  # a sieve: nearly every entry is not in the other text
    present[targets[0].astype(np.uint16)] = True
    hits = np.flatnonzero(present[entries.astype(np.uint16)])
    if not len(hits):
        return []
    wanted = entries[hits].tolist()
    there: dict[int, list[tuple[int, int]]] = {number: [] for number in wanted}
    for number, start, length in zip(*(column.tolist() for column in targets), strict=True):
        if number in there:
            there[number].append((start, length))
    rows = rows[np.searchsorted(before, hits, "right") - 1]
    return [
        (start, length, other, words)
        for number, start, length in zip(wanted, starts[rows].tolist(), lengths[rows].tolist(), strict=True)
        for other, words in there[number]
    ]


def _cover(matches: list[Sequence[Match]], candidate_words: int) -> Options:
    candidate_cover, reference_cover = [0] * candidate_words, [0] * len(matches)
    for place, found in enumerate(matches):
        for start, words, length, _ in found:
            candidate_cover[start] += 1
            reference_cover[place] += 1
            if words > 1:
                for each in range(start + 1, start + words):
                    candidate_cover[each] += 1
            if length > 1:
                for each in range(place + 1, place + length):
                    reference_cover[each] += 1
    return Options(matches, candidate_cover, reference_cover)


def chunks(matches: Sequence[tuple[int, Match]]) -> int:
    """Runs of matches that follow each other in both texts; `matches` are (reference place, match) in order."""
    return bool(matches) + sum(
        place + match[2] != after or match[0] + match[1] != following[0]
        for (place, match), (after, following) in pairwise(matches)
    )
