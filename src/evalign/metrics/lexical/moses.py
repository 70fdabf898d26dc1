"""Words by the Moses tokeniser of sacremoses, which EASSE offers: a text in, its words out.

sacremoses is loaded when a metric asks for it, and need not be installed otherwise.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

from evalign.errors import SpecError

MOSES = "moses"


def moses_words(text: str) -> list[str]:
    """Unescaped, as in EASSE."""
    return str(_tokenizer().tokenize(text, return_str=True, escape=False)).split()


def moses_version() -> str:
    """Of sacremoses; an error that says what to install if there is none."""
    _tokenizer()
    return version("sacremoses")


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    try:
        return import_module("sacremoses").MosesTokenizer()
    except ImportError:
        raise SpecError(
            "tokenize=moses is the tokeniser of sacremoses: pip install sacremoses, or take tokenize=13a"
        ) from None
