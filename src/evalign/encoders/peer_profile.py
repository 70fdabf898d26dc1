"""How bert_score reads a text, where that is not how evalign does: its tokenizer's first space and its special tokens.

`bert-score` is its Python interface with a slow tokenizer, `bert-score-fast` its fast one, as on its command line.
Both also put a model's closing norm behind a layer below the last (torch_hf.py), because bert_score drops the layers
above and runs the rest as a whole model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalign.encoders.tokenizer import Tokenizer

PROFILES = ("no", "bert-score", "bert-score-fast")
# Model types whose slow tokenizer is RoBERTa's or GPT-2's: the two that bert_score asks for a space before the text.
PREFIXED = ("roberta", "roberta-prelayernorm", "data2vec-text", "ibert", "gpt2", "gpt_neo", "gptj", "opt")
NAMED = ("cls_token", "sep_token")
SPECIAL = (*NAMED, "pad_token", "unk_token", "eos_token", "bos_token", "mask_token")


def puts_prefix_space(directory: Path, model_type: str, profile: str) -> bool:
    """Whether a byte-level tokenizer gets a space before the text; evalign always gives it one."""
    if profile == "no" or (profile == "bert-score" and model_type in PREFIXED):
        return True
    return bool(_read(directory / "tokenizer_config.json").get("add_prefix_space", False))


def unweighted_ids(directory: Path, tokenizer: Tokenizer) -> frozenset[int]:
    """The ids that weigh nothing without IDF: bert_score knows the tokenizer's cls and sep token only.

    T5's end and mBART's language are others. Where no file names special tokens, those around a text are meant.
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
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
