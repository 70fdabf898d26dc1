"""METEOR 1.5 (Denkowski & Lavie 2014) without Java: words, stems, synonyms and paraphrases aligned in few chunks.

    rows -> words (`words.py`) -> possible matches and their choice (`alignment.py`) -> counts -> score

Function words, synonyms and paraphrases come from the extra `meteor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

from evalign.core import Row, Segment
from evalign.core.metric import Metric, Scorer
from evalign.core.options import number_within, option
from evalign.core.spec import Signature
from evalign.errors import MissingExtraError, SpecError, nearest
from evalign.metrics.lexical.meteor.alignment import MODULES, Match, Matchers, align
from evalign.metrics.lexical.meteor.paraphrases import MeteorFiles, find_meteor_files, load_paraphrases, load_synonyms
from evalign.metrics.lexical.meteor.words import NORMALIZE, STEMMERS, Abbreviations, meteor_stemmer, meteor_words
from evalign.version import __version__

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
    """Parameters of the score of aligned texts; `weights` has one number per module."""

    alpha: float
    beta: float
    gamma: float
    delta: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class MeteorResult:
    """Intermediate quantities and the score of a pair."""

    precision: float
    recall: float
    f_mean: float
    fragmentation: float
    penalty: float
    score: float


def default_parameters(language: str, task: str, modules: int) -> Parameters:
    """Return METEOR's parameters; the language-independent ones for languages without tuned parameters."""
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
    """Return the 23 counts of a pair.

    They are lengths, function words, matches by module and type of word, chunks, matched words.
    """
    left, right = ([word.lower() in function_words for word in text] for text in (candidate, reference))
    by_module = [0] * (4 * len(MODULES))  # content of candidate and reference, function words of both
    matched = [0, 0]
    for position, (start, words, length, module) in aligned:
        for side, function, begin, size in (
            (0, left, start, words),
            (1, right, position, length),
        ):
            matched[side] += size
            function_count = sum(function[begin : begin + size])
            by_module[4 * module + side] += size - function_count
            by_module[4 * module + 2 + side] += function_count
    chunks = max(chunk_numbers(aligned), default=0)
    if chunks == 1 and matched == [len(candidate), len(reference)]:
        chunks = 0  # no fragmentation, as METEOR sums it
    return tuple(
        map(
            float,
            (
                len(candidate),
                len(reference),
                sum(left),
                sum(right),
                *by_module,
                chunks,
                *matched,
            ),
        )
    )


def chunk_numbers(aligned: Aligned) -> list[int]:
    """Return each match's chunk number from 1; a chunk is a run of matches that are consecutive in both texts."""
    numbers = [1] if aligned else []
    for (position, (start, words, length, _)), (next_position, (next_start, *_)) in pairwise(aligned):
        numbers.append(numbers[-1] + (position + length != next_position or start + words != next_start))
    return numbers


def score_counts(counts: Sequence[float], parameters: Parameters) -> MeteorResult:
    """Compute the score from counts.

    P and R weigh content words by delta; F weighs recall by alpha; chunks cost gamma * fragmentation ** beta.
    """
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
    denominator = parameters.alpha * precision + (1 - parameters.alpha) * recall
    f_mean = precision * recall / denominator if denominator else 0.0
    fragmentation = 2 * chunks / sum(matched) if sum(matched) else 0.0
    if chunks == 1 and tuple(matched) == tuple(lengths):
        fragmentation = 0.0
    penalty = parameters.gamma * fragmentation**parameters.beta if fragmentation else 0.0
    return MeteorResult(precision, recall, f_mean, fragmentation, penalty, f_mean * (1 - penalty))


def _weigh(delta: float, content: float, function: float) -> float:
    return delta * content + (1 - delta) * function


LANGUAGES = ("en", "cz", "de", "es", "fr", "other")
INSTALL = "pip install 'evalign[meteor]'"
NO_DATA = "no-meteor-data"
NUMBERS = ("alpha", "beta", "gamma", "delta")
CACHED_TEXTS = 4096


