"""Bytes to JSON values, for input that may be hostile: what JSON readers do not agree about is refused.

Refused are bytes that are no UTF-8, NaN and Infinity, numbers that no double holds, a name twice in one object, and
nesting too deep. Lone surrogates, which a JSON escape can spell, become U+FFFD, as everywhere in evalign.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from evalign.encoders.tokenizer import utf8
from evalign.server.errors import ApiError

DEEPEST = 64
DIGITS = 30  # of a whole number: more than 64 bits hold
EXACT = 2**53  # up to which a double holds every whole number
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
TOO_DEEP = f"the JSON is nested more than {DEEPEST} levels deep"


def parse_json(body: bytes) -> Any:
    """The value, or an ApiError 400."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(f"the body is not UTF-8 (at byte {error.start})") from None
    try:
        value = json.loads(
            text,
            parse_constant=_no_constant, parse_int=_whole, parse_float=_number, object_pairs_hook=_distinct,
        )  # fmt: skip
        return _checked(value, DEEPEST, bool(SURROGATE.search(body)))
    except RecursionError:
        raise _refused(TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise _refused(f"the body is not JSON: {error.msg} at character {error.pos}") from None


def _checked(value: Any, depth: int, surrogates: bool) -> Any:
    """The value with lone surrogates replaced, if it is not too deep."""
    if isinstance(value, str):
        return utf8(value) if surrogates else value
    if not isinstance(value, list | dict):
        return value
    if depth == 0:
        raise _refused(TOO_DEEP)
    if isinstance(value, list):
        return [_checked(item, depth - 1, surrogates) for item in value]
    return {_checked(key, depth, surrogates): _checked(item, depth - 1, surrogates) for key, item in value.items()}


def _no_constant(name: str) -> Any:
    raise _refused(f"{name} is no JSON number")


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise _refused(f"a number of {len(digits)} digits is too large")
    return int(digits)


def _number(digits: str) -> float:
    """The number; a whole one, such as 3.0, as a whole number: to JSON Schema they are the same."""
    value = float(digits)
    if not math.isfinite(value):
        raise _refused(f"{digits[:20]} is too large for a number")
    return int(value) if value.is_integer() and abs(value) <= EXACT else value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _refused("an object of the JSON has the same name twice")
    return members


def _refused(message: str) -> ApiError:
    return ApiError(400, "bad-json", message)
