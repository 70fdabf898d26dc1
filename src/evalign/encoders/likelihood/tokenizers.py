"""Texts as a transformers tokenizer object cuts them, for models that predict tokens.

No prefix space is added and source and target sides are kept apart, as these models were trained. Fast tokenizers
tell where a token stands in its text; for those written in Python (Marian, M2M) the places are found here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evalign.encoders.tokenizer import as_tokens, utf8
from evalign.errors import SpecError
from evalign.types import Bools, Ints, Tokens

SPACE = "▁"  # how SentencePiece writes a space
NEAR = 30  # characters within which the next piece is looked for: some were normalised away


def source_tokens(tokenizer: Any, texts: Sequence[str], language: str = "") -> list[Tokens]:
    """The side that a model reads."""
    _set_language(tokenizer, "src_lang", language)
    return _tokens(tokenizer, texts, "text")


def target_tokens(tokenizer: Any, texts: Sequence[str], language: str = "") -> list[Tokens]:
    """The side that a model predicts; Marian has another vocabulary for it, M2M another language token."""
    _set_language(tokenizer, "tgt_lang", language)
    return _tokens(tokenizer, texts, "text_target")


def context_tokens(tokenizer: Any, texts: Sequence[str]) -> list[Tokens]:
    """What a causal model reads before the text it predicts; white space at the end may be a prompt's own."""
    return _tokens(tokenizer, texts, "text", ends=True)


def continuation_tokens(tokenizer: Any, texts: Sequence[str], contexts: Sequence[str]) -> list[Tokens]:
    """Texts that go on after a context: no special tokens, and a space between where the context ends without one."""
    own_space = tokenizer.tokenize("a")[0].startswith(SPACE)
    gaps = [
        "" if own_space or context[-1:].isspace() or not text.strip() else " "
        for text, context in zip(texts, contexts, strict=True)
    ]
    return _tokens(tokenizer, texts, "text", gaps)


def _set_language(tokenizer: Any, side: str, language: str) -> None:
    has_languages = hasattr(tokenizer, "src_lang")
    if not has_languages and not language:
        return
    if not has_languages:
        raise SpecError(f"lang={language}: this model has no language tokens; leave it out")
    if not language:
        raise SpecError("this model wants to know languages: give lang=, and source_lang= if it scores sources")
    try:
        setattr(tokenizer, side, language)
        (framed,) = _encoded(tokenizer, ["a"], "text" if side == "src_lang" else "text_target")["input_ids"]
        known = tokenizer.unk_token_id not in framed[:1] + framed[-1:]
    except (KeyError, ValueError):
        known = False
    if not known:
        raise SpecError(f"lang={language}: not a language of this model")


def _tokens(
    tokenizer: Any, texts: Sequence[str], side: str, gaps: Sequence[str] | None = None, ends: bool = False
) -> list[Tokens]:
    """White space around a text never counts; `gaps` are put before texts, `ends` keeps white space at their ends.

    With gaps, texts get no special tokens.
    """
    if not texts:
        return []
    cleaned = [utf8(text.lstrip() if ends and text.strip() else text.strip()) for text in texts]
    before = gaps or [""] * len(texts)
    encoded = _encoded(tokenizer, [gap + text for gap, text in zip(before, cleaned, strict=True)], side, gaps is None)
    tokens = []
    for place, (text, ids) in enumerate(zip(texts, encoded["input_ids"], strict=True)):
        pieces = tokenizer.convert_ids_to_tokens(ids)
        if tokenizer.is_fast:
            special, offsets = encoded["special_tokens_mask"][place], encoded["offset_mapping"][place]
        else:
            special = _special(tokenizer, ids)
            offsets = _offsets(pieces, special, cleaned[place])
        read = as_tokens(text, (pieces, ids, special, offsets), tokenizer.unk_token_id, len(before[place]))
        within = np.where(read.special[:, None], 0, np.clip(read.offsets, 0, len(text)))
        tokens.append(replace(read, offsets=within.astype(np.int32)))
    return tokens


def _encoded(tokenizer: Any, texts: Sequence[str], side: str, framed: bool = True) -> Any:
    """What transformers gives for texts of one side, nothing cut or padded."""
    places = {"return_offsets_mapping": True, "return_special_tokens_mask": True} if tokenizer.is_fast else {}
    return tokenizer(
        **{side: list(texts)}, add_special_tokens=framed, return_attention_mask=False, padding=False,
        truncation=False, verbose=False, **places,
    )  # fmt: skip


def _special(tokenizer: Any, ids: list[int]) -> Bools:
    """Which tokens stand before the first and after the last token of the text."""
    languages = getattr(tokenizer, "lang_token_to_id", {}).values()
    framing = {*tokenizer.all_special_ids, *languages} - {tokenizer.unk_token_id}
    content = [place for place, token in enumerate(ids) if token not in framing]
    special = np.ones(len(ids), dtype=bool)
    if content:
        special[content[0] : content[-1] + 1] = False
    return special


def _offsets(pieces: Sequence[str], special: Bools, text: str) -> Ints:
    """Where each piece stands in the text; one that is not found there, because it was normalised, covers nothing."""
    offsets = np.zeros((len(pieces), 2), dtype=np.int64)
    cursor = 0
    for place, piece in enumerate(pieces):
        if special[place]:
            continue
        surface = piece.replace(SPACE, " ").strip()
        start = text.find(surface, cursor, cursor + NEAR + len(surface)) if surface else -1
        stop = start + len(surface) if start >= 0 else cursor
        offsets[place] = (start if start >= 0 else cursor, stop)
        cursor = stop
    return offsets
