"""METEOR's alignment: possible matches of two texts, and a beam search along the reference for the best set of them.

A path is better the more words it matches (module weight times words, truncated to whole numbers as in METEOR 1.5),
then the fewer chunks it has, then the shorter the distances between matched words; of equal paths the first is kept.
METEOR adds a match's distance to the alternatives tried after it rather than to the path that takes it; so does this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from evalign.core.scoring import check_stopped
from evalign.errors import TextTooLongError
from evalign.metrics.lexical.meteor.paraphrases import Numbers, Paraphrases, PhraseNumbers

NO_END = -1  # of a path without an open chunk
FLOAT_BITS = 52  # represented exactly by a float
# Of the first, second, ... module. METEOR 1.5 aligns with these weights for every language and task.
WEIGHTS = (1.0, 0.5, 0.5, 0.5)


@dataclass(frozen=True)
class _Scale:
    """Cost units: matched words, chunks, distance, and last the order of discovery.

    A cost is one number. Where all fields fit it is a float, which Python adds and sorts faster; else a whole number.
    """

    word: float
    chunk: float
    distance: float
    path: float
    bits: int  # for the number of a match within the order


def _scale(options: MatchOptions, beam: int) -> _Scale:
    longest = max(len(options.candidate_cover), len(options.matches))
    bits = max(map(len, options.matches)).bit_length()
    order = bits + beam.bit_length()
    distance = (sum(map(len, options.matches)) * longest + 1).bit_length()
    chunk = longest.bit_length() + 1
    number_type: type[float] = float if order + distance + 2 * chunk + 1 <= FLOAT_BITS else int
    word, chunk_unit, unit, path = (
        number_type(1 << shift) for shift in (order + distance + chunk, order + distance, order, bits)
    )
    return _Scale(word, chunk_unit, unit, path, bits)


@dataclass
class _Step:
    """Origin of each path: the number of the previous path and, in the low bits, its match."""

    position: int
    origins: list[int]
    bits: int
    matches: Sequence[Match] = ()


@dataclass
class _Beam:
    """Paths of the search, best first, as columns."""

    scale: _Scale
    costs: list[float] = field(default_factory=lambda: [0])
    used: list[int] = field(default_factory=lambda: [0])  # matched candidate words, as bits
    ends: list[int] = field(default_factory=lambda: [NO_END])  # end of the open chunk in the candidate
    nexts: list[int] = field(default_factory=lambda: [0])  # first undecided reference word
    steps: list[_Step] = field(default_factory=list)


def align(options: MatchOptions, beam: int) -> list[tuple[int, Match]]:
    """Return the chosen matches as (reference position, match), in the order of the reference."""
    if not any(options.matches):
        return []
    paths = _Beam(_scale(options, beam))
    certain: list[tuple[int, Match]] = []
    for position, matches in enumerate(options.matches):
        check_stopped()
        if not matches:
            _skip(paths, position)
        elif len(matches) == 1 and _only(options, position, matches[0]):
            certain.append((position, matches[0]))
            _take(paths, position, matches[0])
        else:
            _branch(paths, position, matches, beam)
    finals = [cost + (end != NO_END) * paths.scale.chunk for cost, end in zip(paths.costs, paths.ends, strict=True)]
    return sorted(certain + _matches_of_path(paths.steps, finals.index(min(finals))))


def _matches_of_path(steps: list[_Step], number: int) -> list[tuple[int, Match]]:
    """Return the matches of a path, read from its end."""
    path_matches = []
    for step in reversed(steps):
        number, choice = step.origins[number] >> step.bits, step.origins[number] & ((1 << step.bits) - 1)
        if choice < len(step.matches):
            path_matches.append((step.position, step.matches[choice]))
    return path_matches


def _only(options: MatchOptions, position: int, match: Match) -> bool:
    """Return whether no other match covers any of its words: then there is no alternative."""
    start, words, length, _ = match
    covers = *options.candidate_cover[start : start + words], *options.reference_cover[position : position + length]
    return all(cover == 1 for cover in covers)


def _skip(paths: _Beam, position: int) -> None:
    """Advance over a word without matches: open chunks end, unless a phrase of the path extends over the word."""
    extends = [following > position for following in paths.nexts]
    ends = [end if extended else NO_END for end, extended in zip(paths.ends, extends, strict=True)]
    _go(paths, [old != new for old, new in zip(paths.ends, ends, strict=True)], ends)


def _take(paths: _Beam, position: int, match: Match) -> None:
    """Add the match to every path; costs that are equal for all paths are omitted."""
    start, words, length, _ = match
    broken = [end not in (NO_END, start) for end in paths.ends]
    paths.nexts = [position + length] * len(paths.nexts)
    _go(paths, broken, [start + words] * len(paths.ends))


def _go(paths: _Beam, broken: list[bool], ends: list[int]) -> None:
    """Add a chunk to the cost of paths with a broken chunk, and sort the paths again."""
    paths.ends = ends
    if not any(broken) or all(broken):
        return
    chunk = paths.scale.chunk
    costs = [cost + chunk if is_broken else cost for cost, is_broken in zip(paths.costs, broken, strict=True)]
    order = sorted(range(len(costs)), key=costs.__getitem__)
    paths.costs = [costs[number] for number in order]
    paths.used, paths.ends, paths.nexts = (
        [column[number] for number in order] for column in (paths.used, paths.ends, paths.nexts)
    )
    paths.steps.append(_Step(NO_END, order, 0))


def _branch(paths: _Beam, position: int, matches: Sequence[Match], beam: int) -> None:
    """Extend each path by each match with free words, and by none; keep the best `beam` paths."""
    scale = paths.scale
    chunk, count = scale.chunk, len(matches)
    choices = [
        (
            ((1 << words) - 1) << start,
            start,
            -scale.word * (int(WEIGHTS[module] * words) + int(WEIGHTS[module] * length)),
            scale.distance * abs(position - start),
        )
        for start, words, length, module in matches
    ]
    costs: list[float] = []
    add = costs.append
    before: float = 0
    for cost, used, end, following in zip(paths.costs, paths.used, paths.ends, paths.nexts, strict=True):
        cost += before
        before += scale.path
        if following > position:
            add(cost + count)
            continue
        for bits, start, gain, distance in choices:
            if not used & bits:
                add(cost + gain if end == start or end < 0 else cost + gain + chunk)
                cost += distance
            cost += 1
        add(cost if end < 0 else cost + chunk)
    costs.sort()
    del costs[beam:]
    mask = int(scale.distance) - 1
    origins = [int(cost) & mask for cost in costs]
    paths.costs = [cost - order for cost, order in zip(costs, origins, strict=True)]
    _follow(paths, _Step(position, origins, scale.bits, matches), [*choices, (0, 0, 0, 0)])


def _follow(paths: _Beam, step: _Step, choices: Sequence[tuple[int, int, float, float]]) -> None:
    """Update the other columns after a branch."""
    low, count, position = (1 << step.bits) - 1, len(step.matches), step.position
    parents = [origin >> step.bits for origin in step.origins]
    choice_of_path = [origin & low for origin in step.origins]
    used, ends, nexts = paths.used, paths.ends, paths.nexts
    after = [start + words for start, words, _, _ in step.matches] + [NO_END]
    following = [position + length for _, _, length, _ in step.matches] + [position + 1]
    paths.used = [used[parent] | choices[choice][0] for parent, choice in zip(parents, choice_of_path, strict=True)]
    paths.ends = [after[choice] for choice in choice_of_path]
    paths.nexts = [following[choice] for choice in choice_of_path]
    if max(nexts) > position:  # a path's phrase extends over this word
        for number, (parent, choice) in enumerate(zip(parents, choice_of_path, strict=True)):
            if choice == count and nexts[parent] > position:
                paths.ends[number], paths.nexts[number] = ends[parent], nexts[parent]
    paths.steps.append(step)


MODULES = ("exact", "stem", "synonym", "paraphrase")
MAX_MATCHES = 2_000_000  # a candidate and a reference of 10,000 ordinary words have about half as many
CACHED_WORDS = 100_000
SIEVE_SIZE = 1 << 16
Match = tuple[int, int, int, int]  # first candidate word, candidate words, reference words, index of the module
Partners = tuple[str, list[str]]  # a word of the reference, and the words of the candidate it matches
Grams = tuple[Numbers, "np.typing.NDArray[np.int64]", "np.typing.NDArray[np.int64]"]


@dataclass(frozen=True)
class MatchOptions:
    """Possible matches by the reference position where they begin, and the number of matches that cover each word."""

    matches: list[Sequence[Match]]
    candidate_cover: list[int]
    reference_cover: list[int]


class Matchers:
    """Modules that find matches, with their data and caches."""

    def __init__(
        self,
        modules: tuple[str, ...],
        stem: Callable[[str], str] = str,
        synonym_sets: Callable[[str], frozenset[str]] = lambda word: frozenset(),
        paraphrases: Paraphrases | None = None,
    ) -> None:
        self._modules = modules
        self._stem = stem
        self._sets = lru_cache(CACHED_WORDS)(synonym_sets)
        self._paraphrases = paraphrases
        self._numbers = PhraseNumbers()
        self._partners = {"exact": self._same_word, "stem": self._same_stem, "synonym": self._synonyms}

    def match(self, candidate: Sequence[str], reference: Sequence[str]) -> MatchOptions:
        """Return every possible match of a word or phrase of the candidate."""
        single = self._words(candidate, reference)
        total = sum(len(single[word]) for word in reference)
        if total > MAX_MATCHES:
            raise TextTooLongError(
                f"meteor: a candidate of {len(candidate):,} words and a reference of {len(reference):,} can be matched "
                f"in {total:,} ways, more than {MAX_MATCHES:,}; score them paragraph by paragraph"
            )
        matches: list[Sequence[Match]] = [single[word] for word in reference]
        if self._paraphrases is not None:
            for position, phrases in self._phrases(self._paraphrases, candidate, reference).items():
                matches[position] = [*matches[position], *phrases]
        return _cover(matches, len(candidate))

    def _words(self, candidate: Sequence[str], reference: Sequence[str]) -> dict[str, list[Match]]:
        """Return matches of single words for each distinct word of the reference."""
        positions: dict[str, list[int]] = {}
        for position, word in enumerate(candidate):
            positions.setdefault(word, []).append(position)
        matches: dict[str, list[Match]] = {word: [] for word in reference}
        for module, name in enumerate(self._modules):
            if name in self._partners:
                for word, partners in self._partners[name](positions, matches):
                    if len(partners) == 1:
                        matches[word] += [(position, 1, 1, module) for position in positions[partners[0]]]
                    else:  # in the order of the text
                        begins = sorted(position for partner in partners for position in positions[partner])
                        matches[word] += [(position, 1, 1, module) for position in begins]
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
            word_sets = self._sets(word)
            if not word_sets.isdisjoint(in_candidate):
                yield word, [partner for partner in sets if partner != word and not word_sets.isdisjoint(sets[partner])]

    def _phrases(
        self, table: Paraphrases, candidate: Sequence[str], reference: Sequence[str]
    ) -> dict[int, list[Match]]:
        """Match the table's paraphrases of the reference's phrases, then those of the candidate's."""
        candidate_grams, reference_grams = self._numbers.ngrams(candidate), self._numbers.ngrams(reference)
        module = self._modules.index("paraphrase")
        matches: dict[int, list[Match]] = {}
        for position, length, start, words in _paraphrase_matches(table, reference_grams, candidate_grams):
            matches.setdefault(position, []).append((start, words, length, module))
        for start, words, position, length in _paraphrase_matches(table, candidate_grams, reference_grams):
            matches.setdefault(position, []).append((start, words, length, module))
        return matches


