"""Text -> Tokens through a tokenizer.json, with offsets into the original text.

The file's own truncation and padding are switched off (MiniLM's cuts and pads to 128): length is
our policy, see windows.py. Surrounding white space never counts, as in bert_score.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Encoding
from tokenizers import Tokenizer as Backend

from evalign.encoders.token_memo import memoised
from evalign.errors import ModelError
from evalign.types import Tokens

NO_LIMIT = 1_000_000  # tokenizer_config.json writes "no limit" as 1e30


class Tokenizer:
    """A tokenizer.json held to one policy: no truncation, no padding, one token per word wherever it stands."""

    def __init__(self, definition: str, max_length: int | None = None) -> None:
        self.max_length = max_length
        settings: dict[str, Any] = json.loads(definition)
        settings["truncation"] = settings["padding"] = None
        _add_prefix_space(settings)
        canonical = json.dumps(settings, sort_keys=True)
        self.fingerprint = hashlib.sha256(canonical.encode()).hexdigest()
        self._backend = Backend.from_str(canonical)
        self.unknown_id = _unknown_id(settings, self._backend)
        framed = self._backend.encode("a")
        own = [i for i, special in enumerate(framed.special_tokens_mask) if not special]
        self.prefix_ids: tuple[int, ...] = tuple(framed.ids[: own[0]])
        self.suffix_ids: tuple[int, ...] = tuple(framed.ids[own[-1] + 1 :])

    @classmethod
    def from_directory(cls, directory: Path) -> Tokenizer:
        """Reads tokenizer.json, and the length limit from tokenizer_config.json."""
        file = directory / "tokenizer.json"
        if not file.is_file():
            raise ModelError(
                f"{directory}: no tokenizer.json there; write one with "
                "transformers.AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)"
            )
        limit = None
        config = directory / "tokenizer_config.json"
        try:
            if config.is_file():
                limit = json.loads(config.read_text("utf-8")).get("model_max_length")
            return cls(file.read_text("utf-8"), None if limit is None or limit > NO_LIMIT else int(limit))
        except Exception as error:  # the tokenizers library raises bare Exception on a broken file
            raise ModelError(f"{file}: not a tokenizer definition ({error})") from error

    @property
    def frame_length(self) -> int:
        """Special tokens added around every text."""
        return len(self.prefix_ids) + len(self.suffix_ids)

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids of the tokens put around a text; they weigh nothing, also when a text spells one out."""
        return frozenset(self.prefix_ids + self.suffix_ids)

    @property
    def size(self) -> int:
        """How many ids there are."""
        return self._backend.get_vocab_size()

    def piece(self, token_id: int) -> str:
        """How the vocabulary spells an id."""
        return str(self._backend.id_to_token(token_id))

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """All tokens of every text, special ones included, nothing cut."""
        return memoised(self.fingerprint, texts, self._tokenise)

    def _tokenise(self, texts: Sequence[str]) -> list[Tokens]:
        encodings = self._backend.encode_batch([utf8(text.strip()) for text in texts])
        return [self._tokens(text, encoding) for text, encoding in zip(texts, encodings, strict=True)]

    def _tokens(self, text: str, encoding: Encoding) -> Tokens:
        special = np.array(encoding.special_tokens_mask, dtype=bool)
        offsets = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
        offsets[~special] += len(text) - len(text.lstrip())
        ids = np.array(encoding.ids, dtype=np.int64)
        unknown = np.flatnonzero((ids == self.unknown_id) & ~special) if self.unknown_id is not None else ids[:0]
        return Tokens(text, tuple(encoding.tokens), ids, offsets, special, tuple(unknown.tolist()))


def utf8(text: str) -> str:
    """Lone surrogates cannot be encoded; U+FFFD takes their place, one for one, so offsets hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def _add_prefix_space(settings: dict[str, Any]) -> None:
    """Byte-level vocabularies spell a word at the start of a text differently; bert_score evens that out too.

    The post-processor has to know, or it takes the added space off the first word's offset. Behind another splitter
    (CLIP's words, SmolLM's digits) it would be put before every piece, not before the text: left alone there.
    """
    splitter, finisher = settings.get("pre_tokenizer") or {}, settings.get("post_processor") or {}
    byte_level = [
        part
        for part in [splitter, *splitter.get("pretokenizers", [])[:1]]
        if part.get("type") == "ByteLevel" and part.get("use_regex", True)
    ]
    finishers = [part for part in [finisher, *finisher.get("processors", [])] if "add_prefix_space" in part]
    for part in [*byte_level, *(finishers if byte_level else [])]:
        part["add_prefix_space"] = True


def _unknown_id(settings: dict[str, Any], backend: Backend) -> int | None:
    name = settings["model"].get("unk_token")
    if isinstance(settings["model"].get("unk_id"), int):  # unigram models
        return int(settings["model"]["unk_id"])
    return backend.token_to_id(name) if name else None
