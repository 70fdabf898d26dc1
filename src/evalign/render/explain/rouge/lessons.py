"""Every ROUGE variant on one pair of texts, each as a lesson: what it adds, what it counts here, and its arithmetic.

In: the options of a group spec such as `rouge(stem=true)` and two texts. Out: lessons in teaching order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalign.errors import SpecError, nearest
from evalign.metrics.base import Metric
from evalign.metrics.lexical.lcsr import LCSR
from evalign.metrics.lexical.rouge import lcs
from evalign.metrics.lexical.rouge.formula import Line, worth
from evalign.metrics.lexical.rouge.metrics import RougeMEAD, RougeN, RougeW, UnionLCS
from evalign.metrics.lexical.rouge.scoring import Rouge
from evalign.metrics.lexical.rouge.skip_bigrams import RougeS, RougeSU
from evalign.metrics.options import option_fields
from evalign.metrics.registry import metric_class
from evalign.metrics.spec import format_spec
from evalign.render.explain.parts import score_pair
from evalign.render.explain.rouge.steps import (
    Pair,
    counted_grams,
    f_fraction,
    precision_and_recall,
    read_pair,
    word_pairs,
)

LISTED = 12  # words, n-grams, sentences or runs that are named
LISTED_CELLS = 10**6  # words times words of texts whose paths and pairs of words are looked for
SHARES = "P = hits / {unit} of the candidate, R = hits / {unit} of the reference"


@dataclass(frozen=True)
class Variant:
    """What a variant teaches: its formula, and what it adds to the variant before it."""

    name: str
    formula: str
    adds: str
    options: tuple[tuple[str, str], ...] = ()
    in_script: bool = True  # whether ROUGE-1.5.5 has it


VARIANTS = (
    Variant("rouge1", SHARES.format(unit="words"), "The start: which words are in both texts, in whatever order."),
    Variant("rouge2", SHARES.format(unit="pairs of neighbours"), "Order enters: two words must stand side by side."),
    Variant("rouge3", SHARES.format(unit="3-grams"), "Stricter: three words side by side."),
    *(
        Variant(f"rouge{n}", SHARES.format(unit=f"{n}-grams"), f"Stricter again: {n} words; copied phrases show.")
        for n in range(4, 10)
    ),
    Variant(
        "rougeL",
        "P = LCS / words of the candidate, R = LCS / words of the reference",
        "No n to choose: the longest sequence of words that is in both in this order, with gaps.",
    ),
    Variant(
        "lcsr",
        "LCSR = LCS / words of the longer text",
        "One number instead of P, R and F: the smaller share, so length never pays.",
        in_script=False,
    ),
    Variant(
        "rougeLsum",
        "hits = words of each reference sentence on its LCS with any candidate sentence, each used once",
        "Sentences may come in another order: each looks for its words in all sentences of the other text.",
    ),
    Variant(
        "rougeMEAD",
        "R = Σ best LCS of each reference sentence / words; P = Σ best LCS of each candidate sentence / words",
        "One partner for each sentence instead of the union over all, and a partner may serve twice.",
        in_script=False,
    ),
    Variant(
        "rougeW",
        "WLCS = Σ f(k) over runs of k words, f(k) = k^weight; P = f⁻¹(WLCS) / words, R likewise",
        "Against rougeL: words in one run are worth more than the same words scattered.",
    ),
    Variant(
        "rougeW",
        "WLCS = Σ f(k) over runs of k words, f(k) = ak - b; P = (WLCS + b) / a / words, R likewise",
        "The same with a fixed price: every run after the first costs b/a words.",
        (("weight", "2k-1"),),
        in_script=False,
    ),
    Variant(
        "rougeS",
        SHARES.format(unit="pairs of words"),
        "Order without neighbours: every two words in this order, whatever is between them.",
    ),
    Variant(
        "rougeSU",
        SHARES.format(unit="pairs and words"),
        "Single words count too, so a text without any common pair is not 0 at once.",
    ),
)


@dataclass(frozen=True)
class Lesson:
    """A variant on one pair: what was counted, and the arithmetic that ends in the metric's own scores."""

    spec: str
    adds: str
    formula: str
    counted: str
    arithmetic: tuple[str, ...]
    scores: Mapping[str, float]
    brief: bool = False  # whether the lesson before has said it all: longer n-grams where shorter ones are missing