@dataclass(frozen=True)
class Meteor(Metric):
    """Unigram F, weighted towards recall, less a penalty for broken order."""

    name: ClassVar[str] = "meteor"
    about: ClassVar[str] = f"METEOR 1.5: exact, stem, synonym and paraphrase matches ({INSTALL} for the last two)"
    searches: ClassVar[bool] = True
    pools: ClassVar[bool] = True  # METEOR's final score is its arithmetic on the summed counts

    language: str = option("en", "which stems, function words and parameters; other: words only", LANGUAGES)
    task: str = option("rank", "what the parameters were tuned for; adq and hter in English only", TASKS)
    modules: str | None = option(
        None, f"of exact+stem+synonym+paraphrase; the default is all there are, which in English needs {INSTALL}"
    )
    normalize: str = option("punctuation", "METEOR's -norm, -norm -noPunct, -lower, or the text as it is", NORMALIZE)
    alpha: float | None = option(
        None, "weight of recall in F, instead of the task's", parse=number_within("alpha", 0, 1)
    )
    beta: float | None = option(
        None, "exponent of the fragmentation, instead of the task's", parse=number_within("beta", 0, 100)
    )
    gamma: float | None = option(None, "largest penalty, instead of the task's", parse=number_within("gamma", 0, 1))
    delta: float | None = option(
        None, "weight of content words, instead of the task's", parse=number_within("delta", 0, 1)
    )
    weights: str | None = option(None, "one per module as in 1+0.6+0.8, instead of the task's")
    beam: int = option(40, "paths kept while aligning", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.modules is not None:
            self._check_modules(self.modules.split("+"))
        modules = len(self.modules.split("+")) if self.modules else None
        object.__setattr__(self, "weights", _joined(_weights(self.weights, modules)) or None)
        if self.language == "other" and self.normalize in ("punctuation", "no-punctuation"):
            raise SpecError("language=other: METEOR cannot cut such texts into words; use normalize=lower or none")
        default_parameters(self.language, self.task, 1)

    def scorer(self, rows: Iterable[Row] | None = None) -> MeteorScorer:
        """Read the data of the extra `meteor`, if it is installed."""
        return MeteorScorer(self, find_meteor_files())

    def from_totals(self, totals: Sequence[float], rows: int) -> Mapping[str, float]:
        """Return the score of all rows together."""
        return {"score": score_counts(totals, self.parameters(self.chosen_modules(find_meteor_files()))).score}

    def chosen_modules(self, files: MeteorFiles | None) -> tuple[str, ...]:
        """Return the modules to run: those of the option, or all of this language and installation."""
        if self.modules is not None:
            chosen = tuple(self.modules.split("+"))
            if files is None and (missing := [name for name in chosen if name in ("synonym", "paraphrase")]):
                raise MissingExtraError(f"meteor(modules={'+'.join(missing)})", "meteor")
            return chosen
        return _available(self.language) if files else _available(self.language)[:2]

    def parameters(self, modules: tuple[str, ...]) -> Parameters:
        """Return the task's parameters, overridden by the options."""
        defaults = default_parameters(self.language, self.task, len(modules))
        changed = {name: number for name in NUMBERS if (number := getattr(self, name)) is not None}
        weights = _weights(self.weights, len(modules)) or defaults.weights
        return replace(defaults, **changed, weights=weights)

    def signature(self, files: MeteorFiles | None) -> Signature:
        """Return the settings that decide the numbers, the data's digests included."""
        modules = self.chosen_modules(files)
        data = f"{files.jar.sha256[:8]}" if files else "none"
        if files and "paraphrase" in modules:
            data += f"+{files.paraphrases.sha256[:8]}"
        settings = {"lang": self.language, "task": self.task, "modules": "+".join(modules)}
        settings |= {**self._printed(modules), "norm": self.normalize, "beam": str(self.beam), "data": data}
        return self.signed(settings | {"multiref": "best", "v": __version__})

    def _printed(self, modules: tuple[str, ...]) -> dict[str, str]:
        numbers = self.parameters(modules)
        return {name: _joined([getattr(numbers, name)]) for name in NUMBERS} | {"weights": _joined(numbers.weights)}

    def _check_modules(self, chosen: list[str]) -> None:
        for name in chosen:
            if name not in MODULES:
                raise SpecError(f"modules={self.modules}: {name!r} is none; {nearest(name, MODULES)}")
            if name not in _available(self.language):
                raise SpecError(f"modules={self.modules}: there is no {name} data for language={self.language}")
        if chosen[0] != "exact" or sorted(set(chosen), key=MODULES.index) != chosen:
            raise SpecError(
                f"modules={self.modules}: expected exact first, then others in the order {'+'.join(MODULES)}"
            )


class MeteorScorer(Scorer):
    """Scorer of METEOR with its tables."""

    def __init__(self, metric: Meteor, files: MeteorFiles | None) -> None:
        self.metric = metric
        self.modules = metric.chosen_modules(files)
        self.parameters = metric.parameters(self.modules)
        self.signature = metric.signature(files)
        self.words = lru_cache(CACHED_TEXTS)(self._words)
        self._flags = {} if files else {NO_DATA: 1}
        if not files:
            self.note = f"meteor compares words and stems only ({NO_DATA}); {INSTALL} adds synonyms and paraphrases"
        self._function_words = files.function_words() if files else frozenset()
        self._abbreviations = files.abbreviations(metric.language) if files else Abbreviations()
        lookups: dict[str, Any] = {}
        if "stem" in self.modules:
            lookups["stem"] = meteor_stemmer(metric.language)
        if files and "synonym" in self.modules:
            lookups["synonym_sets"] = load_synonyms(files)
        if files and "paraphrase" in self.modules:
            lookups["paraphrases"] = load_paraphrases(files.paraphrases)
        self._matchers = Matchers(self.modules, **lookups)

    def score(self, rows: list[Row]) -> list[Segment]:
        """Return one segment per row: the best of its references."""
        return [self._segment(row) for row in rows]

    def aligned(self, candidate: tuple[str, ...], reference: tuple[str, ...]) -> list[tuple[int, Match]]:
        """Return the chosen matches of two texts as (reference position, match)."""
        return align(self._matchers.match(candidate, reference), self.metric.beam)

    def scored(self, candidate: tuple[str, ...], reference: tuple[str, ...]) -> tuple[MeteorResult, tuple[float, ...]]:
        """Return the quantities of one pair, and its counts."""
        aligned = self.aligned(candidate, reference) if candidate and reference else []
        counts = count(candidate, reference, aligned, self._function_words)
        return score_counts(counts, self.parameters), counts

    def search_steps(self, candidate: str, reference: str) -> int:
        """Return how often the search extends a path by a match, at most."""
        matches = self._matchers.match(self.words(candidate), self.words(reference)).matches
        return self.metric.beam * sum(map(len, matches))

    def is_function_word(self, word: str) -> bool:
        """Return whether a word weighs 1 - delta."""
        return word.lower() in self._function_words

    def _segment(self, row: Row) -> Segment:
        candidate = self.words(row.candidate)
        references = [self.words(text) for text in row.references]
        pairs = [self.scored(candidate, reference) for reference in references]
        best, counts = max(pairs, key=lambda pair: pair[0].score)  # the first of equals
        empty = not candidate or not any(references)
        flags = {"empty": 1, **self._flags} if empty else self._flags
        return Segment(row.id, {"score": 0.0 if empty else best.score}, flags, statistics=counts)

    def _words(self, text: str) -> tuple[str, ...]:
        return tuple(meteor_words(text, self.metric.language, self.metric.normalize, self._abbreviations))


def _available(language: str) -> tuple[str, ...]:
    """Return METEOR's modules for a language in this wheel, which has English paraphrases only."""
    return MODULES if language == "en" else MODULES[:2] if language in STEMMERS else MODULES[:1]


def _joined(numbers: Sequence[float]) -> str:
    return "+".join(f"{number:.12g}" for number in numbers)


def _weights(text: str | None, modules: int | None) -> tuple[float, ...]:
    """Return the numbers joined by +, one per module; empty if the option is not set."""
    if text is None:
        return ()
    try:
        numbers = tuple(map(float, text.split("+")))
    except ValueError:
        numbers = ()
    if not numbers or len(numbers) != (modules or len(numbers)) or not all(0 <= number <= 1 for number in numbers):
        raise SpecError(
            f"weights={text}: expected {modules or 'some'} numbers joined by +, one per module, from 0 to 1"
        )
    return numbers
