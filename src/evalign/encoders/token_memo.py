"""Tokenises a text once where one piece of work asks for its tokens several times.

A server sets `tokenise_once` around a request, which counts the tokens before it encodes; elsewhere nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from evalign.types import Tokens

_memo: ContextVar[dict[tuple[str, str], Tokens] | None] = ContextVar("token_memo", default=None)


@contextmanager
def tokenise_once() -> Iterator[None]:
    """Stores tokens by tokenizer and text until the block ends; for this thread only."""
    token = _memo.set({})
    try:
        yield
    finally:
        _memo.reset(token)


def memoised(fingerprint: str, texts: Sequence[str], tokenise: Callable[[Sequence[str]], list[Tokens]]) -> list[Tokens]:
    """The tokens of each text; `tokenise` gets only those that this tokenizer has not seen inside `tokenise_once`."""
    memo = _memo.get()
    if memo is None:
        return tokenise(texts)
    missing = [text for text in dict.fromkeys(texts) if (fingerprint, text) not in memo]
    memo.update(((fingerprint, tokens.text), tokens) for tokens in tokenise(missing))
    return [memo[fingerprint, text] for text in texts]