@dataclass(frozen=True)
class Lessons:
    """All variants on a pair, the sentences of its texts, and the names of the variants that the mode does not have."""

    sentences: Mapping[str, tuple[str, ...]]
    lessons: tuple[Lesson, ...]
    missing: tuple[str, ...]


def teach(options: Mapping[str, str], candidate: str, reference: str) -> Lessons:
    """The lessons of one pair; an option goes to the variants that have it."""
    known = {item.name for variant in VARIANTS for item in option_fields(metric_class(variant.name))}
    for key in options:
        if key not in known:
            raise SpecError(f"rouge has no option {key!r}; {nearest(key, sorted(known))}")
    script = options.get("mode") == "rouge155"
    metrics = {variant: _metric(variant, options) for variant in VARIANTS if variant.in_script or not script}
    by_sentence = next(metric for metric in metrics.values() if metric.name == "rougeLsum")
    pair = read_pair(by_sentence, candidate, reference)
    sides = {"candidate": pair.candidate, "reference": pair.reference}
    lessons: list[Lesson] = []
    for variant, metric in metrics.items():
        lesson = _lesson(variant, metric, candidate, reference)
        before = lessons[-1] if lessons else lesson
        idle = isinstance(metric, RougeN) and metric.n > 1 and not any(before.scores.values())
        lessons.append(replace(lesson, brief=idle))
    return Lessons(
        {name: tuple(map(pair.text, reading.sentences)) for name, reading in sides.items()},
        tuple(lessons),
        tuple(format_spec(variant.name, dict(variant.options)) for variant in VARIANTS if variant not in metrics),
    )


def _metric(variant: Variant, options: Mapping[str, str]) -> Any:
    kind: type[Metric] = metric_class(variant.name)
    own = {item.name for item in option_fields(kind)}
    chosen = {key: value for key, value in options.items() if key in own} | dict(variant.options)
    try:
        return kind.from_options(chosen, variant.name)
    except SpecError as error:  # an option that others take, and this one not, or not with this value
        name = format_spec(variant.name, dict(variant.options))
        raise SpecError(f"{name} does not take this ({error}); explain one variant that does, without --all") from error


def _lesson(variant: Variant, metric: Any, candidate: str, reference: str) -> Lesson:
    _, segment = score_pair(metric, candidate, reference)
    pair = read_pair(metric, candidate, reference)
    counted, arithmetic = "a text has no words: everything is 0, flagged empty", tuple[str, ...]()
    if pair.candidate.letters and pair.reference.letters:
        counted = next(COUNTED[kind] for kind in type(metric).__mro__ if kind in COUNTED)(metric, pair)
        arithmetic = _arithmetic(metric, pair, segment.scores)
    return Lesson(str(metric), variant.adds, variant.formula, counted, arithmetic, segment.scores)


def _arithmetic(metric: Any, pair: Pair, scores: Mapping[str, float]) -> tuple[str, ...]:
    if isinstance(metric, LCSR):
        lengths = len(pair.candidate.letters), len(pair.reference.letters)
        return (f"LCSR = {_lcs(pair)} / max({lengths[0]}, {lengths[1]}) = {scores['score']:.5f}",)
    precision, recall = precision_and_recall(metric, pair)
    return (
        f"P = {precision.fraction} = {precision.value:.5f}",
        f"R = {recall.fraction} = {recall.value:.5f}",
        f"F = {f_fraction(metric, precision.value, recall.value)} = {scores['f1']:.5f}",
    )


