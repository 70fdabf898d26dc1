"""sacrebleu behind evalign's interface: rows in, segments with sacrebleu's own statistics and scores out.

sacrebleu publishes scores, not the statistics that add up over rows, so `Engine` calls four of its private methods.
They are named here and nowhere else, and tests/lexical/test_sacrebleu.py fails first if a release changes them.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer

from evalign.errors import SpecError
from evalign.metrics.base import Metric, Scorer
from evalign.metrics.signature import Signature
from evalign.text.word_caches import forgettable
from evalign.types import Row, Segment
from evalign.version import __version__

Entry = tuple[str, str | None]  # a key of sacrebleu's signature, and the value that means true; None: the value itself


class Engine:
    """A sacrebleu metric object; built once, since tokenisers are slow to build and have caches."""

    def __init__(self, inner: SacrebleuMetric) -> None:
        self.inner = inner

    def prepared(self, text: str) -> str:
        """The text as it is compared: tokens between spaces, lowercased if the metric does so."""
        return str(self.inner._preprocess_segment(text))

    def has_words(self, texts: Sequence[str]) -> bool:
        """Whether any of these texts has a token."""
        return any(self.prepared(text).split() for text in texts)

    def references(self, texts: Sequence[str]) -> Mapping[str, Any]:
        """What sacrebleu counts in the references of one row."""
        (counted,) = self.inner._cache_references([[text] for text in texts])
        return dict(counted)

    def statistics(self, candidate: str, references: Mapping[str, Any]) -> list[float]:
        """Numbers of one row whose sums over rows give the corpus score."""
        return list(self.inner._compute_segment_statistics(self.prepared(candidate), dict(references)))

    def result(self, statistics: Sequence[float]) -> Any:
        """sacrebleu's score object of one row's statistics, or of their sums."""
        return self.inner._compute_score_from_stats(list(statistics))

    def settings(self, reference_counts: Collection[int]) -> dict[str, str]:
        """The entries of sacrebleu's signature; without `nrefs` as long as no row has been seen."""
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

    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    pools: ClassVar[bool] = True  # statistics are summed over rows, as sacrebleu's corpus_score does

    program: ClassVar[type[SacrebleuMetric]]  # sacrebleu's class, whose arguments are called as our options are
    printed: ClassVar[Mapping[str, Entry]]  # option -> where sacrebleu's signature has it

    def arguments(self, level: str) -> dict[str, Any]:
        """The arguments of sacrebleu's class for the level `sentence` or `corpus`."""
        return dataclasses.asdict(self)

    def unsigned(self) -> dict[str, str]:
        """Deciding options that sacrebleu's signature does not print."""
        return {}

    def check(self, row: Row, engine: Engine) -> None:
        """Raises InputError for a row that must not be scored."""
        return

    def flags(self, row: Row) -> dict[str, int]:
        """What a user should know about a row."""
        return {}

    def scorer(self, rows: Iterable[Row] | None = None) -> SacrebleuScorer:
        """Builds the tokenisers."""
        return SacrebleuScorer(self)

    def from_totals(self, totals: Sequence[float], rows: int) -> dict[str, float]:
        """The corpus score of summed statistics."""
        return {"score": float(engine(self, "corpus").result(totals).score)}

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """From our signature, or from sacrebleu's own with the metric's name before it."""
        return cls.from_options(cls.options_of(signature))

    @classmethod
    def options_of(cls, signature: Signature) -> dict[str, Any]:
        """The options that a signature prints."""
        entries = cls.printed.items()
        return {name: signature[key] if true is None else signature[key] == true for name, (key, true) in entries}


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
        groups = dict.fromkeys(row.references for row in rows)
        counted = {texts: self.engine.references(texts) for texts in groups}
        self._reference_counts.update(map(len, groups))
        self._sign()
        return [self._segment(row, counted[row.references]) for row in rows]

    def _segment(self, row: Row, references: Mapping[str, Any]) -> Segment:
        """Empty rows are worth the worst value, but enter the corpus with sacrebleu's statistics."""
        statistics = self.engine.statistics(row.candidate, references)
        empty = not self.engine.has_words([row.candidate]) or not self.engine.has_words(row.references)
        value = self.metric.worst if empty else float(self.engine.result(statistics).score)
        counts = self.metric.flags(row) | ({"empty": 1} if empty else {})
        return Segment(row.id, {"score": value}, counts, statistics=tuple(statistics))

    def _sign(self) -> None:
        """Signed for the corpus score; `nrefs` follows the rows seen so far, as in sacrebleu."""
        settings = engine(self.metric, "corpus").settings(self._reference_counts)
        version = settings.pop("version")
        self.signature = Signature(
            self.metric.name, settings | self.metric.unsigned() | {"version": version, "v": __version__}
        )


@lru_cache(maxsize=32)
def engine(metric: SacrebleuScoring, level: str) -> Engine:
    """The engine of a metric for the level `sentence` or `corpus`."""
    try:
        built = Engine(metric.program(**metric.arguments(level)))
    except (ImportError, RuntimeError, OSError, SystemExit) as error:  # it exits when a download fails
        reason = " ".join(str(error).split())
        raise SpecError(f"{metric}: sacrebleu cannot build this tokeniser here: {reason}") from error
    _make_forgettable(BaseTokenizer)
    return built


def _make_forgettable(tokeniser: type[BaseTokenizer]) -> None:
    """Makes the caches of all loaded tokenisers known to `forget`: each holds 65,536 texts, however long."""
    cache: Any = tokeniser.__call__
    if hasattr(cache, "cache_clear"):
        forgettable(cache)
    for subclass in tokeniser.__subclasses__():
        _make_forgettable(subclass)
