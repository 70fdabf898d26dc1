"""TER (Snover et al. 2006), computed by sacrebleu: edits and shifts per 100 reference words; lower is better.

A candidate longer than its reference can cost more than 100. A text without words is worth 100, which is what leaving
out every word of one reference costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sacrebleu import metrics as sacrebleu

from evalign.errors import TextTooLongError
from evalign.metrics.base import option
from evalign.metrics.lexical.sacrebleu_adapter import Engine, SacrebleuScoring, whole
from evalign.types import Row


@dataclass(frozen=True)
class TER(SacrebleuScoring):
    """Edits, shifts of phrases among them, that turn the candidate into a reference, per reference word."""

    name: ClassVar[str] = "ter"
    about: ClassVar[str] = "edits and shifts per 100 reference words, by sacrebleu (Snover et al. 2006)"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    worst: ClassVar[float] = 100.0
    higher_is_better: ClassVar[bool] = False

    normalized: bool = option(False, "split off punctuation and undo XML escapes first")
    no_punct: bool = option(False, "remove punctuation")
    asian_support: bool = option(False, "with normalized or no_punct: split CJK characters, remove CJK punctuation")
    case_sensitive: bool = option(False, "keep case")
    # Measured: unlike texts of 600 words take 12 s per reference, of 1,200 words 35 s (sacrebleu 2.6.0).
    limit: int = option(600, "refuse rows with a longer text, in words: searching for shifts takes minutes")

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("limit", self.limit, 1)

    def inner(self, level: str) -> sacrebleu.TER:
        """The sacrebleu object, the same for both levels."""
        return sacrebleu.TER(
            normalized=self.normalized,
            no_punct=self.no_punct,
            asian_support=self.asian_support,
            case_sensitive=self.case_sensitive,
        )

    def unsigned(self) -> dict[str, str]:
        """Nothing: `limit` decides whether there is a number, not which."""
        return {}

    @classmethod
    def signed_options(cls, said: Mapping[str, str]) -> dict[str, Any]:
        """Options from the entries of a signature."""
        return {
            "normalized": said["norm"] == "yes",
            "no_punct": said["punct"] == "no",
            "asian_support": said["asian"] == "yes",
            "case_sensitive": said["case"] == "mixed",
        }

    def check(self, row: Row, engine: Engine) -> None:
        """Refuses what would take minutes."""
        texts = [("candidate", row.candidate), *(("reference", text) for text in row.references)]
        for side, text in texts:
            words = len(engine.prepared(text).split())
            if words > self.limit:
                raise TextTooLongError(
                    f"row {row.id}: its {side} has {words} words, and TER refuses more than limit={self.limit}, since "
                    "sacrebleu's search for shifts would take minutes; score sentences, or raise ter(limit=...)"
                )
