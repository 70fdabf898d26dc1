"""chrF and chrF++ (Popović 2015, 2017), computed by sacrebleu, on its scale of 0 to 100.

Character n-grams (and with `word_order=2` words, chrF++) of the best reference; the corpus score comes from their sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sacrebleu import metrics as sacrebleu

from evalign.errors import SpecError
from evalign.metrics.base import option
from evalign.metrics.lexical.sacrebleu_adapter import SacrebleuScoring, whole


@dataclass(frozen=True)
class ChrF(SacrebleuScoring):
    """F-score of character n-grams."""

    name: ClassVar[str] = "chrf"
    about: ClassVar[str] = "F-score of character n-grams, by sacrebleu (Popović 2015); word_order=2 is chrF++"

    char_order: int = option(6, "longest character n-gram")
    word_order: int = option(0, "longest word n-gram; 2 is chrF++")
    beta: int = option(2, "how many times recall counts as much as precision")
    lowercase: bool = option(False, "compare without case")
    whitespace: bool = option(False, "keep spaces in character n-grams")
    eps_smoothing: bool = option(False, "smooth as chrF++.py, NLTK and Moses do, instead of leaving out empty orders")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("char_order", "word_order", "beta"):
            whole(name, getattr(self, name), 0)
        if self.char_order + self.word_order == 0:
            raise SpecError("char_order=0 and word_order=0 leave nothing to compare; raise one of them")

    def inner(self, level: str) -> sacrebleu.CHRF:
        """The sacrebleu object, the same for both levels."""
        return sacrebleu.CHRF(
            char_order=self.char_order,
            word_order=self.word_order,
            beta=self.beta,
            lowercase=self.lowercase,
            whitespace=self.whitespace,
            eps_smoothing=self.eps_smoothing,
        )

    def unsigned(self) -> dict[str, str]:
        """sacrebleu prints beta in the metric's name: chrF2."""
        return {"beta": str(self.beta)}

    @classmethod
    def signed_options(cls, said: Mapping[str, str]) -> dict[str, Any]:
        """Options from the entries of a signature."""
        return {
            "char_order": said["nc"],
            "word_order": said["nw"],
            "beta": said.get("beta", "2"),
            "lowercase": said["case"] == "lc",
            "whitespace": said["space"] == "yes",
            "eps_smoothing": said["eff"] == "no",
        }
