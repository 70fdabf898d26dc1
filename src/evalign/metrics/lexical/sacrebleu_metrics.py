"""BLEU, chrF and TER, computed by sacrebleu on its scale of 0 to 100.

A row's score is sacrebleu's sentence score; the corpus score comes from the sums of what was counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sacrebleu import metrics as sacrebleu

from evalign.errors import SpecError, TextTooLongError
from evalign.metrics.lexical.sacrebleu_adapter import Engine, Entry, SacrebleuScoring, engine
from evalign.metrics.options import option
from evalign.metrics.signature import Signature
from evalign.types import Row

TOKENISERS = tuple(sacrebleu.BLEU.TOKENIZERS)
BY_LANGUAGE = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}  # what sacrebleu takes where it knows the language
LANGUAGE = re.compile(r"[a-z]{2,3}")
SMOOTHINGS = tuple(sacrebleu.BLEU.SMOOTH_DEFAULTS)


@dataclass(frozen=True)
class BLEU(SacrebleuScoring):
    """Geometric mean of n-gram precisions times a brevity penalty (Papineni et al. 2002).

    Short sentences have no 4-grams: by default sentence scores leave such orders out and corpus scores do not, which is
    what sacrebleu's command line does.
    """

    name: ClassVar[str] = "bleu"
    about: ClassVar[str] = "n-gram precision with brevity penalty, by sacrebleu (Papineni et al. 2002, Post 2018)"
    explainer: ClassVar[str] = "lexical:explain_bleu"

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
        """The two levels differ in `effective_order` only."""
        return super().arguments(level) | {
            "trg_lang": "",
            "force": True,  # it would only mute a warning that these calls cannot raise; see `flags`
            "smooth_value": None if self.smooth_value is None else float(self.smooth_value),
            "effective_order": self.effective_order in ("true", level),
        }

    def unsigned(self) -> dict[str, str]:
        """sacrebleu prints no n-gram order, and smoothing values to two digits."""
        settings = {"order": str(self.max_ngram_order)}
        if self.effective_order == "sentence":
            settings["sentence-eff"] = "yes"
        return settings if self.smooth_value is None else settings | {"smooth-value": self.smooth_value}

    @classmethod
    def options_of(cls, signature: Signature) -> dict[str, Any]:
        """Smoothing and tokeniser stand in entries together with their values or versions."""
        method, _, shown = signature["smooth"].rstrip("]").partition("[")
        default = sacrebleu.BLEU.SMOOTH_DEFAULTS.get(method)
        shown = "" if default is not None and shown == f"{default:.2f}" else shown
        tokeniser, settings = signature["tok"], signature.settings
        return super().options_of(signature) | {
            "tokenize": next((name for name in TOKENISERS if tokeniser.startswith(name)), tokeniser),
            "smooth_method": method,
            "smooth_value": settings.get("smooth-value", shown) or None,
            "max_ngram_order": settings.get("order", "4"),
            "effective_order": "sentence" if settings.get("sentence-eff") == "yes" else signature["eff"] == "yes",
        }

    def flags(self, row: Row) -> dict[str, int]:
        """sacrebleu warns of 100 such lines; here they are counted."""
        return {} if self.force or not row.candidate.rstrip("\n").endswith(" .") else {"tokenized": 1}

    def _tokeniser_of(self, language: str) -> str:
        """As sacrebleu chooses where no tokeniser is named: its own for Chinese, Japanese and Korean, else 13a."""
        if not LANGUAGE.fullmatch(language):
            raise SpecError(f"trg_lang={language}: expected the code of a language, such as de or zh")
        chosen = BY_LANGUAGE.get(language, "13a")
        if self.tokenize not in ("13a", chosen):
            raise SpecError(
                f"tokenize={self.tokenize} with trg_lang={language}, which stands for tokenize={chosen}; give one"
            )
        return chosen

    def _checked_value(self, text: str) -> float:
        if sacrebleu.BLEU.SMOOTH_DEFAULTS[self.smooth_method] is None:
            raise SpecError(f"smooth_value={text}: smooth_method={self.smooth_method} takes none; floor and add-k do")
        try:
            value = float(text)
        except ValueError:
            raise SpecError(f"smooth_value={text}: expected a number") from None
        most = 1 if self.smooth_method == "floor" else math.inf
        if not 0 <= value <= most or math.isinf(value):
            raise SpecError(f"smooth_value={text}: expected {'0 to 1' if most == 1 else '0 or more'}")
        return value


@dataclass(frozen=True)
class ChrF(SacrebleuScoring):
    """F-score of character n-grams of the best reference (Popović 2015); with `word_order=2` of words too: chrF++."""

    name: ClassVar[str] = "chrf"
    about: ClassVar[str] = "F-score of character n-grams, by sacrebleu (Popović 2015); word_order=2 is chrF++"
    explainer: ClassVar[str] = "lexical:explain_chrf"

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


@dataclass(frozen=True)
class TER(SacrebleuScoring):
    """Edits, shifts of phrases among them, that turn the candidate into a reference, per 100 reference words.

    A candidate longer than its reference can cost more than 100. A text without words is worth 100, which is what
    leaving out every word of one reference costs (Snover et al. 2006).
    """

    name: ClassVar[str] = "ter"
    about: ClassVar[str] = "edits and shifts per 100 reference words, by sacrebleu (Snover et al. 2006)"
    explainer: ClassVar[str] = "lexical:explain_ter"
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


def bleu_words(text: str, tokenize: str, lowercase: bool) -> list[str]:
    """A text's words as BLEU with these options compares them."""
    return engine(BLEU(tokenize=tokenize, lowercase=lowercase), "sentence").prepared(text).split()
