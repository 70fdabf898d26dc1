"""METEOR 1.5 (Denkowski & Lavie 2014) without Java: words, stems, synonyms and paraphrases aligned in few chunks.

Rows flow through `tokenizer` (words), `matchers` (possible matches), `beam_search` (the chosen ones) and `formula` (the
counts and the score). Function words, synonyms and paraphrases come from the extra `meteor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

from evalign.errors import MissingExtraError, SpecError, nearest
from evalign.metrics.base import Metric, Scorer
from evalign.metrics.lexical.meteor.beam_search import align
from evalign.metrics.lexical.meteor.data_files import MeteorFiles, find_meteor_files, load_synonyms
from evalign.metrics.lexical.meteor.formula import TASKS, Judgement, Parameters, count, default_parameters, judge
from evalign.metrics.lexical.meteor.matchers import MODULES, Match, Matchers
from evalign.metrics.lexical.meteor.paraphrases import load_paraphrases
from evalign.metrics.lexical.meteor.stems import STEMMERS, meteor_stemmer
from evalign.metrics.lexical.meteor.tokenizer import NORMALIZE, Abbreviations, meteor_words
from evalign.metrics.options import option
from evalign.metrics.signature import Signature
from evalign.types import Row, Segment
from evalign.version import __version__

LANGUAGES = ("en", "cz", "de", "es", "fr", "other")
INSTALL = "pip install 'evalign[meteor]'"
NO_DATA = "no-meteor-data"
NUMBERS = ("alpha", "beta", "gamma", "delta")
TEXTS_REMEMBERED = 4096


@dataclass(frozen=True)
class Meteor(Metric):
    """Unigram F, leaning to recall, less a penalty for broken order."""

    name: ClassVar[str] = "meteor"
    about: ClassVar[str] = f"METEOR 1.5: exact, stem, synonym and paraphrase matches ({INSTALL} for the last two)"
    pools: ClassVar[bool] = True  # METEOR's final score is its arithmetic on the summed counts
    explainer: ClassVar[str] = "meteor:explain_meteor"

    language: str = option("en", "which stems, function words and parameters; other: words only", LANGUAGES)
    task: str = option("rank", "what the parameters were tuned for; adq and hter in English only", TASKS)
    modules: str | None = option(
        None, f"of exact+stem+synonym+paraphrase; the default is all there are, which in English needs {INSTALL}"
    )
    normalize: str = option("punctuation", "METEOR's -norm, -norm -noPunct, -lower, or the text as it is", NORMALIZE)
    alpha: str | None = option(None, "weight of recall in F, instead of the task's")
    beta: str | None = option(None, "exponent of the fragmentation, instead of the task's")
    gamma: str | None = option(None, "largest penalty, instead of the task's")
    delta: str | None = option(None, "weight of content words, instead of the task's")
    weights: str | None = option(None, "one per module as in 1+0.6+0.8, instead of the task's")
    beam: int = option(40, "paths kept while aligning", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.modules is not None:
            self._check_modules(self.modules.split("+"))
        modules = len(self.modules.split("+")) if self.modules else None
        for name in (*NUMBERS, "weights"):
            expected, most = (modules if name == "weights" else 1), (100 if name == "beta" else 1)
            object.__setattr__(self, name, _joined(_numbers(name, getattr(self, name), expected, most)) or None)
        if self.language == "other" and self.normalize in ("punctuation", "no-punctuation"):
            raise SpecError("language=other: METEOR cannot cut such texts into words; use normalize=lower or none")
        default_parameters(self.language, self.task, 1)

    def scorer(self, rows: Iterable[Row] | None = None) -> MeteorScorer:
        """Reads the data of the extra `meteor`, if it is installed."""
        return MeteorScorer(self, find_meteor_files())

    def from_totals(self, totals: Sequence[float], rows: int) -> Mapping[str, float]:
        """The score of all rows together."""
        return {"score": judge(totals, self.parameters(self.chosen_modules(find_meteor_files()))).score}

    def chosen_modules(self, files: MeteorFiles | None) -> tuple[str, ...]:
        """The modules to run: those asked for, or all that this language and this installation have."""
        if self.modules is not None:
            chosen = tuple(self.modules.split("+"))
            if files is None and (missing := [name for name in chosen if name in ("synonym", "paraphrase")]):
                raise MissingExtraError(f"meteor(modules={'+'.join(missing)})", "meteor")
            return chosen
        return _available(self.language) if files else _available(self.language)[:2]

    def parameters(self, modules: tuple[str, ...]) -> Parameters:
        """The task's parameters with the options' numbers in their place."""
        defaults = default_parameters(self.language, self.task, len(modules))
        changed = {name: float(text) for name in NUMBERS if (text := getattr(self, name)) is not None}
        weights = _numbers("weights", self.weights, len(modules)) or defaults.weights
        return replace(defaults, **changed, weights=weights)

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """The metric whose numbers carry this signature."""
        names = {"lang": "language", "task": "task", "norm": "normalize", "beam": "beam"}
        metric = cls.from_options({name: signature[key] for key, name in names.items()})
        modules = tuple(signature["modules"].split("+"))
        if modules != metric.chosen_modules(find_meteor_files()):
            metric = replace(metric, modules="+".join(modules))
        defaults = metric._printed(modules)
        changed: dict[str, Any] = {name: signature[name] for name in defaults if signature[name] != defaults[name]}
        metric = replace(metric, **changed)
        data_here = metric.signature(find_meteor_files())["data"]
        if signature["data"] != data_here:
            raise SpecError(
                f"the signature pins METEOR's data {signature['data']}, but what is found here is {data_here}"
            )
        return metric

    def signature(self, files: MeteorFiles | None) -> Signature:
        """Everything that decides the numbers, the data's digests included."""
        modules = self.chosen_modules(files)
        data = f"{files.jar.sha256[:8]}" if files else "none"
        if files and "paraphrase" in modules:
            data += f"+{files.paraphrases.sha256[:8]}"
        settings = {"lang": self.language, "task": self.task, "modules": "+".join(modules)}
        settings |= {**self._printed(modules), "norm": self.normalize, "beam": str(self.beam), "data": data}
        return Signature(self.name, settings | {"multiref": "best", "v": __version__})

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
    """METEOR with its tables read."""

    def __init__(self, metric: Meteor, files: MeteorFiles | None) -> None:
        self.metric = metric
        self.modules = metric.chosen_modules(files)
        self.parameters = metric.parameters(self.modules)
        self.signature = metric.signature(files)
        self.words = lru_cache(TEXTS_REMEMBERED)(self._words)
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
        """One segment per row: the best of its references."""
        return [self._segment(row) for row in rows]

    def aligned(self, candidate: tuple[str, ...], reference: tuple[str, ...]) -> list[tuple[int, Match]]:
        """The chosen matches of two texts as (reference place, match)."""
        return align(self._matchers.match(candidate, reference), self.metric.beam)

    def judged(self, candidate: tuple[str, ...], reference: tuple[str, ...]) -> tuple[Judgement, tuple[float, ...]]:
        """The quantities of one pair, and its counts."""
        aligned = self.aligned(candidate, reference) if candidate and reference else []
        counts = count(candidate, reference, aligned, self._function_words)
        return judge(counts, self.parameters), counts

    def is_function_word(self, word: str) -> bool:
        """Whether a word weighs 1 - delta."""
        return word.lower() in self._function_words

    def _segment(self, row: Row) -> Segment:
        candidate = self.words(row.candidate)
        references = [self.words(text) for text in row.references]
        pairs = [self.judged(candidate, reference) for reference in references]
        best, counts = max(pairs, key=lambda pair: pair[0].score)  # the first of equals
        empty = not candidate or not any(references)
        flags = {"empty": 1, **self._flags} if empty else self._flags
        return Segment(row.id, {"score": 0.0 if empty else best.score}, flags, statistics=counts)

    def _words(self, text: str) -> tuple[str, ...]:
        return tuple(meteor_words(text, self.metric.language, self.metric.normalize, self._abbreviations))


def _available(language: str) -> tuple[str, ...]:
    """What METEOR has for a language in this wheel: paraphrases of other languages are not in it."""
    return MODULES if language == "en" else MODULES[:2] if language in STEMMERS else MODULES[:1]


def _joined(numbers: Sequence[float]) -> str:
    return "+".join(f"{number:.12g}" for number in numbers)


def _numbers(name: str, text: str | None, expected: int | None, most: float = 1) -> tuple[float, ...]:
    """Numbers joined by +; none if the option is not set."""
    if text is None:
        return ()
    try:
        numbers = tuple(map(float, text.split("+")))
    except ValueError:
        numbers = ()
    if not numbers or len(numbers) != (expected or len(numbers)) or not all(0 <= number <= most for number in numbers):
        how_many = "a number" if expected == 1 else f"{expected or 'some'} numbers joined by +, one per module,"
        raise SpecError(f"{name}={text}: expected {how_many} from 0 to {most}")
    return numbers
