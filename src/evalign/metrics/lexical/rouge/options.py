"""The options that all ROUGE metrics share, what they may be together, and how they stand in a signature."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, ClassVar, Self

from evalign.errors import SpecError, nearest
from evalign.metrics.base import Metric, option
from evalign.metrics.lexical.rouge.reading import ReadingOptions
from evalign.metrics.lexical.rouge.word_lists import lexicon
from evalign.metrics.signature import Signature
from evalign.text.stemming import LANGUAGES
from evalign.version import __version__

MODES = ("paper", "rouge155")
MULTIREF = {"paper": ("best", "mean"), "rouge155": ("average", "best")}  # the first is the default
OWN_RATIO = "P/R"
STEMS = ("false", "true", "nltk-porter", *LANGUAGES)


@dataclass(frozen=True)
class RougeOptions(Metric):
    """Options are kept in one form: what is the default of a mode is written `auto`."""

    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    worst: ClassVar[float] = 0.0

    mode: str = option("paper", "Lin 2004 for every language, or the program ROUGE-1.5.5 in every digit", MODES)
    tokens: str = option("auto", "auto is unicode; ascii is rouge-score's", ("auto", "unicode", "ascii"))
    stem: str = option("false", "true is English; or a Snowball language, or nltk-porter, rouge-score's own", STEMS)
    stopwords: bool = option(False, "leave out English function words (rouge155: the script's list)")
    alpha: float = option(0.5, "weight of precision in F: 0 is recall alone, 1 precision alone")
    beta: str = option("none", "instead of alpha: recall weighs beta times as much; P/R takes the ratio of both")
    words: int = option(0, "read only so many words of every text; 0 is all")
    bytes: int = option(0, "read only so many bytes of every text; 0 is all")
    multiref: str = option("auto", "paper: best (auto) or mean; rouge155: average (auto) or best recall",
                           ("auto", "best", "mean", "average"))  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("beta", _beta(self.beta))
        for problem in self.problems():
            if problem:
                raise SpecError(f"{self.name}: {problem}")
        if self.beta == "1":
            self._set("beta", "none")
        if self.tokens == "unicode":
            self._set("tokens", "auto")
        if self.multiref == MULTIREF[self.mode][0]:
            self._set("multiref", "auto")

    def problems(self) -> list[str]:
        """What is wrong with these options together, and what to write instead; empty strings are no problem."""
        script = self.mode == "rouge155"
        known = MULTIREF[self.mode]
        return [
            f"tokens={self.tokens} with mode=rouge155, which has the script's own tokens; leave tokens out"
            if script and self.tokens != "auto" else "",
            f"stem={self.stem} with mode=rouge155, which has the script's own stemmer; write stem=true"
            if script and self.stem not in ("true", "false") else "",
            f"beta={self.beta} with mode=rouge155; the script takes alpha, which is 1 / (1 + beta²)"
            if script and self.beta != "none" else "",
            f"multiref={self.multiref} with mode={self.mode}; {nearest(self.multiref, known)}"
            if self.multiref not in ("auto", *known) else "",
            f"alpha={self.alpha:g}: expected a number from 0 to 1" if not 0 <= self.alpha <= 1 else "",
            "alpha and beta say the same thing; give one" if self.alpha != 0.5 and self.beta != "none" else "",
            "words and bytes both limit the length; give one" if self.words and self.bytes else "",
            "words and bytes are limits of at least 1, or 0 for none" if min(self.words, self.bytes) < 0 else "",
        ]  # fmt: skip

    @property
    def rule(self) -> str:
        """How several references become one score."""
        return MULTIREF[self.mode][0] if self.multiref == "auto" else self.multiref

    @property
    def precision_weight(self) -> float | None:
        """alpha, also where beta was given; None if it is the ratio of precision and recall."""
        if self.beta == "none":
            return self.alpha
        return None if self.beta == OWN_RATIO else 1 / (1 + float(self.beta) ** 2)

    def reading(self) -> ReadingOptions:
        """What of this decides how a text is read."""
        tokens = "rouge155" if self.mode == "rouge155" else "unicode" if self.tokens == "auto" else self.tokens
        return ReadingOptions(
            tokens, self.stem, self.stopwords, self.words, self.bytes, getattr(self, "sentences", "lines")
        )

    def signature(self) -> Signature:
        """Every option that decides the numbers, and the data behind them."""
        said = {item.name: _said(getattr(self, item.name)) for item in dataclasses.fields(self)}
        said |= {"tokens": self.reading().tokens, "multiref": self.rule}
        del said["alpha" if self.beta != "none" else "beta"]
        if self.mode == "rouge155" and (self.stem == "true" or self.stopwords):
            said["lexicon"] = lexicon().digest
        elif self.stem not in ("false", "nltk-porter"):
            said["snowball"] = version("snowballstemmer")
        return Signature(self.name, said | {"v": __version__})

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """The metric again; its word lists must be the same here."""
        said = dict(signature.settings)
        known = {item.name for item in dataclasses.fields(cls)}
        options = {key: value for key, value in said.items() if key in known and (key, value) != ("tokens", "rouge155")}
        metric = cls.from_options(options)
        own = metric.signature().settings
        if unlike := sorted((set(said) ^ set(own)) - {"lexicon", "snowball"}):
            raise SpecError(f"signature {signature}: {unlike[0]!r} is missing, or is nothing that {cls.name} prints")
        for pinned in ("lexicon", "snowball"):
            if said.get(pinned) != own.get(pinned):
                raise SpecError(f"the signature pins {pinned} {said.get(pinned)}, but here is {own.get(pinned)}")
        return metric

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


def _beta(given: str) -> str:
    if given in ("none", OWN_RATIO):
        return given
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1e6:
        raise SpecError(f"beta={given}: expected a number from 0 to 1,000,000, or {OWN_RATIO}")
    return _said(value)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
