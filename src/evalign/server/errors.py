"""Errors of the API: `{"error": {"code", "message"}}`; the page shows the message.

ApiError                 raised by the server
api_error(EvalignError)  raised by the library: 422 for errors of the request, 503 for errors of the server
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
    """An error with its HTTP status, code and message."""

    def __init__(self, status: int, code: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the answer."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}

    @property
    def body(self) -> bytes:
        """Return the JSON of the answer, in ASCII, so that a lone surrogate in a message cannot break it."""
        return json.dumps({"error": {"code": self.code, "message": self.message}}).encode("ascii")


def api_error(error: library.EvalignError) -> ApiError:
    """Return the answer to an error of the library, without paths of the server's models."""
    for error_type, code in CODES:
        if isinstance(error, error_type):
            return ApiError(422, code, str(error))
    return ApiError(503, "model-broken", "this model cannot be used on this server; see its log")


def invalid(error: ValidationError) -> ApiError:
    """Return the first invalid field of a request with its path, without the value that was sent."""
    first, *rest = error.errors(include_url=False, include_input=False, include_context=False)
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    more = f" (and {len(rest)} more)" if rest else ""
    message = first["msg"].removeprefix("Value error, ")
    return ApiError(422, "bad-request", f"{path[:200] or 'the body'}: {message[:1].lower()}{message[1:]}{more}")
