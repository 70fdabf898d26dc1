"""JSON files of a model folder: read whole or refused in one sentence, however large, deep or strange they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalign.errors import ModelError

MAX_BYTES = 256 * 2**20  # the largest tokenizer.json in use has 35 MB
MAX_LEVELS = 100  # what reads the content further down recurses


def read_object(file: Path) -> dict[str, Any]:
    """Read a file that holds one JSON object; raise ModelError for any other content."""
    text = read_text(file)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file}: not JSON ({error})") from error
    if not isinstance(content, dict):
        raise ModelError(f"{file}: expected a JSON object")
    if _deeper(content, MAX_LEVELS):
        raise ModelError(f"{file}: nested deeper than {MAX_LEVELS} levels; get it again")
    return content


def read_text(file: Path) -> str:
    """Read a file of UTF-8 text; raise ModelError for any other, or one that is too large."""
    if not file.is_file():  # a pipe, for one, would be waited for
        raise ModelError(f"{file.parent}: no {file.name} there")
    check_size(file)
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise ModelError(f"{file}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:
        raise ModelError(f"{file}: not UTF-8 ({error})") from error


def check_size(file: Path) -> None:
    """Raise ModelError if a file is larger than any settings are."""
    if file.stat().st_size > MAX_BYTES:
        raise ModelError(f"{file}: larger than {MAX_BYTES // 2**20} MB, which no model needs; get it again")


def _deeper(content: Any, levels: int) -> bool:
    inner = [content]
    for _ in range(levels):
        containers = [value for value in inner if isinstance(value, (dict, list))]
        inner = [item for value in containers for item in (value.values() if isinstance(value, dict) else value)]
    return bool(inner)
