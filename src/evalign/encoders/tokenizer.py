"""Tokenizers: texts to `Tokens` through a tokenizer.json, with offsets into the original text.

The file's own truncation and padding are switched off (MiniLM's cuts and pads to 128): `base.plan_windows` handles
long texts. Surrounding white space is ignored, as in bert_score.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer as Backend

from evalign.core import Tokens
from evalign.encoders.model_json import read_object, read_text
from evalign.encoders.tokenizer_checks import check_definition
from evalign.errors import ModelError

NO_LIMIT = 1_000_000  # tokenizer_config.json writes "no limit" as 1e30

Encoding = tuple[Sequence[str], Sequence[int], Any, Any]  # pieces, ids, special mask, offsets; each one per token


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
        check_definition(settings, canonical, self.fingerprint)
        self._backend = Backend.from_str(canonical)
        self.unknown_id = _unknown_id(settings, self._backend)
        letter = self._backend.encode("a")
        content = [index for index, special in enumerate(letter.special_tokens_mask) if not special]
        if not content:
            raise ValueError("the letter a has no token")
        self.prefix_ids: tuple[int, ...] = tuple(letter.ids[: content[0]])
        self.suffix_ids: tuple[int, ...] = tuple(letter.ids[content[-1] + 1 :])
        self.frame_length = len(self.prefix_ids) + len(self.suffix_ids)  # number of special tokens around every text
        # Their weight is 0, even where a text spells one out.
        self.special_ids = frozenset(self.prefix_ids + self.suffix_ids)

    @classmethod
    def from_directory(cls, directory: Path, prefix_space: bool = True) -> Tokenizer:
        """Read tokenizer.json, and the length limit from tokenizer_config.json."""
        file = directory / "tokenizer.json"
        if not file.is_file():
            raise ModelError(
                f"{directory}: no tokenizer.json there; write one with "
                "transformers.AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)"
            )
        limit = _limit(directory / "tokenizer_config.json")
        definition = read_text(file)
        with native_errors(f"{file}: not a tokenizer definition"):
            return cls(definition, limit, prefix_space)

    @property
    def size(self) -> int:
        """Number of ids."""
        return self._backend.get_vocab_size()

    def token_id(self, piece: str) -> int | None:
        """Return the id of a piece, or None if the vocabulary lacks it."""
        number: int | None = self._backend.token_to_id(piece)
        return number

    def piece(self, token_id: int) -> str:
        """Return the piece of an id."""
        return str(self._backend.id_to_token(token_id))

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """Return all tokens of every text, special ones included, uncut."""
        return memoised(self.fingerprint, texts, self._tokenise)

    def _tokenise(self, texts: Sequence[str]) -> list[Tokens]:
        with native_errors("this tokenizer.json cannot encode one of the texts"):
            encodings = self._backend.encode_batch([utf8(text.strip()) for text in texts])
        return [
            as_tokens(
                text, (encoding.tokens, encoding.ids, encoding.special_tokens_mask, encoding.offsets), self.unknown_id
            )
            for text, encoding in zip(texts, encodings, strict=True)
        ]


def as_tokens(text: str, encoding: Encoding, unknown_id: int | None, gap: int = 0) -> Tokens:
    """Return the tokens of a text that was encoded without surrounding white space, after `gap` other characters."""
    pieces, ids, special_mask, inner_offsets = encoding
    special = np.array(special_mask, dtype=bool)
    offsets = np.array(inner_offsets, dtype=np.int32).reshape(-1, 2)
    offsets[~special] += len(text) - len(text.lstrip()) - gap
    numbers = np.array(ids, dtype=np.int64)
    unknown = np.flatnonzero((numbers == unknown_id) & ~special) if unknown_id is not None else numbers[:0]
    return Tokens(text, tuple(pieces), numbers, offsets, special, tuple(unknown.tolist()))


@contextmanager
def native_errors(message: str) -> Iterator[None]:
    """Turn errors of the tokenizers library into a ModelError: bare Exceptions, and panics, which are none."""
    try:
        yield
    except ModelError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # cannot be imported
            raise
        raise ModelError(f"{message} ({' '.join(str(error).split())[:300]})") from error


def utf8(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by U+FFFD; offsets stay the same."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def _limit(file: Path) -> int | None:
    """Return the maximum tokens of a tokenizer_config.json, if there is one."""
    limit = read_object(file).get("model_max_length") if file.is_file() else None
    if limit is None or (isinstance(limit, (int, float)) and limit > NO_LIMIT):
        return None
    if type(limit) not in (int, float) or not limit >= 1:
        raise ModelError(f"{file}: model_max_length is {limit!r:.80}, expected a number of tokens")
    return int(limit)


def _add_prefix_space(settings: dict[str, Any]) -> None:
    """Make a byte-level tokenizer put a space before the text, as bert_score does: its first word then is like others.

    The post-processor needs the setting too, or it removes the added space from the first word's offset. After another
    splitter (CLIP's words, SmolLM's digits) the space would be put before every piece: such tokenizers are unchanged.
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


PROFILES = ("no", "bert-score", "bert-score-fast")
# Model types whose slow tokenizer is RoBERTa's or GPT-2's: bert_score passes add_prefix_space to these two.
PREFIXED = ("roberta", "roberta-prelayernorm", "data2vec-text", "ibert", "gpt2", "gpt_neo", "gptj", "opt")
NAMED = ("cls_token", "sep_token")
SPECIAL = (*NAMED, "pad_token", "unk_token", "eos_token", "bos_token", "mask_token")


def puts_prefix_space(directory: Path, model_type: str, profile: str) -> bool:
    """Return whether a byte-level tokenizer gets a space before the text; without a profile it always does."""
    if profile == "no" or (profile == "bert-score" and model_type in PREFIXED):
        return True
    return bool(_read(directory / "tokenizer_config.json").get("add_prefix_space", False))


def unweighted_ids(directory: Path, tokenizer: Tokenizer) -> frozenset[int]:
    """Return the ids of weight 0 without IDF: bert_score uses the tokenizer's cls and sep tokens only.

    T5's end token and mBART's language token have weight. Where no file names special tokens, those around a text are
    returned.
    """
    named = _read(directory / "special_tokens_map.json") | _read(directory / "tokenizer_config.json")
    if not any(named.get(key) for key in SPECIAL):
        return tokenizer.special_ids
    tokens = (named.get(key) for key in NAMED)
    names = (token.get("content") if isinstance(token, dict) else token for token in tokens)
    ids = (tokenizer.token_id(str(name)) for name in names if name)
    return frozenset(number for number in ids if number is not None)


def _read(file: Path) -> dict[str, Any]:
    try:
        return read_object(file)
    except ModelError:
        return {}


_memo: ContextVar[dict[tuple[str, str], Tokens] | None] = ContextVar("token_memo", default=None)


@contextmanager
def tokenize_once() -> Iterator[None]:
    """Cache tokens by tokenizer and text until the block ends; for this thread only."""
    token = _memo.set({})
    try:
        yield
    finally:
        _memo.reset(token)


def memoised(fingerprint: str, texts: Sequence[str], tokenise: Callable[[Sequence[str]], list[Tokens]]) -> list[Tokens]:
    """Return the tokens of each text; `tokenise` gets only texts that are not cached by `tokenize_once`."""
    memo = _memo.get()
    if memo is None:
        return tokenise(texts)
    missing = [text for text in dict.fromkeys(texts) if (fingerprint, text) not in memo]
    memo.update(((fingerprint, tokens.text), tokens) for tokens in tokenise(missing))
    return [memo[fingerprint, text] for text in texts]
