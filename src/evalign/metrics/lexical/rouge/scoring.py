"""Scoring of ROUGE: options, several references, P, R and F by the paper or by ROUGE-1.5.5, and its bootstrap."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from itertools import accumulate, chain, islice, repeat
from typing import Any, ClassVar, TypeVar

import numpy as np

from evalign.core import Floats, Ints, Row, Segment
from evalign.core.metric import Corpus, Metric, Scorer
from evalign.core.options import option, option_fields, written
from evalign.core.spec import Signature
from evalign.errors import SpecError, TextTooLongError, nearest
from evalign.metrics.lexical.rouge.counts import Counts, f_measure, rounded
from evalign.metrics.lexical.rouge.words import STEMS, LetterText, ReadingOptions, lexicon, shared_reader
from evalign.stats.estimate import merged
from evalign.text.words import TOKENISERS
from evalign.version import __version__

MODES = ("paper", "rouge155")
MULTIREF = {  # the first is the default
    "paper": ("best", "mean", "pooled", "max-recall"),
    "rouge155": ("pooled", "max-recall"),
}
OWN_RATIO = "P/R"
Problem = tuple[bool, str]  # whether options are invalid together, and advice


def tokenizer_name(value: Any) -> str:
    """Parse the option `tokens`: a built-in tokenizer, or one from `evalign.register_tokenizer`."""
    name = written(value)
    if name != "auto" and name not in TOKENISERS:
        names = ("auto", *TOKENISERS)
        raise SpecError(f"tokens={name}: {nearest(name, names)}; register others by evalign.register_tokenizer")
    return name


FIELDS = ("recall", "precision", "f1")  # in the script's order
MULTIPLIER, INCREMENT, MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1  # of Perl's random numbers
BLOCK_DRAWS = 256  # random numbers per resample in memory at once


class Bootstrap(Corpus):
    """Bootstrap of the script's options -c and -r; with `tokens` (-t 1) counts are summed before they are divided."""

    def __init__(self, alpha: float = 0.5, confidence: float = 95, resamples: int = 1000, tokens: bool = False) -> None:
        self._alpha, self._confidence, self._resamples, self._tokens = alpha, confidence, resamples, tokens
        self._rows: list[tuple[str, tuple[float, ...]]] = []

    def add(self, segment: Segment) -> None:
        """Add one scored row."""
        values = segment.statistics if self._tokens else tuple(segment.scores[name] for name in FIELDS)
        self._rows.append((segment.id, values))
        self.__dict__.pop("_samples", None)

    def scores(self) -> dict[str, float]:
        """Return the script's Average_R, _P and _F."""
        sums = {name: float(np.add.accumulate(means)[-1]) for name, means in self._samples.items()}
        return {name: rounded(total / self._resamples) for name, total in sums.items()}

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Return the interval that the script prints after each average."""
        tail = self._resamples * ((100 - self._confidence) / 2.0) / 100.0
        upper, lower = int(self._resamples - tail - 1), int(tail)
        share = self._resamples - tail - 1 - upper
        return {
            name: (rounded(_between(means, lower, share)), rounded(_between(means, upper, share)))
            for name, means in self._samples.items()
        }

    @cached_property
    def _samples(self) -> dict[str, Floats]:
        """Return field -> the means of the resamples in ascending order; no field without rows."""
        if not self._rows:
            return {}
        # The script sorts "id.system" as bytes; equal ids are ordered by score, so that shards may come in any order.
        ordered = sorted(self._rows, key=lambda row: (f"{row[0]}.".encode("utf-8", "surrogatepass"), row[1]))
        sums = resampled_sums(np.array([values for _, values in ordered]).T, self._resamples)
        means = np.sort(self._ratios(sums) if self._tokens else sums / len(ordered), axis=1)
        return dict(zip(FIELDS, means, strict=True))

    def _ratios(self, sums: Floats) -> Floats:
        model, peer, hit = sums
        recall = np.divide(hit, model, out=np.zeros_like(hit), where=model > 0)
        precision = np.divide(hit, peer, out=np.zeros_like(hit), where=peer > 0)
        return np.array([recall, precision, f_measure(precision, recall, self._alpha)])


def resampled_sums(values: Floats, resamples: int) -> Floats:
    """Return sums of resampled rows (field, resample), drawn with Perl's rand after srand(0), srand(1), ..."""
    fields, rows = values.shape
    sums = np.zeros((fields, resamples))
    state = (np.arange(resamples, dtype=np.uint64) << np.uint64(16)) + np.uint64(0x330E)
    for first in range(0, rows, BLOCK_DRAWS):
        count = min(BLOCK_DRAWS, rows - first)
        drawn, state = _draw(state, count, rows)
        # Reduction over the first axis adds one draw after the other, as the script does.
        sums = np.add.reduce(np.concatenate([sums[None], values[:, drawn].transpose(1, 0, 2)]), axis=0)
    return sums


