"""METEOR's arithmetic: parameters by language and task, the counts of one aligned pair, and the score they give.

The counts are those METEOR 1.5 prints with -ssOut, in its order, and add up over rows; the corpus score is the same
arithmetic on their sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from evalign.errors import SpecError
from evalign.metrics.lexical.meteor.matchers import MODULES, Match

# alpha, beta, gamma, delta and the weights of the first, second, ... module (Denkowski & Lavie 2014).
RANK = {
    "en": ((0.85, 0.2, 0.6, 0.75), (1.0, 0.6, 0.8, 0.6)),
    "cz": ((0.95, 0.2, 0.6, 0.8), (1.0, 0.4)),
    "de": ((0.95, 1.0, 0.55, 0.55), (1.0, 0.8)),
    "es": ((0.65, 1.3, 0.5, 0.8), (1.0, 0.8)),
    "fr": ((0.9, 1.4, 0.6, 0.65), (1.0, 0.2)),
}
ENGLISH_ONLY = {
    "adq": ((0.75, 1.4, 0.45, 0.7), (1.0, 1.0, 0.6, 0.8)),
    "hter": ((0.4, 1.5, 0.35, 0.55), (1.0, 0.2, 0.6, 0.8)),
}
ANY_LANGUAGE = {
    "li": ((0.75, 1.4, 0.7, 0.5), (1.0, 0.5, 0.5, 0.5)),
    "tune": ((0.5, 1.0, 0.5, 0.5), (1.0, 0.5, 0.5, 0.5)),
}
TASKS = ("rank", *ENGLISH_ONLY, *ANY_LANGUAGE)
Aligned = Sequence[tuple[int, Match]]


@dataclass(frozen=True)
class Parameters:
    """What decides a score once the texts are aligned; `weights` has one number per module."""

    alpha: float
    beta: float
    gamma: float
    delta: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Judgement:
    """All quantities on the way to the score."""

    precision: float
    recall: float
    f_mean: float
    fragmentation: float
    penalty: float
    score: float


def default_parameters(language: str, task: str, modules: int) -> Parameters:
    """METEOR's own numbers; for a language it was never tuned for, the language-independent ones."""
    if task in ENGLISH_ONLY and language != "en":
        raise SpecError(f"task={task}: METEOR has parameters for it in English only; use rank, li or tune")
    if task == "rank":
        numbers, weights = RANK.get(language, ANY_LANGUAGE["li"])
    else:
        numbers, weights = (ENGLISH_ONLY | ANY_LANGUAGE)[task]
    return Parameters(*numbers, (*weights, *[0.0] * modules)[:modules])


def count(
    candidate: Sequence[str], reference: Sequence[str], aligned: Aligned, function_words: frozenset[str]
) -> tuple[float, ...]:
    """The 23 counts of a pair: lengths, function words, matches by module and kind of word, chunks, matched words."""
    ours, theirs = ([word.lower() in function_words for word in text] for text in (candidate, reference))
    by_module = [0] * (4 * len(MODULES))  # content of candidate and reference, function words of both
    matched = [0, 0]
    for place, (start, words, length, module) in aligned:
        for side, function, begin, size in ((0, ours, start, words), (1, theirs, place, length)):
            matched[side] += size
            function_count = sum(function[begin : begin + size])
            by_module[4 * module + side] += size - function_count
            by_module[4 * module + 2 + side] += function_count
    chunks = max(chunk_numbers(aligned), default=0)
    if chunks == 1 and matched == [len(candidate), len(reference)]:
        chunks = 0  # nothing is fragmented; METEOR sums it like this, too
    return tuple(map(float, (len(candidate), len(reference), sum(ours), sum(theirs), *by_module, chunks, *matched)))


def chunk_numbers(aligned: Aligned) -> list[int]:
    """The number of each match's chunk, from 1: a run of matches that follow each other in both texts."""
    numbers = [1] if aligned else []
    for (place, (start, words, length, _)), (next_place, (next_start, *_)) in pairwise(aligned):
        numbers.append(numbers[-1] + (place + length != next_place or start + words != next_start))
    return numbers


def judge(counts: Sequence[float], parameters: Parameters) -> Judgement:
    """P and R weigh content words by delta; F leans to recall by alpha; chunks cost gamma * fragmentation ** beta."""
    lengths, functions = counts[0:2], counts[2:4]
    chunks, matched = counts[-3], counts[-2:]
    sides = []
    for side in (0, 1):
        total = _weigh(parameters.delta, lengths[side] - functions[side], functions[side])
        hits = sum(
            weight * _weigh(parameters.delta, counts[4 + 4 * module + side], counts[6 + 4 * module + side])
            for module, weight in enumerate(parameters.weights)
        )
        sides.append(hits / total if total else 0.0)
    precision, recall = sides
    below = parameters.alpha * precision + (1 - parameters.alpha) * recall
    f_mean = precision * recall / below if below else 0.0
    fragmentation = 2 * chunks / sum(matched) if sum(matched) else 0.0
    if chunks == 1 and tuple(matched) == tuple(lengths):
        fragmentation = 0.0
    penalty = parameters.gamma * fragmentation**parameters.beta if fragmentation else 0.0
    return Judgement(precision, recall, f_mean, fragmentation, penalty, f_mean * (1 - penalty))


def _weigh(delta: float, content: float, function: float) -> float:
    return delta * content + (1 - delta) * function
