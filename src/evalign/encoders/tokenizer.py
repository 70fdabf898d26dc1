"""Text -> Tokens through a tokenizer.json, with offsets into the original text.

The file's own truncation and padding are switched off (MiniLM's cuts and pads to 128): windows.py decides about length.
Surrounding white space never counts, as in bert_score.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer as Backend

from evalign.encoders.token_memo import memoised
from evalign.errors import ModelError
from evalign.types import Tokens

NO_LIMIT = 1_000_000  # tokenizer_config.json writes "no limit" as 1e30

Encoding = tuple[Sequence[str], Sequence[int], Any, Any]  # pieces, ids, special or not, offsets; one per token


class Tokenizer:
    """A tokenizer.json without truncation and padding; the first word of a text has the same token as elsewhere."""

    def __init__(self, definition: str, max_length: int | None = None, prefix_space: bool = True) -> None:
        self.max_length = max_length
        settings: dict[str, Any] = json.loads(definition)
        settings["truncation"] = settings["padding"] = None
        if prefix_space:
            _add_prefix_space(settings)
        canonical = json.dumps(settings, sort_keys=True)
        self.fingerprint = hashlib.sha256(canonical.encode()).hexdigest()
        self._backend = Backend.from_str(canonical)
        self.unknown_id = _unknown_id(settings, self._backend)
        letter = self._backend.encode("a")
        own = [place for place, special in enumerate(letter.special_tokens_mask) if not special]
        self.prefix_ids: tuple[int, ...] = tuple(letter.ids[: own[0]])
        self.suffix_ids: tuple[int, ...] = tuple(letter.ids[own[-1] + 1 :])
        self.frame_length = len(self.prefix_ids) + len(self.suffix_ids)  # special tokens added around every text
        # They weigh nothing, also where a text spells one out.
        self.special_ids = frozenset(self.prefix_ids + self.suffix_ids)

    @classmethod
    def from_directory(cls, directory: Path, prefix_space: bool = True) -> Tokenizer:
        """Reads tokenizer.json, and the length limit from tokenizer_config.json."""
        file = directory / "tokenizer.json"
        if not file.is_file():
            raise ModelError(
                f"{directory}: no tokenizer.json there; write one with "
                "transformers.AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)"
            )
        config = directory / "tokenizer_config.json"
        try:
            limit = json.loads(config.read_text("utf-8")).get("model_max_length") if config.is_file() else None
            limit = None if limit is None or limit > NO_LIMIT else int(limit)
            return cls(file.read_text("utf-8"), limit, prefix_space)
        except Exception as error:  # the tokenizers library raises bare Exception on a broken file
            raise ModelError(f"{file}: not a tokenizer definition ({error})") from error

    @property
    def size(self) -> int:
        """How many ids there are."""
        return self._backend.get_vocab_size()

    def token_id(self, piece: str) -> int | None:
        """The id of a piece, if the vocabulary has it."""
        number: int | None = self._backend.token_to_id(piece)
        return number

    def piece(self, token_id: int) -> str:
        """How the vocabulary spells an id."""
        return str(self._backend.id_to_token(token_id))

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """All tokens of every text, special ones included, nothing cut."""
        return memoised(self.fingerprint, texts, self._tokenise)

    def _tokenise(self, texts: Sequence[str]) -> list[Tokens]:
        encodings = self._backend.encode_batch([utf8(text.strip()) for text in texts])
        return [
            as_tokens(text, (read.tokens, read.ids, read.special_tokens_mask, read.offsets), self.unknown_id)
            for text, read in zip(texts, encodings, strict=True)
        ]


def as_tokens(text: str, encoding: Encoding, unknown_id: int | None, gap: int = 0) -> Tokens:
    """Tokens of a text that was encoded without the white space around it, and behind `gap` other characters."""
    pieces, ids, special_mask, inner_offsets = encoding
    special = np.array(special_mask, dtype=bool)
    offsets = np.array(inner_offsets, dtype=np.int32).reshape(-1, 2)
    offsets[~special] += len(text) - len(text.lstrip()) - gap
    numbers = np.array(ids, dtype=np.int64)
    unknown = np.flatnonzero((numbers == unknown_id) & ~special) if unknown_id is not None else numbers[:0]
    return Tokens(text, tuple(pieces), numbers, offsets, special, tuple(unknown.tolist()))


def utf8(text: str) -> str:
    """The text with U+FFFD for every lone surrogate, which UTF-8 cannot encode; offsets stay the same."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def _add_prefix_space(settings: dict[str, Any]) -> None:
    """Makes a byte-level tokenizer put a space before the text, as bert_score does: its first word is one like others.

    The post-processor has to know, or it takes the added space off the first word's offset. Behind another splitter
    (CLIP's words, SmolLM's digits) it would be put before every piece, not before the text: left alone there.
    """
    splitter, processor = settings.get("pre_tokenizer") or {}, settings.get("post_processor") or {}
    splitters = [splitter, *splitter.get("pretokenizers", [])[:1]]
    byte_level = [part for part in splitters if part.get("type") == "ByteLevel" and part.get("use_regex", True)]
    processors = [part for part in [processor, *processor.get("processors", [])] if "add_prefix_space" in part]
    for part in [*byte_level, *(processors if byte_level else [])]:
        part["add_prefix_space"] = True


def _unknown_id(settings: dict[str, Any], backend: Backend) -> int | None:
    name = settings["model"].get("unk_token")
    if isinstance(settings["model"].get("unk_id"), int):  # unigram models
        return int(settings["model"]["unk_id"])
    return backend.token_to_id(name) if name else None