def _paraphrase_matches(table: Paraphrases, sources: Grams, targets: Grams) -> list[tuple[int, int, int, int]]:
    """Return (source position, words, target position, words) of the table's entries that both texts contain."""
    numbers, starts, lengths = sources
    rows, begins, ends = table.find(numbers)
    sizes = ends - begins
    before = np.cumsum(sizes) - sizes
    entries = table.targets[np.repeat(begins - before, sizes) + np.arange(sizes.sum())]
    sieve = np.zeros(SIEVE_SIZE, bool)  # most entries are not in the target text
    sieve[targets[0].astype(np.uint16)] = True
    hits = np.flatnonzero(sieve[entries.astype(np.uint16)])
    if not len(hits):
        return []
    found_targets = entries[hits].tolist()
    present_targets: dict[int, list[tuple[int, int]]] = {number: [] for number in found_targets}
    for number, start, length in zip(*(column.tolist() for column in targets), strict=True):
        if number in present_targets:
            present_targets[number].append((start, length))
    rows = rows[np.searchsorted(before, hits, "right") - 1]
    return [
        (start, length, *target)
        for number, start, length in zip(found_targets, starts[rows].tolist(), lengths[rows].tolist(), strict=True)
        for target in present_targets[number]
    ]


def _cover(matches: list[Sequence[Match]], candidate_words: int) -> MatchOptions:
    candidate_cover, reference_cover = [0] * candidate_words, [0] * len(matches)
    for position, beginning in enumerate(matches):
        for start, words, length, _ in beginning:
            candidate_cover[start] += 1
            reference_cover[position] += 1
            if words > 1 or length > 1:  # rare
                for covered in range(start + 1, start + words):
                    candidate_cover[covered] += 1
                for covered in range(position + 1, position + length):
                    reference_cover[covered] += 1
    return MatchOptions(matches, candidate_cover, reference_cover)
