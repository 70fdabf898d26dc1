"""Lessons on all ROUGE variants for one pair of texts: what each adds, its counts, and its arithmetic.

In: the options of a group spec such as `rouge(stem=true)` and two texts. Out: lessons in teaching order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from evalign.core.metric import Metric
from evalign.core.options import option_fields
from evalign.core.registry import metric_class
from evalign.core.spec import format_spec
from evalign.errors import SpecError, nearest
from evalign.metrics.lexical.lcsr import LCSR
from evalign.metrics.lexical.rouge import counts as lcs
from evalign.metrics.lexical.rouge.counts import LineWeight, worth
from evalign.metrics.lexical.rouge.metrics import (
    RougeL,
    RougeLsum,
    RougeMEAD,
    RougeN,
    RougeS,
    RougeSU,
    RougeW,
    SkipBigrams,
    UnionLCS,
)
from evalign.metrics.lexical.rouge.scoring import Rouge
from evalign.render import html
from evalign.render.explain.parts import heading, line, score_pair, terms_table
from evalign.render.explain.rouge import (
    RougePair,
    counted_grams,
    f_fraction,
    precision_and_recall,
    read_pair,
    word_pairs,
)

NO_COMMON_NGRAMS = "the texts have no shorter n-grams in common, so these are 0 too"
TITLE = "All ROUGE variants on one pair"
FIELDS = ("precision", "recall", "f1", "score")
MAX_LISTED = 12  # words, n-grams, sentences or runs
MAX_PATH_CELLS = 10**6  # words times words of texts whose paths and pairs of words are computed
SHARES = "P = hits / {unit} of the candidate, R = hits / {unit} of the reference"


@dataclass(frozen=True)
class Variant:
    """A variant with its formula, and what it adds to the previous variant."""

    name: str
    formula: str
    adds: str
    options: tuple[tuple[str, str], ...] = ()
    in_script: bool = True  # whether ROUGE-1.5.5 includes it


VARIANTS = (
    Variant("rouge1", SHARES.format(unit="words"), "The start: words that are in both texts, in any order."),
    Variant("rouge2", SHARES.format(unit="pairs of neighbours"), "Adds order: two words must be neighbours."),
    Variant("rouge3", SHARES.format(unit="3-grams"), "Stricter: three neighbouring words."),
    *(
        Variant(f"rouge{n}", SHARES.format(unit=f"{n}-grams"), f"Stricter again: {n} words; only copied phrases count.")
        for n in range(4, 10)
    ),
    Variant(
        "rougeL",
        "P = LCS / words of the candidate, R = LCS / words of the reference",
        "No n to choose: the longest sequence of words that is in both texts in the same order, with gaps.",
    ),
    Variant(
        "lcsr",
        "LCSR = LCS / words of the longer text",
        "One number instead of P, R and F: the smaller share, so that extra length never helps.",
        in_script=False,
    ),
    Variant(
        "rougeLsum",
        "hits = words of each reference sentence on its LCS with any candidate sentence, each used once",
        "Sentences may be in a different order: each is compared with all sentences of the other text.",
    ),
    Variant(
        "rougeMEAD",
        "R = Σ best LCS of each reference sentence / words; P = Σ best LCS of each candidate sentence / words",
        "One partner for each sentence instead of the union over all; a partner may be used twice.",
        in_script=False,
    ),
    Variant(
        "rougeW",
        "WLCS = Σ f(k) over runs of k words, f(k) = k^weight; P = f⁻¹(WLCS) / words, R likewise",
        "Compared with rougeL: words in one run count more than the same words scattered.",
    ),
    Variant(
        "rougeW",
        "WLCS = Σ f(k) over runs of k words, f(k) = ak - b; P = (WLCS + b) / a / words, R likewise",
        "The same with a fixed cost: every run after the first costs b/a words.",
        (("weight", "2k-1"),),
        in_script=False,
    ),
    Variant(
        "rougeS",
        SHARES.format(unit="pairs of words"),
        "Order without neighbours: all pairs of words in the same order, with any words between them.",
    ),
    Variant(
        "rougeSU",
        SHARES.format(unit="pairs and words"),
        "Single words count too, so a text without a common pair is not 0.",
    ),
)


@dataclass(frozen=True)
class Lesson:
    """A variant on one pair: its counts, and the arithmetic that ends in the scores of the metric."""

    spec: str
    adds: str
    formula: str
    counted: str
    arithmetic: tuple[str, ...]
    scores: Mapping[str, float]
    brief: bool = False  # no counts to show: longer n-grams if no shorter ones are common


@dataclass(frozen=True)
class Lessons:
    """Lessons on a pair, the sentences of its texts, and the variants that the mode does not have."""

    sentences: Mapping[str, tuple[str, ...]]
    lessons: tuple[Lesson, ...]
    missing: tuple[str, ...]


def teach(options: Mapping[str, str], candidate: str, reference: str) -> Lessons:
    """Return the lessons of one pair.

    Args:
        options: Options of the group `rouge`; each is passed to the variants that have it.
        candidate: Candidate.
        reference: Reference.
    """
    allowed = {item.name for variant in VARIANTS for item in option_fields(metric_class(variant.name))}
    for key in options:
        if key not in allowed:
            raise SpecError(f"rouge has no option {key!r}; {nearest(key, sorted(allowed))}")
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
    metric_type: type[Metric] = metric_class(variant.name)
    accepted = {item.name for item in option_fields(metric_type)}
    selected = {key: value for key, value in options.items() if key in accepted} | dict(variant.options)
    try:
        return metric_type.from_options(selected, variant.name)
    except SpecError as error:  # an option or value that only other variants accept
        name = format_spec(variant.name, dict(variant.options))
        raise SpecError(
            f"{name} does not accept this ({error}); explain a variant that does, such as rougeL"
        ) from error


def _lesson(variant: Variant, metric: Any, candidate: str, reference: str) -> Lesson:
    _, segment = score_pair(metric, candidate, reference)
    pair = read_pair(metric, candidate, reference)
    counted, arithmetic = "a text has no words: all scores are 0, flagged empty", tuple[str, ...]()
    if pair.candidate.letters and pair.reference.letters:
        counted = next(COUNTED[cls] for cls in type(metric).__mro__ if cls in COUNTED)(metric, pair)
        arithmetic = _arithmetic(metric, pair, segment.scores)
    return Lesson(str(metric), variant.adds, variant.formula, counted, arithmetic, segment.scores)


def _arithmetic(metric: Any, pair: RougePair, scores: Mapping[str, float]) -> tuple[str, ...]:
    if isinstance(metric, LCSR):
        lengths = len(pair.candidate.letters), len(pair.reference.letters)
        return (f"LCSR = {_lcs(pair)} / max({lengths[0]}, {lengths[1]}) = {scores['score']:.5f}",)
    precision, recall = precision_and_recall(metric, pair)
    return (
        f"P = {precision.fraction} = {precision.value:.5f}",
        f"R = {recall.fraction} = {recall.value:.5f}",
        f"F = {f_fraction(metric, precision.value, recall.value)} = {scores['f1']:.5f}",
    )


def _ngrams(metric: RougeN, pair: RougePair) -> str:
    both = counted_grams(metric, pair.candidate.letters) & counted_grams(metric, pair.reference.letters)
    return f"in both: {_named(pair, both)}"


def _longest(metric: Rouge | LCSR, pair: RougePair) -> str:
    if _is_large(pair):
        return f"a common sequence of {_lcs(pair)} words"
    path = [pair.reference.letters[row] for row, _ in reversed(lcs.lcs_cells(*_letters(pair)))]
    return f"in both, in this order: {_listed([pair.words[letter] for letter in path])}"


def _union(metric: RougeL | RougeLsum, pair: RougePair) -> str:
    if metric.mode == "paper" and metric.name == "rougeL":
        return _longest(metric, pair)
    counted = metric.counted(pair.candidate, pair.reference)
    sentences = [
        pair.text(sentence[index] for index in indices)
        for sentence, indices in zip(pair.reference.sentences, counted, strict=True)
    ]
    return f"of each reference sentence: {_listed([words or '(nothing)' for words in sentences], '; ')}"


def _best_partners(metric: RougeMEAD, pair: RougePair) -> str:
    best = lcs.best_lengths(pair.reference.sentences, pair.candidate.sentences)
    sums = [f"{' + '.join(map(str, side[:MAX_LISTED]))}{' + ...' if len(side) > MAX_LISTED else ''}" for side in best]
    return f"best partners: {sums[0]} words of the reference, {sums[1]} of the candidate"


def _runs(metric: RougeW, pair: RougePair) -> str:
    if metric.mode == "rouge155" or _is_large(pair):
        return "runs on the common sequence, each counts f of its length"
    cells = list(reversed(lcs.weighted_cells(*_letters(pair), metric.run_weight)))
    runs: list[int] = []
    for index, cell in enumerate(cells):
        if index and cell == (cells[index - 1][0] + 1, cells[index - 1][1] + 1):
            runs[-1] += 1
        else:
            runs.append(1)
    weight = metric.run_weight
    formula = str(weight) if isinstance(weight, LineWeight) else f"k^{weight:g}"
    value = sum(worth(weight, run) for run in runs)
    return f"f(k) = {formula}; runs of {_listed(list(map(str, runs)))} words, total {value:.4f}"


def _skip_bigrams(metric: RougeS | RougeSU, pair: RougePair) -> str:
    counts = metric.counts(pair.candidate, pair.reference)
    if _is_large(pair):
        return f"in both: {counts.hit:.0f}"
    both = word_pairs(pair.candidate.letters, metric.gap) & word_pairs(pair.reference.letters, metric.gap)
    words = ""
    if metric.counts_words:
        words = f"; and single words: {metric.word_counts(pair.candidate, pair.reference).hit:.0f}"
    return f"in both: {_named(pair, both)}{words}"


COUNTED: dict[type, Callable[[Any, RougePair], str]] = {
    RougeN: _ngrams,
    LCSR: _longest,
    UnionLCS: _union,
    RougeMEAD: _best_partners,
    RougeW: _runs,
    SkipBigrams: _skip_bigrams,
}


def _named(pair: RougePair, counts: Counter[str]) -> str:
    names = [pair.text(letters) + (f" ×{count}" if count > 1 else "") for letters, count in counts.items()]
    return f"{_listed(names)}; {counts.total()} in all" if len(names) > 1 else _listed(names)


def _listed(names: Iterable[str], between: str = ", ") -> str:
    entries = list(names)
    more = f"{between}... and {len(entries) - MAX_LISTED} more" if len(entries) > MAX_LISTED else ""
    return between.join(entries[:MAX_LISTED]) + more if entries else "nothing"


def _lcs(pair: RougePair) -> int:
    return int(lcs.lcs_lengths([pair.candidate.letters], [pair.reference.letters])[0])


def _letters(pair: RougePair) -> tuple[str, str]:
    return pair.reference.letters, pair.candidate.letters


def _is_large(pair: RougePair) -> bool:
    return len(pair.candidate.letters) * len(pair.reference.letters) > MAX_PATH_CELLS


def lessons_text(lessons: Lessons) -> RenderableType:
    """Return the sentences, one block per variant, and a table of all scores."""
    parts: list[RenderableType] = [Text(TITLE, style="bold")]
    for name, sentences in lessons.sentences.items():
        parts.append(line(f"{name}: {len(sentences)} sentence{'' if len(sentences) == 1 else 's'}", "dim"))
        parts += [line(f"   {sentence}") for sentence in sentences]
    for lesson in lessons.lessons:
        if lesson.brief:
            parts.append(line(f"{lesson.spec}: {NO_COMMON_NGRAMS}", "dim"))
            continue
        parts += [heading(lesson.spec), line(lesson.adds, "cyan"), line(lesson.formula, "dim"), line(lesson.counted)]
        parts += [line(step) for step in lesson.arithmetic]
    parts += [heading("All variants"), terms_table(("variant", *FIELDS), _rows(lessons))]
    return Group(*parts, *(Text(f"\n{sentence}", style="dim") for sentence in _missing(lessons)))


def lessons_html(lessons: Lessons) -> str:
    """Return the lessons as an HTML page."""
    texts = "".join(
        f"<h3>{name}</h3>\n<ol>{html.items(sentences)}</ol>\n" for name, sentences in lessons.sentences.items()
    )
    rows = [("", cells) for cells in _rows(lessons)]
    scores = html.table("Scores", ("variant", *FIELDS), rows)
    sections = [("texts", "The texts, by sentence", texts)]
    for number, lesson in enumerate(lessons.lessons, 1):
        steps = "".join(f"<dd>{html.text(step)}</dd>\n" for step in (lesson.counted, *lesson.arithmetic))
        content = f"<p>{html.text(lesson.adds)}</p>\n<dl><dt>{html.text(lesson.formula)}</dt>\n{steps}</dl>\n"
        if lesson.brief:
            content = f"<p>{html.text(NO_COMMON_NGRAMS)}</p>\n"
        sections.append((f"variant{number}", lesson.spec, content))
    sections.append(("scores", "All variants", scores + html.paragraphs(_missing(lessons))))
    body = "".join(html.section(*section) for section in sections)
    return html.page(TITLE, "", [(name, title) for name, title, _ in sections], body)


def _missing(lessons: Lessons) -> list[str]:
    if not lessons.missing:
        return []
    return [f"ROUGE-1.5.5 has no {', no '.join(lessons.missing)}: see them without mode=rouge155."]


def _rows(lessons: Lessons) -> list[list[str]]:
    return [
        [lesson.spec, *(f"{lesson.scores[field]:.5f}" if field in lesson.scores else "" for field in FIELDS)]
        for lesson in lessons.lessons
    ]
