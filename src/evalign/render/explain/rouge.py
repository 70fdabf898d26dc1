"""Explain ROUGE and LCSR on one screen: words, hits (n-grams, the LCS table with its path), fractions, F."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evalign.core import Floats
from evalign.metrics.lexical.lcsr import LCSR
from evalign.metrics.lexical.rouge import counts as lcs
from evalign.metrics.lexical.rouge.counts import LineWeight, RunWeight
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
from evalign.metrics.lexical.rouge.scoring import OWN_RATIO, Rouge
from evalign.metrics.lexical.rouge.words import LetterText, shared_reader
from evalign.render.explain.parts import (
    ending,
    explain,
    heading,
    line,
    matrix,
    more_line,
    pairs_table,
    score_pair,
)
from evalign.render.tables import signature_line
from evalign.render.terminal import visible

MAX_TABLE_WORDS = 14  # of either text; longer texts are listed
MAX_LISTED = 40
MAX_PATH_CELLS = 10**6  # words times words of texts whose path is shown
MAX_PAIR_WORDS = 60  # of a text whose pairs of words are listed
MAX_WORDS = 80


@dataclass(frozen=True)
class RougePair:
    """Two texts as ROUGE compares them, in which a letter stands for a word, and the word of each letter."""

    candidate: LetterText
    reference: LetterText
    words: Mapping[str, str]

    def text(self, letters: Iterable[str]) -> str:
        """Return the words of letters."""
        return " ".join(self.words[letter] for letter in letters)


def read_pair(metric: Rouge | LCSR, candidate: str, reference: str) -> RougePair:
    """Return two texts as the metric reads them."""
    left, right, words = shared_reader(metric.reading()).pair(candidate, reference)
    return RougePair(left, right, {letter: visible(word) for letter, word in words.items()})


def steps(metric: Rouge, pair: RougePair) -> list[RenderableType]:
    """Return the steps of counting for the type of the metric."""
    return next(STEPS[cls] for cls in type(metric).__mro__ if cls in STEPS)(metric, pair)


def _ngrams(metric: RougeN, pair: RougePair) -> list[RenderableType]:
    candidate, reference = (counted_grams(metric, reading.letters) for reading in (pair.candidate, pair.reference))
    both = candidate & reference
    rows = [(pair.text(gram), str(candidate[gram]), str(reference[gram]), str(hit)) for gram, hit in both.items()]
    return [
        heading(f"2. {metric.n}-grams in both"),
        pairs_table(("n-gram", "candidate", "reference", "counted"), "lrrr", rows[:MAX_LISTED]),
        *more_line(len(rows), MAX_LISTED),
        line(f"{both.total()} hits"),
        *_listed("only in the reference", [pair.text(gram) for gram in reference - both]),
    ]


def counted_grams(metric: RougeN, letters: str) -> Counter[str]:
    """Return the n-grams of a text with the counts that the metric uses."""
    counts = grams(letters, metric.n)
    return Counter(list(counts)) if metric.exclusive else counts


def grams(letters: str, order: int) -> Counter[str]:
    """Return the n-grams of a text with their frequencies."""
    return Counter(letters[start : start + order] for start in range(len(letters) - order + 1))


def _longest(metric: RougeL, pair: RougePair) -> list[RenderableType]:
    if metric.mode != "paper":
        return _union(metric, pair)
    return [
        heading("2. Longest common subsequence: reference down, candidate across"),
        *lcs_path(pair, 1, lcs.lcs_cells),
        line(f"{lcs.lcs_lengths([pair.reference.letters], [pair.candidate.letters])[0]} words"),
    ]


def _union(metric: RougeL | RougeLsum, pair: RougePair) -> list[RenderableType]:
    title = heading("2. Union LCS: words of each reference sentence on a path to any candidate sentence")
    return [title, *_marked(pair, metric.counted(pair.candidate, pair.reference))]


def lcs_path(pair: RougePair, weight: RunWeight, find: Callable[[str, str], lcs.Cells]) -> list[RenderableType]:
    """Return the table of LCS values, if it fits, and the words on the path; empty for very long texts."""
    reference, candidate = pair.reference.letters, pair.candidate.letters
    if len(reference) * len(candidate) > MAX_PATH_CELLS:
        return []
    cells = find(reference, candidate)
    words = _listed("path", [pair.words[reference[row]] for row, _ in reversed(cells)])
    if max(len(reference), len(candidate)) > MAX_TABLE_WORDS:
        return words
    return [_grid(pair, lcs.weighted_rows(reference, candidate, weight), cells), *words]


def _marked(pair: RougePair, marked: Sequence[Sequence[int]]) -> list[RenderableType]:
    """Return reference sentences with the counted words marked."""
    lines: list[RenderableType] = []
    for sentence, indices in list(zip(pair.reference.sentences, marked, strict=True))[:MAX_LISTED]:
        words, counted = line(""), set(indices)
        for index, letter in enumerate(sentence[: 4 * MAX_LISTED]):
            words.append(f"[{pair.words[letter]}]" if index in counted else pair.words[letter],
                         style="bold cyan" if index in counted else "dim")  # fmt: skip
            words.append(" ")
        lines.append(words.append(f"  {len(counted)} of {len(sentence)}"))
    return [*lines, line(f"{sum(map(len, marked))} words; each word of either text is used once")]


def _best_pairs(metric: RougeMEAD, pair: RougePair) -> list[RenderableType]:
    parts: list[RenderableType] = [heading("2. Each sentence with its best partner (most words in the same order)")]
    sentences = {"reference": pair.reference.sentences, "candidate": pair.candidate.sentences}
    for name, partners in zip(sentences, reversed(sentences.values()), strict=True):
        lengths, _ = lcs.best_lengths(sentences[name], partners)
        parts.append(line(f"{name} sentences", "dim"))
        for sentence, length in list(zip(sentences[name], lengths, strict=True))[:MAX_LISTED]:
            partner = partners[int(lcs.lcs_lengths([sentence] * len(partners), partners).argmax())]
            parts.append(line(f"   {length} of {len(sentence)}: {pair.text(sentence)}  ~  {pair.text(partner)}"))
        parts.append(line(f"   sum {int(lengths.sum())}"))
    return parts


def _weighted(metric: RougeW, pair: RougePair) -> list[RenderableType]:
    weight = metric.run_weight
    formula = str(weight) if isinstance(weight, LineWeight) else f"k ^ {weight:g}"
    if metric.mode == "rouge155":
        marked, counted = metric.runs(pair.candidate, pair.reference)
        values = list(map(metric.run_value, pair.reference.sentences, marked, counted))
        terms = " + ".join(f"{value:.4f}" for value in values[:MAX_LISTED])
        title = heading(f"2. Runs of words on a path, a run of k words counts {formula}")
        return [title, *_marked(pair, counted), line(f"{terms} = {sum(values):.4f}")]
    value = lcs.weighted_length(pair.reference.letters, pair.candidate.letters, weight)
    return [
        heading(f"2. Weighted LCS: a run of k words counts {formula}"),
        *lcs_path(pair, weight, partial(lcs.weighted_cells, weight=weight)),
        line(f"WLCS = {value:.4f}"),
    ]


def _skip_bigrams(metric: RougeS | RougeSU, pair: RougePair) -> list[RenderableType]:
    texts = pair.candidate.letters, pair.reference.letters
    counts = metric.counts(pair.candidate, pair.reference)
    parts: list[RenderableType] = [heading("2. Pairs of words in order, in both")]
    if max(map(len, texts)) <= MAX_PAIR_WORDS:
        both = word_pairs(texts[0], metric.gap) & word_pairs(texts[1], metric.gap)
        parts += _listed("", [pair.text(two) + (f" ×{hit}" if hit > 1 else "") for two, hit in both.items()])
    if metric.counts_words:
        words = metric.word_counts(pair.candidate, pair.reference)
        parts.append(line(f"and single words: {words.hit} in both, of {words.peer} and {words.model}"))
    return [*parts, line(f"{counts.hit} hits; candidate {counts.peer}, reference {counts.model} in all")]


def word_pairs(letters: str, gap: int | None) -> Counter[str]:
    """Return the pairs of words in order with at most `gap` words between them."""
    reach = len(letters) if gap is None else gap + 2
    return Counter(first + second for i, first in enumerate(letters) for second in letters[i + 1 : i + reach])


STEPS: dict[type, Callable[[Any, RougePair], list[RenderableType]]] = {
    RougeN: _ngrams,
    RougeL: _longest,
    UnionLCS: _union,
    RougeMEAD: _best_pairs,
    RougeW: _weighted,
    SkipBigrams: _skip_bigrams,
}


def _grid(pair: RougePair, values: Floats, cells: lcs.Cells) -> Table:
    """Return a table of values with the matches on the path in brackets."""
    path = set(cells)
    lines = []
    for i, letter in enumerate(pair.reference.letters):
        numbers = [
            Text(f"[{value:.4g}]", style="bold cyan") if (i, j) in path else Text(f"{value:.4g} ", style="dim")
            for j, value in enumerate(values[i])
        ]
        lines.append((line(pair.words[letter], "bold"), numbers))
    return matrix([pair.words[letter][:7] for letter in pair.candidate.letters], lines)


def _listed(name: str, texts: Sequence[str]) -> list[RenderableType]:
    if not texts:
        return []
    more = f" ... and {len(texts) - MAX_LISTED} more" if len(texts) > MAX_LISTED else ""
    return [line(f"{name + ': ' if name else ''}{', '.join(texts[:MAX_LISTED])}{more}", "dim" if name else "")]


@dataclass(frozen=True)
class Share:
    """Precision or recall: its value, and its fraction as text."""

    value: float
    fraction: str


def precision_and_recall(metric: Rouge, pair: RougePair) -> tuple[Share, Share]:
    """Return both shares of a pair of non-empty texts; with mode=rouge155 rounded to five digits."""
    if metric.mode == "rouge155":
        counts = metric.counts(pair.candidate, pair.reference)
        totals = counts.peer, counts.model
        values = [round(metric.ratio(counts.hit, total), 5) if total else 0.0 for total in totals]
        fractions = [f"{counts.hit:.5g} / {total:.5g}" for total in totals]
        if isinstance(metric, RougeW):
            fractions = [f"({fraction}) ^ (1 / {metric.weight:g})" for fraction in fractions]
    else:
        values = [float(side[0]) for side in metric.pairs([pair.candidate], [pair.reference])]
        fractions = _runs(metric, pair) if isinstance(metric, RougeW) else _units(metric, pair, values)
    precision, recall = map(Share, values, fractions)
    return precision, recall


def f_fraction(metric: Rouge, p: float, r: float) -> str:
    """Return the formula of F with its numbers."""
    if p == 0 and r == 0:
        return "0, as P and R are 0"
    if metric.beta == OWN_RATIO:
        return f"RP (R² + P²) / (R³ + P³), with beta = P/R = {p / r:.4f}"
    alpha = metric.precision_weight
    if alpha == 0.5:
        return f"2 · {p:.5f} · {r:.5f} / ({p:.5f} + {r:.5f})"
    return f"{p:.5f} · {r:.5f} / ({1 - (alpha or 0):.4g} · {p:.5f} + {alpha:.4g} · {r:.5f})"


def _units(metric: Rouge, pair: RougePair, values: list[float]) -> list[str]:
    totals = metric.units(pair.candidate), metric.units(pair.reference)
    return [f"{value * total:.0f} / {total}" for value, total in zip(values, totals, strict=True)]


def _runs(metric: RougeW, pair: RougePair) -> list[str]:
    weight = metric.run_weight
    value = lcs.weighted_length(pair.candidate.letters, pair.reference.letters, weight)
    lengths = len(pair.candidate.letters), len(pair.reference.letters)
    if isinstance(weight, LineWeight):
        words = f"(({value:.4f} + {weight.gap:g}) / {weight.slope:g})" if value else "0"
        return [f"{words} / {length}" for length in lengths]
    return [f"({value:.4f} / {length}^{weight:g}) ^ (1 / {weight:g})" for length in lengths]


@explain.register(Rouge)
def explain_rouge(metric: Rouge, candidate: str, reference: str) -> RenderableType:
    """Show tokens, hits, and the steps from hits to precision, recall and F of the metric."""
    report = metric.score([candidate], [reference])
    scores, flags = report.segments[0].scores, report.segments[0].flags
    pair = read_pair(metric, candidate, reference)
    left, right = pair.candidate, pair.reference
    parts = word_lines(pair)
    if flags:
        parts.append(line(f"flags: {', '.join(flags)}", "bold dark_orange"))
    if left.letters and right.letters:
        parts += [*steps(metric, pair), *_arithmetic(metric, pair, scores["f1"])]
    parts += [heading("The score"), line("   ".join(f"{name} {value:.5f}" for name, value in scores.items()))]
    return Group(*parts, signature_line(report.signature))


@explain.register(LCSR)
def explain_lcsr(metric: LCSR, candidate: str, reference: str) -> RenderableType:
    """Show the common subsequence, and its length divided by that of the longer text."""
    scorer, segment = score_pair(metric, candidate, reference)
    pair = read_pair(metric, candidate, reference)
    left, right = pair.candidate, pair.reference
    parts = word_lines(pair)
    if left.letters and right.letters:
        lengths = len(left.letters), len(right.letters)
        (hits,) = lcs.lcs_lengths([left.letters], [right.letters])
        parts += [
            heading("2. Longest common subsequence: reference down, candidate across"),
            *lcs_path(pair, 1, lcs.lcs_cells),
            heading("3. Divided by the length of the longer text"),
            line(f"LCSR = {hits} / max({lengths[0]}, {lengths[1]}) = {segment.scores['score']:.5f}"),
        ]
    return Group(*parts, *ending(metric, segment, scorer.signature))


def word_lines(pair: RougePair) -> list[RenderableType]:
    """Return the words of both texts below a heading."""
    return [heading("1. Words"), *_words("candidate", pair.candidate, pair), *_words("reference", pair.reference, pair)]


def _words(name: str, reading: LetterText, pair: RougePair) -> list[RenderableType]:
    """Return the compared words of one text, a line per sentence, at most `MAX_WORDS`."""
    lines = [line(f"{name}: {len(reading.letters)} words", "dim")]
    left = MAX_WORDS
    for sentence in reading.sentences:
        if left <= 0:
            break
        lines.append(line("   " + pair.text(sentence[:left])))
        left -= len(sentence)
    return [*lines, *more_line(len(reading.letters), MAX_WORDS, "   ")]


def _arithmetic(metric: Rouge, pair: RougePair, f: float) -> list[RenderableType]:
    """Return precision and recall as fractions, and F with its numbers."""
    precision, recall = precision_and_recall(metric, pair)
    return [
        heading(f"3. Shares{', rounded to five digits' if metric.mode == 'rouge155' else ''}"),
        line(f"P = {precision.fraction} = {precision.value:.5f}"),
        line(f"R = {recall.fraction} = {recall.value:.5f}"),
        heading("4. F, their weighted harmonic mean"),
        line(f"F = {f_fraction(metric, precision.value, recall.value)} = {f:.5f}"),
    ]
