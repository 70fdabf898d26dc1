"""LCSR (Melamed 1995): the length of the longest common subsequence of words, divided by that of the longer text.

It is the minimum of rougeL's precision and recall, so neither omitting nor adding words can raise it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import ClassVar

from evalign.core import Row, Segment
from evalign.core.metric import Metric, Scorer
from evalign.core.options import option, option_fields, written
from evalign.core.spec import Signature
from evalign.errors import TextTooLongError
from evalign.metrics.lexical.rouge.counts import lcs_lengths
from evalign.metrics.lexical.rouge.words import STEMS, LetterText, ReadingOptions, shared_reader
from evalign.version import __version__


@dataclass(frozen=True)
class LCSR(Metric):
    """LCS(candidate, reference) / max(words of the candidate, words of the reference)."""

    name: ClassVar[str] = "lcsr"
    about: ClassVar[str] = "longest common subsequence of words, by the words of the longer text (Melamed 1995)"

    tokens: str = option("unicode", "words of any language; ascii is rouge-score's", ("unicode", "ascii"))
    stem: str = option("false", "true is English; or a Snowball language, or nltk-porter, rouge-score's own", STEMS)
    stopwords: bool = option(False, "leave out English function words")
    multiref: str = option("best", "how several references become one score", ("best", "mean"))

    def scorer(self, rows: Iterable[Row] | None = None) -> LCSRScorer:
        """Return the scorer."""
        return LCSRScorer(self)

    def reading(self) -> ReadingOptions:
        """Return the options of tokenisation."""
        return ReadingOptions(self.tokens, self.stem, self.stopwords)

    def signature(self) -> Signature:
        """Return every option, and the stemmer's version."""
        settings = {item.name: written(getattr(self, item.name)) for item in option_fields(self)}
        if self.stem not in ("false", "nltk-porter"):
            settings["snowball"] = version("snowballstemmer")
        return self.signed(settings | {"v": __version__})


class LCSRScorer(Scorer):
    """Scorer of LCSR with its reader."""

    def __init__(self, metric: LCSR) -> None:
        self.metric = metric
        self.signature = metric.signature()
        self._reader = shared_reader(metric.reading())

    def score(self, rows: list[Row]) -> list[Segment]:
        """Return one segment per row, in order."""
        texts = [text for row in rows for text in (row.candidate, *row.references)]
        try:
            readings = self._reader.read(texts)
        except TextTooLongError:  # too many different words for one reading
            if len(rows) < 2:
                raise
            return [segment for row in rows for segment in self.score([row])]
        return [self._segment(row, readings) for row in rows]

    def _segment(self, row: Row, readings: Mapping[str, LetterText]) -> Segment:
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
    """Count texts without words."""
    if not candidate or not any(references):
        return {"empty": 1}
    empty = references.count("")
    return {"empty-reference": empty} if empty else {}
