"""What each ROUGE metric finds in a pair of texts: n-grams, the LCS table with its path, runs, pairs of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalign.metrics.lexical.rouge import lcs
from evalign.metrics.lexical.rouge.metrics import Rouge, RougeL, RougeMEAD, RougeN, RougeS, RougeSU, RougeW, UnionLCS
from evalign.metrics.lexical.rouge.reading import Reading
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


def steps(metric: Rouge, pair: Pair) -> list[RenderableType]:
    """What is counted, metric by metric."""
    if isinstance(metric, RougeN):
        return [_heading(f"{metric.n}-grams in both"), *_ngrams(metric, pair)]
    if isinstance(metric, RougeMEAD):
        return [_heading("Each sentence with the one it shares most words in order with"), *_best_pairs(pair)]
    if isinstance(metric, RougeS):
        return [_heading("Pairs of words in order, in both"), *_skip_bigrams(metric, pair)]
    if isinstance(metric, RougeW):
        return _weighted(metric, pair)
    if isinstance(metric, RougeL) and metric.mode == "paper":
        return _sequence(pair)
    if isinstance(metric, UnionLCS):
        return [_heading("Union LCS: words of each reference sentence on a path to any candidate sentence"),
                *_marked(pair, metric.counted(pair.candidate, pair.reference))]  # fmt: skip
    return []


def _ngrams(metric: RougeN, pair: Pair) -> list[RenderableType]:
    grams = [_grams(reading.letters, metric.n) for reading in (pair.candidate, pair.reference)]
    both = grams[0] & grams[1]
    rows = [(pair.text(gram), str(grams[0][gram]), str(grams[1][gram]), str(hit)) for gram, hit in both.items()]
    lines = _table(("n-gram", "candidate", "reference", "counted"), rows)
    missed = [pair.text(gram) for gram in grams[1] - both]
    return [*lines, Text(f"   {both.total()} hits"), *_listed("only in the reference", missed)]


def _grams(letters: str, order: int) -> Counter[str]:
    return Counter(letters[place : place + order] for place in range(len(letters) - order + 1))


def _sequence(pair: Pair) -> list[RenderableType]:
    """The table of LCS lengths; marked cells are the words on the path."""
    reference, candidate = pair.reference.letters, pair.candidate.letters
    parts: list[RenderableType] = [_heading("Longest common subsequence: reference down, candidate across")]
    if len(reference) * len(candidate) <= LISTED_CELLS:
        cells = lcs.lcs_cells(reference, candidate)
        if _fits(reference, candidate):
            parts.append(_grid(pair, lcs.weighted_rows(reference, candidate, 1), cells))
        parts += _listed("path", [pair.words[reference[place]] for place, _ in reversed(cells)])
    return [*parts, Text(f"   {lcs.lcs_lengths([reference], [candidate])[0]} words")]


def _marked(pair: Pair, marked: Sequence[Sequence[int]]) -> list[RenderableType]:
    """Reference sentences with the words that count."""
    lines: list[RenderableType] = []
    for sentence, places in list(zip(pair.reference.sentences, marked, strict=True))[:SHOWN]:
        line, counted = Text("   "), set(places)
        for place, letter in enumerate(sentence[: 4 * SHOWN]):
            line.append(f"[{pair.words[letter]}]" if place in counted else pair.words[letter],
                        style="bold cyan" if place in counted else "dim")  # fmt: skip
            line.append(" ")
        lines.append(line.append(f"  {len(counted)} of {len(sentence)}"))
    total = sum(map(len, marked))
    return [*lines, Text(f"   {total} words; each is used once on either side")]


def _best_pairs(pair: Pair) -> list[RenderableType]:
    sides = [("reference", pair.reference.sentences, pair.candidate.sentences)]
    sides.append(("candidate", pair.candidate.sentences, pair.reference.sentences))
    lines: list[RenderableType] = []
    for name, own, others in sides:
        lengths, _ = lcs.best_lengths(own, others)
        lines.append(Text(f"   {name} sentences", style="dim"))
        for sentence, length in list(zip(own, lengths, strict=True))[:SHOWN]:
            partner = others[int(lcs.lcs_lengths([sentence] * len(others), others).argmax())]
            lines.append(Text(f"      {length} of {len(sentence)}: {pair.text(sentence)}  ~  {pair.text(partner)}"))
        lines.append(Text(f"      sum {int(lengths.sum())}"))
    return lines


def _weighted(metric: RougeW, pair: Pair) -> list[RenderableType]:
    if metric.mode == "rouge155":
        marked, counted = metric.runs(pair.candidate, pair.reference)
        values = list(map(metric.run_value, pair.reference.sentences, marked, counted))
        worth = " + ".join(f"{value:.4f}" for value in values[:SHOWN])
        return [_heading(f"Runs of words on a path, each worth its length ^ {metric.weight:g}"),
                *_marked(pair, counted), Text(f"   worth {worth} = {sum(values):.4f}")]  # fmt: skip
    reference, candidate = pair.reference.letters, pair.candidate.letters
    value = lcs.weighted_length(reference, candidate, metric.weight)
    parts: list[RenderableType] = [_heading(f"Weighted LCS: a run of k words is worth k ^ {metric.weight:g}")]
    if len(reference) * len(candidate) <= LISTED_CELLS:
        cells = lcs.weighted_cells(reference, candidate, metric.weight)
        if _fits(reference, candidate):
            parts.append(_grid(pair, lcs.weighted_rows(reference, candidate, metric.weight), cells))
        parts += _listed("path", [pair.words[reference[place]] for place, _ in reversed(cells)])
    return [*parts, Text(f"   WLCS = {value:.4f}")]


def _skip_bigrams(metric: RougeS, pair: Pair) -> list[RenderableType]:
    texts = pair.candidate.letters, pair.reference.letters
    counts = metric.counts(pair.candidate, pair.reference)
    lines: list[RenderableType] = []
    if max(map(len, texts)) <= LISTED_PAIRS:
        both = _pairs(texts[0], metric.gap) & _pairs(texts[1], metric.gap)
        lines += _listed("", [pair.text(two) + (f" ×{hit}" if hit > 1 else "") for two, hit in both.items()])
    if isinstance(metric, RougeSU):
        words = metric.word_counts(pair.candidate, pair.reference)
        lines.append(Text(f"   and single words: {words.hit} in both, of {words.peer} and {words.model}"))
    said = f"{counts.hit} hits; candidate {counts.peer}, reference {counts.model} in all"
    return [*lines, Text(f"   {said}")]


def _pairs(letters: str, gap: int | None) -> Counter[str]:
    reach = len(letters) if gap is None else gap + 2
    return Counter(first + second for i, first in enumerate(letters) for second in letters[i + 1 : i + reach])


def _fits(reference: str, candidate: str) -> bool:
    return max(len(reference), len(candidate)) <= TABLE_WORDS


def _grid(pair: Pair, values: Floats, cells: Sequence[tuple[int, int]]) -> Table:
    """A table of values with the matches on the path in brackets."""
    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, 1), header_style="bold")
    table.add_column("")
    for letter in pair.candidate.letters:
        table.add_column(Text(pair.words[letter][:7]), justify="right", no_wrap=True)
    on_path = set(cells)
    for i, letter in enumerate(pair.reference.letters):
        row = [f"[{value:.4g}]" if (i, j) in on_path else f"{value:.4g} " for j, value in enumerate(values[i])]
        styles = ["bold cyan" if (i, j) in on_path else "dim" for j in range(len(row))]
        cells_shown = [Text(value, style=style) for value, style in zip(row, styles, strict=True)]
        table.add_row(Text(f"   {pair.words[letter]}", style="bold"), *cells_shown)
    return table


def _table(names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[RenderableType]:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, name in enumerate(names):
        table.add_column(name if place else f"   {name}", justify="right" if place else "left")
    for first, *rest in rows[:SHOWN]:
        table.add_row(Text(f"   {first}"), *rest)
    more = [Text(f"   ... and {len(rows) - SHOWN} more", style="dim")] if len(rows) > SHOWN else []
    return [table, *more]


def _listed(name: str, found: Sequence[str]) -> list[RenderableType]:
    if not found:
        return []
    more = f" ... and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return [Text(f"   {name + ': ' if name else ''}{', '.join(found[:SHOWN])}{more}", style="dim" if name else "")]


def _heading(text: str) -> Text:
    return Text(f"\n2. {text}", style="bold")
