"""BLEU, chrF and TER, computed by sacrebleu on its scale of 0 to 100.

A row's score is sacrebleu's sentence score; the corpus score comes from sums of the segments' statistics.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from sacrebleu import metrics as sacrebleu
from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer

from evalign.core import Row, Segment
from evalign.core.metric import Metric, Scorer
from evalign.core.options import option
from evalign.errors import SpecError, TextTooLongError
from evalign.text.words import register_cache
from evalign.version import __version__

Entry = tuple[str, str | None]  # a key of sacrebleu's signature, and its value for true; None: the option's value


class SacrebleuEngine:
    """A sacrebleu metric object; shared, since tokenisers are slow to build and have caches."""

    def __init__(self, inner: SacrebleuMetric) -> None:
        self.inner = inner

    def prepared(self, text: str) -> str:
        """Return the text as it is compared: tokens between spaces, lowercased if the metric does so."""
        return str(self.inner._preprocess_segment(text))

    def has_words(self, texts: Sequence[str]) -> bool:
        """Return whether any of these texts has a token."""
        return any(self.prepared(text).split() for text in texts)

    def references(self, texts: Sequence[str]) -> Mapping[str, Any]:
        """Return sacrebleu's counts of the references of one row."""
        (counted,) = self.inner._cache_references([[text] for text in texts])
        return dict(counted)

    def statistics(self, candidate: str, references: Mapping[str, Any]) -> list[float]:
        """Return the additive statistics of one row, whose sums give the corpus score."""
        return list(self.inner._compute_segment_statistics(self.prepared(candidate), dict(references)))

    def result(self, statistics: Sequence[float]) -> Any:
        """Return sacrebleu's score object from statistics of one row, or sums of them."""
        return self.inner._compute_score_from_stats(list(statistics))

    def settings(self, reference_counts: Collection[int]) -> dict[str, str]:
        """Return the entries of sacrebleu's signature, without `nrefs` before the first row."""
        counts = set(reference_counts)
        signed: Any = copy.copy(self.inner)  # the engine is shared, and a signature reads the count from the object
        signed.num_refs = counts.pop() if len(counts) == 1 else -1
        entries = dict(entry.split(":", 1) for entry in str(signed.get_signature()).split("|"))
        if not reference_counts:
            del entries["nrefs"]
        return entries


@dataclass(frozen=True)
class SacrebleuScoring(Metric):
    """Base of metrics that sacrebleu computes, on its scale."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    pools: ClassVar[bool] = True  # statistics are summed over rows, as sacrebleu's corpus_score does

    program: ClassVar[type[SacrebleuMetric]]  # sacrebleu's class; its arguments have the names of the options
    printed: ClassVar[Mapping[str, Entry]]  # option -> its entry in sacrebleu's signature

    def arguments(self, level: str) -> dict[str, Any]:
        """Return the arguments of sacrebleu's class for the level `sentence` or `corpus`."""
        return dataclasses.asdict(self)

    def unsigned(self) -> dict[str, str]:
        """Return deciding options that sacrebleu's signature does not print."""
        return {}

    def check(self, row: Row, engine: SacrebleuEngine) -> None:
        """Raise InputError for a row that must not be scored."""
        return

    def flags(self, row: Row) -> dict[str, int]:
        """Return the flags of a row."""
        return {}

    def scorer(self, rows: Iterable[Row] | None = None) -> SacrebleuScorer:
        """Build the tokenisers."""
        return SacrebleuScorer(self)

    def from_totals(self, totals: Sequence[float], rows: int) -> dict[str, float]:
        """Return the corpus score of summed statistics."""
        return {"score": float(engine(self, "corpus").result(totals).score)}


class SacrebleuScorer(Scorer):
    """Scorer of a sacrebleu metric with its tokenisers."""

    def __init__(self, metric: SacrebleuScoring) -> None:
        self.metric = metric
        self.engine = engine(metric, "sentence")
        self._reference_counts: set[int] = set()
        self._sign()

    def score(self, rows: list[Row]) -> list[Segment]:
        """Return one segment per row; references that rows share are counted once per block."""
        for row in rows:  # before scoring, so that a refused row fails early
            self.metric.check(row, self.engine)
        groups = dict.fromkeys(row.references for row in rows)
        counted = {texts: self.engine.references(texts) for texts in groups}
        self._reference_counts.update(map(len, groups))
        self._sign()
        return [self._segment(row, counted[row.references]) for row in rows]

    def _segment(self, row: Row, references: Mapping[str, Any]) -> Segment:
        """Score a row; empty rows get the worst value, but enter the corpus with sacrebleu's statistics."""
        statistics = self.engine.statistics(row.candidate, references)
        empty = not self.engine.has_words([row.candidate]) or not self.engine.has_words(row.references)
        value = self.metric.worst if empty else float(self.engine.result(statistics).score)
        counts = self.metric.flags(row) | ({"empty": 1} if empty else {})
        return Segment(row.id, {"score": value}, counts, statistics=tuple(statistics))

    def _sign(self) -> None:
        """Set the signature of the corpus score; `nrefs` follows the rows so far, as in sacrebleu."""
        settings = engine(self.metric, "corpus").settings(self._reference_counts)
        version = settings.pop("version")
        self.signature = self.metric.signed(settings | self.metric.unsigned() | {"version": version, "v": __version__})


