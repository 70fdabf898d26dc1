"""Access by token: `Authorization: Bearer TOKEN` of programs, and a cookie of browsers that logged in with the token.

The cookie holds a random value of this process, never the token; after a restart, browsers log in again.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.datastructures import Headers
from starlette.types import Scope

from evalign.render.export import page_file
from evalign.server.errors import ApiError

OPEN_PATHS = ("/health", "/ready", "/page/login.js", "/page/shared/base.css")
PAGES = ("/", "/docs")  # answered with the form in which people enter the token
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="evalign"'}


class Access:
    """Check of a token; without a token, everything is open."""

    def __init__(self, token: str) -> None:
        self.required = bool(token)
        self._token, self._session = _digest(token), secrets.token_urlsafe(32)

    def refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request without the token or the cookie, or None if it may pass."""
        if not self.required or scope["path"] in OPEN_PATHS or self._allowed(scope):
            return None
        if scope["method"] in ("GET", "HEAD") and scope["path"] in PAGES:
            return Response(page_file("login.html"), 401, CHALLENGE, "text/html; charset=utf-8")
        error = ApiError(
            401, "no-token", "send the token of this server as Authorization: Bearer TOKEN, or log in at /"
        )
        return Response(error.body, error.status, CHALLENGE, "application/json")

    def cookie(self, scope: Scope) -> str:
        """Return the Set-Cookie header that logs a browser in until it is closed."""
        secure = "; Secure" if scope["scheme"] == "https" else ""
        return f"{_cookie_name(scope)}={self._session}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def _allowed(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        if authorizations := headers.getlist("authorization"):
            scheme, _, token = authorizations[0].partition(" ")
            return len(authorizations) == 1 and scheme.lower() == "bearer" and _same(_digest(token), self._token)
        cookies = [part.strip().partition("=") for line in headers.getlist("cookie") for part in line.split(";")]
        name = _cookie_name(scope)
        return any(key == name and _same(_digest(value), _digest(self._session)) for key, _, value in cookies)


def add_login(app: FastAPI, access: Access) -> None:
    """Add the route of the login form: a request with the token is answered with the cookie."""
    if not access.required:
        return

    @app.post("/login", include_in_schema=False)
    async def login(request: Request) -> Response:
        return Response(status_code=204, headers={"Set-Cookie": access.cookie(request.scope)})


def _cookie_name(scope: Scope) -> str:
    """Return the name of the cookie; browsers send one host's cookies to all of its ports."""
    return f"evalign-{(scope.get('server') or ('', 0))[1]}"


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


def _same(left: bytes, right: bytes) -> bool:
    """Compare in constant time, so that the time of an answer reveals nothing."""
    return hmac.compare_digest(left, right)