def _draw(state: Ints, count: int, rows: int) -> tuple[Ints, Ints]:
    """Return row numbers (draw, resample), and the state after them."""
    jumps, shifts = [1], [0]
    for _ in range(count):
        jumps.append(jumps[-1] * MULTIPLIER & MASK)
        shifts.append((shifts[-1] * MULTIPLIER + INCREMENT) & MASK)
    with np.errstate(over="ignore"):  # modulo 2^64, of which 48 bits are kept
        states = np.array(jumps[1:], dtype=np.uint64)[:, None] * state + np.array(shifts[1:], dtype=np.uint64)[:, None]
    states &= np.uint64(MASK)
    return (np.ldexp(states.astype(np.float64), -48) * rows).astype(np.int64), states[-1]


def _between(values: Sequence[float] | Floats, index: int, share: float) -> float:
    return float(values[index] + (values[min(index + 1, len(values) - 1)] - values[index]) * share)


Value = TypeVar("Value")
Scored = tuple[Floats, Iterable[tuple[float, ...]]]  # (precision, recall and F; row), statistics per row


@dataclass(frozen=True)
class Rouge(Metric):
    """Base of ROUGE metrics: their options, and the pairs of texts that a subclass counts.

    Equal metrics have equal options: values that equal a mode's default are stored as `auto`.
    """

    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    by_sentence: ClassVar[bool] = False  # true if the metric is pointless for texts of one sentence

    mode: str = option("paper", "Lin 2004 for every language, or the program ROUGE-1.5.5 in every digit", MODES)
    tokens: str = option("auto", "auto is unicode; ascii is rouge-score's; or the name of a registered tokenizer",
                         choices=("auto", "unicode", "ascii"), parse=tokenizer_name)  # fmt: skip
    stem: str = option("false", "true is English; or a Snowball language, or nltk-porter, rouge-score's own", STEMS)
    stopwords: bool = option(False, "leave out English function words (rouge155: the script's list)")
    alpha: float = option(0.5, "weight of precision in F: 0 is recall alone, 1 precision alone")
    beta: str = option("none", "instead of alpha: recall weighs beta times as much; P/R takes the ratio of both")
    words: int = option(0, "read only so many words of every text; 0 is all")
    bytes: int = option(0, "read only so many bytes of every text; 0 is all")
    multiref: str = option(
        "auto",
        "how several references become one score; auto: best, with mode=rouge155 pooled",
        ("auto", "best", "mean", "pooled", "max-recall"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("beta", _beta(self.beta))
        for wrong, advice in self.problems():
            if wrong:
                raise SpecError(f"{self.name}: {advice}")
        for name, default, stored in (
            ("beta", "1", "none"), ("tokens", "unicode", "auto"), ("multiref", MULTIREF[self.mode][0], "auto"),
            ("sentences", self.default_sentences, "default"),
        ):  # fmt: skip
            if getattr(self, name, None) == default:
                self._set(name, stored)

    def problems(self) -> list[Problem]:
        """Return invalid combinations of options."""
        script, rules = self.mode == "rouge155", MULTIREF[self.mode]
        return [
            (script and self.tokens != "auto",
             f"tokens={self.tokens} with mode=rouge155, which has the script's own tokens; leave tokens out"),
            (script and self.stem not in ("true", "false"),
             f"stem={self.stem} with mode=rouge155, which has the script's own stemmer; write stem=true"),
            (script and self.beta != "none",
             f"beta={self.beta} with mode=rouge155; the script takes alpha, which is 1 / (1 + beta²)"),
            (self.multiref not in ("auto", *rules),
             f"multiref={self.multiref} with mode={self.mode}; {nearest(self.multiref, rules)}"),
            (not 0 <= self.alpha <= 1, f"alpha={self.alpha:g}: expected a number from 0 to 1"),
            (self.alpha != 0.5 and self.beta != "none", "alpha and beta say the same thing; give one"),
            (bool(self.words and self.bytes), "words and bytes both limit the length; give one"),
            (min(self.words, self.bytes) < 0, "words and bytes are limits of at least 1, or 0 for none"),
        ]  # fmt: skip

    @property
    def rule(self) -> str:
        """Rule for several references."""
        return MULTIREF[self.mode][0] if self.multiref == "auto" else self.multiref

    @property
    def precision_weight(self) -> float | None:
        """Weight alpha, from a numeric beta too; None if beta is the ratio of precision and recall."""
        if self.beta == "none":
            return self.alpha
        return None if self.beta == OWN_RATIO else 1 / (1 + float(self.beta) ** 2)

    @property
    def default_sentences(self) -> str:
        """Default of `sentences`: rouge-score and the script take lines."""
        return "auto" if self.mode == "paper" and self.tokens != "ascii" else "lines"

    def reading(self) -> ReadingOptions:
        """Return the options of tokenisation."""
        tokens = "rouge155" if self.mode == "rouge155" else "unicode" if self.tokens == "auto" else self.tokens
        sentences = getattr(self, "sentences", "lines")
        sentences = self.default_sentences if sentences == "default" else sentences
        return ReadingOptions(tokens, self.stem, self.stopwords, self.words, self.bytes, sentences)

    def signature(self) -> Signature:
        """Return every option that decides the numbers, and the versions of data."""
        settings = {item.name: _printed(getattr(self, item.name)) for item in option_fields(self)}
        settings |= {"tokens": self.reading().tokens, "multiref": self.rule}
        if "sentences" in settings:
            settings["sentences"] = self.reading().sentences
        if settings.get("exclusive") == "false":  # older signatures lack it
            del settings["exclusive"]
        del settings["alpha" if self.beta != "none" else "beta"]
        if self.mode == "rouge155" and (self.stem == "true" or self.stopwords):
            settings["lexicon"] = lexicon().digest
        elif self.stem not in ("false", "nltk-porter"):
            settings["snowball"] = version("snowballstemmer")
        return self.signed(settings | {"v": __version__})

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def shortest(self) -> int:
        """Minimum number of words of a text that has a unit."""
        return 1

    def scorer(self, rows: Iterable[Row] | None = None) -> RougeScorer:
        """Return the scorer; word lists are read if the options need them."""
        return RougeScorer(self)

    def corpus(self) -> Corpus | None:
        """Return the script's bootstrap; the paper's corpus score is the mean."""
        return Bootstrap(self.alpha) if self.mode == "rouge155" else None

    def pairs(self, candidates: Sequence[LetterText], references: Sequence[LetterText]) -> tuple[Floats, Floats]:
        """Return precision and recall of many pairs by the paper; 0 where a text is empty."""
        values = [
            self.pair(candidate, reference) if candidate.letters and reference.letters else (0.0, 0.0)
            for candidate, reference in zip(candidates, references, strict=True)
        ]
        precision, recall = np.array(values).reshape(-1, 2).T
        return precision, recall

    def pair(self, candidate: LetterText, reference: LetterText) -> tuple[float, float]:
        """Return precision and recall of texts that are not empty."""
        model, peer, hit, _ = self.counts(candidate, reference)
        return hit / peer if peer else 0.0, hit / model if model else 0.0

    def units(self, reading: LetterText) -> int:
        """Return the number of units of a text, the denominator of precision or recall."""
        return len(reading.letters)

    def many_counts(self, candidates: Sequence[LetterText], references: Sequence[LetterText]) -> list[Counts]:
        """Return the script's counts of many pairs."""
        return list(map(self.counts, candidates, references))

    @abstractmethod
    def counts(self, candidate: LetterText, reference: LetterText) -> Counts:
        """Return the script's counts of one pair."""

    def ratio(self, hit: float, total: float) -> float:
        """Return the share of hits as the script prints it."""
        return hit / total


@dataclass(frozen=True)
class Block:
    """Rows as letters: one candidate each, all references in sequence, and the number of each row's references."""

    candidates: list[LetterText]
    references: list[LetterText]
    counts: list[int]

    @property
    def single(self) -> bool:
        """True if every row has one reference."""
        return self.counts.count(1) == len(self.counts)

    @property
    def starts(self) -> list[int]:
        """Index of each row's first reference."""
        return list(accumulate(self.counts[:-1], initial=0))

    @property
    def paired(self) -> list[LetterText]:
        """Candidate of each reference."""
        return list(chain.from_iterable(map(repeat, self.candidates, self.counts)))

    def by_row(self, values: Iterable[Value]) -> Iterator[list[Value]]:
        """Yield the values of each row's references as a list."""
        remaining = iter(values)
        return (list(islice(remaining, count)) for count in self.counts)


class RougeScorer(Scorer):
    """Scorer of a ROUGE metric with its reader."""

    def __init__(self, metric: Rouge) -> None:
        self.metric = metric
        self.signature = metric.signature()
        self._reader = shared_reader(metric.reading())
        self._alpha = metric.precision_weight
        self._score_block = self._by_paper if metric.mode == "paper" else self._by_script

    def score(self, rows: list[Row]) -> list[Segment]:
        """Return one segment per row, in order."""
        candidates = [row.candidate for row in rows]
        references = list(chain.from_iterable(row.references for row in rows))
        try:
            reading = self._reader.read([*candidates, *references]).__getitem__
        except TextTooLongError:  # too many different words for one reading
            if len(rows) < 2:
                raise
            return [segment for row in rows for segment in self.score([row])]
        block = Block(
            list(map(reading, candidates)), list(map(reading, references)), [len(row.references) for row in rows]
        )
        columns, statistics = self._score_block(block)
        flags = map(_flags, block.candidates, block.by_row(block.references), repeat(self.metric))
        return [
            Segment(row.id, {"precision": p, "recall": r, "f1": f}, counts, None, sums)
            for row, p, r, f, counts, sums in zip(rows, *columns.tolist(), flags, statistics, strict=False)
        ]

    def _by_paper(self, block: Block) -> Scored:
        precision, recall = self.metric.pairs(block.paired, block.references)
        columns = np.array([precision, recall, f_measure(precision, recall, self._alpha)])
        if not block.single:
            columns = RULES[self.metric.rule](self.metric, columns, block)
        return columns, repeat(())

    def _by_script(self, block: Block) -> Scored:
        """Score with the script's rounding at every step."""
        ratio, sums, columns = self.metric.ratio, [], []
        for counts in block.by_row(self.metric.many_counts(block.paired, block.references)):
            scored = [max(counts, key=lambda pair: pair.score)] if self.metric.rule == "max-recall" else counts
            model, peer, hit, _ = map(sum, zip(*scored, strict=True))
            sums.append((model, peer, hit))
            columns.append((rounded(ratio(hit, peer)) if peer else 0.0, rounded(ratio(hit, model)) if model else 0.0))
        precision, recall = np.array(columns).reshape(-1, 2).T
        f = [rounded(value) for value in f_measure(precision, recall, self._alpha)]
        return np.array([precision, recall, f]), sums


def _mean(metric: Rouge, columns: Floats, block: Block) -> Floats:
    """Return the mean of each row's references."""
    return np.asarray(np.add.reduceat(columns, block.starts, axis=1) / block.counts)


def _pooled(metric: Rouge, columns: Floats, block: Block) -> Floats:
    """Divide hits in all references by units of all references (Lin 2004, equation 1)."""
    precision, _, _ = _mean(metric, columns, block)
    units = np.array([metric.units(reading) for reading in block.references], dtype=np.float64)
    hits, totals = (np.add.reduceat(values, block.starts) for values in (columns[1] * units, units))
    recall = np.divide(hits, totals, out=np.zeros_like(hits), where=totals > 0)
    return np.array([precision, recall, f_measure(precision, recall, metric.precision_weight)])


def _best(metric: Rouge, columns: Floats, block: Block, field: int) -> Floats:
    """Return each row's first reference with the best value of a field."""
    # With tokens=ascii the last bit decides, as in rouge-score, whose numbers are reproduced.
    values = columns[field] if metric.tokens == "ascii" else merged(columns[field])
    ends = (start + count for start, count in zip(block.starts, block.counts, strict=True))
    best = [start + int(values[start:end].argmax()) for start, end in zip(block.starts, ends, strict=True)]
    return np.asarray(columns[:, best])


RULES: dict[str, Callable[[Rouge, Floats, Block], Floats]] = {  # multiref of mode=paper
    "best": partial(_best, field=2),
    "max-recall": partial(_best, field=1),
    "mean": _mean,
    "pooled": _pooled,
}


def _flags(candidate: LetterText, references: Sequence[LetterText], metric: Rouge) -> dict[str, int]:
    """Count flags of the texts of a row."""
    shortest = metric.shortest
    words, dropped = len(candidate.letters), candidate.dropped
    empty_references, longest = 0, 0
    for reference in references:
        length = len(reference.letters)
        if not length:
            empty_references += 1
        elif length > longest:
            longest = length
        dropped += reference.dropped
    flags = {}
    if not words or not longest:
        flags["empty"] = 1
    elif words < shortest or longest < shortest:
        flags["too-short"] = 1
    elif metric.by_sentence and not any(len(reading.sentences) > 1 for reading in (candidate, *references)):
        flags["one-sentence"] = 1
    if empty_references and longest:
        flags["empty-reference"] = empty_references
    if dropped:
        flags["truncated"] = dropped
    return flags


def _beta(text: str) -> str:
    """Return beta in canonical form: none, P/R, or the shortest notation of the number."""
    if text in ("none", OWN_RATIO):
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1e6:
        raise SpecError(f"beta={text}: expected a number from 0 to 1,000,000, or {OWN_RATIO}")
    return _printed(value)


def _printed(value: Any) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else written(value)