@lru_cache(maxsize=32)
def engine(metric: SacrebleuScoring, level: str) -> SacrebleuEngine:
    """Return the engine of a metric for the level `sentence` or `corpus`."""
    try:
        built = SacrebleuEngine(metric.program(**metric.arguments(level)))
    except (ImportError, RuntimeError, OSError, SystemExit) as error:  # it exits when a download fails
        reason = " ".join(str(error).split())
        raise SpecError(f"{metric}: sacrebleu cannot build this tokeniser here: {reason}") from error
    _register_caches(BaseTokenizer)
    return built


def _register_caches(tokeniser: type[BaseTokenizer]) -> None:
    """Register the caches of all loaded tokenisers with `clear_caches`: each holds 65,536 texts of any length."""
    cache: Any = tokeniser.__call__
    if hasattr(cache, "cache_clear"):
        register_cache(cache)
    for subclass in tokeniser.__subclasses__():
        _register_caches(subclass)


TOKENISERS = tuple(sacrebleu.BLEU.TOKENIZERS)
BY_LANGUAGE = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}  # sacrebleu's tokeniser by language
LANGUAGE = re.compile(r"[a-z]{2,3}")
SMOOTHINGS = tuple(sacrebleu.BLEU.SMOOTH_DEFAULTS)


@dataclass(frozen=True)
class BLEU(SacrebleuScoring):
    """Geometric mean of n-gram precisions times a brevity penalty (Papineni et al. 2002).

    Short sentences have no 4-grams: by default sentence scores leave out such orders and corpus scores do not, as
    sacrebleu's command line.
    """

    name: ClassVar[str] = "bleu"
    about: ClassVar[str] = "n-gram precision with brevity penalty, by sacrebleu (Papineni et al. 2002, Post 2018)"

    program: ClassVar[type[sacrebleu.BLEU]] = sacrebleu.BLEU
    printed: ClassVar[Mapping[str, Entry]] = {"lowercase": ("case", "lc")}

    tokenize: str = option("13a", "sacrebleu's tokeniser", TOKENISERS)
    lowercase: bool = option(False, "compare without case")
    smooth_method: str = option("exp", "what a precision of zero becomes", SMOOTHINGS)
    smooth_value: str | None = option(None, "for floor (0.1 if not given) and add-k (1)")
    max_ngram_order: int = option(4, "longest n-gram", least=1)
    effective_order: str = option(
        "sentence", "leave out orders that a text is too short for", ("sentence", "true", "false")
    )
    trg_lang: str | None = option(None, "language of the texts, as in zh: chooses the tokeniser as sacrebleu does")
    force: bool = option(False, "do not flag candidates that look tokenised already (they end in ' .')")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trg_lang is not None:  # stored as the tokeniser that it stands for, so that equal metrics are equal
            object.__setattr__(self, "tokenize", self._tokeniser_of(self.trg_lang))
            object.__setattr__(self, "trg_lang", None)
        if self.smooth_value is not None:
            object.__setattr__(self, "smooth_value", str(self._checked_value(self.smooth_value)))

    def arguments(self, level: str) -> dict[str, Any]:
        """Return the arguments; the two levels differ in `effective_order` only."""
        return super().arguments(level) | {
            "trg_lang": "",
            "force": True,  # it would only mute a warning that these calls cannot raise; see `flags`
            "smooth_value": None if self.smooth_value is None else float(self.smooth_value),
            "effective_order": self.effective_order in ("true", level),
        }

    def unsigned(self) -> dict[str, str]:
        """Return the n-gram order, which sacrebleu does not print, and the unrounded smoothing value."""
        settings = {"order": str(self.max_ngram_order)}
        if self.effective_order == "sentence":
            settings["sentence-eff"] = "yes"
        return settings if self.smooth_value is None else settings | {"smooth-value": self.smooth_value}

    def flags(self, row: Row) -> dict[str, int]:
        """Flag tokenised lines; sacrebleu warns of 100 of them."""
        return {} if self.force or not row.candidate.rstrip("\n").endswith(" .") else {"tokenized": 1}

    def _tokeniser_of(self, language: str) -> str:
        """Return sacrebleu's default tokeniser: special ones for Chinese, Japanese and Korean, else 13a."""
        if not LANGUAGE.fullmatch(language):
            raise SpecError(f"trg_lang={language}: expected the code of a language, such as de or zh")
        tokeniser = BY_LANGUAGE.get(language, "13a")
        if self.tokenize not in ("13a", tokeniser):
            raise SpecError(
                f"tokenize={self.tokenize} with trg_lang={language}, which stands for tokenize={tokeniser}; give one"
            )
        return tokeniser

    def _checked_value(self, text: str) -> float:
        if sacrebleu.BLEU.SMOOTH_DEFAULTS[self.smooth_method] is None:
            raise SpecError(f"smooth_value={text}: smooth_method={self.smooth_method} takes none; floor and add-k do")
        try:
            value = float(text)
        except ValueError:
            raise SpecError(f"smooth_value={text}: expected a number") from None
        maximum = 1 if self.smooth_method == "floor" else math.inf
        if not 0 <= value <= maximum or math.isinf(value):
            raise SpecError(f"smooth_value={text}: expected {'0 to 1' if maximum == 1 else '0 or more'}")
        return value


