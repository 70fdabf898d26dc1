"""The outermost layer, around the framework: which hosts are served, the headers of every answer, and the full queue.

Plain ASGI: it refuses at once when the queue is full, without parsing a request or reading its body. Every answer, also
an error of the framework's own, leaves through here.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evalign.server.errors import ApiError
from evalign.server.settings import Settings

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
LOCAL = ("localhost", "127.0.0.1", "::1")


class Guard:
    """Wraps an ASGI application; `busy` gives the error of a server whose queue is full, or None."""

    def __init__(self, app: ASGIApp, settings: Settings, busy: Callable[[], ApiError | None]) -> None:
        self.app, self._busy, self._verbose = app, busy, settings.verbose
        self._hosts = {host.lower().strip("[]") for host in (*LOCAL, settings.host, *settings.hosts)}
        self._any_address = settings.host in ("0.0.0.0", "::", "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses a request, or passes it on to the application."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = monotonic(), 0

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        app: ASGIApp = self.app if refusal is None else answer(refusal)
        asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope  # uvicorn leaves out the body
        try:
            await app(asked, receive, send_guarded)
        finally:
            if self._verbose:
                line = f"{scope['method']} {scope['path']!a} {status} {(monotonic() - began) * 1000:.0f} ms"
                print(line, file=sys.stderr, flush=True)

    def _refusal(self, scope: Scope) -> ApiError | None:
        hosts = Headers(scope=scope).getlist("host")
        if len(hosts) != 1 or not self._known_host(hosts[0]):
            message = "this Host is not served here; evalign serve --allow-host NAME adds one"
            return ApiError(400, "unknown-host", message)
        if scope["method"] == "POST" and scope["path"].startswith("/api/"):
            return self._busy()
        return None

    def _known_host(self, host: str) -> bool:
        """Against DNS rebinding: a page of another name must not reach this server through the visitor's browser.

        Such a page has a name of its own, so bare addresses are no danger where all addresses are bound.
        """
        name = host.lower()
        if name.startswith("["):
            name = name[1:].partition("]")[0]
        elif name.count(":") == 1:
            name = name.partition(":")[0]
        if self._any_address:
            with suppress(ValueError):
                ipaddress.ip_address(name)
                return True
        return name in self._hosts


def answer(error: ApiError) -> Response:
    """The error as a response."""
    return Response(error.body, error.status, error.headers, "application/json")
