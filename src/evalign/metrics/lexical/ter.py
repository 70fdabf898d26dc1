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
from evalign.metrics.lexical.sacrebleu_adapter import Engine, Entry, SacrebleuScoring
from evalign.metrics.options import option
from evalign.types import Row


@dataclass(frozen=True)
class TER(SacrebleuScoring):
    """Edits, shifts of phrases among them, that turn the candidate into a reference, per reference word."""

    name: ClassVar[str] = "ter"
    about: ClassVar[str] = "edits and shifts per 100 reference words, by sacrebleu (Snover et al. 2006)"
    explainer: ClassVar[str] = "sacrebleu:explain_ter"
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
        """All options but `limit`, which decides whether there is a number, not which."""
        return {name: getattr(self, name) for name in self.printed}

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