@dataclass(frozen=True)
class ChrF(SacrebleuScoring):
    """F-score of character n-grams of the best reference (Popović 2015); with `word_order=2` of words too: chrF++."""

    name: ClassVar[str] = "chrf"
    about: ClassVar[str] = "F-score of character n-grams, by sacrebleu (Popović 2015); word_order=2 is chrF++"

    program: ClassVar[type[sacrebleu.CHRF]] = sacrebleu.CHRF
    printed: ClassVar[Mapping[str, Entry]] = {
        "char_order": ("nc", None), "word_order": ("nw", None), "lowercase": ("case", "lc"),
        "whitespace": ("space", "yes"), "eps_smoothing": ("eff", "no"),
    }  # fmt: skip

    char_order: int = option(6, "longest character n-gram", least=0)
    word_order: int = option(0, "longest word n-gram; 2 is chrF++", least=0)
    beta: int = option(2, "how many times recall counts as much as precision", least=0)
    lowercase: bool = option(False, "compare without case")
    whitespace: bool = option(False, "keep spaces in character n-grams")
    eps_smoothing: bool = option(False, "smooth as chrF++.py, NLTK and Moses do, instead of leaving out empty orders")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.char_order + self.word_order == 0:
            raise SpecError("char_order=0 and word_order=0 leave nothing to compare; raise one of them")

    def unsigned(self) -> dict[str, str]:
        """Return beta, which sacrebleu prints in the metric's name: chrF2."""
        return {"beta": str(self.beta)}


@dataclass(frozen=True)
class TER(SacrebleuScoring):
    """Edits, including shifts of phrases, that turn the candidate into a reference, per 100 reference words.

    A candidate longer than its reference can cost more than 100. A text without words scores 100, the cost of omitting
    every word of one reference (Snover et al. 2006).
    """

    name: ClassVar[str] = "ter"
    about: ClassVar[str] = "edits and shifts per 100 reference words, by sacrebleu (Snover et al. 2006)"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    worst: ClassVar[float] = 100.0
    higher_is_better: ClassVar[bool] = False

    program: ClassVar[type[sacrebleu.TER]] = sacrebleu.TER
    printed: ClassVar[Mapping[str, Entry]] = {
        "normalized": ("norm", "yes"), "no_punct": ("punct", "no"), "asian_support": ("asian", "yes"),
        "case_sensitive": ("case", "mixed"),
    }  # fmt: skip

    normalized: bool = option(False, "split off punctuation and undo XML escapes first")
    no_punct: bool = option(False, "remove punctuation")
    asian_support: bool = option(False, "with normalized or no_punct: split CJK characters, remove CJK punctuation")
    case_sensitive: bool = option(False, "keep case")
    # Measured: unlike texts of 600 words take 12 s per reference, of 1,200 words 35 s (sacrebleu 2.6.0).
    limit: int = option(600, "refuse rows with a longer text, in words: searching for shifts takes minutes", least=1)

    def arguments(self, level: str) -> dict[str, Any]:
        """Return all options but `limit`, which does not affect numbers."""
        return {name: getattr(self, name) for name in self.printed}

    def check(self, row: Row, engine: SacrebleuEngine) -> None:
        """Raise TextTooLongError for texts that would take minutes."""
        texts = [("candidate", row.candidate), *(("reference", text) for text in row.references)]
        for side, text in texts:
            words = len(engine.prepared(text).split())
            if words > self.limit:
                raise TextTooLongError(
                    f"row {row.id}: its {side} has {words} words, and TER refuses more than limit={self.limit}, since "
                    "sacrebleu's search for shifts would take minutes; score sentences, or raise ter(limit=...)"
                )


def bleu_words(text: str, tokenize: str, lowercase: bool) -> list[str]:
    """Return the words of a text as BLEU with these options compares them."""
    return engine(BLEU(tokenize=tokenize, lowercase=lowercase), "sentence").prepared(text).split()