def _ngrams(metric: RougeN, pair: Pair) -> str:
    both = counted_grams(metric, pair.candidate.letters) & counted_grams(metric, pair.reference.letters)
    return f"in both: {_named(pair, both)}"


def _longest(metric: Rouge | LCSR, pair: Pair) -> str:
    if _is_large(pair):
        return f"a common sequence of {_lcs(pair)} words"
    path = [pair.reference.letters[place] for place, _ in reversed(lcs.lcs_cells(*_letters(pair)))]
    return f"in both, in this order: {_listed([pair.words[letter] for letter in path])}"


def _union(metric: UnionLCS, pair: Pair) -> str:
    if metric.mode == "paper" and metric.name == "rougeL":
        return _longest(metric, pair)
    counted = metric.counted(pair.candidate, pair.reference)
    sentences = [
        pair.text(sentence[place] for place in places)
        for sentence, places in zip(pair.reference.sentences, counted, strict=True)
    ]
    return f"of each reference sentence: {_listed([words or '(nothing)' for words in sentences], '; ')}"


def _best_partners(metric: RougeMEAD, pair: Pair) -> str:
    best = lcs.best_lengths(pair.reference.sentences, pair.candidate.sentences)
    sums = [f"{' + '.join(map(str, side[:LISTED]))}{' + ...' if len(side) > LISTED else ''}" for side in best]
    return f"best partners: {sums[0]} words of the reference, {sums[1]} of the candidate"


def _runs(metric: RougeW, pair: Pair) -> str:
    if metric.mode == "rouge155" or _is_large(pair):
        return "runs on the common sequence, each worth f of its length"
    cells = list(reversed(lcs.weighted_cells(*_letters(pair), metric.run_weight)))
    runs: list[int] = []
    for place, cell in enumerate(cells):
        if place and cell == (cells[place - 1][0] + 1, cells[place - 1][1] + 1):
            runs[-1] += 1
        else:
            runs.append(1)
    weight = metric.run_weight
    formula = str(weight) if isinstance(weight, Line) else f"k^{weight:g}"
    value = sum(worth(weight, run) for run in runs)
    return f"f(k) = {formula}; runs of {_listed(list(map(str, runs)))} words, worth {value:.4f}"


def _skip_bigrams(metric: RougeS, pair: Pair) -> str:
    counts = metric.counts(pair.candidate, pair.reference)
    if _is_large(pair):
        return f"in both: {counts.hit:.0f}"
    both = word_pairs(pair.candidate.letters, metric.gap) & word_pairs(pair.reference.letters, metric.gap)
    words = ""
    if isinstance(metric, RougeSU):
        words = f"; and single words: {metric.word_counts(pair.candidate, pair.reference).hit:.0f}"
    return f"in both: {_named(pair, both)}{words}"


COUNTED: dict[type, Callable[[Any, Pair], str]] = {
    RougeN: _ngrams,
    LCSR: _longest,
    UnionLCS: _union,
    RougeMEAD: _best_partners,
    RougeW: _runs,
    RougeS: _skip_bigrams,
}


def _named(pair: Pair, counts: Counter[str]) -> str:
    names = [pair.text(letters) + (f" ×{count}" if count > 1 else "") for letters, count in counts.items()]
    return f"{_listed(names)}; {counts.total()} in all" if len(names) > 1 else _listed(names)


def _listed(names: Iterable[str], between: str = ", ") -> str:
    every = list(names)
    more = f"{between}... and {len(every) - LISTED} more" if len(every) > LISTED else ""
    return between.join(every[:LISTED]) + more if every else "nothing"


def _lcs(pair: Pair) -> int:
    return int(lcs.lcs_lengths([pair.candidate.letters], [pair.reference.letters])[0])


def _letters(pair: Pair) -> tuple[str, str]:
    return pair.reference.letters, pair.candidate.letters


def _is_large(pair: Pair) -> bool:
    return len(pair.candidate.letters) * len(pair.reference.letters) > LISTED_CELLS
