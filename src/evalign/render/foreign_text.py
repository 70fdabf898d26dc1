"""Texts that a model cannot read: an Alignment in, a sentence out where its scores mean nothing.

A model without a text's words still gives every token a vector, and vectors of tokens that it never saw are much alike:
two unrelated Arabic sentences reach F1 .9 with an English model. What is drawn from such numbers must say so.
"""

from __future__ import annotations

import unicodedata
from collections import Counter

from evalign.encoders.pinned_models import KNOWN, LANGUAGE_MODELS, OTHER_LANGUAGES
from evalign.render.quality import signature_settings
from evalign.text.words import UNSPACED
from evalign.types import Alignment, Tokens

ENGLISH = {model.label for model in KNOWN.values()}
LATIN = "Latin"
MOST_UNKNOWN = 0.5
SPELLED = {False: 0.75, True: 1.4}  # tokens per letter, of scripts with spaces and without: not known, only spelled out
NAMES = {"CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}


def foreign_text(alignment: Alignment) -> str:
    """Why the scores mean nothing with this model, and which to take; empty where they mean something."""
    model = signature_settings(alignment).get("model", "").partition("@")[0]
    for name, tokens in (("candidate", alignment.candidate), ("reference", alignment.reference)):
        script, why = _script(tokens.text), ""
        own = int((~tokens.special).sum())
        if own and len(tokens.unknown) >= MOST_UNKNOWN * own:
            why = f"{len(tokens.unknown)} of the {own} tokens of the {name} are unknown to {model or 'the model'}"
        elif script not in ("", LATIN) and (model in ENGLISH or _spelled_out(tokens, own)):
            why = f"the {name} is written in {script}, which {model or 'the model'} does not know"
        if why:
            return f"{why[0].upper()}{why[1:]}: the score means nothing with this model; take {_better(script)}."
    return ""


def _script(text: str) -> str:
    """The script of most letters, as in `Arabic`; empty for a text without letters."""
    found = Counter(
        NAMES.get(first := unicodedata.name(char, "").partition(" ")[0], first.title())
        for char in text
        if unicodedata.category(char)[0] == "L"
    )
    return "Japanese" if found["Japanese"] else max(found, key=found.__getitem__, default="")


def _spelled_out(tokens: Tokens, own: int) -> bool:
    letters = sum(unicodedata.category(char)[0] == "L" for char in tokens.text)
    unspaced = any(first <= ord(char) <= last for char in tokens.text for first, last in UNSPACED)
    return own >= SPELLED[unspaced] * letters


def _better(script: str) -> str:
    return f"model={LANGUAGE_MODELS['zh'] if script == 'Chinese' else OTHER_LANGUAGES}"
