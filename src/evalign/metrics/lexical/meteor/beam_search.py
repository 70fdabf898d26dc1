"""METEOR's choice among all possible matches: a beam search along the reference.

A path is better the more words it matches (module weight times words, cut to whole numbers as in METEOR 1.5), then the
fewer chunks it has, then the shorter the distances between matched words; among equals the one found first stays first.
METEOR adds a match's distance to the alternatives tried after it rather than to the path that takes it; so does this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from evalign.metrics.lexical.meteor.matchers import Match, Options

NOWHERE = -1
PRECISION = 52  # bits that a float holds exactly
# Of the first, second, ... module. METEOR 1.5 aligns with these whatever the language, the task and its weights are.
WEIGHTS = (1.0, 0.5, 0.5, 0.5)


@dataclass(frozen=True)
class _Scale:
    """What a unit of each kind adds to a cost: matched words, chunks, distance, and last the order of discovery.

    A cost is one number. Where all fields fit it is a float, which Python adds and sorts faster; else a whole number.
    """

    word: float
    chunk: float
    distance: float
    path: float
    bits: int  # of the number of a match within the order


def _scale(options: Options, beam: int) -> _Scale:
    longest = max(len(options.candidate_cover), len(options.matches))
    bits = max(map(len, options.matches)).bit_length()
    order = bits + beam.bit_length()
    distance = (sum(map(len, options.matches)) * longest + 1).bit_length()
    chunk = longest.bit_length() + 1
    kind: type[float] = float if order + distance + 2 * chunk + 1 <= PRECISION else int
    word, chunk_unit, unit, path = (
        kind(1 << shift) for shift in (order + distance + chunk, order + distance, order, bits)
    )
    return _Scale(word, chunk_unit, unit, path, bits)


@dataclass
class _Step:
    """Where each path came from: the number of the path before and, in the low bits, the match it took."""

    place: int
    came: list[int]
    bits: int
    matches: Sequence[Match] = ()


@dataclass
class _Beam:
    """The paths of the search, best first, as columns."""

    scale: _Scale
    costs: list[float] = field(default_factory=lambda: [0])
    used: list[int] = field(default_factory=lambda: [0])  # candidate words taken, as bits
    ends: list[int] = field(default_factory=lambda: [NOWHERE])  # where an open chunk ends in the candidate
    nexts: list[int] = field(default_factory=lambda: [0])  # the first reference word not yet decided
    steps: list[_Step] = field(default_factory=list)


def align(options: Options, beam: int) -> list[tuple[int, Match]]:
    """The chosen matches as (reference place, match), in the order of the reference."""
    if not any(options.matches):
        return []
    paths = _Beam(_scale(options, beam))
    sure: list[tuple[int, Match]] = []
    for place, matches in enumerate(options.matches):
        if not matches:
            _skip(paths, place)
        elif len(matches) == 1 and _only(options, place, matches[0]):
            sure.append((place, matches[0]))
            _take(paths, place, matches[0])
        else:
            _branch(paths, place, matches, beam)
    finals = [cost + (end != NOWHERE) * paths.scale.chunk for cost, end in zip(paths.costs, paths.ends, strict=True)]
    return sorted(sure + _taken(paths.steps, finals.index(min(finals))))


def _taken(steps: list[_Step], number: int) -> list[tuple[int, Match]]:
    """The matches of one path, read from its end."""
    taken = []
    for step in reversed(steps):
        number, choice = step.came[number] >> step.bits, step.came[number] & ((1 << step.bits) - 1)
        if choice < len(step.matches):
            taken.append((step.place, step.matches[choice]))
    return taken


def _only(options: Options, place: int, match: Match) -> bool:
    """Whether no other match covers any of its words: then it is taken without an alternative."""
    start, words, length, _ = match
    covers = *options.candidate_cover[start : start + words], *options.reference_cover[place : place + length]
    return all(cover == 1 for cover in covers)


def _skip(paths: _Beam, place: int) -> None:
    """No match begins here: open chunks end, unless a phrase of the path reaches over this word."""
    over = [following > place for following in paths.nexts]
    ends = [end if far else NOWHERE for end, far in zip(paths.ends, over, strict=True)]
    _go(paths, [old != new for old, new in zip(paths.ends, ends, strict=True)], ends)


def _take(paths: _Beam, place: int, match: Match) -> None:
    """Every path takes the match; what is equal for all is left out of the costs."""
    start, words, length, _ = match
    broken = [end not in (NOWHERE, start) for end in paths.ends]
    paths.nexts = [place + length] * len(paths.nexts)
    _go(paths, broken, [start + words] * len(paths.ends))


def _go(paths: _Beam, broken: list[bool], ends: list[int]) -> None:
    """Adds a chunk to the cost of the paths whose chunk is broken, and sorts the paths again."""
    paths.ends = ends
    if not any(broken) or all(broken):
        return
    chunk = paths.scale.chunk
    costs = [cost + chunk if ends_here else cost for cost, ends_here in zip(paths.costs, broken, strict=True)]
    order = sorted(range(len(costs)), key=costs.__getitem__)
    paths.costs = [costs[number] for number in order]
    paths.used, paths.ends, paths.nexts = (
        [column[number] for number in order] for column in (paths.used, paths.ends, paths.nexts)
    )
    paths.steps.append(_Step(NOWHERE, order, 0))


def _branch(paths: _Beam, place: int, matches: Sequence[Match], beam: int) -> None:
    """Each path with each match whose words are free, and with none; the best `beam` of them stay."""
    scale = paths.scale
    chunk, count = scale.chunk, len(matches)
    choices = [
        (
            ((1 << words) - 1) << start,
            start,
            -scale.word * (int(WEIGHTS[module] * words) + int(WEIGHTS[module] * length)),
            scale.distance * abs(place - start),
        )
        for start, words, length, module in matches
    ]
    costs: list[float] = []
    add = costs.append
    before: float = 0
    for cost, used, end, following in zip(paths.costs, paths.used, paths.ends, paths.nexts, strict=True):
        cost += before
        before += scale.path
        if following > place:
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
    came = [int(cost) & mask for cost in costs]
    paths.costs = [cost - order for cost, order in zip(costs, came, strict=True)]
    _follow(paths, _Step(place, came, scale.bits, matches), [*choices, (0, 0, 0, 0)])


def _follow(paths: _Beam, step: _Step, choices: Sequence[tuple[int, int, float, float]]) -> None:
    """Sets the other columns after a branch."""
    low, count, place = (1 << step.bits) - 1, len(step.matches), step.place
    parents = [came >> step.bits for came in step.came]
    chosen = [came & low for came in step.came]
    used, ends, nexts = paths.used, paths.ends, paths.nexts
    after = [start + words for start, words, _, _ in step.matches] + [NOWHERE]
    following = [place + length for _, _, length, _ in step.matches] + [place + 1]
    paths.used = [used[parent] | choices[choice][0] for parent, choice in zip(parents, chosen, strict=True)]
    paths.ends = [after[choice] for choice in chosen]
    paths.nexts = [following[choice] for choice in chosen]
    if max(nexts) > place:  # some path's phrase reaches over this word
        for number, (parent, choice) in enumerate(zip(parents, chosen, strict=True)):
            if choice == count and nexts[parent] > place:
                paths.ends[number], paths.nexts[number] = ends[parent], nexts[parent]
    paths.steps.append(step)
