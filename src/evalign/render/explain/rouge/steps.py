"""What each ROUGE metric finds in a pair of texts, and the fractions it becomes: n-grams, the LCS table with its path,
runs, pairs of words; precision, recall and F as they are computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalign.metrics.lexical.lcsr import LCSR
from evalign.metrics.lexical.rouge import lcs
from evalign.metrics.lexical.rouge.formula import Line, RunWeight
from evalign.metrics.lexical.rouge.metrics import RougeL, RougeMEAD, RougeN, RougeW, UnionLCS
from evalign.metrics.lexical.rouge.options import OWN_RATIO
from evalign.metrics.lexical.rouge.reading import Reading, shared_reader
from evalign.metrics.lexical.rouge.scoring import Rouge
from evalign.metrics.lexical.rouge.skip_bigrams import RougeS, RougeSU
from evalign.render.explain.parts import heading, line, matrix, more_line, pairs_table
from evalign.render.terminal import visible
from evalign.types import Floats

TABLE_WORDS = 14  # on either side; longer texts are listed
SHOWN = 40
LISTED_CELLS = 10**6
LISTED_PAIRS = 60  # words of a text whose pairs of words are listed


@dataclass(frozen=True)
class Pair:
    """Both readings, and the word of each letter."""

    candidate: Reading
    reference: Reading
    words: Mapping[str, str]

    def text(self, letters: Iterable[str]) -> str:
        """The words behind letters."""
        return " ".join(self.words[letter] for letter in letters)


def read_pair(metric: Rouge | LCSR, candidate: str, reference: str) -> Pair:
    """Two texts as the metric reads them."""
    own, other, words = shared_reader(metric.reading()).shown(candidate, reference)
    return Pair(own, other, {letter: visible(word) for letter, word in words.items()})


def steps(metric: Rouge, pair: Pair) -> list[RenderableType]:
    """What is counted, metric by metric."""
    return next(STEPS[kind] for kind in type(metric).__mro__ if kind in STEPS)(metric, pair)


def _ngrams(metric: RougeN, pair: Pair) -> list[RenderableType]:
    candidate, reference = (counted_grams(metric, reading.letters) for reading in (pair.candidate, pair.reference))
    both = candidate & reference
    rows = [(pair.text(gram), str(candidate[gram]), str(reference[gram]), str(hit)) for gram, hit in both.items()]
    return [
        heading(f"2. {metric.n}-grams in both"),
        pairs_table(("n-gram", "candidate", "reference", "counted"), "lrrr", rows[:SHOWN]),
        *more_line(len(rows), SHOWN),
        line(f"{both.total()} hits"),
        *_listed("only in the reference", [pair.text(gram) for gram in reference - both]),
    ]


def counted_grams(metric: RougeN, letters: str) -> Counter[str]:
    """The n-grams of a text and how often each counts."""
    counts = grams(letters, metric.n)
    return Counter(list(counts)) if metric.exclusive else counts


def grams(letters: str, order: int) -> Counter[str]:
    """The n-grams of a text and how often each occurs."""
    return Counter(letters[place : place + order] for place in range(len(letters) - order + 1))


def _longest(metric: RougeL, pair: Pair) -> list[RenderableType]:
    if metric.mode != "paper":
        return _union(metric, pair)
    return [
        heading("2. Longest common subsequence: reference down, candidate across"),
        *lcs_path(pair, 1, lcs.lcs_cells),
        line(f"{lcs.lcs_lengths([pair.reference.letters], [pair.candidate.letters])[0]} words"),
    ]


def _union(metric: UnionLCS, pair: Pair) -> list[RenderableType]:
    title = heading("2. Union LCS: words of each reference sentence on a path to any candidate sentence")
    return [title, *_marked(pair, metric.counted(pair.candidate, pair.reference))]


def lcs_path(pair: Pair, weight: RunWeight, find: Callable[[str, str], lcs.Cells]) -> list[RenderableType]:
    """The table of LCS values, where it fits, and the words on the path; nothing of very long texts."""
    reference, candidate = pair.reference.letters, pair.candidate.letters
    if len(reference) * len(candidate) > LISTED_CELLS:
        return []
    cells = find(reference, candidate)
    words = _listed("path", [pair.words[reference[place]] for place, _ in reversed(cells)])
    if max(len(reference), len(candidate)) > TABLE_WORDS:
        return words
    return [_grid(pair, lcs.weighted_rows(reference, candidate, weight), cells), *words]


def _marked(pair: Pair, marked: Sequence[Sequence[int]]) -> list[RenderableType]:
    """Reference sentences with the words that count."""
    lines: list[RenderableType] = []
    for sentence, places in list(zip(pair.reference.sentences, marked, strict=True))[:SHOWN]:
        words, counted = line(""), set(places)
        for place, letter in enumerate(sentence[: 4 * SHOWN]):
            words.append(f"[{pair.words[letter]}]" if place in counted else pair.words[letter],
                         style="bold cyan" if place in counted else "dim")  # fmt: skip
            words.append(" ")
        lines.append(words.append(f"  {len(counted)} of {len(sentence)}"))
    return [*lines, line(f"{sum(map(len, marked))} words; each is used once on either side")]


def _best_pairs(metric: RougeMEAD, pair: Pair) -> list[RenderableType]:
    parts: list[RenderableType] = [heading("2. Each sentence with the one it shares most words in order with")]
    sentences = {"reference": pair.reference.sentences, "candidate": pair.candidate.sentences}
    for name, partners in zip(sentences, reversed(sentences.values()), strict=True):
        lengths, _ = lcs.best_lengths(sentences[name], partners)
        parts.append(line(f"{name} sentences", "dim"))
        for sentence, length in list(zip(sentences[name], lengths, strict=True))[:SHOWN]:
            partner = partners[int(lcs.lcs_lengths([sentence] * len(partners), partners).argmax())]
            parts.append(line(f"   {length} of {len(sentence)}: {pair.text(sentence)}  ~  {pair.text(partner)}"))
        parts.append(line(f"   sum {int(lengths.sum())}"))
    return parts


def _weighted(metric: RougeW, pair: Pair) -> list[RenderableType]:
    weight = metric.run_weight
    formula = str(weight) if isinstance(weight, Line) else f"k ^ {weight:g}"
    if metric.mode == "rouge155":
        marked, counted = metric.runs(pair.candidate, pair.reference)
        values = list(map(metric.run_value, pair.reference.sentences, marked, counted))
        worth = " + ".join(f"{value:.4f}" for value in values[:SHOWN])
        title = heading(f"2. Runs of words on a path, each of k words worth {formula}")
        return [title, *_marked(pair, counted), line(f"worth {worth} = {sum(values):.4f}")]
    value = lcs.weighted_length(pair.reference.letters, pair.candidate.letters, weight)
    return [
        heading(f"2. Weighted LCS: a run of k words is worth {formula}"),
        *lcs_path(pair, weight, partial(lcs.weighted_cells, weight=weight)),
        line(f"WLCS = {value:.4f}"),
    ]


def _skip_bigrams(metric: RougeS, pair: Pair) -> list[RenderableType]:
    texts = pair.candidate.letters, pair.reference.letters
    counts = metric.counts(pair.candidate, pair.reference)
    parts: list[RenderableType] = [heading("2. Pairs of words in order, in both")]
    if max(map(len, texts)) <= LISTED_PAIRS:
        both = word_pairs(texts[0], metric.gap) & word_pairs(texts[1], metric.gap)
        parts += _listed("", [pair.text(two) + (f" ×{hit}" if hit > 1 else "") for two, hit in both.items()])
    if isinstance(metric, RougeSU):
        words = metric.word_counts(pair.candidate, pair.reference)
        parts.append(line(f"and single words: {words.hit} in both, of {words.peer} and {words.model}"))
    return [*parts, line(f"{counts.hit} hits; candidate {counts.peer}, reference {counts.model} in all")]


def word_pairs(letters: str, gap: int | None) -> Counter[str]:
    """The pairs of words in order with at most `gap` words between them."""
    reach = len(letters) if gap is None else gap + 2
    return Counter(first + second for i, first in enumerate(letters) for second in letters[i + 1 : i + reach])


STEPS: dict[type, Callable[[Any, Pair], list[RenderableType]]] = {
    RougeN: _ngrams,
    RougeL: _longest,
    UnionLCS: _union,
    RougeMEAD: _best_pairs,
    RougeW: _weighted,
    RougeS: _skip_bigrams,
}


def _grid(pair: Pair, values: Floats, cells: lcs.Cells) -> Table:
    """A table of values with the matches on the path in brackets."""
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
    more = f" ... and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return [line(f"{name + ': ' if name else ''}{', '.join(texts[:SHOWN])}{more}", "dim" if name else "")]


@dataclass(frozen=True)
class Share:
    """Precision or recall: its value, and the fraction behind it."""

    value: float
    fraction: str


def precision_and_recall(metric: Rouge, pair: Pair) -> tuple[Share, Share]:
    """Both shares of a pair with words on both sides; in mode=rouge155 rounded to five places."""
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
    """F's formula with its numbers."""
    if p == 0 and r == 0:
        return "nothing of nothing"
    if metric.beta == OWN_RATIO:
        return f"RP (R² + P²) / (R³ + P³), with beta = P/R = {p / r:.4f}"
    alpha = metric.precision_weight
    if alpha == 0.5:
        return f"2 · {p:.5f} · {r:.5f} / ({p:.5f} + {r:.5f})"
    return f"{p:.5f} · {r:.5f} / ({1 - (alpha or 0):.4g} · {p:.5f} + {alpha:.4g} · {r:.5f})"


def _units(metric: Rouge, pair: Pair, values: list[float]) -> list[str]:
    totals = metric.units(pair.candidate), metric.units(pair.reference)
    return [f"{value * total:.0f} / {total}" for value, total in zip(values, totals, strict=True)]


def _runs(metric: RougeW, pair: Pair) -> list[str]:
    weight = metric.run_weight
    value = lcs.weighted_length(pair.candidate.letters, pair.reference.letters, weight)
    lengths = len(pair.candidate.letters), len(pair.reference.letters)
    if isinstance(weight, Line):
        words = f"(({value:.4f} + {weight.gap:g}) / {weight.slope:g})" if value else "0"
        return [f"{words} / {length}" for length in lengths]
    return [f"({value:.4f} / {length}^{weight:g}) ^ (1 / {weight:g})" for length in lengths]
