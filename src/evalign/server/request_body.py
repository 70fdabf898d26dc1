"""Read and parse the body of a request, with limits: bytes, seconds, and bytes of all requests together.

A Content-Length above the limit is refused at once; the bytes of a chunked body are counted as they arrive.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from typing import Any

from starlette.requests import ClientDisconnect, Request

from evalign.encoders.tokenizer import utf8
from evalign.server.errors import ApiError
from evalign.server.settings import Settings
from evalign.server.worker_pool import ClientGone


class BodyReader:
    """Reader of the bodies of all requests."""

    def __init__(self, settings: Settings) -> None:
        self._limit, self._seconds = settings.limits.body, settings.body_seconds
        self._budget, self._held = settings.body_budget, 0

    async def read(self, request: Request) -> bytes:
        """Return the body, or raise ApiError 415, 413, 429, or 400 if it arrives too slowly."""
        _check_type(request)
        announced = request.headers.get("content-length", "")
        if announced.isascii() and announced.isdigit() and int(announced) > self._limit:
            raise self._too_large()
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._seconds):
                async for part in request.stream():
                    size += len(part)
                    self._held += len(part)
                    if size > self._limit:
                        raise self._too_large()
                    if self._held > self._budget:
                        raise ApiError(429, "busy", "the server is receiving too many requests; try again soon", 1)
                    parts.append(part)
        except TimeoutError:
            raise ApiError(400, "body-too-slow", f"the body took more than {self._seconds:g} seconds") from None
        except ClientDisconnect:
            raise ClientGone from None
        finally:
            self._held -= size
        return b"".join(parts)

    def _too_large(self) -> ApiError:
        message = f"the body is larger than the limit of {self._limit:,} bytes; send it in parts"
        return ApiError(413, "body-too-large", message)


def _check_type(request: Request) -> None:
    """Raise unless the type is JSON: forms of other sites cannot send it without a preflight, which is refused."""
    types, encodings = (request.headers.getlist(name) for name in ("content-type", "content-encoding"))
    media_type, _, rest = types[0].partition(";") if len(types) == 1 else ("", "", "")
    charset = rest.replace(" ", "").replace('"', "").lower()
    if media_type.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
        raise ApiError(415, "not-json", "send JSON in UTF-8, with Content-Type: application/json")
    if len(encodings) > 1 or any(encoding.strip().lower() != "identity" for encoding in encodings):
        raise ApiError(415, "compressed", "send the body as it is, without Content-Encoding")


MAX_JSON_DEPTH = 64
MAX_DIGITS = 30  # of an integer: more than 64 bits need
MAX_EXACT_INTEGER = 2**53  # of a double
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
TOO_DEEP = f"the JSON is nested more than {MAX_JSON_DEPTH} levels deep"


def parse_json(body: bytes) -> Any:
    """Return the value, or raise ApiError 400."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(f"the body is not UTF-8 (at byte {error.start})") from None
    try:
        value = json.loads(
            text,
            parse_constant=_no_constant, parse_int=_whole, parse_float=_number, object_pairs_hook=_distinct,
        )  # fmt: skip
        return _checked(value, MAX_JSON_DEPTH, bool(SURROGATE.search(body)))
    except RecursionError:
        raise _refused(TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise _refused(f"the body is not JSON: {error.msg} at character {error.pos}") from None


def _checked(value: Any, depth: int, surrogates: bool) -> Any:
    """Return a value with lone surrogates replaced, or raise if it is nested too deeply."""
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
    if len(digits) > MAX_DIGITS:
        raise _refused(f"a number of {len(digits)} digits is too large")
    return int(digits)


def _number(digits: str) -> float:
    """Return the number; 3.0 as an integer, because JSON Schema does not distinguish them."""
    value = float(digits)
    if not math.isfinite(value):
        raise _refused(f"{digits[:20]} is too large for a number")
    return int(value) if value.is_integer() and abs(value) <= MAX_EXACT_INTEGER else value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _refused("an object of the JSON has the same name twice")
    return members


def _refused(message: str) -> ApiError:
    return ApiError(400, "bad-json", message)
