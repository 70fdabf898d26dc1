"""LCSR (Melamed 1995): the length of the longest common subsequence of words, divided by that of the longer text.

It is the smaller one of rougeL's precision and recall, so neither leaving out nor adding words can raise it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import ClassVar, Self

from evalign.errors import TextTooLongError
from evalign.metrics.base import Metric, Scorer
from evalign.metrics.lexical.rouge.lcs import lcs_lengths
from evalign.metrics.lexical.rouge.options import STEMS, restored
from evalign.metrics.lexical.rouge.reading import Reading, ReadingOptions, shared_reader
from evalign.metrics.options import option, option_fields, written
from evalign.metrics.signature import Signature
from evalign.types import Row, Segment
from evalign.version import __version__


@dataclass(frozen=True)
class LCSR(Metric):
    """LCS(candidate, reference) / max(words of the candidate, words of the reference)."""

    name: ClassVar[str] = "lcsr"
    about: ClassVar[str] = "longest common subsequence of words, by the words of the longer text (Melamed 1995)"
    explainer: ClassVar[str] = "rouge.screens:explain_lcsr"

    tokens: str = option("unicode", "words of any language; ascii is rouge-score's", ("unicode", "ascii"))
    stem: str = option("false", "true is English; or a Snowball language, or nltk-porter, rouge-score's own", STEMS)
    stopwords: bool = option(False, "leave out English function words")
    multiref: str = option("best", "several references: the best score, or the mean", ("best", "mean"))

    def scorer(self, rows: Iterable[Row] | None = None) -> LCSRScorer:
        """Ready at once."""
        return LCSRScorer(self)

    def reading(self) -> ReadingOptions:
        """How a text is read."""
        return ReadingOptions(self.tokens, self.stem, self.stopwords)

    def signature(self) -> Signature:
        """Every option, and the stemmer's version."""
        settings = {item.name: written(getattr(self, item.name)) for item in option_fields(self)}
        if self.stem not in ("false", "nltk-porter"):
            settings["snowball"] = version("snowballstemmer")
        return Signature(self.name, settings | {"v": __version__})

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """The metric again; its stemmer must be the same here."""
        return restored(cls, signature)


class LCSRScorer(Scorer):
    """LCSR with its reader."""

    def __init__(self, metric: LCSR) -> None:
        self.metric = metric
        self.signature = metric.signature()
        self._reader = shared_reader(metric.reading())

    def score(self, rows: list[Row]) -> list[Segment]:
        """One segment per row, in order."""
        texts = [text for row in rows for text in (row.candidate, *row.references)]
        try:
            readings = self._reader.read(texts)
        except TextTooLongError:  # too many different words for one reading
            if len(rows) < 2:
                raise
            return [segment for row in rows for segment in self.score([row])]
        return [self._segment(row, readings) for row in rows]

    def _segment(self, row: Row, readings: Mapping[str, Reading]) -> Segment:
        candidate = readings[row.candidate].letters
        references = [readings[text].letters for text in row.references]
        lengths = lcs_lengths([candidate] * len(references), references).tolist()
        scores = [
            length / max(len(candidate), len(reference), 1)
            for length, reference in zip(lengths, references, strict=True)
        ]
        score = max(scores) if self.metric.multiref == "best" else sum(scores) / len(scores)
        return Segment(row.id, {"score": score}, _flags(candidate, references))


def _flags(candidate: str, references: list[str]) -> dict[str, int]:
    """Texts without words."""
    if not candidate or not any(references):
        return {"empty": 1}
    empty = references.count("")
    return {"empty-reference": empty} if empty else {}
