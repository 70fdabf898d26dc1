"""The outermost layer, around the framework: who may ask, the headers of every answer, and a cheap no when full.

Plain ASGI, so that turning a request away costs neither parsing nor reading its body. Every answer, also an error of
the framework's own, leaves through here.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Callable
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
    """Wraps an ASGI application; `turned_away` gives the error of a server that is full, or None."""

    def __init__(self, app: ASGIApp, settings: Settings, turned_away: Callable[[], ApiError | None]) -> None:
        self.app, self._turned_away, self._verbose = app, turned_away, settings.verbose
        self._hosts = {host.lower().strip("[]") for host in (*LOCAL, settings.host, *settings.hosts)}
        self._any_address = settings.host in ("0.0.0.0", "::", "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers, or passes on."""
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

        refused = self._refusal(scope)
        app: ASGIApp = self.app if refused is None else answer(refused)
        try:
            await app(scope, receive, send_guarded)
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
            return self._turned_away()
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
        return name in self._hosts or (self._any_address and _is_address(name))


def answer(error: ApiError) -> Response:
    """The error as a response."""
    return Response(error.body, error.status, error.headers, "application/json")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
