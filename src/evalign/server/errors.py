"""Errors as the API answers them: `{"error": {"code", "message"}}`; the page shows the message.

ApiError                 what the server itself refuses
api_error(EvalignError)  what the library refuses: 422 where the request is at fault, 503 where the server is
"""

from __future__ import annotations

import json

from pydantic import ValidationError

from evalign import errors as library

CODES: tuple[tuple[type[library.EvalignError], str], ...] = (
    (library.TextTooLongError, "text-too-long"),
    (library.InputError, "bad-input"),
    (library.SpecError, "bad-metric"),
    (library.LayerError, "bad-layer"),
    (library.TableError, "bad-table"),
    (library.MissingExtraError, "missing-extra"),
)


class ApiError(Exception):
    """An answer that is not 2xx."""

    def __init__(self, status: int, code: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the answer."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}

    @property
    def body(self) -> bytes:
        """The answer's JSON; ASCII, so that a lone surrogate in a message cannot break it."""
        return json.dumps({"error": {"code": self.code, "message": self.message}}).encode("ascii")


def api_error(error: library.EvalignError) -> ApiError:
    """The library's error as an answer; of the server's own models it tells no path."""
    for kind, code in CODES:
        if isinstance(error, kind):
            return ApiError(422, code, str(error))
    return ApiError(503, "model-broken", "this model cannot be used on this server; its log says why")


def invalid(error: ValidationError) -> ApiError:
    """The first misfit of a request and its place; what was sent is not repeated."""
    first, *rest = error.errors(include_url=False, include_input=False, include_context=False)
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    more = f" (and {len(rest)} more)" if rest else ""
    message = first["msg"].removeprefix("Value error, ")
    return ApiError(422, "bad-request", f"{place[:200] or 'the body'}: {message[:1].lower()}{message[1:]}{more}")
