"""chrF and chrF++ (Popović 2015, 2017), computed by sacrebleu, on its scale of 0 to 100.

Character n-grams (and with `word_order=2` words, chrF++) of the best reference; the corpus score comes from their sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sacrebleu import metrics as sacrebleu

from evalign.errors import SpecError
from evalign.metrics.lexical.sacrebleu_adapter import Entry, SacrebleuScoring
from evalign.metrics.options import option
from evalign.metrics.signature import Signature


@dataclass(frozen=True)
class ChrF(SacrebleuScoring):
    """F-score of character n-grams."""

    name: ClassVar[str] = "chrf"
    about: ClassVar[str] = "F-score of character n-grams, by sacrebleu (Popović 2015); word_order=2 is chrF++"
    explainer: ClassVar[str] = "sacrebleu:explain_chrf"

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
        """sacrebleu prints beta in the metric's name: chrF2."""
        return {"beta": str(self.beta)}

    @classmethod
    def options_of(cls, signature: Signature) -> dict[str, Any]:
        """Those that sacrebleu prints, and beta."""
        return super().options_of(signature) | {"beta": signature.settings.get("beta", "2")}
