"""sacrebleu behind evalign's interface: rows in, segments with sacrebleu's own statistics and scores out.

sacrebleu publishes scores, not the statistics that add up over rows, so `Engine` calls four of its private methods.
They are named here and nowhere else, and tests/lexical/test_sacrebleu.py fails first if a release changes them.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer

from evalign.errors import SpecError
from evalign.metrics.base import Metric, Scorer
from evalign.metrics.corpus import Pooled
from evalign.metrics.signature import Signature
from evalign.text.word_caches import forgettable
from evalign.types import Row, Segment
from evalign.version import __version__


class Engine:
    """One sacrebleu metric object; built once, since tokenisers are slow to build and remember what they cut."""

    def __init__(self, inner: SacrebleuMetric) -> None:
        self.inner = inner

    def prepared(self, text: str) -> str:
        """The text as it is compared: cut into tokens by spaces, lowercased if asked for."""
        return str(self.inner._preprocess_segment(text))

    def references(self, texts: Sequence[str]) -> Mapping[str, Any]:
        """What sacrebleu keeps of the references of one row."""
        (kept,) = self.inner._cache_references([[text] for text in texts])
        return dict(kept)

    def statistics(self, candidate: str, references: Mapping[str, Any]) -> list[float]:
        """Numbers of one row whose sums over rows give the corpus score."""
        return list(self.inner._compute_segment_statistics(self.prepared(candidate), dict(references)))

    def result(self, statistics: Sequence[float]) -> Any:
        """sacrebleu's score object of one row's statistics, or of their sums."""
        return self.inner._compute_score_from_stats(list(statistics))

    def settings(self, reference_counts: Collection[int]) -> dict[str, str]:
        """The entries of sacrebleu's signature; `nrefs` is left out as long as no row has been seen."""
        counts = set(reference_counts)
        signed: Any = copy.copy(self.inner)  # the engine is shared, and a signature reads the count from the object
        signed.num_refs = counts.pop() if len(counts) == 1 else -1
        entries = dict(entry.split(":", 1) for entry in str(signed.get_signature()).split("|"))
        if not reference_counts:
            del entries["nrefs"]
        return entries


@dataclass(frozen=True)
class SacrebleuScoring(Metric):
    """A metric that sacrebleu computes, on its own scale."""

    fields: ClassVar[tuple[str, ...]] = ("score",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    worst: ClassVar[float] = 0.0

    @abstractmethod
    def inner(self, level: str) -> SacrebleuMetric:
        """The sacrebleu object for the level `sentence` or `corpus`."""

    @abstractmethod
    def unsigned(self) -> dict[str, str]:
        """Deciding options that sacrebleu's signature does not print."""

    @classmethod
    @abstractmethod
    def signed_options(cls, said: Mapping[str, str]) -> dict[str, Any]:
        """Options from the entries of a signature."""

    def check(self, row: Row, engine: Engine) -> None:
        """Raises InputError for a row that must not be scored."""
        return

    def flags(self, row: Row) -> dict[str, int]:
        """What is to be said about a row."""
        return {}

    def scorer(self, corpus: Iterable[Row] | None = None) -> SacrebleuScorer:
        """Builds the tokenisers."""
        return SacrebleuScorer(self)

    def corpus(self) -> Pooled:
        """Statistics are summed over rows, as sacrebleu's corpus_score does."""
        return Pooled(self)

    def from_totals(self, totals: Sequence[float], rows: int) -> dict[str, float]:
        """The corpus score of summed statistics."""
        return {"score": float(engine(self, "corpus").result(totals).score)}

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """From our signature, or from sacrebleu's own with the metric's name before it."""
        try:
            return cls.from_options(cls.signed_options(signature.settings))
        except KeyError as missing:
            raise SpecError(f"signature {signature}: {missing} is missing, which {cls.name} prints") from None


class SacrebleuScorer(Scorer):
    """A metric of this kind with its tokenisers built."""

    def __init__(self, metric: SacrebleuScoring) -> None:
        self.metric = metric
        self.engine = engine(metric, "sentence")
        self._reference_counts: set[int] = set()
        self._sign()

    def score(self, rows: list[Row]) -> list[Segment]:
        """One segment per row; references that rows share are counted once per block."""
        for row in rows:  # before any is scored, so that a refused row costs its neighbours nothing
            self.metric.check(row, self.engine)
        kept: dict[tuple[str, ...], tuple[Mapping[str, Any], bool]] = {}
        segments = []
        for row in rows:
            if row.references not in kept:
                blank = not any(self.engine.prepared(text).split() for text in row.references)
                kept[row.references] = self.engine.references(row.references), blank
            segments.append(self._segment(row, *kept[row.references]))
        self._reference_counts.update(map(len, kept))
        self._sign()
        return segments

    def _segment(self, row: Row, references: Mapping[str, Any], blank: bool) -> Segment:
        """Empty rows are worth the worst value, but enter the corpus with sacrebleu's statistics."""
        statistics = self.engine.statistics(row.candidate, references)
        empty = blank or not self.engine.prepared(row.candidate).split()
        value = self.metric.worst if empty else float(self.engine.result(statistics).score)
        counts = self.metric.flags(row) | ({"empty": 1} if empty else {})
        return Segment(row.id, {"score": value}, counts, statistics=tuple(statistics))

    def _sign(self) -> None:
        """Signed for the corpus score; `nrefs` follows the rows seen so far, as in sacrebleu."""
        said = engine(self.metric, "corpus").settings(self._reference_counts)
        version = said.pop("version")
        said |= {**self.metric.unsigned(), "version": version, "v": __version__}
        self.signature = Signature(self.metric.name, said)


@lru_cache(maxsize=32)
def engine(metric: SacrebleuScoring, level: str) -> Engine:
    """The engine of a metric for the level `sentence` or `corpus`."""
    try:
        built = Engine(metric.inner(level))
    except (ImportError, RuntimeError, OSError, SystemExit) as error:  # it exits when a download fails
        why = " ".join(str(error).split())
        raise SpecError(f"{metric}: sacrebleu cannot build this tokeniser here: {why}") from error
    _make_forgettable(BaseTokenizer)
    return built


def _make_forgettable(tokeniser: type[BaseTokenizer]) -> None:
    """Each of sacrebleu's tokenisers remembers 65,536 texts, however long; all that are loaded are made known."""
    memory: Any = tokeniser.__call__
    if hasattr(memory, "cache_clear"):
        forgettable(memory)
    for kind in tokeniser.__subclasses__():
        _make_forgettable(kind)


def whole(name: str, value: int, least: int) -> None:
    """Raises for an order that is too small to mean anything."""
    if value < least:
        raise SpecError(f"{name}={value}: expected a whole number of at least {least}")
