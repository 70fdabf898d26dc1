"""The options that all ROUGE metrics share, what they may be together, and how they stand in a signature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, ClassVar, Self, TypeVar

from evalign.errors import SpecError, nearest
from evalign.metrics.base import Metric
from evalign.metrics.lexical.rouge.reading import ReadingOptions
from evalign.metrics.lexical.rouge.word_lists import lexicon
from evalign.metrics.options import option, option_fields, written
from evalign.metrics.signature import Signature
from evalign.text.stemming import LANGUAGES
from evalign.text.words import TOKENISERS
from evalign.version import __version__

MODES = ("paper", "rouge155")
MULTIREF = {  # the first is the default
    "paper": ("best", "mean", "average", "max-recall"),
    "rouge155": ("average", "best"),
}
OWN_RATIO = "P/R"
STEMS = ("false", "true", "nltk-porter", *LANGUAGES)
PINNED = ("lexicon", "snowball")  # data behind the numbers
M = TypeVar("M", bound=Metric)
Problem = tuple[bool, str]  # whether options are wrong together, and what to write instead


def tokenizer_name(value: Any) -> str:
    """The option `tokens`: a tokenizer of ours, or one that `evalign.register_tokenizer` made known."""
    name = written(value)
    if name != "auto" and name not in TOKENISERS:
        known = ("auto", *TOKENISERS)
        raise SpecError(f"tokens={name}: {nearest(name, known)}; others are made known by evalign.register_tokenizer")
    return name


@dataclass(frozen=True)
class RougeOptions(Metric):
    """The options. Each is stored in one form, so that equal metrics are equal: a mode's own default is `auto`."""

    fields: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    explainer: ClassVar[str] = "rouge.screens:explain_rouge"

    mode: str = option("paper", "Lin 2004 for every language, or the program ROUGE-1.5.5 in every digit", MODES)
    tokens: str = option("auto", "auto is unicode; ascii is rouge-score's; or the name of a registered tokenizer",
                         choices=("auto", "unicode", "ascii"), parse=tokenizer_name)  # fmt: skip
    stem: str = option("false", "true is English; or a Snowball language, or nltk-porter, rouge-score's own", STEMS)
    stopwords: bool = option(False, "leave out English function words (rouge155: the script's list)")
    alpha: float = option(0.5, "weight of precision in F: 0 is recall alone, 1 precision alone")
    beta: str = option("none", "instead of alpha: recall weighs beta times as much; P/R takes the ratio of both")
    words: int = option(0, "read only so many words of every text; 0 is all")
    bytes: int = option(0, "read only so many bytes of every text; 0 is all")
    multiref: str = option("auto", "paper: best F (auto), mean, average of pooled counts, or max-recall; "
                           "rouge155: average (auto) or best recall",
                           ("auto", "best", "mean", "average", "max-recall"))  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("beta", _beta(self.beta))
        for wrong, advice in self.problems():
            if wrong:
                raise SpecError(f"{self.name}: {advice}")
        for name, default, stored in (
            ("beta", "1", "none"), ("tokens", "unicode", "auto"), ("multiref", MULTIREF[self.mode][0], "auto"),
            ("sentences", self.own_sentences, "default"),
        ):  # fmt: skip
            if getattr(self, name, None) == default:
                self._set(name, stored)

    def problems(self) -> list[Problem]:
        """What these options may not be together."""
        script, known = self.mode == "rouge155", MULTIREF[self.mode]
        return [
            (script and self.tokens != "auto",
             f"tokens={self.tokens} with mode=rouge155, which has the script's own tokens; leave tokens out"),
            (script and self.stem not in ("true", "false"),
             f"stem={self.stem} with mode=rouge155, which has the script's own stemmer; write stem=true"),
            (script and self.beta != "none",
             f"beta={self.beta} with mode=rouge155; the script takes alpha, which is 1 / (1 + beta²)"),
            (self.multiref not in ("auto", *known),
             f"multiref={self.multiref} with mode={self.mode}; {nearest(self.multiref, known)}"),
            (not 0 <= self.alpha <= 1, f"alpha={self.alpha:g}: expected a number from 0 to 1"),
            (self.alpha != 0.5 and self.beta != "none", "alpha and beta say the same thing; give one"),
            (bool(self.words and self.bytes), "words and bytes both limit the length; give one"),
            (min(self.words, self.bytes) < 0, "words and bytes are limits of at least 1, or 0 for none"),
        ]  # fmt: skip

    @property
    def rule(self) -> str:
        """How several references become one score."""
        return MULTIREF[self.mode][0] if self.multiref == "auto" else self.multiref

    @property
    def precision_weight(self) -> float | None:
        """alpha, which a number as beta stands for, too; None if beta is the ratio of precision and recall."""
        if self.beta == "none":
            return self.alpha
        return None if self.beta == OWN_RATIO else 1 / (1 + float(self.beta) ** 2)

    @property
    def own_sentences(self) -> str:
        """What `sentences` is if nothing is said: rouge-score and the script take lines."""
        return "auto" if self.mode == "paper" and self.tokens != "ascii" else "lines"

    def reading(self) -> ReadingOptions:
        """The options that decide how a text is read."""
        tokens = "rouge155" if self.mode == "rouge155" else "unicode" if self.tokens == "auto" else self.tokens
        sentences = getattr(self, "sentences", "lines")
        sentences = self.own_sentences if sentences == "default" else sentences
        return ReadingOptions(tokens, self.stem, self.stopwords, self.words, self.bytes, sentences)

    def signature(self) -> Signature:
        """Every option that decides the numbers, and the data behind them."""
        settings = {item.name: _printed(getattr(self, item.name)) for item in option_fields(self)}
        settings |= {"tokens": self.reading().tokens, "multiref": self.rule}
        if "sentences" in settings:
            settings["sentences"] = self.reading().sentences
        if settings.get("exclusive") == "false":  # older signatures do not know it
            del settings["exclusive"]
        del settings["alpha" if self.beta != "none" else "beta"]
        if self.mode == "rouge155" and (self.stem == "true" or self.stopwords):
            settings["lexicon"] = lexicon().digest
        elif self.stem not in ("false", "nltk-porter"):
            settings["snowball"] = version("snowballstemmer")
        return Signature(self.name, settings | {"v": __version__})

    @classmethod
    def from_signature(cls, signature: Signature) -> Self:
        """The metric again; its word lists must be the same here."""
        return restored(cls, signature)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


def restored(kind: type[M], signature: Signature) -> M:
    """The metric behind a signature that prints every option; what it pins must be the same here."""
    printed, known = signature.settings, {item.name for item in option_fields(kind)}
    options = {key: value for key, value in printed.items() if key in known}
    if printed.get("tokens") == "rouge155":
        del options["tokens"]
    metric = kind.from_options(options, signature.name)
    here = metric.scorer().signature.settings
    if unlike := sorted((set(printed) ^ set(here)) - {*PINNED}):
        raise SpecError(f"signature {signature}: {unlike[0]!r} is missing, or is nothing that {metric.name} prints")
    for pinned in PINNED:
        if printed.get(pinned) != here.get(pinned):
            raise SpecError(f"the signature pins {pinned} {printed.get(pinned)}, but here is {here.get(pinned)}")
    return metric


def _beta(text: str) -> str:
    """Beta in one form: none, P/R, or the shortest way to write the number."""
    if text in ("none", OWN_RATIO):
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1e6:
        raise SpecError(f"beta={text}: expected a number from 0 to 1,000,000, or {OWN_RATIO}")
    return _printed(value)


def _printed(value: Any) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else written(value)
