"""Reads a request's body with three bounds: bytes, seconds, and bytes held by all requests together.

A Content-Length beyond the bound is refused at once; a body in chunks is counted as it comes.
"""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from evalign.server.errors import ApiError
from evalign.server.settings import Settings
from evalign.server.worker_pool import ClientGone


class BodyReader:
    """Reads bodies of one server."""

    def __init__(self, settings: Settings) -> None:
        self._limit, self._seconds = settings.limits.body, settings.body_seconds
        self._budget, self._held = settings.body_budget, 0

    async def read(self, request: Request) -> bytes:
        """The JSON body, or an ApiError: 415, 413, 429, or 400 where it comes too slowly."""
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
                        raise ApiError(429, "busy", "the server is taking in as much as it can; try again soon", 1)
                    parts.append(part)
        except TimeoutError:
            raise ApiError(400, "body-too-slow", f"the body took more than {self._seconds:g} seconds") from None
        except ClientDisconnect:
            raise ClientGone from None
        finally:
            self._held -= size
        return b"".join(parts)

    def _too_large(self) -> ApiError:
        message = f"the body is larger than {self._limit:,} bytes, which is what this server takes; send it in parts"
        return ApiError(413, "body-too-large", message)


def _check_type(request: Request) -> None:
    """Raises unless it is JSON: a form of another site cannot send that type without a preflight, which is refused."""
    kind, _, rest = request.headers.get("content-type", "").partition(";")
    charset = rest.replace(" ", "").replace('"', "").lower()
    if kind.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
        raise ApiError(415, "not-json", "send JSON in UTF-8, with Content-Type: application/json")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise ApiError(415, "compressed", "send the body as it is, without Content-Encoding")
