"""Outermost ASGI layer: allowed hosts, the token, limits of clients, headers of every answer, refusal by a full queue.

It refuses without parsing a request or reading its body. Every answer passes through it, also errors of the framework.
"""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evalign.server.access import Access
from evalign.server.client_limits import ClientLimits
from evalign.server.counters import NO_ROUTE, Counters
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
# A name or an address with an optional port: nothing before an @, no address without brackets that has colons.
HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]{2,45})\]|(?P<name>[0-9a-z._-]{1,253}))(?::[0-9]{1,5})?", re.ASCII)
LOCAL = ("localhost", "127.0.0.1", "::1")


class Guard:
    """Wrapper of an ASGI application; `busy` returns an error if the queue is full, else None."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        busy: Callable[[], ApiError | None],
        access: Access,
        counters: Counters,
    ) -> None:
        self.app, self._busy, self._verbose = app, busy, settings.verbose
        self._access, self._counters = access, counters
        self._clients = ClientLimits(settings.client_requests, settings.client_rate)
        self._hosts = {host.lower().strip("[]") for host in (*LOCAL, settings.host, *settings.hosts)}
        self._any_address = settings.host in ("0.0.0.0", "::", "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on to the application."""
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
        app: ASGIApp = self.app if refusal is None else refusal
        get_scope = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope  # uvicorn leaves out the body
        try:
            await app(get_scope, receive, send_guarded)
        finally:
            seconds = monotonic() - began
            if refusal is None and scope["method"] == "POST":
                self._clients.end(_address(scope))
            if status:  # else the client is gone
                self._counters.count(getattr(get_scope.get("route"), "path", NO_ROUTE), status, seconds)
            if self._verbose:
                line = f"{scope['method']} {scope['path']!a} {status} {seconds * 1000:.0f} ms"
                print(line, file=sys.stderr, flush=True)

    def _refusal(self, scope: Scope) -> Response | None:
        hosts = Headers(scope=scope).getlist("host")
        if len(hosts) != 1 or not self._known_host(hosts[0]):
            message = "this Host is not served here; `allow_host` of evalign serve adds one"
            return answer(ApiError(400, "unknown-host", message))
        if (refusal := self._access.refusal(scope)) is not None:
            error = self._clients.begin(_address(scope))  # a guess of the token counts as a request
            if error is not None:
                return answer(error)
            self._clients.end(_address(scope))
            return refusal
        error = self._busy() if scope["method"] == "POST" and scope["path"].startswith("/api/") else None
        if error is None and scope["method"] == "POST":
            error = self._clients.begin(_address(scope))
        return None if error is None else answer(error)

    def _known_host(self, host: str) -> bool:
        """Return whether a Host is allowed, to prevent DNS rebinding by pages of other hosts in the visitor's browser.

        Such pages have a host name, so plain addresses are safe if the server listens on all addresses.
        """
        found = HOST.fullmatch(host.lower())
        if found is None:
            return False
        name = found["address"] or found["name"]
        if self._any_address:
            with suppress(ValueError):
                ipaddress.ip_address(name)
                return True
        return name in self._hosts


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def answer(error: ApiError) -> Response:
    """Return an error as a response."""
    return Response(error.body, error.status, error.headers, "application/json")
