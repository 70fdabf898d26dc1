"""Texts as a transformers tokenizer object cuts them, for models that predict tokens.

No prefix space is added and source and target sides are kept apart, as these models were trained. Fast tokenizers
tell where a token stands in its text; for those written in Python (Marian, M2M) the places are found here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evalign.encoders.tokenizer import utf8
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
    joined = ((text, own_space or context[-1:].isspace()) for text, context in zip(texts, contexts, strict=True))
    gaps = ["" if done or not text.strip() else " " for text, done in joined]
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
        (framed,) = _ids(tokenizer, ["a"], "text" if side == "src_lang" else "text_target")
        known = tokenizer.unk_token_id not in framed[:1] + framed[-1:]
    except (KeyError, ValueError):
        known = False
    if not known:
        raise SpecError(f"lang={language}: not a language of this model")


def _tokens(
    tokenizer: Any, texts: Sequence[str], side: str, gaps: Sequence[str] | None = None, ends: bool = False
) -> list[Tokens]:
    """White space around a text never counts; `gaps` are put before texts, `ends` keeps what closes them."""
    if not texts:
        return []
    cleaned = [utf8(text.lstrip() if ends and text.strip() else text.strip()) for text in texts]
    written = cleaned if gaps is None else [gap + text for gap, text in zip(gaps, cleaned, strict=True)]
    lead = [
        len(text) - len(text.lstrip()) - len(gap) for text, gap in zip(texts, gaps or [""] * len(texts), strict=True)
    ]
    if not tokenizer.is_fast:
        return [
            _slow(tokenizer, text, ids, clean, shift)
            for text, ids, clean, shift in zip(
                texts, _ids(tokenizer, written, side, gaps is None), cleaned, lead, strict=True
            )
        ]
    encoded = tokenizer(
        **{side: written}, add_special_tokens=gaps is None, return_offsets_mapping=True,
        return_special_tokens_mask=True, return_attention_mask=False, padding=False, truncation=False, verbose=False,
    )  # fmt: skip
    found = zip(
        texts, encoded["input_ids"], encoded["special_tokens_mask"], encoded["offset_mapping"], lead, strict=True
    )
    return [
        _made(tokenizer, text, ids, np.array(special, dtype=bool), np.array(offsets).reshape(-1, 2) + shift)
        for text, ids, special, offsets, shift in found
    ]


def _ids(tokenizer: Any, texts: Sequence[str], side: str, framed: bool = True) -> list[list[int]]:
    settings = {"add_special_tokens": framed, "padding": False, "truncation": False, "verbose": False}
    ids: list[list[int]] = tokenizer(**{side: list(texts)}, **settings)["input_ids"]
    return ids


def _slow(tokenizer: Any, text: str, ids: list[int], clean: str, shift: int) -> Tokens:
    languages = getattr(tokenizer, "lang_token_to_id", {}).values()
    framing = {*tokenizer.all_special_ids, *languages} - {tokenizer.unk_token_id}
    content = [place for place, one in enumerate(ids) if one not in framing]
    special = np.ones(len(ids), dtype=bool)
    if content:
        special[content[0] : content[-1] + 1] = False
    offsets = _places(tokenizer.convert_ids_to_tokens(ids), special, clean) + shift
    return _made(tokenizer, text, ids, special, offsets)


def _places(pieces: Sequence[str], special: Bools, text: str) -> Ints:
    """Where each piece stands; one that is not found there, because it was normalised, covers nothing."""
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


def _made(tokenizer: Any, text: str, ids: list[int], special: Bools, offsets: Ints) -> Tokens:
    numbers = np.array(ids, dtype=np.int64)
    places = np.where(special[:, None], 0, np.clip(offsets, 0, len(text))).astype(np.int32)
    unknown = tokenizer.unk_token_id
    unread = tuple(np.flatnonzero((numbers == unknown) & ~special).tolist()) if unknown is not None else ()
    return Tokens(text, tuple(tokenizer.convert_ids_to_tokens(ids)), numbers, places, special, unread)
