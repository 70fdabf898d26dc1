"""BLEU (Papineni et al. 2002), computed by sacrebleu, on its scale of 0 to 100.

A row's score is sacrebleu's sentence BLEU; the corpus score comes from the sums of matched and counted n-grams.
Short sentences have no 4-grams: by default sentence scores leave such orders out and corpus scores do not, which is
what sacrebleu's command line does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sacrebleu import metrics as sacrebleu

from evalign.errors import SpecError
from evalign.metrics.base import option
from evalign.metrics.lexical.sacrebleu_adapter import SacrebleuScoring, whole
from evalign.types import Row

TOKENISERS = tuple(sacrebleu.BLEU.TOKENIZERS)
SMOOTHINGS = tuple(sacrebleu.BLEU.SMOOTH_DEFAULTS)


@dataclass(frozen=True)
class BLEU(SacrebleuScoring):
    """Geometric mean of n-gram precisions times a brevity penalty."""

    name: ClassVar[str] = "bleu"
    about: ClassVar[str] = "n-gram precision with brevity penalty, by sacrebleu (Papineni et al. 2002, Post 2018)"

    tokenize: str = option("13a", "sacrebleu's tokeniser", TOKENISERS)
    lowercase: bool = option(False, "compare without case")
    smooth_method: str = option("exp", "what a precision of zero becomes", SMOOTHINGS)
    smooth_value: str | None = option(None, "for floor (0.1 if not given) and add-k (1)")
    max_ngram_order: int = option(4, "longest n-gram")
    effective_order: str = option(
        "sentence", "leave out orders that a text is too short for", ("sentence", "true", "false")
    )
    force: bool = option(False, "do not flag candidates that look tokenised already (they end in ' .')")

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("max_ngram_order", self.max_ngram_order, 1)
        if self.smooth_value is not None:
            object.__setattr__(self, "smooth_value", str(self._checked_value(self.smooth_value)))

    def inner(self, level: str) -> sacrebleu.BLEU:
        """The sacrebleu object; the two levels differ in `effective_order` only."""
        return sacrebleu.BLEU(
            lowercase=self.lowercase,
            force=True,  # it would only mute a warning that these calls cannot raise; see `flags`
            tokenize=self.tokenize,
            smooth_method=self.smooth_method,
            smooth_value=None if self.smooth_value is None else float(self.smooth_value),
            max_ngram_order=self.max_ngram_order,
            effective_order=self.effective_order == "true" or self.effective_order == level,
        )

    def unsigned(self) -> dict[str, str]:
        """sacrebleu prints no n-gram order, and smoothing values to two digits."""
        said = {"order": str(self.max_ngram_order)}
        if self.effective_order == "sentence":
            said["sentence-eff"] = "yes"
        return said if self.smooth_value is None else said | {"smooth-value": self.smooth_value}

    @classmethod
    def signed_options(cls, said: Mapping[str, str]) -> dict[str, Any]:
        """Options from the entries of a signature."""
        method, _, shown = said["smooth"].rstrip("]").partition("[")
        default = sacrebleu.BLEU.SMOOTH_DEFAULTS.get(method)
        shown = "" if default is not None and shown == f"{default:.2f}" else shown
        segments_differ = said.get("sentence-eff") == "yes"
        return {
            "tokenize": next((name for name in TOKENISERS if said["tok"].startswith(name)), said["tok"]),
            "lowercase": said["case"] == "lc",
            "smooth_method": method,
            "smooth_value": said.get("smooth-value", shown) or None,
            "max_ngram_order": said.get("order", "4"),
            "effective_order": "sentence" if segments_differ else said["eff"] == "yes",
        }

    def flags(self, row: Row) -> dict[str, int]:
        """sacrebleu warns of 100 such lines; here they are counted."""
        return {} if self.force or not row.candidate.rstrip("\n").endswith(" .") else {"tokenized": 1}

    def _checked_value(self, given: str) -> float:
        if sacrebleu.BLEU.SMOOTH_DEFAULTS[self.smooth_method] is None:
            raise SpecError(f"smooth_value={given}: smooth_method={self.smooth_method} takes none; floor and add-k do")
        try:
            value = float(given)
        except ValueError:
            raise SpecError(f"smooth_value={given}: expected a number") from None
        most = 1 if self.smooth_method == "floor" else math.inf
        if not 0 <= value <= most or math.isinf(value):
            raise SpecError(f"smooth_value={given}: expected {'0 to 1' if most == 1 else '0 or more'}")
        return value
